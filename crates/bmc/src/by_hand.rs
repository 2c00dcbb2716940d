//! Power commands by a person's hand: send, and read until it is so. `core::manual` decides.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::{BmcError, BmcHandle, CommandAnswer, PowerRead, Refusal, Verb};
use remediator_core::facts::Obstacle;
use remediator_core::identity::SystemUuid;
use remediator_core::manual::{Manual, Next};
use remediator_core::phase::Reason;
use remediator_core::power_command::CommandError;

/// How late a command may still be sent after it was decided.
const SEND_WITHIN: Duration = Duration::from_secs(15);

/// Why a host is not as it was to be.
#[derive(Debug, thiserror::Error)]
pub enum ByHandError {
    /// The BMC could not be asked.
    #[error(transparent)]
    Bmc(#[from] BmcError),
    /// Nothing proves that later answers are about the same host.
    #[error(
        "the BMC gives no usable system UUID (\"{said}\") for {system}, so nothing proves that later answers are about the same host. Power it at the BMC itself."
    )]
    Unidentified {
        /// What it gives.
        said: String,
        /// For which system.
        system: String,
    },
    /// The BMC does not know the command.
    #[error("the BMC does not do {0}: {1}. Power the host by other means.")]
    Unsupported(Verb, String),
    /// The time was over, or another host answered.
    #[error("{0}. Look at the host's console before anything else is done.")]
    GivenUp(String),
}

/// Reads the host and, before it is powered off, sees that it is known who it is.
pub async fn first_read(line: &BmcHandle, destructive: bool) -> Result<PowerRead, ByHandError> {
    let read = line.read(Timestamp::now).await?;
    let said = read.uuid.as_deref().unwrap_or_default();
    if destructive && SystemUuid::parse(said).is_err() {
        return Err(ByHandError::Unidentified {
            said: said.to_owned(),
            system: read.system,
        });
    }
    Ok(read)
}

/// Carries one command out and waits until the host is as it should be. `tell` gets a line for
/// whatever happens. Answers what was read last.
pub async fn carry_out(
    line: &BmcHandle,
    verb: Verb,
    first: &PowerRead,
    timeout: Duration,
    tell: &mut (dyn FnMut(&str) + Send),
) -> Result<PowerRead, ByHandError> {
    let clock = steady();
    let now = clock();
    let deadline = now.saturating_add(timeout).unwrap_or(Timestamp::MAX);
    let mut manual = Manual::new(verb, first, now, deadline);
    let (mut said, mut failed) = (String::new(), String::new());
    let mut fallback = first.fallback.clone();
    let mut last = first.clone();
    loop {
        let now = clock();
        match manual.next(now) {
            Next::Send => {
                let answer = send(line, verb, tell).await?;
                manual.note_sent(clock(), answer);
            }
            Next::Read(at) => {
                let pause = Duration::try_from(at.duration_since(now)).unwrap_or_default();
                tokio::time::sleep(pause).await;
                match line.read(&clock).await {
                    Ok(read) => {
                        if read.said() != said {
                            tell(&format!("the BMC says {}", read.said()));
                            read.said().clone_into(&mut said);
                        }
                        if let Some(why) = read.command_failure.as_ref().filter(|why| **why != failed) {
                            tell(&format!("the BMC says that {why}"));
                            failed.clone_from(why);
                        }
                        if read.fallback != fallback {
                            fallback.clone_from(&read.fallback);
                            let way = fallback.as_deref().unwrap_or("as the address says");
                            tell(&format!("the BMC is spoken to {way}"));
                        }
                        last.clone_from(&read);
                        manual.note_read(read);
                    }
                    Err(error) => {
                        let again = manual.note_read_failure(clock(), &error.to_string());
                        if !again || !error.is_transient() {
                            return Err(error.into());
                        }
                        tell(&format!("reading failed: {error}"));
                    }
                }
            }
            Next::Done => return Ok(last),
            Next::GiveUp(why) => return Err(ByHandError::GivenUp(why)),
        }
    }
}

/// The time by a clock that nobody sets: what is sent, read and proven in one command is compared by it.
fn steady() -> impl Fn() -> Timestamp {
    let (wall, begun) = (Timestamp::now(), Instant::now());
    move || wall.checked_add(begun.elapsed()).unwrap_or(wall)
}

/// Sends the command once. What is no use repeating is an error.
async fn send(
    line: &BmcHandle,
    verb: Verb,
    tell: &mut (dyn FnMut(&str) + Send),
) -> Result<Result<CommandAnswer, CommandError>, ByHandError> {
    let now = Instant::now();
    let not_after = now.checked_add(SEND_WITHIN).unwrap_or(now);
    let answer = match line.command(verb, not_after).await {
        // What is no use repeating.
        Ok(CommandAnswer::Refused {
            class: Refusal::Unsupported,
            text,
            ..
        }) => return Err(ByHandError::Unsupported(verb, text)),
        Err(error) if !error.may_have_been_executed() && !passes(&error) => return Err(error.into()),
        answer => answer,
    };
    let said = match &answer {
        Ok(CommandAnswer::Accepted) => "sent and accepted".to_owned(),
        Ok(CommandAnswer::AlreadyThereOrConflict { text }) => format!("sent; the BMC says {text}"),
        Ok(CommandAnswer::Refused { class, text, .. }) => match class {
            Refusal::Failed => format!("sent; the BMC failed: {text}"),
            Refusal::Busy | Refusal::SessionEnded | Refusal::Unsupported => {
                format!("refused for now: {text}")
            }
        },
        Err(error) if error.may_have_been_executed() => format!("sent and not answered: {error}"),
        // The next read logs in again and chooses the system again.
        Err(BmcError::NotRead | BmcError::TooLate) => String::new(),
        Err(error) => format!("not sent: {error}"),
    };
    if !said.is_empty() {
        tell(&format!("{verb} {said}"));
    }
    Ok(answer.map_err(|error| CommandError {
        came: error.command_came(),
        obstacle: Obstacle::new(Reason::BmcUnreachable, error.to_string()),
    }))
}

/// Whether a command that was not sent may be tried again.
fn passes(error: &BmcError) -> bool {
    matches!(error, BmcError::NotRead | BmcError::TooLate) || error.is_transient()
}
