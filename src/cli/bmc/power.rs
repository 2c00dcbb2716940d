//! Power commands from a shell: send, and read until it is so.

use std::time::Duration;

use anyhow::bail;
use jiff::Timestamp;
use tokio::time::Instant;

use super::show::Narrator;
use crate::bmc::{BmcError, BmcLine, CommandAnswer, PowerCommand, Reading, Refusal};
use crate::core::identity::SystemUuid;
use crate::core::journal::Verb;
use crate::core::manual::{Manual, Next, Outcome};
use crate::core::observed::PowerRead;

/// Reads that may fail in a row before it is given up.
const FAILURES_TOLERATED: usize = 10;

/// Reads the host and, before it is powered off, sees that it is known who it is.
///
/// # Errors
/// When the BMC does not answer, or does not say who its host is.
pub(super) async fn first_read(line: &BmcLine, destructive: bool) -> anyhow::Result<PowerRead> {
    let read = power_read(line.read().await?);
    let said = read.uuid.as_deref().unwrap_or_default();
    if destructive && SystemUuid::parse(said).is_err() {
        bail!(
            "the BMC gives no usable system UUID (\"{said}\") for {}, so nothing proves that later answers \
             are about the same host; power it at the BMC itself",
            read.system
        );
    }
    Ok(read)
}

/// Carries one command out and waits until the host is as it should be.
///
/// # Errors
/// When it is not so in time, or the BMC refuses for good.
pub(super) async fn carry_out(
    line: &BmcLine,
    verb: Verb,
    first: &PowerRead,
    timeout: Duration,
    narrator: &mut Narrator,
) -> anyhow::Result<()> {
    let begun = Timestamp::now();
    let mut manual = Manual::new(verb, first, begun.saturating_add(timeout)?);
    let mut failures = 0_usize;
    loop {
        let now = Timestamp::now();
        match manual.next(now) {
            Next::Send => {
                let outcome = send(line, verb, narrator).await?;
                manual.note_sent(Timestamp::now(), outcome);
            }
            Next::Read(at) => {
                let pause = Duration::try_from(at.duration_since(now)).unwrap_or_default();
                tokio::time::sleep(pause).await;
                match line.read().await {
                    Ok(reading) => {
                        failures = 0;
                        let read = power_read(reading);
                        narrator.says(&read.said);
                        manual.note_read(read);
                    }
                    Err(error) if error.is_transient() && failures < FAILURES_TOLERATED => {
                        failures = failures.saturating_add(1);
                        narrator.tell(&format!("reading failed: {error}"));
                        tokio::time::sleep(pause_after(failures)).await;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            Next::Done => return Ok(()),
            Next::GiveUp(why) => bail!("{why}"),
        }
    }
}

async fn send(line: &BmcLine, verb: Verb, narrator: &mut Narrator) -> anyhow::Result<Outcome> {
    let command = match verb {
        Verb::PowerOff => PowerCommand::ForceOff,
        Verb::PowerOn => PowerCommand::On,
    };
    let now = Instant::now();
    let not_after = now.checked_add(Duration::from_secs(15)).unwrap_or(now);
    let outcome = match line.command(command, not_after).await {
        Ok(CommandAnswer::Accepted { .. }) => {
            narrator.tell(&format!("{command} sent and accepted"));
            Outcome::Acknowledged
        }
        Ok(CommandAnswer::AlreadyThereOrConflict { text, .. }) => {
            narrator.tell(&format!("{command} sent; the BMC says {text}"));
            Outcome::Acknowledged
        }
        Ok(CommandAnswer::Refused {
            class: Refusal::Unsupported,
            text,
            ..
        }) => bail!("the BMC does not do {command}: {text}"),
        Ok(CommandAnswer::Refused {
            class: Refusal::Failed,
            text,
            ..
        }) => {
            narrator.tell(&format!("{command} sent; the BMC failed: {text}"));
            Outcome::Unknown
        }
        Ok(CommandAnswer::Refused {
            class: Refusal::Busy | Refusal::SessionEnded,
            text,
            ..
        }) => {
            narrator.tell(&format!("{command} refused for now: {text}"));
            Outcome::Refused(text)
        }
        Err(error) if error.may_have_been_executed() => {
            narrator.tell(&format!("{command} sent and not answered: {error}"));
            Outcome::Unknown
        }
        // The next reading logs in again and chooses the system again.
        Err(error @ (BmcError::NotRead | BmcError::TooLate)) => Outcome::Refused(error.to_string()),
        Err(error) if error.is_transient() => {
            narrator.tell(&format!("{command} not sent: {error}"));
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
    }
}

fn pause_after(failures: usize) -> Duration {
    Duration::from_secs(u64::try_from(failures).unwrap_or(10).min(10))
}
