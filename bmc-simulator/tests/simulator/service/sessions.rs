use std::time::Duration;

use bmc_simulator::{Event, RedfishSpec};
use serde_json::json;

use super::{SESSIONS, messages, pass, send, with};
use crate::client::{header, status};

#[tokio::test]
async fn there_is_room_for_so_many_and_no_more() {
    let spec = RedfishSpec {
        session_limit: 2,
        ..RedfishSpec::default()
    };
    let (_sim, host, client) = with(spec).await;
    let first = client.login().await;
    assert_eq!(
        (first.status().as_u16(), client.login().await.status().as_u16()),
        (201, 201)
    );
    let body = json!({"UserName": "admin", "Password": "first-password"});
    let (full, answer) = send(client.http.post(client.url(SESSIONS)).json(&body)).await;
    assert_eq!(
        (full, messages(&answer)),
        (503, vec!["SessionLimitExceeded".to_owned()])
    );
    // HTTP Basic needs no session, and a session that ends makes room.
    assert_eq!(status(client.delete(&header(&first, "Location"))).await, 204);
    assert_eq!(client.login().await.status(), 201);
    assert_eq!(host.counters().auth_failures, 0);
}

#[tokio::test]
async fn an_idle_session_ends_and_a_used_one_does_not() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    let service = "/redfish/v1/SessionService";
    assert_eq!(client.read(service).await["SessionTimeout"], 1800);
    for seconds in [29, 86_401] {
        let (refused, answer) = send(client.patch(service, &json!({"SessionTimeout": seconds}))).await;
        assert_eq!(
            (refused, messages(&answer)),
            (400, vec!["PropertyValueOutOfRange".to_owned()])
        );
    }
    let (changed, body) = send(client.patch(service, &json!({"SessionTimeout": 30}))).await;
    assert_eq!((changed, &body["SessionTimeout"]), (200, &json!(30)));

    let (used, idle) = (client.login().await, client.login().await);
    let read = |login: &reqwest::Response| {
        let token = header(login, "X-Auth-Token");
        client
            .http
            .get(client.url("/redfish/v1/Systems"))
            .header("X-Auth-Token", token)
    };
    for _ in 0..3 {
        pass(Duration::from_secs(20)).await;
        assert_eq!(status(read(&used)).await, 200);
    }
    assert_eq!(host.snapshot().sessions, ["1"]);
    assert_eq!(status(read(&idle)).await, 401);
    let expired = Event::SessionExpired {
        session: "2".to_owned(),
    };
    assert_eq!(
        host.journal()
            .iter()
            .filter(|entry| entry.event == expired)
            .count(),
        1
    );
}

#[tokio::test]
async fn a_session_is_opened_at_the_members_too() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    let body = json!({"UserName": "admin", "Password": "first-password"});
    let url = client.url(&format!("{SESSIONS}/Members"));
    let opened = client.http.post(url).json(&body).send().await.unwrap();
    assert_eq!(opened.status(), 201);
    assert_eq!(header(&opened, "Location"), format!("{SESSIONS}/1"));
    assert_eq!(host.counters().session_create, 1);
    let session: serde_json::Value = opened.json().await.unwrap();
    assert_eq!(
        (&session["UserName"], &session["SessionType"]),
        (&json!("admin"), &json!("Redfish"))
    );
    assert_eq!(status(client.get(&format!("{SESSIONS}/Members"))).await, 404);
}
