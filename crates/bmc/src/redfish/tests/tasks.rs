//! Commands that are answered with a task.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Response, StatusCode};
use serde_json::{Value, json};

use super::fake::{Fake, Seen, json as answer, reply};
use super::{CANARY, RESET, connect, of, redfish, soon, system};
use crate::credentials::Credentials;
use crate::redact::Redactor;
use crate::redfish::task::{TaskProgress, course};
use crate::{CommandAnswer, Refusal, Verb};

const MONITOR: &str = "/redfish/v1/TaskService/TaskMonitors/1";
const TASK: &str = "/redfish/v1/TaskService/Tasks/1";

type Answer = Option<Response<Body>>;
/// How a command is answered.
type Command = fn() -> Answer;

fn task(state: &str) -> Value {
    json!({
        "@odata.id": TASK, "@odata.type": "#Task.v1_7_0.Task", "Id": "1", "TaskState": state,
        "Messages": [{
            "MessageId": "TaskEvent.1.0.TaskAborted",
            "Message": format!("fuse 7 of root:{CANARY} is blown"),
        }],
    })
}

fn error() -> Value {
    json!({"error": {"code": "Base.1.19.InternalError", "message": "fuse 7"}})
}

/// How a command is answered, and what is said where its task is asked for.
#[derive(Clone)]
struct Bmc {
    command: Command,
    place: &'static str,
    monitor: fn(usize) -> Answer,
    power: Arc<Mutex<&'static str>>,
    asked: Arc<AtomicUsize>,
}

fn accepted() -> Answer {
    reply(202, &[("location", MONITOR), ("retry-after", "0")], "")
}

fn bmc(command: Command, monitor: fn(usize) -> Answer) -> Bmc {
    Bmc {
        command,
        place: MONITOR,
        monitor,
        power: Arc::new(Mutex::new("On")),
        asked: Arc::default(),
    }
}

impl Bmc {
    async fn start(&self) -> Fake {
        let bmc = self.clone();
        Fake::start(
            move |seen: Seen| match (seen.method.as_str(), seen.path.as_str()) {
                ("POST", RESET) => (bmc.command)(),
                ("GET", path) if path == bmc.place => (bmc.monitor)(bmc.asked.fetch_add(1, Ordering::SeqCst)),
                ("GET", super::PATH) => answer(200, &system(*bmc.power.lock().unwrap())),
                other => panic!("{other:?}"),
            },
        )
        .await
    }

