//! Sessions, Basic, and what a rejection means.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::{CommandAnswer, Refusal};

/// How often a session was asked for.
fn logins(fake: &Fake) -> usize {
    let log = fake.log();
    let asked = log
        .iter()
        .filter(|line| line.starts_with("POST ") && line.ends_with("/Sessions"));
    asked.count()
}

#[tokio::test]
async fn auto_falls_back_over_the_old_place_to_basic() {
    let inner = well_behaved();
    let root = json!({
        "Systems": {"@odata.id": "/redfish/v1/Systems"},
        "Links": {"Sessions": {"@odata.id": "/redfish/v1/Sessions"}},
    });
    let fake = Fake::start(move |seen: Seen| match seen.line().as_str() {
        "POST /redfish/v1/SessionService/Sessions" => reply(405, &[], ""),
        "GET /redfish/v1/" => answer(200, &root),
        "POST /redfish/v1/Sessions" => reply(404, &[], ""),
        _ => inner(seen),
    })
    .await;
    let mut bmc = connect(BmcTarget {
        auth: AuthMethod::Auto,
        ..of(&fake)
    })
    .await;
    bmc.read().await.unwrap();
    bmc.read().await.unwrap();
    assert_eq!((fake.log().len(), fake.accepted(), logins(&fake)), (5, 1, 2));
    let mut strict = connect(BmcTarget {
        auth: AuthMethod::Session,
        ..of(&fake)
    })
    .await;
    assert_eq!(strict.read().await, Err(BmcError::SessionsUnsupported));
}

#[tokio::test]
async fn auto_uses_basic_where_all_sessions_are_taken() {
    let inner = well_behaved();
    let fake = Fake::start(move |seen: Seen| match seen.line().as_str() {
        "POST /redfish/v1/SessionService/Sessions" => answer(
            503,
            &json!({"error": {"@Message.ExtendedInfo": [{"MessageId": "IDRAC.2.4.RAC0218"}]}}),
        ),
        _ => inner(seen),
    })
    .await;
    let mut bmc = connect(BmcTarget {
        auth: AuthMethod::Auto,
        ..of(&fake)
    })
    .await;
    bmc.read().await.unwrap();
    assert_eq!(fake.log().len(), 2);
    let mut strict = connect(BmcTarget {
        auth: AuthMethod::Session,
        ..of(&fake)
    })
    .await;
    assert!(strict.read().await.unwrap_err().is_transient());
}

#[tokio::test]
async fn an_ended_session_is_renewed_for_reads_only() {
    let ended = Arc::new(Mutex::new(false));
    let (inner, gone) = (well_behaved(), Arc::clone(&ended));
    let fake = Fake::start(move |seen: Seen| {
        if seen.path.ends_with("/Sessions") {
            *gone.lock().unwrap() = false;
        } else if *gone.lock().unwrap() {
            return answer(401, &json!({}));
        }
        inner(seen)
    })
    .await;
    let mut bmc = connect(BmcTarget {
        auth: AuthMethod::Session,
        ..of(&fake)
    })
    .await;
    bmc.read().await.unwrap();
    *ended.lock().unwrap() = true;
    bmc.read().await.unwrap();
    assert_eq!(logins(&fake), 2);
    *ended.lock().unwrap() = true;
    let refused = bmc.command(Verb::PowerOff, soon()).await.unwrap();
    assert!(
        matches!(
            refused,
            CommandAnswer::Refused {
                class: Refusal::SessionEnded,
                ..
            }
        ),
        "{refused:?}"
    );
    assert_eq!(bmc.command(Verb::PowerOff, soon()).await, Err(BmcError::NotRead));
    bmc.read().await.unwrap();
    assert!(matches!(
        bmc.command(Verb::PowerOff, soon()).await,
        Ok(CommandAnswer::Accepted)
    ));
    assert_eq!(logins(&fake), 3);
}

