//! BMCs that repeat what they were told in confidence.

use super::*;

#[tokio::test]
async fn a_session_whose_place_tells_a_secret_is_ended_but_not_kept_for_a_successor() {
    for secret in [TOKEN, CANARY, "%63anary-Pa55word"] {
        let place = format!("/redfish/v1/SessionService/Sessions/{secret}");
        let ended = format!("DELETE {place}");
        let inner = well_behaved();
        let fake = Fake::start(move |seen: Seen| match seen.method.as_str() {
            "POST" => reply(
                201,
                &[("x-auth-token", TOKEN), ("location", place.as_str())],
                "{}",
            ),
            "DELETE" => reply(204, &[], ""),
            _ => inner(seen),
        })
        .await;
        let mut bmc = connect(BmcTarget {
            auth: AuthMethod::Session,
            ..of(&fake)
        })
        .await;
        assert_eq!(bmc.read().await.unwrap().session, None);
        assert!(bmc.close().await.unwrap());
        assert_eq!(fake.log().last(), Some(&ended));
    }
}

#[tokio::test]
async fn a_secret_in_the_name_of_a_system_is_not_shown() {
    let fake = Fake::start(|seen: Seen| {
        if seen.path == "/redfish/v1/Systems" {
            let member = format!("/redfish/v1/Systems/{CANARY}");
            answer(200, &json!({ "Members": [{ "@odata.id": member }] }))
        } else {
            answer(404, &json!({}))
        }
    })
    .await;
    let mut bmc = connect(target(fake.address, &fake.authority, "")).await;
    let error = bmc.read().await.unwrap_err();
    assert_eq!(error.reason(), "BmcSystemNotFound");
    assert_fit_to_show(&error);
}

#[tokio::test]
async fn echoed_secrets_are_shown_nowhere() {
    let plain = format!("{CANARY} {TOKEN} cm9vdDpjYW5hcnktUGE1NXdvcmQ=");
    // Of the password alone, of all of the login, and as a form is sent.
    let disguised = [
        "Y2FuYXJ5LVBhNTV3b3Jk",
        "eyJQYXNzd29yZCI6ImNhbmFyeS1QYTU1d29yZCJ9",
        "canary%2DPa55word",
    ];
    for echo in [plain].into_iter().chain(disguised.map(str::to_owned)) {
        shows_nothing_of(&echo).await;
    }
}

async fn shows_nothing_of(echo: &str) {
    let inner = well_behaved();
    let (echo, echoed) = (echo.to_owned(), echo);
    let fake = Fake::start(move |seen: Seen| match seen.method.as_str() {
        "GET" => {
            let mut system = system("On");
            system["PowerState"] = json!(echo);
            system["UUID"] = json!(echo);
            system["SerialNumber"] = json!(format!("{}{echo}", " x".repeat(30)));
            answer(200, &system)
        }
        "POST" if seen.path == RESET => answer(
            400,
            &json!({"error": {"@Message.ExtendedInfo": [{"Message": echo}]}}),
        ),
        _ => inner(seen),
    })
    .await;
    for auth in [AuthMethod::Basic, AuthMethod::Session] {
        let mut bmc = connect(BmcTarget { auth, ..of(&fake) }).await;
        let reading = bmc.read().await.unwrap();
        let answered = bmc.command(Verb::PowerOff, soon()).await;
        let shown = format!("{reading:?} {answered:?} {bmc:?}");
        assert!(!shown.contains(CANARY) && !shown.contains("cm9vd"), "{shown}");
        assert!(!shown.contains(echoed), "{shown}");
        assert!(auth == AuthMethod::Basic || !shown.contains("t0ken"), "{shown}");
        assert!(shown.contains("[redacted]"));
    }
    assert!(!format!("{:?}", of(&fake)).contains(CANARY));
}
