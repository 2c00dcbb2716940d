//! Which sessions somebody should have closed.

use std::time::Duration;

use bmc_simulator::{Delivery, Ended, Event, Fault, Host, HostSpec, Oracle, RequestClass, Simulator};
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};

use super::broken;
use crate::client::{Client, header, one, soon, status};
use crate::service::pass;

const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";
const ACCOUNTS: &str = "/redfish/v1/AccountService/Accounts";
const BOB: &str = "/redfish/v1/AccountService/Accounts/2";

/// A BMC with an account beside its own, and a session of each.
async fn two() -> (Simulator, Host, Client, [Response; 2]) {
    let (sim, host) = one(HostSpec::new("a").credentials("admin", "first-password")).await;
    let client = Client::of(&host);
    let bob = json!({"UserName": "bob", "Password": "bobs-password", "RoleId": "Operator"});
    let made = client.basic(client.http.post(client.url(ACCOUNTS)).json(&bob));
    assert_eq!(status(made).await, 201);
    let body = json!({"UserName": "bob", "Password": "bobs-password"});
    let own = client.login().await;
    let bobs = client.http.post(client.url(SESSIONS)).json(&body).send().await;
    let sessions = [own, bobs.unwrap()];
    (sim, host, client, sessions)
}

fn patch(client: &Client, path: &str, body: &Value) -> RequestBuilder {
    client.basic(client.http.patch(client.url(path))).json(body)
}

/// Which sessions ended without anybody's wish, and why.
fn ended(host: &Host) -> Vec<(String, Ended)> {
    let of = |event: &Event| {
        if let Event::SessionEnded { session, reason } = event {
            Some((session.clone(), *reason))
        } else {
            None
        }
    };
    host.journal()
        .iter()
        .filter_map(|entry| of(&entry.event))
        .collect()
}

/// Ids of the sessions that the verdict names.
fn leaked(host: &Host) -> Vec<String> {
    let breaches = host.judge(&[Oracle::LeakedSession]);
    let id = |text: &str| text.split(' ').nth(1).unwrap_or_default().to_owned();
    breaches.iter().map(|breach| id(&breach.text)).collect()
}

#[tokio::test]
async fn sessions_end_with_their_account_and_others_stay() {
    for (change, reason) in [
        (None, Ended::AccountDeleted),
        (Some(json!({"Enabled": false})), Ended::AccountDisabled),
        (
            Some(json!({"Password": "bobs-second-password"})),
            Ended::CredentialsRotated,
        ),
        (Some(json!({"UserName": "bert"})), Ended::CredentialsRotated),
    ] {
        let (_sim, host, client, _sessions) = two().await;
        assert_eq!(leaked(&host), ["1", "2"]);
        let done = match &change {
            Some(body) => status(patch(&client, BOB, body)).await,
            None => status(client.basic(client.http.delete(client.url(BOB)))).await,
        };
        assert!(done == 200 || done == 204, "{done}");
        assert_eq!(ended(&host), [("2".to_owned(), reason)]);
        assert_eq!(leaked(&host), ["1"], "{change:?}");
    }
}

#[tokio::test]
async fn the_session_that_changes_the_own_password_stays_and_is_to_be_closed() {
    let (_sim, host, client, [mine, _]) = two().await;
    client.login().await;
    let rotate = client
        .http
        .patch(client.url(&format!("{ACCOUNTS}/1")))
        .header("X-Auth-Token", header(&mine, "X-Auth-Token"))
        .json(&json!({"Password": "second-password"}));
    assert_eq!(status(rotate).await, 200);
    assert_eq!(ended(&host), [("3".to_owned(), Ended::CredentialsRotated)]);
    assert_eq!(leaked(&host), ["1", "2"]);
}

#[tokio::test]
async fn nobody_can_close_what_went_with_the_bmc() {
    for (what, reason) in [
        ("reboot", Ended::BmcGone),
        ("cut", Ended::BmcGone),
        ("rotate", Ended::CredentialsRotated),
    ] {
        let (_sim, host, _client, _sessions) = two().await;
        match what {
            "reboot" => host.reboot_bmc(),
            "cut" => host.cut_mains(),
            _ => host.rotate_credentials("admin", "second-password").unwrap(),
        }
        assert_eq!(ended(&host), [("1".to_owned(), reason), ("2".to_owned(), reason)]);
        assert_eq!(broken(&host), []);
    }
}

#[tokio::test]
async fn a_session_that_its_client_never_heard_of_is_not_its_to_close() {
    let timeout = Duration::from_mins(30);
    for (fault, known) in [
        (Fault::DropAfterExecute, false),
        (Fault::ExecuteThenStatus { status: 500 }, false),
        (Fault::CutAnswer { after: 0 }, false),
        (
            Fault::Header {
                name: "X-Auth-Token".to_owned(),
                value: "another".to_owned(),
            },
            false,
        ),
        // Status, token and location are in the head.
        (Fault::TruncatedJson, true),
        (
            Fault::SlowAnswer {
                by: Duration::from_millis(1),
            },
            true,
        ),
        (
            Fault::SlowLoris {
                every: Duration::from_micros(1),
            },
            true,
        ),
    ] {
        let (_sim, host) = one(HostSpec::new("a")).await;
        let client = Client::of(&host);
        host.inject(fault.clone().on(RequestClass::SessionCreate))
            .unwrap();
        let login = host.credentials();
        let body = json!({"UserName": login.username, "Password": login.password});
        let sent = client.http.post(client.url(SESSIONS)).json(&body).send().await;
        assert!(!known || sent.is_ok_and(|answer| answer.status() == 201));
        assert_eq!(host.snapshot().sessions.len(), 1);
        let leak: &[Oracle] = if known { &[Oracle::LeakedSession] } else { &[] };
        assert_eq!(broken(&host), leak, "{fault:?}");
        pass(timeout).await;
        soon(host.wait_for(|now| now.sessions.is_empty())).await.unwrap();
        assert_eq!(broken(&host), leak, "left to its time-out after {fault:?}");
    }
}

#[tokio::test]
async fn the_journal_says_whether_a_session_was_told_of() {
    let (_sim, host, _client, _sessions) = two().await;
    let created = |event: &Event| {
        matches!(
            event,
            Event::SessionCreated {
                status: Some(201),
                delivery: Delivery::Sent,
                ..
            }
        )
    };
    assert_eq!(
        host.journal()
            .iter()
            .filter(|entry| created(&entry.event))
            .count(),
        2
    );
}
