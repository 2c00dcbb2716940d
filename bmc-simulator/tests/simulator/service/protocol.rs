use bmc_simulator::RedfishSpec;
use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{messages, send, with};
use crate::client::{header, status};

#[tokio::test]
async fn every_answer_has_the_headers_that_it_must_have() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    for (path, allow, schema) in [
        ("/redfish/v1/", "GET, HEAD", "ServiceRoot.v1_17_0"),
        (&host.system_path(), "GET, HEAD, PATCH", "ComputerSystem.v1_22_0"),
        ("/redfish/v1/Chassis", "GET, HEAD", "ChassisCollection"),
        (
            "/redfish/v1/AccountService/Accounts/1",
            "GET, HEAD, PATCH, DELETE",
            "ManagerAccount.v1_13_0",
        ),
        (
            "/redfish/v1/EventService/Subscriptions",
            "GET, HEAD, POST",
            "EventDestinationCollection",
        ),
    ] {
        for method in [Method::GET, Method::HEAD] {
            let request = client.basic(client.http.request(method.clone(), client.url(path)));
            let answer = request.send().await.unwrap();
            assert_eq!(answer.status(), 200, "{method} {path}");
            for (name, value) in [
                ("OData-Version", "4.0"),
                ("Cache-Control", "no-cache"),
                ("Allow", allow),
                ("Content-Type", "application/json;charset=utf-8"),
            ] {
                assert_eq!(header(&answer, name), value, "{method} {path}");
            }
            let link = format!("<http://redfish.dmtf.org/schemas/v1/{schema}.json>; rel=describedby");
            assert_eq!(header(&answer, "Link"), link, "{method} {path}");
            let length: usize = header(&answer, "Content-Length").parse().unwrap();
            let body = answer.bytes().await.unwrap();
            let expected = if method == Method::HEAD { 0 } else { length };
            assert_eq!((body.len(), length > 100), (expected, true), "{method} {path}");
        }
    }
}

type Header = (&'static str, &'static str);
type Refused = (
    &'static str,
    &'static str,
    Header,
    &'static str,
    u16,
    &'static str,
);