    fn is(&self, power: &'static str) {
        *self.power.lock().unwrap() = power;
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

#[test]
fn what_a_monitor_says_is_an_end_only_where_it_says_so() {
    let secret = [("username".to_owned(), "root"), ("password".to_owned(), CANARY)].into();
    let redactor = Redactor::new(&Credentials::from_secret(&secret, "1").unwrap());
    let said = |status: u16, body: &str| {
        let status = StatusCode::from_u16(status).unwrap();
        course(status, body.as_bytes(), &redactor)
    };
    let in_state = |state: &str| task(state).to_string();
    let error = error().to_string();
    for (status, body) in [
        (202, String::new()),
        (202, "{}".to_owned()),
        (202, in_state("Running")),
        (200, in_state("New")),
        (200, in_state("Cancelling")),
        // Expected to go on.
        (200, in_state("Interrupted")),
        (200, in_state("exception")),
        (408, error.clone()),
        (429, String::new()),
        (500, "<html>".to_owned()),
        (500, error.replace("fuse 7", "iDRAC.2.8.SYS518")),
        (502, error.clone()),
        (503, error.clone()),
        (504, "<html>".to_owned()),
    ] {
        assert_eq!(said(status, &body), TaskProgress::Running, "{status} {body}");
    }
    for (status, body) in [
        (200, in_state("Completed")),
        (202, in_state("Completed")),
        (200, String::new()),
        (200, "<html>".to_owned()),
        (200, r#"{"TaskState":7}"#.to_owned()),
        (
            200,
            r#"{"error":{"@Message.ExtendedInfo":[{"MessageId":"Base.1.19.Success"}]}}"#.to_owned(),
        ),
        (201, "{}".to_owned()),
        (204, String::new()),
        (307, String::new()),
        (400, error.replace("InternalError", "NoOperation")),
        (401, error.clone()),
        (403, error.clone()),
        (404, error.clone()),
        (405, error.clone()),
        (410, error.clone()),
        (400, "what?".to_owned()),
    ] {
        assert_eq!(said(status, &body), TaskProgress::Over, "{status} {body}");
    }
    for (status, body, words) in [
        (
            200,
            in_state("Exception"),
            "its task ended in Exception: TaskEvent.1.0.TaskAborted fuse 7",
        ),
        (202, in_state("Killed"), "its task ended in Killed: "),
        (200, in_state("Cancelled"), "its task ended in Cancelled: "),
        (
            200,
            json!({"TaskState": "Exception", "Messages": 7}).to_string(),
            "its task ended in Exception: no explanation",
        ),
        (
            200,
            error.clone(),
            "its task monitor answered HTTP 200: Base.1.19.InternalError fuse 7",
        ),
        (400, error.clone(), "its task monitor answered HTTP 400: "),
        (409, error.clone(), "its task monitor answered HTTP 409: "),
        (
            500,
            error.clone(),
            "its task monitor answered HTTP 500: Base.1.19.InternalError fuse 7",
        ),
        (501, error.clone(), "its task monitor answered HTTP 501: "),
    ] {
        let TaskProgress::Failed(why) = said(status, &body) else {
            panic!("{status} {body}");
        };
        assert!(why.starts_with(words), "{why}");
        assert!(!why.contains(CANARY) && why.chars().count() <= 300, "{why}");
    }
    let long = task("Exception")
        .to_string()
        .replace("fuse 7", &"x".repeat(10_000));
    let TaskProgress::Failed(why) = said(200, &long) else {
        panic!("it ended");
    };
    assert_eq!(why.chars().count(), 300);
}

#[tokio::test]
async fn a_task_that_fails_is_told_with_the_readings_until_the_power_is_what_was_wanted() {
    let bmc = bmc(accepted, |before| match before {
        0 => reply(202, &[], ""),
        1 => answer(200, &task("Exception")),
        _ => panic!("asked after its end"),
    });
    let fake = bmc.start().await;
    let mut client = connect(of(&fake)).await;
    client.read().await.unwrap();
    let sent = client.command(Verb::PowerOff, soon()).await.unwrap();
    assert!(matches!(sent, CommandAnswer::Accepted), "{sent:?}");

    assert_eq!(client.read().await.unwrap().command_failure, None);
    bmc.is("PoweringOff");
    for _ in 0..3 {
        let why = client.read().await.unwrap().command_failure.unwrap();
        let begin = "ForceOff failed: its task ended in Exception: TaskEvent.1.0.TaskAborted fuse 7";
        assert!(why.starts_with(begin) && !why.contains(CANARY), "{why}");
    }
    bmc.is("Off");
    assert_eq!(client.read().await.unwrap().command_failure, None);
    bmc.is("On");
    assert_eq!(client.read().await.unwrap().command_failure, None);
    assert_eq!(bmc.asked(), 2);
    let commands = fake.log().iter().filter(|line| line.starts_with("POST")).count();
    assert_eq!(commands, 1, "{:?}", fake.log());
}

#[tokio::test]
async fn nothing_is_asked_without_a_task_or_once_the_power_is_what_was_wanted() {
    let without: [Command; 5] = [
        || reply(204, &[], ""),
        || reply(202, &[], ""),
        // A place that no task is at: what was asked for is done.
        || reply(204, &[("location", MONITOR)], ""),
        || answer(200, &task("Completed")),
        || answer(200, &json!({"@odata.id": MONITOR})),
    ];
    for command in without {
        let bmc = bmc(command, |_| panic!("asked"));
        let fake = bmc.start().await;
        let mut client = connect(of(&fake)).await;
        client.read().await.unwrap();
        client.command(Verb::PowerOff, soon()).await.unwrap();
        client.read().await.unwrap();
        assert_eq!(fake.log().len(), 3, "{:?}", fake.log());
    }
    let bmc = bmc(accepted, |_| panic!("asked"));
    let fake = bmc.start().await;
    let mut client = connect(of(&fake)).await;
    client.read().await.unwrap();
    client.command(Verb::PowerOff, soon()).await.unwrap();
    // Who only looks whether the BMC could be used asks for no task.
    client.inspect().await.unwrap();
    bmc.is("Off");
    client.read().await.unwrap();
    bmc.is("On");
    client.read().await.unwrap();
    assert_eq!(bmc.asked(), 0);
}

#[tokio::test]
async fn a_task_is_asked_at_most_once_a_reading_and_not_sooner_than_it_wants() {
    let eager = bmc(accepted, |_| reply(202, &[("retry-after", "0")], ""));
    let patient = bmc(accepted, |_| reply(202, &[("retry-after", "86400")], ""));
    let from_the_start = bmc(
        || reply(202, &[("location", MONITOR), ("retry-after", "86400")], ""),
        |_| panic!("asked too soon"),
    );
    for (bmc, asked) in [(eager, 3), (patient, 1), (from_the_start, 0)] {
        let fake = bmc.start().await;
        let mut client = connect(of(&fake)).await;
        client.read().await.unwrap();
        client.command(Verb::PowerOff, soon()).await.unwrap();
        for _ in 0..3 {
            assert_eq!(client.read().await.unwrap().command_failure, None);
        }
        assert_eq!(bmc.asked(), asked);
    }
}

#[tokio::test]
async fn a_task_is_followed_to_a_plain_path_on_the_bmc_and_nowhere_else() {
    let failed = |_| answer(200, &task("Exception"));
    let commands: [(&'static str, Command, usize); 7] = [
        (TASK, || answer(202, &task("Running")), 1),
        (TASK, || answer(200, &task("Running")), 1),
        (
            MONITOR,
            || {
                let mut named = task("New");
                named["TaskMonitor"] = json!(MONITOR);
                answer(202, &named)
            },
            1,
        ),
        // The body repeats the place, for BMCs whose Location names an address of their own.
        (
            TASK,
            || {
                let elsewhere = [(
                    "location",
                    "https://192.0.2.1/redfish/v1/TaskService/TaskMonitors/1",
                )];
                reply(202, &elsewhere, &task("Running").to_string())
            },
            1,
        ),
        (
            MONITOR,
            || reply(202, &[("location", "https://192.0.2.1/x")], ""),
            0,
        ),
        (MONITOR, || reply(202, &[("location", "//192.0.2.1/x")], ""), 0),
        (MONITOR, || reply(202, &[("location", "/redfish/../x")], ""), 0),
    ];
    for (place, command, asked) in commands {
        let bmc = Bmc {
            place,
            ..bmc(command, failed)
        };
        let fake = bmc.start().await;
        let mut client = connect(of(&fake)).await;
        client.read().await.unwrap();
        client.command(Verb::PowerOff, soon()).await.unwrap();
        for _ in 0..2 {
            let told = client.read().await.unwrap().command_failure;
            assert_eq!(told.is_some(), asked > 0, "{place} {told:?}");
        }
        assert_eq!(bmc.asked(), asked, "{place}");
    }
}

#[tokio::test]
async fn a_monitor_that_cannot_be_asked_is_let_alone_and_readings_go_on() {
    let refusals: [fn(usize) -> Answer; 6] = [
        // It hangs.
        |_| None,
        |_| answer(401, &json!({})),
        |_| answer(403, &error()),
        |_| answer(404, &error()),
        |_| reply(307, &[("location", "https://192.0.2.1/")], ""),
        |_| reply(200, &[], "<html>"),
    ];
    for refusal in refusals {
        let bmc = bmc(accepted, refusal);
        let fake = bmc.start().await;
        let mut client = connect(of(&fake)).await;
        // For asking how the task stands. The readings themselves have all the time they need.
        redfish(&mut client).deadlines.request = Duration::from_secs(2);
        client.read().await.unwrap();
        client.command(Verb::PowerOff, soon()).await.unwrap();
        for _ in 0..3 {
            let reading = client.read().await.unwrap();
            assert_eq!(
                (reading.literal.as_deref(), reading.command_failure),
                (Some("On"), None)
            );
        }
        assert_eq!(bmc.asked(), 1, "{:?}", fake.log());
        // A login that the monitor refuses is not one that the BMC refuses.
        let again = client.command(Verb::PowerOff, soon()).await.unwrap();
        assert!(matches!(again, CommandAnswer::Accepted), "{again:?}");
    }
}

#[tokio::test]
async fn what_became_of_a_command_is_forgotten_with_the_next() {
    let bmc = bmc(accepted, |before| match before {
        0 => answer(200, &task("Exception")),
        _ => reply(202, &[], ""),
    });
    let fake = bmc.start().await;
    let mut client = connect(of(&fake)).await;
    client.read().await.unwrap();
    client.command(Verb::PowerOff, soon()).await.unwrap();
    assert!(client.read().await.unwrap().command_failure.is_some());
    client.command(Verb::PowerOff, soon()).await.unwrap();
    assert_eq!(client.read().await.unwrap().command_failure, None);
    assert_eq!(bmc.asked(), 2);
}

#[tokio::test]
async fn a_task_that_has_failed_when_it_is_named_is_a_refusal() {
    for command in [(|| answer(202, &task("Exception"))) as Command, || {
        answer(200, &task("Cancelled"))
    }] {
        let bmc = bmc(command, |_| panic!("asked"));
        let fake = bmc.start().await;
        let mut client = connect(of(&fake)).await;
        client.read().await.unwrap();
        let answered = client.command(Verb::PowerOff, soon()).await.unwrap();
        let CommandAnswer::Refused {
            class: Refusal::Failed,
            text,
            ..
        } = answered
        else {
            panic!("{answered:?}");
        };
        assert!(
            text.contains("its task ended in") && text.contains("fuse 7"),
            "{text}"
        );
        assert!(!text.contains(CANARY), "{text}");
        client.read().await.unwrap();
        assert_eq!(bmc.asked(), 0);
    }
}
