//! The journal over the control API: pages of it, and logins that it must not let through.

use bmc_simulator::Power;
use reqwest::Method;
use serde_json::{Value, json};

use crate::control::Control;

#[tokio::test]
async fn a_page_has_as_many_entries_as_were_asked_for_and_the_next_one_goes_on() {
    let control = Control::start().await;
    for _ in 0..5 {
        control.host.press_power(Power::Off).unwrap();
        control.host.press_power(Power::On).unwrap();
    }
    let whole = control.ok(Method::GET, "/hosts/a/journal", "").await;
    assert_eq!(whole["more"], false);
    let (mut together, mut after) = (Vec::new(), json!(0));
    loop {
        let path = format!("/hosts/a/journal?limit=3&after={after}");
        let page = control.ok(Method::GET, &path, "").await;
        let entries: &Vec<Value> = page["entries"].as_array().unwrap();
        assert!(entries.len() <= 3);
        together.extend(entries.clone());
        after = page["lastSeq"].clone();
        if page["more"] == false {
            break;
        }
    }
    assert_eq!(json!(together), whole["entries"]);
}

#[tokio::test]
async fn a_login_that_no_client_could_send_is_refused_with_its_field() {
    let control = Control::start().await;
    let before = control.host.credentials();
    for (username, password, field) in [
        ("", "good", "username"),
        ("a:b", "good", "username"),
        ("a\u{7}b", "good", "username"),
        ("good", "", "password"),
        ("good", "a\nb", "password"),
    ] {
        let body = json!({"username": username, "password": password}).to_string();
        let (status, text) = control.send(Method::PUT, "/hosts/a/credentials", &body).await;
        let error: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((status, &error["error"]["field"]), (400, &json!(field)), "{text}");
        assert!(password.is_empty() || !text.contains(password), "{text}");
    }
    assert_eq!(control.host.credentials().username, before.username);
    assert_eq!(control.host.credentials().password, before.password);
}
