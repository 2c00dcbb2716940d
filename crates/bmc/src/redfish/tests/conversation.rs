//! The happy path and what it costs, and commands.

use super::*;
use crate::{CommandAnswer, PowerRead, Refusal};
use remediator_core::power::PowerState;

async fn remediate(bmc: &mut Bmc) -> Vec<PowerRead> {
    let mut readings = vec![bmc.read().await.unwrap()];
    assert!(matches!(
        bmc.command(Verb::PowerOff, soon()).await,
        Ok(CommandAnswer::Accepted)
    ));
    readings.push(bmc.read().await.unwrap());
    readings.push(bmc.read().await.unwrap());
    assert!(matches!(
        bmc.command(Verb::PowerOn, soon()).await,
        Ok(CommandAnswer::Accepted)
    ));
    readings.push(bmc.read().await.unwrap());
    readings
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_remediation_with_basic_is_six_requests_over_one_connection() {
    // Repeated, because a second connection would only sometimes be raced for.
    for _ in 0..20 {
        let fake = Fake::start(well_behaved()).await;
        let mut bmc = connect(of(&fake)).await;
        let readings = remediate(&mut bmc).await;
        let powers: Vec<PowerState> = readings.iter().map(|reading| reading.power).collect();
        assert_eq!(
            powers,
            [PowerState::On, PowerState::Off, PowerState::Off, PowerState::On]
        );
        let first = &readings[0];
        assert_eq!(
            (first.uuid.as_deref(), first.serial.as_deref()),
            (Some(UUID), Some("S1"))
        );
        assert_eq!(
            (first.system.as_str(), first.literal.as_deref()),
            (PATH, Some("On"))
        );
        assert!(first.began <= first.ended && first.ended <= readings[1].began);
        assert!(!format!("{bmc:?}").contains("canary"));
        assert!(!bmc.close().await.unwrap(), "there was no session");
        let (get, post) = (format!("GET {PATH}"), format!("POST {RESET}"));
        assert_eq!(
            fake.log(),
            [&get, &post, &get, &get, &post, &get].map(String::as_str)
        );
        assert_eq!(fake.accepted(), 1);
    }
}

#[tokio::test]
async fn a_session_costs_two_requests_more_and_is_ended() {
    for auth in [AuthMethod::Session, AuthMethod::Auto] {
        let fake = Fake::start(well_behaved()).await;
        let mut bmc = connect(BmcTarget { auth, ..of(&fake) }).await;
        remediate(&mut bmc).await;
        assert!(!format!("{bmc:?}").contains("canary"));
        assert!(bmc.close().await.unwrap(), "there was a session");
        assert_eq!((fake.log().len(), fake.accepted()), (8, 1));
        assert_eq!(fake.log()[7], "DELETE /redfish/v1/SessionService/Sessions/7");
    }
}

#[tokio::test]
async fn a_command_needs_a_successful_reading_before_it() {
    let fail = Arc::new(Mutex::new(false));
    let (inner, failing) = (well_behaved(), Arc::clone(&fail));
    let fake = Fake::start(move |seen| {
        if *failing.lock().unwrap() {
            reply(500, &[], "")
        } else {
            inner(seen)
        }
    })
    .await;
    let mut bmc = connect(of(&fake)).await;
    assert_eq!(bmc.command(Verb::PowerOff, soon()).await, Err(BmcError::NotRead));
    bmc.read().await.unwrap();
    *fail.lock().unwrap() = true;
    assert!(bmc.read().await.unwrap_err().is_transient());
    assert_eq!(bmc.command(Verb::PowerOn, soon()).await, Err(BmcError::NotRead));
    assert!(fake.log().iter().all(|line| line.starts_with("GET")));
}

/// What an answer to a command is taken for.
fn kind(answer: &Result<CommandAnswer, BmcError>) -> String {
    match answer {
        Ok(CommandAnswer::Accepted) => "accepted".to_owned(),
        Ok(CommandAnswer::AlreadyThereOrConflict { .. }) => "already".to_owned(),
        Ok(CommandAnswer::Refused { class, .. }) => format!("{class:?}"),
        Err(error) => error.reason().to_owned(),
    }
}

#[tokio::test]
async fn answers_to_commands_are_told_apart() {
    let says = |id: &str, text: &str| {
        json!({"error": {"@Message.ExtendedInfo": [{"MessageId": id, "Message": text}]}}).to_string()
    };
    for (status, body, expected) in [
        (200, String::new(), "accepted"),
        (
            202,
            r#"{"@odata.id":"/redfish/v1/TaskService/Tasks/1"}"#.to_owned(),
            "accepted",
        ),
        (200, says("Base.1.18.Success", ""), "accepted"),
        (200, says("Base.1.18.GeneralError", "broken"), "Failed"),
        (200, "<html></html>".to_owned(), "BmcOutcomeUnknown"),
        (409, says("IDRAC.2.8.PSU501", ""), "already"),
        (400, says("Base.1.18.NoOperation", ""), "already"),
        // Words decide nothing: they may be about something else.
        (
            400,
            says("x.Y", "A firmware update is already running."),
            "Unsupported",
        ),
        (
            400,
            says("Base.1.8.ActionParameterNotSupported", ""),
            "Unsupported",
        ),
        (400, says("IDRAC.2.8.SYS518", ""), "Busy"),
        (501, String::new(), "Unsupported"),
        (503, String::new(), "Busy"),
        (500, String::new(), "Failed"),
        (504, "<html></html>".to_owned(), "BmcOutcomeUnknown"),
        (307, String::new(), "BmcRedirected"),
        (403, String::new(), "BmcForbidden"),
        (401, String::new(), "Unsupported"),
    ] {
        let inner = well_behaved();
        let shown = body.clone();
        let fake = Fake::start(move |seen: Seen| {
            if seen.method == "POST" {
                reply(status, &[], &body)
            } else {
                inner(seen)
            }
        })
        .await;
        let mut bmc = connect(of(&fake)).await;
        bmc.read().await.unwrap();
        assert_eq!(
            kind(&bmc.command(Verb::PowerOff, soon()).await),
            expected,
            "{status} {shown}"
        );
        assert_eq!(
            fake.log().iter().filter(|line| line.starts_with("POST")).count(),
            1
        );
    }
}

#[tokio::test]
async fn action_info_is_read_only_after_a_refusal() {
    let info = "/redfish/v1/Systems/1/ResetActionInfo";
    let fake = Fake::start(move |seen: Seen| match seen.line().as_str() {
        "GET /redfish/v1/Systems/1" => answer(
            200,
            &json!({"Actions": {"#ComputerSystem.Reset": {"target": RESET, "@Redfish.ActionInfo": info}}}),
        ),
        "GET /redfish/v1/Systems/1/ResetActionInfo" => answer(
            200,
            &json!({"Parameters": [7, {"Name": "ResetType", "AllowableValues": ["GracefulShutdown", "Nmi"]}]}),
        ),
        _ => answer(400, &json!({})),
    })
    .await;
    let mut bmc = connect(of(&fake)).await;
    bmc.read().await.unwrap();
    let answer = bmc.command(Verb::PowerOff, soon()).await.unwrap();
    let CommandAnswer::Refused {
        class: Refusal::Unsupported,
        text,
        ..
    } = answer
    else {
        panic!("{answer:?}")
    };
    assert!(text.contains("GracefulShutdown, Nmi"), "{text}");
    assert_eq!(
        fake.log(),
        [
            format!("GET {PATH}"),
            format!("POST {RESET}"),
            format!("GET {info}")
        ]
    );
}

#[tokio::test]
async fn a_command_that_is_not_offered_is_not_sent() {
    let fake = Fake::start(|_| {
        let mut system = system("On");
        system["Actions"]["#ComputerSystem.Reset"]["ResetType@Redfish.AllowableValues"] = json!(["Nmi"]);
        answer(200, &system)
    })
    .await;
    let mut bmc = connect(of(&fake)).await;
    bmc.read().await.unwrap();
    assert_eq!(
        bmc.command(Verb::PowerOff, soon()).await.unwrap_err().reason(),
        "BmcCommandNotOffered"
    );
    assert_eq!(fake.log().len(), 1);
}

#[tokio::test]
async fn a_command_whose_time_has_passed_is_not_sent() {
    let fake = Fake::start(well_behaved()).await;
    let mut bmc = connect(of(&fake)).await;
    bmc.read().await.unwrap();
    let before = fake.log().len();

    let late = bmc.command(Verb::PowerOff, tokio::time::Instant::now()).await;

    assert_eq!(late, Err(BmcError::TooLate));
    assert!(!BmcError::TooLate.may_have_been_executed());
    assert_eq!(fake.log().len(), before);
}
