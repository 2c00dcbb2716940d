//! Power commands by a person's hand: send, and read until it is so. `core::manual` decides.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::{BmcError, BmcLine, CommandAnswer, PowerCommand, Reading, Refusal};
use remediator_core::identity::SystemUuid;
use remediator_core::journal::Verb;
use remediator_core::manual::{Manual, Next, Outcome};
use remediator_core::observed::PowerRead;

/// Reads that may fail in a row before it is given up.
const FAILURES_TOLERATED: usize = 10;

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
    #[error("the BMC does not do {command}: {text}. Power the host by other means.")]
    Unsupported {
        /// The command.
        command: PowerCommand,
        /// What the BMC said.
        text: String,
    },
    /// The time was over, or another host answered.
    #[error("{why}. Look at the host's console before anything else is done.")]
    GivenUp {
        /// Why.
        why: String,
    },
}

/// Reads the host and, before it is powered off, sees that it is known who it is.
///
/// # Errors
/// When the BMC does not answer, or does not say who its host is.
pub async fn first_read(line: &BmcLine, destructive: bool) -> Result<PowerRead, ByHandError> {
    let read = power_read(line.read().await?);
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
/// whatever happens.
///
/// # Errors
/// When it is not so in time, or the BMC refuses for good.
pub async fn carry_out(
    line: &BmcLine,
    verb: Verb,
    first: &PowerRead,
    timeout: Duration,
    tell: &mut (dyn FnMut(&str) + Send),
) -> Result<(), ByHandError> {
    let deadline = Timestamp::now().saturating_add(timeout).unwrap_or(Timestamp::MAX);
    let mut manual = Manual::new(verb, first, deadline);
    let (mut said, mut failed) = (String::new(), String::new());
    let mut fallback = first.fallback.clone();
    let mut failures = 0_usize;
    loop {
        let now = Timestamp::now();
        match manual.next(now) {
            Next::Send => {
                let outcome = send(line, verb, tell).await?;
                manual.note_sent(Timestamp::now(), outcome);
            }
            Next::Read(at) => {
                let pause = Duration::try_from(at.duration_since(now)).unwrap_or_default();
                tokio::time::sleep(pause).await;
                match line.read().await {
                    Ok(reading) => {
                        failures = 0;
                        let read = power_read(reading);
                        if read.said != said {
                            tell(&format!("the BMC says {}", read.said));
                            said.clone_from(&read.said);
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
                        manual.note_read(read);
                    }
                    Err(error) if error.is_transient() && failures < FAILURES_TOLERATED => {
                        failures = failures.saturating_add(1);
                        tell(&format!("reading failed: {error}"));
                        tokio::time::sleep(pause_after(failures)).await;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            Next::Done => return Ok(()),
            Next::GiveUp(why) => return Err(ByHandError::GivenUp { why }),
        }
    }
}

async fn send(
    line: &BmcLine,
    verb: Verb,
    tell: &mut (dyn FnMut(&str) + Send),
) -> Result<Outcome, ByHandError> {
    let command = match verb {
        Verb::PowerOff => PowerCommand::ForceOff,
        Verb::PowerOn => PowerCommand::On,
    };
    let now = Instant::now();
    let not_after = now.checked_add(SEND_WITHIN).unwrap_or(now);
    let outcome = match line.command(command, not_after).await {
        Ok(CommandAnswer::Accepted { .. }) => {
            tell(&format!("{command} sent and accepted"));
            Outcome::Acknowledged
        }
        Ok(CommandAnswer::AlreadyThereOrConflict { text, .. }) => {
            tell(&format!("{command} sent; the BMC says {text}"));
            Outcome::Acknowledged
        }
        Ok(CommandAnswer::Refused {
            class: Refusal::Unsupported,
            text,
            ..
        }) => return Err(ByHandError::Unsupported { command, text }),
        Ok(CommandAnswer::Refused {
            class: Refusal::Failed,
            text,
            ..
        }) => {
            tell(&format!("{command} sent; the BMC failed: {text}"));
            Outcome::Failed(text)
        }
        Ok(CommandAnswer::Refused {
            class: Refusal::Busy | Refusal::SessionEnded,
            text,
            ..
        }) => {
            tell(&format!("{command} refused for now: {text}"));
            Outcome::Refused(text)
        }
        Err(error) if error.may_have_been_executed() => {
            tell(&format!("{command} sent and not answered: {error}"));
            Outcome::Unknown
        }
        // The next reading logs in again and chooses the system again.
        Err(error @ (BmcError::NotRead | BmcError::TooLate)) => Outcome::Refused(error.to_string()),
        Err(error) if error.is_transient() => {
            tell(&format!("{command} not sent: {error}"));
            Outcome::Refused(error.to_string())
        }
        Err(error) => return Err(error.into()),
    };
    Ok(outcome)
}

fn power_read(reading: Reading) -> PowerRead {
    PowerRead {
        began: reading.began,
        ended: reading.ended,
        power: reading.power,
        said: reading.literal.unwrap_or_else(|| "null".to_owned()),
        uuid: reading.uuid,
        system: reading.system,
        session: reading.session,
        command_failure: reading.command_failure,
        fallback: reading.fallback,
    }
}

fn pause_after(failures: usize) -> Duration {
    Duration::from_secs(u64::try_from(failures).unwrap_or(10).min(10))
}