#[tokio::test]
async fn rejected_credentials_are_tried_once() {
    for (auth, status, body) in [
        (
            AuthMethod::Basic,
            401,
            json!({"error": {"message": format!("no {CANARY} cm9vdDpjYW5hcnktUGE1NXdvcmQ=")}}),
        ),
        (AuthMethod::Session, 401, json!({"error": {"message": CANARY}})),
        (AuthMethod::Auto, 403, json!({})),
        (
            AuthMethod::Auto,
            400,
            json!({"error": {"@Message.ExtendedInfo": [{"MessageId": "iLO.2.14.UnauthorizedLoginAttempt"}]}}),
        ),
    ] {
        let fake = Fake::start(move |_| answer(status, &body)).await;
        let mut bmc = connect(BmcTarget { auth, ..of(&fake) }).await;
        for _ in 0..3 {
            let error = bmc.read().await.unwrap_err();
            assert_eq!(error.reason(), "BmcCredentialsRejected");
            assert!(!error.is_transient());
            assert_fit_to_show(&error);
        }
        assert_eq!(
            bmc.command(Verb::PowerOff, soon()).await.unwrap_err().reason(),
            "BmcCredentialsRejected"
        );
        assert_eq!(fake.log().len(), 1, "{auth:?}");
    }
}

#[tokio::test]
async fn what_an_accepted_login_may_not_do_is_not_a_rejected_login() {
    for auth in [AuthMethod::Session, AuthMethod::Basic] {
        let denies = Arc::new(AtomicBool::new(false));
        let (inner, deny) = (well_behaved(), Arc::clone(&denies));
        let fake = Fake::start(move |seen: Seen| {
            if deny.load(Ordering::SeqCst) && seen.path == PATH {
                answer(403, &json!({}))
            } else {
                inner(seen)
            }
        })
        .await;
        let mut bmc = connect(BmcTarget { auth, ..of(&fake) }).await;
        bmc.read().await.unwrap();
        denies.store(true, Ordering::SeqCst);
        assert_eq!(bmc.read().await.unwrap_err().reason(), "BmcForbidden");

        denies.store(false, Ordering::SeqCst);

        bmc.read().await.unwrap();
    }
}

#[tokio::test]
async fn a_service_whose_root_has_no_sessions_gets_basic() {
    let inner = well_behaved();
    let demand = ("www-authenticate", "Basic realm=\"BMC\"");
    let root = json!({"Systems": {"@odata.id": "/redfish/v1/Systems"}});
    let fake = Fake::start(move |seen| match seen.line().as_str() {
        "POST /redfish/v1/SessionService/Sessions" => reply(401, &[demand], ""),
        "GET /redfish/v1/" => {
            assert_eq!(seen.header("authorization"), "");
            answer(200, &root)
        }
        _ => inner(seen),
    })
    .await;
    let mut bmc = connect(BmcTarget {
        auth: AuthMethod::Auto,
        ..of(&fake)
    })
    .await;

    let reading = bmc.read().await.unwrap();

    assert_eq!(reading.literal.as_deref(), Some("On"));
    assert_eq!(fake.log().len(), 3);
}

#[tokio::test]
async fn a_rejection_by_a_service_with_sessions_is_final() {
    let demand = ("www-authenticate", "Basic realm=\"BMC\"");
    let root = json!({
        "Systems": {"@odata.id": "/redfish/v1/Systems"},
        "Links": {"Sessions": {"@odata.id": "/redfish/v1/SessionService/Sessions"}},
    });
    let fake = Fake::start(move |seen| match seen.line().as_str() {
        "GET /redfish/v1/" => answer(200, &root),
        _ => reply(401, &[demand], ""),
    })
    .await;
    let mut bmc = connect(BmcTarget {
        auth: AuthMethod::Auto,
        ..of(&fake)
    })
    .await;
    for _ in 0..3 {
        let error = bmc.read().await.unwrap_err();
        assert_eq!(error.reason(), "BmcCredentialsRejected");
    }
    let log = fake.log();
    assert_eq!(
        log,
        ["POST /redfish/v1/SessionService/Sessions", "GET /redfish/v1/"]
    );
}

#[tokio::test]
async fn what_anybody_may_read_accepts_no_login() {
    let root = json!({"Systems": {"@odata.id": "/redfish/v1/ComputerSystems"}});
    let fake = Fake::start(move |seen: Seen| match seen.line().as_str() {
        "GET /redfish/v1/" => answer(200, &root),
        "GET /redfish/v1/Systems" => reply(404, &[], ""),
        _ => reply(403, &[], ""),
    })
    .await;
    let mut target = of(&fake);
    target.address.system_path = None;

    let error = connect(target).await.read().await.unwrap_err();

    assert_eq!(error.reason(), "BmcCredentialsRejected", "{error}");
}
