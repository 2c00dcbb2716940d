use bmc_simulator::{Event, RedfishSpec};
use serde_json::json;

use super::{ACCOUNTS, SESSIONS, messages, send, with};
use crate::client::{header, status};

#[tokio::test]
async fn an_account_is_made_used_changed_and_deleted() {
    let (_sim, _host, client) = with(RedfishSpec::default()).await;
    let body = json!({"UserName": "bob", "Password": "bobs-password", "RoleId": "ReadOnly"});
    let made = client.post(ACCOUNTS, &body).send().await.unwrap();
    assert_eq!(made.status(), 201);
    let place = header(&made, "Location");
    assert_eq!(place, format!("{ACCOUNTS}/2"));
    let text = made.text().await.unwrap();
    assert!(text.contains("bob") && !text.contains("bobs-password"), "{text}");
    let as_bob = |password: &'static str| {
        client
            .http
            .get(client.url("/redfish/v1/Systems"))
            .basic_auth("bob", Some(password))
    };
    assert_eq!(status(as_bob("bobs-password")).await, 200);

    let (changed, body) = send(client.patch(&place, &json!({"Password": "another-password"}))).await;
    assert_eq!((changed, &body["Password"]), (200, &json!(null)));
    assert_eq!(status(as_bob("bobs-password")).await, 401);
    assert_eq!(status(as_bob("another-password")).await, 200);
    let (_, body) = send(client.patch(&place, &json!({"RoleId": "Operator", "UserName": "bert"}))).await;
    let link = &body["Links"]["Role"]["@odata.id"];
    assert_eq!(*link, json!("/redfish/v1/AccountService/Roles/Operator"));
    assert_eq!(status(as_bob("another-password")).await, 401);

    assert_eq!(status(client.delete(&place)).await, 204);
    assert_eq!(status(client.get(&place)).await, 404);
    assert_eq!(client.read(ACCOUNTS).await["Members@odata.count"], 1);
}

#[tokio::test]
async fn the_password_of_the_bmc_is_rotated_for_the_next_login() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    let (mine, other) = (client.login().await, client.login().await);
    let token = header(&mine, "X-Auth-Token");
    let rotate = client
        .http
        .patch(client.url(&format!("{ACCOUNTS}/1")))
        .header("X-Auth-Token", &token)
        .json(&json!({"Password": "second-password"}));
    assert_eq!(status(rotate).await, 200);
    assert_eq!(host.credentials().password, "second-password");
    let read = |token: &str| {
        let url = client.url("/redfish/v1/Systems");
        client.http.get(url).header("X-Auth-Token", token)
    };
    // The session that changed it lives on, all others of the account end.
    assert_eq!(status(read(&token)).await, 200);
    assert_eq!(status(read(&header(&other, "X-Auth-Token"))).await, 401);
    let old = json!({"UserName": "admin", "Password": "first-password"});
    assert_eq!(
        status(client.http.post(client.url(SESSIONS)).json(&old)).await,
        401
    );
    assert_eq!(client.login().await.status(), 201);
    let rotated = |event: &Event| matches!(event, Event::CredentialsRotated { .. });
    assert!(host.journal().iter().any(|entry| rotated(&entry.event)));
}

#[tokio::test]
async fn what_cannot_be_an_account_is_refused_and_changes_nothing() {
    let (_sim, _host, client) = with(RedfishSpec::default()).await;
    let good = json!({"UserName": "bob", "Password": "bobs-password", "RoleId": "ReadOnly"});
    for (name, value, message) in [
        ("UserName", json!(null), "PropertyValueTypeError"),
        ("UserName", json!("a:b"), "PropertyValueFormatError"),
        ("UserName", json!("admin"), "ResourceAlreadyExists"),
        ("Password", json!("short"), "PropertyValueFormatError"),
        (
            "Password",
            json!("longer-than-ipmi-can-take"),
            "PropertyValueFormatError",
        ),
        ("RoleId", json!("Emperor"), "PropertyValueNotInList"),
        ("Enabled", json!("yes"), "PropertyValueTypeError"),
        ("Colour", json!("red"), "PropertyUnknown"),
    ] {
        let mut body = good.clone();
        body[name] = value;
        let (status, answer) = send(client.post(ACCOUNTS, &body)).await;
        assert_eq!(
            (status, messages(&answer)),
            (400, vec![message.to_owned()]),
            "{body}"
        );
        assert!(
            !answer.to_string().contains("short"),
            "a password is repeated: {answer}"
        );
    }
    let (status, answer) = send(client.post(ACCOUNTS, &json!({"UserName": "bob"}))).await;
    assert_eq!(status, 400);
    assert_eq!(
        messages(&answer),
        [
            "CreateFailedMissingReqProperties",
            "CreateFailedMissingReqProperties"
        ]
    );
    assert_eq!(client.read(ACCOUNTS).await["Members@odata.count"], 1);
    let (status, answer) = send(client.delete(&format!("{ACCOUNTS}/1"))).await;
    assert_eq!(
        (status, messages(&answer)),
        (403, vec!["ResourceCannotBeDeleted".to_owned()])
    );
}

#[tokio::test]
async fn the_collection_is_full_at_some_point() {
    let (_sim, _host, client) = with(RedfishSpec::default()).await;
    let make = |number: u8| {
        let name = format!("user{number}");
        client.post(
            ACCOUNTS,
            &json!({"UserName": name, "Password": "some-password", "RoleId": "ReadOnly"}),
        )
    };
    for number in 2..=15 {
        assert_eq!(status(make(number)).await, 201, "{number}");
    }
    let (refused, answer) = send(make(16)).await;
    assert_eq!(
        (refused, messages(&answer)),
        (400, vec!["CreateLimitReachedForResource".to_owned()])
    );
}

#[tokio::test]
async fn a_password_that_must_be_changed_opens_nothing_else() {
    let (_sim, host, client) = with(RedfishSpec {
        password_change_required: true,
        ..RedfishSpec::default()
    })
    .await;
    let (own, other) = (format!("{ACCOUNTS}/1"), "/redfish/v1/Systems");
    let login = client.login().await;
    assert_eq!(login.status(), 201);
    let token = header(&login, "X-Auth-Token");
    let body: serde_json::Value = login.json().await.unwrap();
    assert_eq!(messages(&body), ["PasswordChangeRequired"]);

    let (refused, answer) = send(client.get(other)).await;
    assert_eq!(
        (refused, messages(&answer)),
        (403, vec!["PasswordChangeRequired".to_owned()])
    );
    assert_eq!(
        answer["error"]["@Message.ExtendedInfo"][0]["MessageArgs"],
        json!([own])
    );
    assert_eq!(client.send_reset("ForceOff").await, 403);
    assert_eq!(host.truth().on_to_off, 0);
    assert_eq!(client.read(&own).await["PasswordChangeRequired"], true);
    // It is no wrong login.
    assert_eq!(host.counters().auth_failures, 0);

    let way_around = client.patch(&own, &json!({"PasswordChangeRequired": false}));
    assert_eq!(status(way_around).await, 403);
    let (changed, answer) = send(client.patch(&own, &json!({"Password": "second-password"}))).await;
    assert_eq!((changed, &answer["PasswordChangeRequired"]), (200, &json!(false)));
    assert_eq!(status(client.get(other)).await, 200);
    let old = client.http.get(client.url(other)).header("X-Auth-Token", token);
    assert_eq!(status(old).await, 401);
}
