//! Which logins repeat one that was rejected.

use std::time::Duration;

use bmc_simulator::{BootSequence, Event, Fault, Host, HostSpec, Oracle, RequestClass, Simulator};
use reqwest::RequestBuilder;
use serde_json::json;

use super::broken;
use crate::client::{Client, header, listens, one, soon, status};

const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";
const ACCOUNTS: &str = "/redfish/v1/AccountService/Accounts";

async fn bmc() -> (Simulator, Host, Client) {
    let (sim, host) = one(HostSpec::new("a").credentials("admin", "right-password")).await;
    let client = Client::of(&host);
    (sim, host, client)
}

fn read(client: &Client, password: &str) -> RequestBuilder {
    let url = client.url(&client.host.system_path());
    client.http.get(url).basic_auth("admin", Some(password))
}

fn login(client: &Client, password: &str) -> RequestBuilder {
    let body = json!({"UserName": "admin", "Password": password});
    client.http.post(client.url(SESSIONS)).json(&body)
}

#[tokio::test]
async fn a_token_that_ended_is_no_rejected_login_nor_is_none_at_all() {
    let (_sim, host, client) = bmc().await;
    let token = header(&client.login().await, "X-Auth-Token");
    host.rotate_credentials("admin", "new-password").unwrap();
    for _ in 0..4 {
        let url = client.url(&host.system_path());
        let stale = client.http.get(url.clone()).header("X-Auth-Token", &token);
        assert_eq!(status(stale).await, 401);
        assert_eq!(status(client.http.get(url)).await, 401);
    }
    assert_eq!(host.counters().auth_failures, 8);
    assert_eq!(broken(&host), []);
}

#[tokio::test]
async fn the_same_credentials_again_are_found_even_when_they_are_accepted_then() {
    let (_sim, host, client) = bmc().await;
    host.inject(Fault::RejectCredentials.times(1)).unwrap();
    assert_eq!(status(login(&client, "right-password")).await, 401);
    assert_eq!(broken(&host), []);
    assert_eq!(status(read(&client, "right-password")).await, 200);
    assert_eq!(broken(&host), [Oracle::TryAfterRejection]);
    // They are right: from now on everybody may use them.
    assert_eq!(status(read(&client, "right-password")).await, 200);
    assert_eq!(broken(&host), [Oracle::TryAfterRejection]);
}

#[tokio::test]
async fn other_credentials_are_another_try() {
    let (_sim, host, client) = bmc().await;
    assert_eq!(status(read(&client, "wrong")).await, 401);
    assert_eq!(status(read(&client, "right-password")).await, 200);
    assert_eq!(status(read(&client, "stale")).await, 401);
    assert_eq!(status(login(&client, "typo")).await, 401);
    assert_eq!(broken(&host), []);
    assert_eq!(status(login(&client, "wrong")).await, 401);
    assert_eq!(
        broken(&host),
        [Oracle::TryAfterRejection, Oracle::ThirdRejection],
        "tried before the success, and the third in a row since"
    );
}

#[tokio::test]
async fn new_credentials_may_be_tried_after_old_ones_were_rejected() {
    let (_sim, host, client) = bmc().await;
    assert_eq!(status(read(&client, "x")).await, 401);
    host.rotate_credentials("admin", "y").unwrap();
    assert_eq!(status(read(&client, "x")).await, 401);
    host.rotate_credentials("admin", "x").unwrap();
    assert_eq!(status(read(&client, "x")).await, 200);
    assert_eq!(broken(&host), []);
}

#[tokio::test]
async fn what_happens_to_another_account_excuses_nobody() {
    let (_sim, host, client) = bmc().await;
    assert_eq!(status(read(&client, "wrong")).await, 401);
    let bob = json!({"UserName": "bob", "Password": "bobs-password", "RoleId": "ReadOnly"});
    let made = client.basic(client.http.post(client.url(ACCOUNTS)).json(&bob));
    assert_eq!(status(made).await, 201);
    assert_eq!(status(read(&client, "wrong")).await, 401);
    assert_eq!(broken(&host), [Oracle::TryAfterRejection]);
}

#[tokio::test]
async fn a_rejection_that_did_not_arrive_is_none() {
    for fault in [
        Fault::DropAfterExecute,
        Fault::ExecuteThenStatus { status: 503 },
        Fault::CutAnswer { after: 0 },
    ] {
        let (_sim, host, client) = bmc().await;
        host.inject(fault.on(RequestClass::SystemGet).times(1)).unwrap();
        // Of an answer that is cut off the head may arrive, but nobody can rely on it.
        drop(read(&client, "wrong").send().await);
        assert_eq!(status(read(&client, "wrong")).await, 401);
        assert_eq!(broken(&host), []);
        assert_eq!(status(read(&client, "wrong")).await, 401);
        assert_eq!(broken(&host), [Oracle::TryAfterRejection]);
    }
}

#[tokio::test]
async fn a_fault_that_answers_401_rejects_as_well_as_the_bmc() {
    for fault in [
        Fault::http_status(401).times(1),
        Fault::ExecuteThenStatus { status: 401 }.times(1),
    ] {
        for by_session in [false, true] {
            let (_sim, host, client) = bmc().await;
            host.inject(fault.clone()).unwrap();
            let first = if by_session {
                login(&client, "right-password")
            } else {
                read(&client, "right-password")
            };
            assert_eq!(status(first).await, 401);
            assert_eq!(status(read(&client, "right-password")).await, 200);
            assert_eq!(broken(&host), [Oracle::TryAfterRejection], "{fault:?}");
        }
    }
}

#[tokio::test]
async fn a_bmc_that_is_still_starting_rejects_like_any_other() {
    let rejecting = Duration::from_hours(1);
    let (_sim, host) = one(HostSpec::new("a").bmc_boot(BootSequence {
        dead: Duration::ZERO,
        not_ready: Duration::ZERO,
        rejecting,
        ..BootSequence::default()
    }))
    .await;
    host.reboot_bmc();
    listens(&host).await;
    let client = Client::of(&host);
    assert_eq!(status(client.get(&host.system_path())).await, 401);
    crate::service::pass(rejecting).await;
    soon(host.wait_for(|now| now.bmc == bmc_simulator::Stage::Up))
        .await
        .unwrap();
    assert_eq!(status(client.get(&host.system_path())).await, 200);
    assert_eq!(broken(&host), [Oracle::TryAfterRejection]);
}

#[tokio::test]
async fn the_journal_tells_equal_credentials_apart_from_others_and_no_more() {
    let (sim, host, client) = bmc().await;
    for password in ["canary-one", "canary-one", "canary-two"] {
        assert_eq!(status(read(&client, password)).await, 401);
    }
    let journal = host.journal();
    let tried: Vec<_> = journal
        .iter()
        .filter_map(|entry| {
            if let Event::AuthFailed { tried, .. } = &entry.event {
                tried.clone()
            } else {
                None
            }
        })
        .collect();
    assert_eq!(tried[0], tried[1]);
    assert_eq!(tried[1].user, tried[2].user);
    assert_ne!(tried[1].credentials, tried[2].credentials);
    let text = serde_json::to_string(&sim.journal_after(0)).unwrap();
    assert!(!text.contains("canary") && !text.contains("admin"), "{text}");
}
