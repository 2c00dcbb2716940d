//! One power command: what a BMC answers to it, when it is sent again, when the power state is read, and what
//! shows that the host obeyed. A remediation and a person's `bmc off|on|cycle` go by the same rules.

#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::facts::Obstacle;
use super::journal::{HostAtBmc, Verb};
use super::observed::{Observed, PowerRead, Sent};
use super::phase::Reason;
use super::power::PowerState;
use super::proof;
use crate::after;

/// How long a host may go on saying the old state after a command that may have been carried out,
/// before the command is sent again. sushy-emulator takes up to 11 s, Cray EX about 7 s to power off.
pub const SETTLE: SignedDuration = SignedDuration::from_secs(20);

/// Pause before a command that was definitely not carried out is sent again. iDRAC10 refuses `On`
/// for up to a minute after power-off (ironic `ironic/conf/redfish.py`).
pub const REFUSED_PAUSE: SignedDuration = SignedDuration::from_secs(10);

/// Power-offs sent in one attempt; after that only reads, until the deadline. Nothing limits power-ons.
pub const POWER_OFFS_LIMIT: i32 = 12;

/// A definite answer to a power command. None of them proves a power state: that is read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CommandAnswer {
    /// The BMC took the command.
    Accepted,
    /// The host is already in that state, or the command conflicts with what the BMC is doing
    /// (HTTP 409 stands for both, depending on the vendor).
    AlreadyThereOrConflict {
        /// What the BMC said.
        text: String,
    },
    /// The BMC did not take the command.
    Refused {
        /// Why, roughly.
        class: Refusal,
        /// What the BMC said.
        text: String,
        /// How long the BMC wants to be left alone.
        retry_after: Option<Duration>,
    },
}

/// Why a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Not now: overloaded, not ready, in a state that passes.
    Busy,
    /// Not this command, not this way; will not change by waiting.
    Unsupported,
    /// The BMC failed inside. What it did before that is not known.
    Failed,
    /// Our session had ended. The next read logs in again.
    SessionEnded,
}

/// No definite answer came.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CommandError {
    /// How far the command came.
    pub came: CommandCame,
    /// What went wrong.
    pub obstacle: Obstacle,
}

/// How far a command came that got no definite answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommandCame {
    /// It was never sent: there was no connection, the BMC rejected the login, or something forbade it before.
    NotSent,
    /// It was not carried out: the BMC denied it, or answered with something else.
    NotExecuted,
    /// It was sent, and may have been carried out.
    Unknown,
}

/// Where one command stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Not sent.
    Unsent,
    /// Acknowledged by the BMC at this time.
    Acknowledged(Timestamp),
    /// Definitely not carried out; why, and when that was known.
    Refused(Timestamp, Obstacle),
    /// Perhaps carried out: no answer came, the BMC failed over it (why), or a predecessor journalled it.
    Unknown(Timestamp, Option<Obstacle>),
}

impl Sent {
    /// Where the command stands by its answer.
    pub fn delivery(&self) -> Delivery {
        match &self.answer {
            // There is no state in which a host is reset already.
            Ok(CommandAnswer::AlreadyThereOrConflict { text }) if self.intent.verb == Verb::Restart => {
                Delivery::Refused(self.at, Obstacle::new(Reason::BmcCommandRefused, text))
            }
            Ok(CommandAnswer::Accepted | CommandAnswer::AlreadyThereOrConflict { .. }) => {
                Delivery::Acknowledged(self.at)
            }
            // What a BMC did before it failed inside is not known.
            Ok(CommandAnswer::Refused { class, text, .. }) => match class {
                Refusal::Failed => {
                    Delivery::Unknown(self.at, Some(Obstacle::new(Reason::BmcCommandFailed, text)))
                }
                Refusal::Busy | Refusal::Unsupported | Refusal::SessionEnded => {
                    Delivery::Refused(self.at, Obstacle::new(Reason::BmcCommandRefused, text))
                }
            },
            Err(error) if error.came == CommandCame::Unknown => {
                Delivery::Unknown(self.at, Some(error.obstacle.clone()))
            }
            Err(error) => Delivery::Refused(self.at, error.obstacle.clone()),
        }
    }

    /// Takes back an acknowledgement, where a later read says that the command failed after all.
    pub(super) fn note_read(&mut self, read: &PowerRead) {
        if let (Some(why), Delivery::Acknowledged(at)) = (&read.command_failure, self.delivery())
            && at <= read.began
        {
            self.answer = Ok(CommandAnswer::Refused {
                class: Refusal::Failed,
                text: why.clone(),
                retry_after: None,
            });
        }
    }
}

