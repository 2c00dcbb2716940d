use std::time::Duration;

use std::net::{IpAddr, Ipv4Addr};

use bmc_simulator::{LockoutBy, LockoutSpec, RedfishSpec};
use serde_json::json;

use super::{ACCOUNTS, pass, send, with};
use crate::client::status;

fn spec(tries_prolong: bool) -> RedfishSpec {
    RedfishSpec {
        lockout: LockoutSpec {
            threshold: 3,
            duration: Duration::from_secs(40),
            reset_after: Duration::from_secs(40),
            tries_prolong,
            ..LockoutSpec::default()
        },
        ..RedfishSpec::default()
    }
}

#[tokio::test]
async fn failed_logins_lock_the_account_for_its_time() {
    for (prolong, after) in [(false, 200), (true, 401)] {
        let (_sim, host, client) = with(spec(prolong)).await;
        let right = || client.get("/redfish/v1/Systems");
        let url = client.url("/redfish/v1/Systems");
        let wrong = || client.http.get(&url).basic_auth("admin", Some("guess"));
        let session = client.login().await;
        for _ in 0..3 {
            assert_eq!(status(wrong()).await, 401);
        }
        // Neither HTTP Basic nor a new session gets in; a session that is open still does.
        assert_eq!(status(right()).await, 401);
        assert_eq!(client.login().await.status(), 401);
        let token = crate::client::header(&session, "X-Auth-Token");
        let own = client.http.get(client.url(&format!("{ACCOUNTS}/1")));
        let (_, account) = send(own.header("X-Auth-Token", token)).await;
        assert_eq!(account["Locked"], true);
        assert_eq!(host.counters().auth_failures, 5);

        pass(Duration::from_secs(25)).await;
        assert_eq!(status(right()).await, 401, "still locked");
        pass(Duration::from_secs(20)).await;
        assert_eq!(
            status(right()).await,
            after,
            "tries during the lock prolong it: {prolong}"
        );
        pass(Duration::from_secs(41)).await;
        assert_eq!(status(right()).await, 200);
    }
}

#[tokio::test]
async fn an_administrator_unlocks_and_sets_the_policy() {
    let (_sim, _host, client) = with(spec(false)).await;
    let service = "/redfish/v1/AccountService";
    let (changed, body) = send(client.patch(service, &json!({"AccountLockoutThreshold": 1}))).await;
    assert_eq!((changed, &body["AccountLockoutThreshold"]), (200, &json!(1)));
    assert_eq!((&body["AccountLockoutDuration"]), (&json!(40)));
    let bob = json!({"UserName": "bob", "Password": "bobs-password", "RoleId": "ReadOnly"});
    assert_eq!(status(client.post(ACCOUNTS, &bob)).await, 201);
    let as_bob = |password: &'static str| {
        let url = client.url("/redfish/v1/Systems");
        client.http.get(url).basic_auth("bob", Some(password))
    };
    assert_eq!(status(as_bob("guess")).await, 401);
    assert_eq!(status(as_bob("bobs-password")).await, 401);
    // Another's failures do not lock this one.
    let account = format!("{ACCOUNTS}/2");
    assert_eq!(client.read(&account).await["Locked"], true);
    let (refused, _) = send(client.patch(&account, &json!({"Locked": true}))).await;
    assert_eq!(refused, 400);
    let (unlocked, body) = send(client.patch(&account, &json!({"Locked": false}))).await;
    assert_eq!((unlocked, &body["Locked"]), (200, &json!(false)));
    assert_eq!(status(as_bob("bobs-password")).await, 200);
}

#[tokio::test]
async fn without_a_policy_nothing_is_locked() {
    let (_sim, _host, client) = with(RedfishSpec::default()).await;
    let read = || client.get("/redfish/v1/Systems");
    for _ in 0..12 {
        let wrong = client.http.get(client.url("/redfish/v1/Systems"));
        assert_eq!(status(wrong.basic_auth("admin", Some("guess"))).await, 401);
    }
    assert_eq!(status(read()).await, 200);
}

#[tokio::test]
async fn an_address_can_be_blocked_instead_of_the_account() {
    let mut redfish = spec(false);
    redfish.lockout.by = LockoutBy::Address;
    let (_sim, host, client) = with(redfish).await;
    let elsewhere = client.from(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 9)));
    for name in ["admin", "nobody", "admin"] {
        let wrong = client.http.get(client.url("/redfish/v1/Systems"));
        assert_eq!(status(wrong.basic_auth(name, Some("guess"))).await, 401);
    }
    // Neither an open connection nor a new one gets an answer, not even where no login is needed.
    assert!(client.http.get(client.url("/redfish/v1/")).send().await.is_err());
    assert!(crate::client::Client::of(&host).login_attempt().await.is_err());
    assert_eq!(
        status(elsewhere.get("/redfish/v1/Systems")).await,
        200,
        "the account is not locked"
    );

    pass(Duration::from_secs(40)).await;
    assert_eq!(status(client.get("/redfish/v1/Systems")).await, 200);
}
