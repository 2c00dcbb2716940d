use base64::engine::general_purpose;
use proptest::prelude::*;

use super::*;

const SECRET: &str = r#"pä/s "w\o&r'd%7"#;

#[test]
fn every_usual_disguise_is_seen_through() {
    let json = serde_json::json!({ "Password": SECRET }).to_string();
    let percent = SECRET
        .bytes()
        .fold(String::new(), |text, byte| format!("{text}%{byte:02x}"));
    let twice = percent.replace('%', "%25");
    let base64 = general_purpose::STANDARD.encode(SECRET);
    let of_body = general_purpose::STANDARD_NO_PAD.encode(&json[..json.len() - 2]);
    let url = general_purpose::URL_SAFE.encode(format!("??{SECRET}"));
    let escaped = base64.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    for text in [
        format!("not accepted: {json}"),
        serde_json::json!(json).to_string(),
        r#"p\u00e4\/s \"w\\o\u0026r'd%7"#.to_owned(),
        "p&#228;/s &quot;w\\o&amp;r&#x27;d%7".to_owned(),
        format!("user=root&password={percent}"),
        twice,
        format!("Authorization: Basic {base64}."),
        format!("token:{}", base64.trim_end_matches('=')),
        format!("xx{of_body}"),
        url,
        escaped,
    ] {
        assert!(hides(&text, SECRET), "{text}");
    }
    for text in [
        "",
        "%",
        "\\",
        "&",
        "&#x;",
        "\\u12",
        "%zz",
        "the password is wrong",
        "====",
    ] {
        assert!(!hides(text, SECRET), "{text}");
    }
}

#[test]
fn short_secrets_are_not_seen_where_they_are_not() {
    assert!(!hides("/redfish/v1/SessionService/Sessions/1", "1"));
    assert!(hides("%31", "1"));
}

proptest! {
    #[test]
    fn no_text_is_too_odd(text in ".{0,200}", secret in ".{1,20}") {
        let _ = hides(&text, &secret);
        let base64 = general_purpose::STANDARD.encode(format!("{text}{secret}"));
        prop_assert!(secret.len() < FEWEST_BYTES || hides(&base64, &secret));
    }
}
