//! A power command by a person's hand: the protocol of a remediation without Kubernetes.
//!
//! The same rules hold ([`power_command`](super::power_command)): absolute verbs, none repeated before a read, and
//! Off is only what two fresh reads after the acknowledgement say literally.

#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};

use super::facts::Obstacle;
use super::journal::{HostAtBmc, Verb};
use super::observed::{IntentKey, Observed, PowerRead, Sent};
use super::phase::Reason;
use super::power::PowerState;
use super::power_command::{CommandAnswer, CommandError, Delivery, Pace};
use super::proof::{self, OffProof};

/// The longest pause between reads: a person waits for it.
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_secs(5);

/// Reads that may fail in a row before it is given up.
const FAILURES_TOLERATED: u32 = 10;

/// A command under way.
#[derive(Clone, Debug)]
pub struct Manual {
    verb: Verb,
    first: PowerRead,
    begun: Timestamp,
    deadline: Timestamp,
    sends: i32,
    observed: Observed,
    /// Whether the host went off and came on again. Somebody else powers it.
    came_on: bool,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Send the command.
    Send,
    /// Read the power state at this time.
    Read(Timestamp),
    /// The host is as it should be.
    Done,
    /// It is not, and nothing more is done; why.
    GiveUp(String),
}

impl Manual {
    /// A command for the host that `first` was read from, begun now and given up at `deadline`.
    pub fn new(verb: Verb, first: &PowerRead, now: Timestamp, deadline: Timestamp) -> Self {
        Self {
            verb,
            first: first.clone(),
            begun: now,
            deadline,
            sends: 0,
            observed: Observed::default(),
            came_on: false,
        }
    }

    fn host(&self) -> HostAtBmc<'_> {
        HostAtBmc {
            system: &self.first.system,
            protocol: Some(self.first.protocol),
            system_uuid: self.first.uuid.as_deref().unwrap_or_default(),
        }
    }

    /// Notes what came of a command, and when.
    pub fn note_sent(&mut self, at: Timestamp, answer: Result<CommandAnswer, CommandError>) {
        self.sends = self.sends.saturating_add(1);
        let intent = IntentKey {
            verb: self.verb,
            attempt: 1,
            sends: self.sends,
            epoch: 0,
            process: 0,
        };
        self.observed.sent = Some(Sent { intent, at, answer });
    }

    /// Notes a read, and what it tells of the last command.
    pub fn note_read(&mut self, read: PowerRead) {
        self.observed.note_read(read);
        self.came_on |= self.verb == Verb::PowerOff && self.observed.shows_host_came_on(self.begun);
    }

    /// Notes a read that failed. Answers whether the BMC is asked again.
    pub fn note_read_failure(&mut self, at: Timestamp, why: &str) -> bool {
        let obstacle = Obstacle::new(Reason::BmcUnreachable, why);
        self.observed.note_read_failure(at, obstacle);
        let failure = self.observed.read_failure.as_ref();
        failure.is_none_or(|failure| failure.consecutive <= FAILURES_TOLERATED)
    }

    /// What to do now.
    pub fn next(&self, now: Timestamp) -> Next {
        let delivery = self.delivery();
        let Some(since) = delivery.since() else {
            return Next::Send;
        };
        let last = self.observed.last_read();
        if let Some(detail) = last.and_then(|read| proof::wrong_host(read, self.host())) {
            return Next::GiveUp(detail);
        }
        if self.is_done(&delivery, now) {
            return Next::Done;
        }
        if now >= self.deadline {
            return Next::GiveUp(self.overdue(&delivery));
        }
        let power = self.observed.last_read_since(since).map(|read| read.power);
        if delivery.is_sent_again(self.verb, power, self.came_on, self.sends, now) {
            return Next::Send;
        }
        let pace = Pace {
            longest: LONGEST_PAUSE,
            ..Pace::default()
        };
        Next::Read(self.observed.read_at(self.begun, since, pace).min(self.deadline))
    }

    fn delivery(&self) -> Delivery {
        let sent = self.observed.sent.as_ref();
        sent.map_or(Delivery::Unsent, Sent::delivery)
    }

    fn is_done(&self, delivery: &Delivery, now: Timestamp) -> bool {
        match (self.verb, delivery) {
            (Verb::PowerOff, Delivery::Acknowledged(at)) => matches!(
                proof::off(&self.observed.reads, *at, self.host(), now),
                OffProof::Proven(_)
            ),
            (Verb::PowerOff, Delivery::Unsent | Delivery::Refused(..) | Delivery::Unknown(..)) => false,
            // What a reset did shows at no power state.
            (Verb::Restart, delivery) => matches!(delivery, Delivery::Acknowledged(_)),
            (Verb::PowerOn, _) => {
                let read = self.observed.right_read_since(self.host(), self.begun);
                read.is_some_and(|read| read.power == PowerState::On)
            }
        }
    }

    fn overdue(&self, delivery: &Delivery) -> String {
        let wanted = match self.verb {
            Verb::PowerOff if self.came_on => {
                "Off was not proven in time, for the host went off and came on again"
            }
            Verb::PowerOff => "Off was not proven in time",
            Verb::PowerOn => "the host did not come on in time",
            Verb::Restart => "the reset was not acknowledged in time",
        };
        let said = match self.observed.last_read() {
            Some(read) => format!("the BMC says {}", read.said()),
            None => "the power state could not be read".to_owned(),
        };
        match delivery {
            Delivery::Refused(_, why) => format!("{wanted}: {said}, and refused: {}", why.detail),
            Delivery::Unknown(_, Some(why)) if why.reason == Reason::BmcCommandFailed => {
                format!("{wanted}: {said}, and of the command: {}", why.detail)
            }
            Delivery::Unknown(..) => format!("{wanted}: {said}, and did not answer the command"),
            Delivery::Acknowledged(_) | Delivery::Unsent => format!("{wanted}: {said}"),
        }
    }
}
