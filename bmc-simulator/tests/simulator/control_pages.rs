//! The control API: pages of what it tells, connections that it takes, and logins that it must not let through.

use bmc_simulator::Power;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::{Client, soon};
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
async fn breaches_are_told_from_an_entry_on_and_those_of_one_entry_together() {
    let control = Control::start().await;
    let client = Client::of(&control.host);
    // Neither is read before, each is relative, and the second repeats the first.
    for _ in 0..2 {
        assert_eq!(client.send_reset("ForceRestart").await, 204);
    }
    let whole = control.ok(Method::GET, "/breaches", "").await;
    let all: Vec<Value> = whole["breaches"].as_array().unwrap().clone();
    assert!(all.len() >= 4, "{whole}");
    let last = &all.last().unwrap()["seq"];
    assert_eq!((&whole["more"], &whole["lastSeq"]), (&json!(false), last));

    let first = control.ok(Method::GET, "/breaches?limit=1", "").await;
    let page: Vec<Value> = first["breaches"].as_array().unwrap().clone();
    assert!(
        page.len() > 1 && page.iter().all(|one| one["seq"] == all[0]["seq"]),
        "{first}"
    );
    assert_eq!(
        (&first["more"], &first["lastSeq"]),
        (&json!(true), &all[0]["seq"])
    );
    let path = format!("/breaches?after={}", first["lastSeq"]);
    let second = control.ok(Method::GET, &path, "").await;
    let together: Vec<Value> = page
        .iter()
        .chain(second["breaches"].as_array().unwrap())
        .cloned()
        .collect();
    assert_eq!((&together, &second["more"]), (&all, &json!(false)));

    let path = format!("/breaches?after={last}");
    let none = control.ok(Method::GET, &path, "").await;
    assert_eq!(none, json!({"breaches": [], "lastSeq": last, "more": false}));
    for (query, field) in [
        ("after=x", "after"),
        ("limit=0", "limit"),
        ("limit=10001", "limit"),
    ] {
        let (status, text) = control.send(Method::GET, &format!("/breaches?{query}"), "").await;
        let error: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((status, &error["error"]["field"]), (400, &json!(field)), "{text}");
    }
}

/// Asks over a connection that stays open; absent when it was reset.
async fn ask(address: &str) -> Option<TcpStream> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    stream
        .write_all(b"GET /ca.pem HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .ok()?;
    let read = soon(stream.read_u8()).await;
    read.ok().map(|_| stream)
}

#[tokio::test]
async fn one_connection_too_many_is_reset_and_there_is_room_again_when_another_ends() {
    let control = Control::start().await;
    let url = control.sim.control_url().unwrap();
    let address = url.trim_start_matches("http://");
    let mut open = Vec::new();
    while let Some(stream) = ask(address).await {
        open.push(stream);
        // Fewer where this process may open few files.
        assert!(open.len() <= 64, "there is no limit");
    }
    assert!(open.len() >= 8, "{}", open.len());
    open.pop();
    // Nothing tells when the server has seen that it is gone.
    let room = async {
        while ask(address).await.is_none() {
            tokio::task::yield_now().await;
        }
    };
    soon(room).await;
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
