use bmc_simulator::{Event, RedfishSpec};
use reqwest::RequestBuilder;
use serde_json::json;

use super::{ACCOUNTS, SESSIONS, messages, send, with};
use crate::client::{Client, status};

async fn account(client: &Client, name: &str, role: &str) {
    let body = json!({"UserName": name, "Password": "some-password", "RoleId": role});
    assert_eq!(status(client.post(ACCOUNTS, &body)).await, 201);
}

fn as_user(request: RequestBuilder, name: &str) -> RequestBuilder {
    request.basic_auth(name, Some("some-password"))
}

#[tokio::test]
async fn each_role_may_do_what_its_privileges_say() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    account(&client, "reader", "ReadOnly").await;
    account(&client, "operator", "Operator").await;
    let reset = format!("{}/Actions/ComputerSystem.Reset", host.system_path());
    let asset = json!({"AssetTag": "x"});
    let kind = json!({"ResetType": "ForceOff"});
    let timeout = json!({"SessionTimeout": 60});
    let password = json!({"Password": "other-password"});
    let manager = "/redfish/v1/Managers/BMC/Actions/Manager.Reset";
    let http = &client.http;
    let url = |path: &str| client.url(path);
    for (what, build, reader, operator) in [
        ("read", http.get(url(&host.system_path())), 200, 200),
        (
            "asset tag",
            http.patch(url(&host.system_path())).json(&asset),
            403,
            200,
        ),
        ("reset", http.post(url(&reset)).json(&kind), 403, 204),
        (
            "time-out",
            http.patch(url("/redfish/v1/SessionService")).json(&timeout),
            403,
            403,
        ),
        ("BMC reset", http.post(url(manager)).json(&json!({})), 403, 403),
        (
            "another account",
            http.get(url(&format!("{ACCOUNTS}/1"))),
            403,
            403,
        ),
        (
            "its password",
            http.patch(url(&format!("{ACCOUNTS}/1"))).json(&password),
            403,
            403,
        ),
        ("new account", http.post(url(ACCOUNTS)).json(&json!({})), 403, 403),
        ("list of accounts", http.get(url(ACCOUNTS)), 200, 200),
        ("not there", http.get(url("/redfish/v1/Nothing")), 404, 404),
        ("not so", http.delete(url("/redfish/v1/Systems")), 405, 405),
    ] {
        let again = build.try_clone().expect("no stream");
        let (found, body) = send(as_user(build, "reader")).await;
        assert_eq!(found, reader, "reader, {what}: {body}");
        if found == 403 {
            assert_eq!(messages(&body), ["InsufficientPrivilege"], "{what}");
        }
        assert_eq!(
            status(as_user(again, "operator")).await,
            operator,
            "operator, {what}"
        );
    }
    assert_eq!(host.truth().on_to_off, 1);
    let refused = |event: &Event| {
        matches!(
            event,
            Event::CommandRefused {
                status: Some(403),
                ..
            }
        )
    };
    assert_eq!(
        host.journal()
            .iter()
            .filter(|entry| refused(&entry.event))
            .count(),
        1
    );
    assert_eq!(host.counters().auth_failures, 0);
}

#[tokio::test]
async fn everybody_may_mind_their_own_account_and_session() {
    let (_sim, _host, client) = with(RedfishSpec::default()).await;
    account(&client, "reader", "ReadOnly").await;
    let own = format!("{ACCOUNTS}/2");
    let http = &client.http;
    assert_eq!(status(as_user(http.get(client.url(&own)), "reader")).await, 200);
    let body = json!({"UserName": "reader", "Password": "some-password"});
    for _ in 0..2 {
        assert_eq!(status(http.post(client.url(SESSIONS)).json(&body)).await, 201);
    }
    assert_eq!(client.login().await.status(), 201);
    let foreign = http.delete(client.url(&format!("{SESSIONS}/3")));
    assert_eq!(status(as_user(foreign, "reader")).await, 403);
    let own_session = http.delete(client.url(&format!("{SESSIONS}/1")));
    assert_eq!(status(as_user(own_session, "reader")).await, 204);
    // An administrator may end anybody's.
    assert_eq!(status(client.delete(&format!("{SESSIONS}/2"))).await, 204);
    let away = http.delete(client.url(&own));
    assert_eq!(status(as_user(away, "reader")).await, 403);
    let password = http
        .patch(client.url(&own))
        .json(&json!({"Password": "other-password"}));
    assert_eq!(status(as_user(password, "reader")).await, 200);
    for more in [
        json!({"RoleId": "Administrator"}),
        json!({"Enabled": true, "Password": "any-password"}),
    ] {
        let rise = http.patch(client.url(&own)).json(&more);
        let (refused, answer) = send(rise.basic_auth("reader", Some("other-password"))).await;
        assert_eq!(
            (refused, messages(&answer)),
            (403, vec!["InsufficientPrivilege".to_owned()]),
            "{more}"
        );
    }
    assert_eq!(client.read(&own).await["RoleId"], "ReadOnly");
    // An account that is switched off lets nobody in.
    assert_eq!(status(client.patch(&own, &json!({"Enabled": false}))).await, 200);
    let read = http
        .get(client.url(&own))
        .basic_auth("reader", Some("other-password"));
    assert_eq!(status(read).await, 401);
}

#[tokio::test]
async fn the_roles_are_those_of_the_specification_and_stay() {
    let (_sim, _host, client) = with(RedfishSpec::default()).await;
    let roles = "/redfish/v1/AccountService/Roles";
    assert_eq!(client.read(roles).await["Members@odata.count"], 3);
    let operator = client.read(&format!("{roles}/Operator")).await;
    let privileges = json!(["Login", "ConfigureComponents", "ConfigureSelf"]);
    assert_eq!(
        (&operator["AssignedPrivileges"], &operator["IsPredefined"]),
        (&privileges, &json!(true))
    );
    let more = client.patch(
        &format!("{roles}/ReadOnly"),
        &json!({"AssignedPrivileges": ["Login"]}),
    );
    assert_eq!(status(more).await, 405);
}
