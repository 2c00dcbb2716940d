//! Tasks (DSP0266, "Asynchronous operations"): what became of a command after it was accepted.
//!
//! A task proves no power state. Some never end, some are gone as soon as they have ended
//! (ironcore-dev/metal-operator issue 668), and some BMCs accept without one. So a task is asked only while
//! the power is not what the command wanted, and all that is taken from it is that the command failed, and why.

use std::time::Duration;

use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::messages::Messages;
use super::wire::Answer;
use super::{Redfish, resource};
use crate::address::ResourcePath;
use crate::error::BmcError;
use crate::redact::Redactor;
use crate::{PowerRead, Verb};
use remediator_core::power::PowerState;

/// The longest that a `Retry-After` of a task is obeyed.
const LONGEST_WISH: Duration = Duration::from_mins(1);

/// `Task`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Task {
    #[serde(rename = "@odata.id", deserialize_with = "resource::text")]
    id: Option<String>,
    #[serde(rename = "TaskState", deserialize_with = "resource::text")]
    state: Option<String>,
    #[serde(rename = "TaskMonitor", deserialize_with = "resource::text")]
    monitor: Option<String>,
    #[serde(rename = "Messages")]
    messages: Value,
}

/// How a task stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TaskProgress {
    /// Not at its end, as far as is known.
    Running,
    /// At its end without what was asked for; why, in the words of the BMC.
    Failed(String),
    /// There is nothing more to learn from it.
    Over,
}

/// The last command that was accepted, until the power is what it wanted.
pub(super) struct Followed {
    command: Verb,
    /// Where its task is asked for; `None` when nothing more is to be learned there.
    monitor: Option<ResourcePath>,
    /// The task is not asked for before.
    not_before: Option<Instant>,
    /// Why it failed.
    failure: Option<String>,
}

impl Task {
    /// The task in a body, if it is one.
    fn of(body: &[u8]) -> Option<Self> {
        let task: Self = resource::decode(body).ok()?;
        task.state.is_some().then_some(task)
    }

    /// How it stands. `Interrupted` is not an end: such a task is expected to go on (DSP0268,
    /// `Task.TaskState`).
    fn course(&self, redactor: &Redactor) -> TaskProgress {
        match self.state.as_deref() {
            Some("Completed") => TaskProgress::Over,
            Some(end @ ("Exception" | "Killed" | "Cancelled")) => {
                let said = Messages::of_messages(&self.messages);
                TaskProgress::Failed(
                    redactor.clean(&format!("its task ended in {end}: {}", said.text(redactor))),
                )
            }
            // Words that nobody knows are no end.
            Some(_) | None => TaskProgress::Running,
        }
    }
}

/// How the task in a body stands, if there is one.
pub(super) fn in_answer(body: &[u8], redactor: &Redactor) -> Option<TaskProgress> {
    Some(Task::of(body)?.course(redactor))
}

/// What an answer of a task monitor means: 202 while the task runs, then what the operation itself would have
/// been answered; or 200 with the task itself, which some BMCs name in place of its monitor.
pub(super) fn course(status: StatusCode, body: &[u8], redactor: &Redactor) -> TaskProgress {
    let said = Messages::of(body);
    let failed = || {
        let (status, said) = (status.as_u16(), said.text(redactor));
        TaskProgress::Failed(redactor.clean(&format!("its task monitor answered HTTP {status}: {said}")))
    };
    if status.is_success() {
        return match in_answer(body, redactor) {
            Some(course) => course,
            None if said.denies_success() && said.says_not_ready() => TaskProgress::Running,
            None if said.denies_success() && !said.says_already() => failed(),
            None if status == StatusCode::ACCEPTED => TaskProgress::Running,
            None => TaskProgress::Over,
        };
    }
    match status.as_u16() {
        // It is not the operation that is refused here, but the question.
        300..=399 | 401 | 403..=406 | 410 => TaskProgress::Over,
        408 | 425 | 429 | 502..=504 => TaskProgress::Running,
        _ if said.says_not_ready() => TaskProgress::Running,
        _ if said.is_error && !said.says_already() => failed(),
        500..=599 => TaskProgress::Running,
        _ => TaskProgress::Over,
    }
}

impl Redfish {
    /// Remembers where the task of a command that was just accepted is asked for.
    pub(super) fn follow(&mut self, command: Verb, answer: &Answer) {
        let task = Task::of(answer.bytes());
        let is_running = |task: &Task| task.course(&self.redactor) == TaskProgress::Running;
        let running = task.as_ref().is_some_and(is_running);
        if answer.status != StatusCode::ACCEPTED && !running {
            return;
        }
        let of_body = task.and_then(|task| task.monitor.or(task.id));
        let named = [answer.location(), of_body.as_deref()];
        let monitor = named.iter().flatten().find_map(|place| self.wire.own_path(place));
        if monitor.is_none() && named.iter().any(Option::is_some) {
            tracing::debug!(%command, "the task of a command is named at no plain path on the BMC and is not followed");
        }
        self.followed = monitor.map(|monitor| Followed {
            command,
            monitor: Some(monitor),
            not_before: not_before(answer),
            failure: None,
        });
    }

    /// Adds to a reading that the command before it failed, if that is known. Asks for its task at most
    /// once, and only while the power is not what the command wanted.
    pub(super) async fn tell_failure(&mut self, reading: &mut PowerRead) {
        let Some(mut followed) = self.followed.take() else {
            return;
        };
        let wanted = match followed.command {
            Verb::PowerOff => Some(PowerState::Off),
            Verb::PowerOn => Some(PowerState::On),
            // It is the same before and after.
            Verb::Restart => None,
        };
        if Some(reading.power) == wanted {
            return;
        }
        let due = followed.not_before.is_none_or(|at| at <= Instant::now());
        if let Some(path) = followed.monitor.take_if(|_| due) {
            match self.ask(&path, &mut followed).await {
                TaskProgress::Running => followed.monitor = Some(path),
                TaskProgress::Failed(why) => {
                    followed.failure = Some(format!("{} failed: {why}", followed.command));
                }
                TaskProgress::Over => {}
            }
        }
        reading.command_failure.clone_from(&followed.failure);
        if followed.monitor.is_some() || followed.failure.is_some() {
            self.followed = Some(followed);
        }
    }

    /// Asks how a task stands. One that cannot be asked is not asked again: it would only delay the
    /// readings, which decide.
    async fn ask(&mut self, path: &ResourcePath, followed: &mut Followed) -> TaskProgress {
        let limit = self.deadlines.request;
        let answer = timeout(limit, self.send_again(Method::GET, path)).await;
        let late = |_| Err(BmcError::NoAnswer(format!("nothing came within {limit:?}")));
        let answer = match answer.unwrap_or_else(late) {
            Ok(answer) => answer,
            Err(error) => {
                tracing::debug!(%error, "the task of a command cannot be asked for");
                return TaskProgress::Over;
            }
        };
        followed.not_before = not_before(&answer);
        course(answer.status, answer.bytes(), &self.redactor)
    }
}

/// Until when a task wants to be left alone.
fn not_before(answer: &Answer) -> Option<Instant> {
    let wish = answer.retry_after()?.min(LONGEST_WISH);
    Instant::now().checked_add(wish)
}
