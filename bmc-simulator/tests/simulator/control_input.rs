//! The control API where it refuses: the status, the field, and nothing changed.

use reqwest::Method;
use serde_json::Value;

use crate::control::Control;

type Case<'a> = (Method, &'a str, &'a str, u16, &'a str);

async fn refuses(cases: &[Case<'_>]) {
    let control = Control::start().await;
    let before = serde_json::to_value(control.host.snapshot()).unwrap();
    for (method, path, body, status, field) in cases {
        let (got, text) = control.send(method.clone(), path, body).await;
        assert_eq!(got, *status, "{path} {body}: {text}");
        let error: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(error["error"]["field"], *field, "{path} {body}: {text}");
        assert!(
            error["error"]["message"]
                .as_str()
                .is_some_and(|message| !message.is_empty()),
            "{text}"
        );
    }
    assert_eq!(serde_json::to_value(control.host.snapshot()).unwrap(), before);
}

#[tokio::test]
async fn names_delays_and_faults() {
    let cases = [
        (Method::GET, "/hosts/nobody", "", 404, "name"),
        (Method::PUT, "/hosts/nobody/faults", "[]", 404, "name"),
        (Method::GET, "/hosts/%ff", "", 400, "name"),
        (Method::PUT, "/hosts/%ff/faults", "[]", 400, "name"),
        (Method::GET, "/hosts/a/machines/%ff", "", 400, "name"),
        (Method::GET, "/hosts/nobody/journal", "", 404, "name"),
        (Method::PUT, "/hosts/a/delays", r#"{"off":"soon"}"#, 400, "off"),
        (
            Method::PUT,
            "/hosts/a/redfish",
            r#"{"resetTypes":["Off"]}"#,
            400,
            "resetTypes[0]",
        ),
        (Method::PUT, "/hosts/a/redfish", r#"{"etag":"weak"}"#, 400, "etag"),
        (Method::PUT, "/hosts/a/delays", r#"{"off":"-1s"}"#, 400, "off"),
        (Method::PUT, "/hosts/a/delays", r#"{"off":2}"#, 400, "off"),
        (Method::PUT, "/hosts/a/delays", r#"{"offf":"2s"}"#, 400, "offf"),
        (
            Method::PUT,
            "/hosts/a/faults",
            r#"[{"fault":"explode"}]"#,
            400,
            "[0].fault",
        ),
        (
            Method::PUT,
            "/hosts/a/faults",
            r#"[{"fault":"hang"},{"on":"reset"}]"#,
            400,
            "[1].fault",
        ),
        (
            Method::PUT,
            "/hosts/a/faults",
            r#"[{"fault":"hang","on":"rest"}]"#,
            400,
            "[0].on",
        ),
        (
            Method::PUT,
            "/hosts/a/faults",
            r#"[{"fault":"hang","times":-1}]"#,
            400,
            "[0].times",
        ),
        (
            Method::PUT,
            "/hosts/a/faults",
            r#"[{"fault":"hang","times":0}]"#,
            400,
            "[0].times",
        ),
        (
            Method::PUT,
            "/hosts/a/faults",
            r#"[{"fault":"wrong-uuid","on":"reset"}]"#,
            400,
            "[0].on",
        ),
        (
            Method::PUT,
            "/hosts/a/faults",
            r#"[{"fault":{"http-status":{"status":7}}}]"#,
            400,
            "[0].status",
        ),
        (
            Method::PUT,
            "/hosts/a/faults",
            r#"[{"fault":{"http-status":{"status":"x"}}}]"#,
            400,
            "[0].fault.http-status.status",
        ),
    ];
    refuses(&cases).await;
}

#[tokio::test]
async fn actions_and_queries() {
    let cases = [
        (
            Method::POST,
            "/hosts/a/power",
            r#"{"to":"PoweringOff"}"#,
            400,
            "to",
        ),
        (Method::POST, "/hosts/a/power", "{}", 400, "to"),
        (
            Method::POST,
            "/hosts/a/power",
            r#"{"to":"Off","now":true}"#,
            400,
            "now",
        ),
        (
            Method::PUT,
            "/hosts/a/credentials",
            r#"{"username":"u"}"#,
            400,
            "password",
        ),
        (Method::GET, "/journal?after=x", "", 400, "after"),
        (Method::GET, "/hosts/a/journal?after=-1", "", 400, "after"),
        (Method::GET, "/journal?limit=0", "", 400, "limit"),
        (Method::GET, "/journal?limit=x", "", 400, "limit"),
        (Method::GET, "/hosts/a/journal?limit=10001", "", 400, "limit"),
    ];
    refuses(&cases).await;
}

#[tokio::test]
async fn what_has_no_field_is_refused_in_json_too() {
    let control = Control::start().await;
    let huge = format!("[{}]", " ".repeat(100_000));
    for (method, path, body, status, code) in [
        (Method::GET, "/nothing", "", 404, "unknown-path"),
        (Method::DELETE, "/hosts", "", 405, "wrong-method"),
        (Method::PUT, "/hosts/a/faults", "[{]", 400, "bad-body"),
        (Method::PUT, "/hosts/a/faults", "{}", 400, "bad-body"),
        (Method::PUT, "/hosts/a/faults", "[] []", 400, "bad-body"),
        (Method::PUT, "/hosts/a/faults", huge.as_str(), 413, "too-large"),
    ] {
        let (got, text) = control.send(method, path, body).await;
        assert_eq!(got, status, "{path}: {text}");
        let error: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(error["error"]["code"], code, "{text}");
    }
}
