//! Sessions and logins.

use bmc_simulator::{Event, HostSpec, RequestClass, Via};
use serde_json::{Value, json};

use crate::client::{Client, header, one, status};

const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";

#[tokio::test]
async fn a_session_opens_acts_and_closes() {
    let (_sim, host) = one(HostSpec::new("a").credentials("admin", "s3cret!")).await;
    let client = Client::of(&host);
    let answer = client.login().await;
    assert_eq!(answer.status(), 201);
    let (token, location) = (header(&answer, "X-Auth-Token"), header(&answer, "Location"));
    assert_eq!(location, format!("{SESSIONS}/1"));
    let body: Value = answer.json().await.unwrap();
    assert!(
        !body.to_string().contains("s3cret!") && !body.to_string().contains(&token),
        "{body}"
    );

    let reset = client.url(&format!("{}/Actions/ComputerSystem.Reset", host.system_path()));
    let off = client
        .http
        .post(reset)
        .header("X-Auth-Token", &token)
        .json(&json!({"ResetType": "ForceOff"}));
    assert_eq!(status(off).await, 204);
    let read = || {
        client
            .http
            .get(client.url(&host.system_path()))
            .header("X-Auth-Token", &token)
    };
    let system: Value = read().send().await.unwrap().json().await.unwrap();
    assert_eq!(system["PowerState"], "Off");
    assert_eq!(host.snapshot().sessions, ["1"]);

    let delete = client
        .http
        .delete(client.url(&location))
        .header("X-Auth-Token", &token);
    assert_eq!(status(delete).await, 204);
    assert_eq!(status(read()).await, 401);
    assert!(host.snapshot().sessions.is_empty());

    let session = Via::RedfishSession("1".to_owned());
    let by_session = |event: &Event| matches!(event, Event::Command { via, .. } if *via == session);
    assert_eq!(
        host.journal()
            .iter()
            .filter(|entry| by_session(&entry.event))
            .count(),
        1
    );
    let counters = host.counters();
    assert_eq!(
        (
            counters.session_create,
            counters.session_delete,
            counters.auth_failures
        ),
        (1, 1, 1)
    );
    assert_eq!(
        (counters.reset, counters.system_get, counters.requests),
        (1, 2, 5)
    );
}

#[tokio::test]
async fn sessions_are_listed_and_read() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    client.login().await;
    client.login().await;
    let list: Value = client.get(SESSIONS).send().await.unwrap().json().await.unwrap();
    assert_eq!(list["Members@odata.count"], 2);
    let service: Value = client
        .get("/redfish/v1/SessionService")
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(service["Sessions"]["@odata.id"], SESSIONS);
    let second: Value = client
        .get(&format!("{SESSIONS}/2"))
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(
        (&second["UserName"], &second["Password"]),
        (&json!("admin"), &Value::Null)
    );
    assert_eq!(status(client.get(&format!("{SESSIONS}/3"))).await, 404);
    assert_eq!(
        status(client.basic(client.http.delete(client.url(&format!("{SESSIONS}/3"))))).await,
        404
    );
}

#[tokio::test]
async fn wrong_logins_are_refused_and_counted() {
    let (_sim, host) = one(HostSpec::new("a").credentials("admin", "right")).await;
    let client = Client::of(&host);
    let post = |body: Value| client.http.post(client.url(SESSIONS)).json(&body);
    assert_eq!(
        status(post(json!({"UserName": "admin", "Password": "wrong"}))).await,
        401
    );
    assert_eq!(
        status(post(json!({"UserName": "root", "Password": "right"}))).await,
        401
    );
    assert_eq!(status(post(json!({"UserName": "admin"}))).await, 400);
    let read = || client.http.get(client.url(&host.system_path()));
    assert_eq!(status(read().basic_auth("admin", Some("wrong"))).await, 401);
    assert_eq!(status(read().header("Authorization", "Basic !!!")).await, 401);
    assert_eq!(status(read().header("Authorization", "Bearer right")).await, 401);
    // A bad token is not made good by the right password beside it.
    assert_eq!(
        status(client.basic(read()).header("X-Auth-Token", "guess")).await,
        401
    );
    assert_eq!(host.counters().auth_failures, 6);
    let classes = |class| {
        let failed = |event: &Event| matches!(event, Event::AuthFailed { class: of, .. } if *of == class);
        host.journal().iter().filter(|entry| failed(&entry.event)).count()
    };
    assert_eq!(
        (
            classes(RequestClass::SessionCreate),
            classes(RequestClass::SystemGet)
        ),
        (2, 4)
    );
}

#[tokio::test]
async fn rotation_ends_sessions_and_the_old_login() {
    let (_sim, host) = one(HostSpec::new("a").credentials("admin", "old")).await;
    let client = Client::of(&host);
    let token = header(&client.login().await, "X-Auth-Token");
    host.rotate_credentials("admin", "new").unwrap();
    let read = || client.http.get(client.url(&host.system_path()));
    assert_eq!(status(read().header("X-Auth-Token", token)).await, 401);
    assert_eq!(status(read().basic_auth("admin", Some("old"))).await, 401);
    assert_eq!(status(read().basic_auth("admin", Some("new"))).await, 200);
}