impl Delivery {
    /// Whether the command is to be sent again, on the power state that was read since it was sent. `came_on`: the
    /// host went off and came on again, so somebody powers it, and another power-off would be a second outage.
    pub fn is_sent_again(
        &self,
        verb: Verb,
        power: Option<PowerState>,
        came_on: bool,
        sends: i32,
        now: Timestamp,
    ) -> bool {
        let pause = match self {
            Self::Refused(..) => REFUSED_PAUSE,
            Self::Unsent | Self::Acknowledged(_) | Self::Unknown(..) => SETTLE,
        };
        let due = self.since().is_some_and(|since| after(since, pause) <= now);
        match verb {
            // Where it may have been carried out, no power state tells.
            Verb::Restart => due && matches!(self, Self::Refused(..)),
            Verb::PowerOff if sends >= POWER_OFFS_LIMIT => false,
            Verb::PowerOff => match self {
                Self::Unsent => false,
                Self::Refused(..) => due && !came_on,
                // Off proves nothing without an acknowledgement. `ForceOff` changes nothing on a host that
                // is off, and its answer is the acknowledgement.
                Self::Unknown(..) if power == Some(PowerState::Off) => true,
                Self::Acknowledged(_) | Self::Unknown(..) => due && !came_on && power == Some(PowerState::On),
            },
            Verb::PowerOn => match power {
                Some(PowerState::Off | PowerState::PoweringOff | PowerState::Unknown) => due,
                Some(PowerState::On | PowerState::PoweringOn) | None => false,
            },
        }
    }

    /// When its answer came or was given up; none where nothing was sent.
    pub fn since(&self) -> Option<Timestamp> {
        match self {
            Self::Unsent => None,
            Self::Acknowledged(at) | Self::Refused(at, _) | Self::Unknown(at, _) => Some(*at),
        }
    }
}

/// How often the power state is read while a command takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Distance of reads that say Off.
    pub off: SignedDuration,
    /// The longest distance of the others.
    pub longest: SignedDuration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            off: proof::READ_SPACING,
            longest: SignedDuration::from_mins(1),
        }
    }
}

impl Observed {
    /// When the power state is to be read. `begun` is when it began to be waited for, `since` when the last
    /// command was sent. Intervals grow with the reads since the beginning: 1, 1, 1.6, 2.6, 4.1 ... s.
    pub fn read_at(&self, begun: Timestamp, since: Timestamp, pace: Pace) -> Timestamp {
        if let Some(retry) = self.failed_read_retry(pace) {
            return retry;
        }
        let of_this = self.reads.iter().filter(|read| read.began >= begun);
        // Whatever the journal's times are, reads are never hurried.
        let from = self.last_read().map_or(since, |read| read.began.max(since));
        let newest = of_this.clone().next_back();
        if newest.is_some_and(|read| read.power == PowerState::Off) {
            return after(from, pace.off);
        }
        after(from, interval(of_this.count()).min(pace.longest))
    }

    /// When a BMC that did not answer is asked again.
    pub fn failed_read_retry(&self, pace: Pace) -> Option<Timestamp> {
        let failure = self.read_failure.as_ref()?;
        let failures = failure.consecutive.try_into().unwrap_or(usize::MAX);
        Some(after(failure.at, interval(failures).min(pace.longest)))
    }

    /// The newest read, where it was begun at or after a time.
    pub fn last_read_since(&self, since: Timestamp) -> Option<&PowerRead> {
        self.last_read().filter(|read| read.began >= since)
    }

    /// The same, unless another host gave it. It is no proof of Off: the UUID of the host is enough.
    pub fn right_read_since(&self, host: HostAtBmc<'_>, since: Timestamp) -> Option<&PowerRead> {
        let read = self.last_read_since(since);
        read.filter(|read| proof::another_host(read, host).is_none())
    }

    /// Whether the reads begun at or after a time show that the host went off and came on again.
    pub fn shows_host_came_on(&self, begun: Timestamp) -> bool {
        let since = self.reads.iter().filter(|read| read.began >= begun);
        let mut states = since.map(|read| read.power);
        let went_off = states.any(|power| power == PowerState::Off);
        went_off && states.next_back() == Some(PowerState::On)
    }
}

/// The pause before read number `done + 1`.
fn interval(done: usize) -> SignedDuration {
    const GROWTH: [i64; 10] = [
        1_000, 1_000, 1_600, 2_560, 4_100, 6_550, 10_490, 16_780, 26_840, 42_950,
    ];
    SignedDuration::from_millis(GROWTH.get(done).copied().unwrap_or(60_000))
}