/// Method, path, a header, body, and the status and the message of the answer. `{}` is the system.
#[rustfmt::skip]
const REFUSED: [Refused; 19] = [
    ("FAKE", "{}", NONE, "", 501, "OperationNotAllowed"),
    ("POST", "{}", NONE, "{}", 405, "OperationNotAllowed"),
    ("PUT", "{}", NONE, "{}", 405, "OperationNotAllowed"),
    ("DELETE", "/redfish/v1/", NONE, "", 405, "OperationNotAllowed"),
    ("PATCH", "/redfish/v1/No", NONE, "{}", 404, "ResourceMissingAtURI"),
    ("PATCH", "/redfish/v1/Systems/no", NONE, "{}", 404, "ResourceMissingAtURI"),
    ("GET", "{}", ("Accept", "text/html"), "", 406, "HeaderInvalid"),
    ("GET", "{}", ("Accept", "application/json;q=0"), "", 406, "HeaderInvalid"),
    ("GET", "{}", ("OData-Version", "4.1"), "", 412, "HeaderInvalid"),
    ("PATCH", "{}", ("Content-Type", "text/plain"), "{}", 415, "HeaderInvalid"),
    ("PATCH", "{}", NONE, "{", 400, "MalformedJSON"),
    ("PATCH", "{}", NONE, "[]", 400, "MalformedJSON"),
    ("PATCH", "{}", NONE, "{}", 400, "NoOperation"),
    ("PATCH", "{}", NONE, r#"{"@odata.id": "/x"}"#, 400, "NoOperation"),
    ("PATCH", "{}", NONE, r#"{"Bogus": 1}"#, 400, "PropertyUnknown"),
    ("PATCH", "{}", NONE, r#"{"UUID": "x"}"#, 400, "PropertyNotWritable"),
    ("PATCH", "{}", NONE, r#"{"AssetTag": 1}"#, 400, "PropertyValueTypeError"),
    ("GET", "{}?$expand=*($levels=99)", NONE, "", 400, "QueryParameterOutOfRange"),
    ("GET", "{}?$filter=x", NONE, "", 501, "QueryParameterUnsupported"),
];
const NONE: Header = ("X-Nothing", "");

#[tokio::test]
async fn what_cannot_be_answered_is_refused_for_its_own_reason() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    for (method, path, (name, value), body, expected, message) in REFUSED {
        let what = format!("{method} {path} {value} {body}");
        let url = client.url(&path.replace("{}", &host.system_path()));
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = client.basic(client.http.request(method, url));
        let answer = request.header(name, value).body(body).send().await.unwrap();
        assert_eq!(answer.status(), expected, "{what}");
        if message == "OperationNotAllowed" {
            assert!(header(&answer, "Allow").starts_with("GET"), "{what}");
        }
        assert_eq!(header(&answer, "OData-Version"), "4.0", "{what}");
        let body: serde_json::Value = answer.json().await.unwrap();
        assert_eq!(messages(&body), [message], "{what}");
        assert!(
            body["error"]["code"].is_string() && body["error"]["message"].is_string(),
            "{what}"
        );
    }
}

#[tokio::test]
async fn a_change_is_made_as_far_as_it_can_or_not_at_all() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    let path = host.system_path();
    let (status, body) = send(client.patch(&path, &json!({"AssetTag": "x", "Bogus": 1, "UUID": "y"}))).await;
    assert_eq!((status, &body["AssetTag"]), (200, &json!("x")));
    assert_eq!(messages(&body), ["PropertyUnknown", "PropertyNotWritable"]);
    assert_eq!(
        body["@Message.ExtendedInfo"][0]["RelatedProperties"],
        json!(["#/Bogus"])
    );
    let wrong = json!({"AssetTag": "y", "LocationIndicatorActive": "on"});
    let (status, _) = send(client.patch(&path, &wrong)).await;
    assert_eq!((status, &client.system().await["AssetTag"]), (400, &json!("x")));
    let ntp = "/redfish/v1/Managers/BMC/NetworkProtocol";
    for (servers, expected) in [
        (
            json!(["a.example", "b.example"]),
            json!(["a.example", "b.example"]),
        ),
        (json!([null, {}]), json!(["b.example"])),
        (json!([]), json!([])),
    ] {
        let (status, body) = send(client.patch(ntp, &json!({"NTP": {"NTPServers": servers}}))).await;
        assert_eq!((status, &body["NTP"]["NTPServers"]), (200, &expected));
    }
}

#[tokio::test]
async fn a_login_is_asked_for_before_anything_else() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    let tag = header(&client.get(&host.system_path()).send().await.unwrap(), "ETag");
    let url = client.url(&host.system_path());
    for (what, request) in [
        ("a known tag", client.http.get(&url).header("If-None-Match", &tag)),
        ("a wrong method", client.http.delete(&url)),
        (
            "a wrong media type",
            client.http.get(&url).header("Accept", "text/html"),
        ),
        ("no resource", client.http.get(client.url("/redfish/v1/Nothing"))),
        ("a bad body", client.http.patch(&url).body("{")),
    ] {
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 401, "{what}");
        assert!(header(&answer, "WWW-Authenticate").starts_with("Basic"), "{what}");
    }
}

#[tokio::test]
async fn http_without_tls_is_neither_answered_nor_redirected() {
    let (_sim, host, _client) = with(RedfishSpec::default()).await;
    let mut stream = tokio::net::TcpStream::connect(host.address()).await.unwrap();
    let request = format!("GET /redfish/v1/ HTTP/1.1\r\nHost: {}\r\n\r\n", host.address());
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // The end may be a reset: what came before it counts.
    let _ = stream.read_to_end(&mut answer).await;
    assert!(
        !answer.starts_with(b"HTTP/"),
        "{}",
        String::from_utf8_lossy(&answer)
    );
    let seen = host.wait_for(|now| now.counters.tls_failures == 1).await.unwrap();
    assert_eq!(seen.counters.requests, 0);
}

#[tokio::test]
async fn a_body_in_a_get_is_ignored() {
    let (_sim, _host, client) = with(RedfishSpec::default()).await;
    let request = client
        .get("/redfish/v1/Systems")
        .body("{{{")
        .header("Content-Type", "text/plain");
    assert_eq!(status(request).await, 200);
}
