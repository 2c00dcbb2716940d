//! A power command by a person's hand: the protocol of a remediation without Kubernetes.
//!
//! The same rules hold: absolute verbs, none repeated before a read, and Off is only what two fresh reads
//! after the acknowledgement say literally.

#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};

use super::journal::{HostAtBmc, Verb};
use super::observed::PowerRead;
use super::power::PowerState;
use super::proof::{self, OffProof};

/// How long a host may go on saying the old state before the command is sent again.
const SETTLE: SignedDuration = SignedDuration::from_secs(20);
/// Pause before a command that was definitely not carried out is sent again.
const REFUSED_PAUSE: SignedDuration = SignedDuration::from_secs(10);
/// Distance of reads while the state is not what it should be, and at most.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_secs(1);
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_secs(5);
/// Sends at most.
const SENDS_LIMIT: usize = 12;

/// What came of a command that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The BMC took it, or said that there was nothing to do.
    Acknowledged,
    /// The BMC did not take it; what it said.
    Refused(String),
    /// The BMC took it and failed over it; what it said. What it did before that is not known.
    Failed(String),
    /// No answer came.
    Unknown,
}

/// A command under way.
#[derive(Clone, Debug)]
pub struct Manual {
    verb: Verb,
    system: String,
    system_uuid: String,
    deadline: Timestamp,
    sent: Vec<(Timestamp, Outcome)>,
    reads: Vec<PowerRead>,
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
    /// A command for the host that `first` was read from, given up at `deadline`.
    pub fn new(verb: Verb, first: &PowerRead, deadline: Timestamp) -> Self {
        Self {
            verb,
            system: first.system.clone(),
            system_uuid: first.uuid.clone().unwrap_or_default(),
            deadline,
            sent: Vec::new(),
            reads: Vec::new(),
        }
    }

    fn host(&self) -> HostAtBmc<'_> {
        HostAtBmc {
            system: &self.system,
            system_uuid: &self.system_uuid,
        }
    }

    /// Notes what came of a command, and when.
    pub fn note_sent(&mut self, at: Timestamp, outcome: Outcome) {
        self.sent.push((at, outcome));
    }

    /// Notes a read, and what it tells of the last command.
    pub fn note_read(&mut self, read: PowerRead) {
        if let (Some(why), Some((at, outcome))) = (&read.command_failure, self.sent.last_mut())
            && *outcome == Outcome::Acknowledged
            && *at <= read.began
        {
            *outcome = Outcome::Failed(why.clone());
        }
        self.reads.push(read);
    }

    /// What to do now.
    pub fn next(&self, now: Timestamp) -> Next {
        let Some((at, outcome)) = self.sent.last() else {
            return Next::Send;
        };
        let since: Vec<&PowerRead> = self.reads.iter().filter(|read| read.began >= *at).collect();
        if let Some(detail) = self
            .reads
            .last()
            .and_then(|read| proof::wrong_host(read, self.host()))
        {
            return Next::GiveUp(detail);
        }
        if self.is_done(now) {
            return Next::Done;
        }
        if now >= self.deadline {
            return Next::GiveUp(self.overdue());
        }
        let power = since.last().map(|read| read.power);
        if self.sent.len() < SENDS_LIMIT && self.is_sent_again(*at, outcome, power, now) {
            return Next::Send;
        }
        Next::Read(self.next_read(*at, outcome, &since).min(self.deadline))
    }

    fn is_done(&self, now: Timestamp) -> bool {
        match self.verb {
            Verb::PowerOff => {
                let acknowledged = self.sent.iter().rev();
                let mut times = acknowledged.filter(|(_, outcome)| *outcome == Outcome::Acknowledged);
                times.next().is_some_and(|(at, _)| {
                    matches!(
                        proof::off(&self.reads, *at, self.host(), now),
                        OffProof::Proven { .. }
                    )
                })
            }
            Verb::PowerOn => self.reads.last().is_some_and(|read| {
                let first_sent = self.sent.first().map(|(at, _)| *at);
                read.power == PowerState::On && first_sent.is_some_and(|at| read.began >= at)
            }),
        }
    }

    /// Only on what was read since, as in `core::step`.
    fn is_sent_again(
        &self,
        at: Timestamp,
        outcome: &Outcome,
        power: Option<PowerState>,
        now: Timestamp,
    ) -> bool {
        let waited = now.duration_since(at);
        let unchanged = match self.verb {
            Verb::PowerOff => PowerState::On,
            Verb::PowerOn => PowerState::Off,
        };
        match outcome {
            Outcome::Refused(_) => waited >= REFUSED_PAUSE,
            Outcome::Acknowledged => power == Some(unchanged) && waited >= SETTLE,
            // Off proves nothing without an acknowledgement, and a power-off changes nothing there.
            Outcome::Failed(_) | Outcome::Unknown
                if self.verb == Verb::PowerOff && power == Some(PowerState::Off) =>
            {
                true
            }
            Outcome::Failed(_) | Outcome::Unknown => power == Some(unchanged) && waited >= SETTLE,
        }
    }

    fn next_read(&self, at: Timestamp, outcome: &Outcome, since: &[&PowerRead]) -> Timestamp {
        if let (Outcome::Refused(_), None) = (outcome, since.last()) {
            return later(at, REFUSED_PAUSE);
        }
        let Some(last) = since.last() else {
            return later(at, FIRST_PAUSE);
        };
        if self.verb == Verb::PowerOff && last.power == PowerState::Off {
            return later(last.began, proof::READ_SPACING);
        }
        let grown = FIRST_PAUSE.saturating_mul(i32::try_from(since.len()).unwrap_or(i32::MAX));
        later(last.began, grown.min(LONGEST_PAUSE))
    }

    fn overdue(&self) -> String {
        let wanted = match self.verb {
            Verb::PowerOff => "Off was not proven in time",
            Verb::PowerOn => "the host did not come on in time",
        };
        let said = match self.reads.last() {
            Some(read) => format!("the BMC says {}", read.said),
            None => "the power state could not be read".to_owned(),
        };
        match self.sent.last() {
            Some((_, Outcome::Refused(text))) => format!("{wanted}: {said}, and refused: {text}"),
            Some((_, Outcome::Failed(text))) => format!("{wanted}: {said}, and of the command: {text}"),
            Some((_, Outcome::Unknown)) => format!("{wanted}: {said}, and did not answer the command"),
            Some((_, Outcome::Acknowledged)) | None => format!("{wanted}: {said}"),
        }
    }
}

fn later(at: Timestamp, pause: SignedDuration) -> Timestamp {
    at.saturating_add(pause).unwrap_or(Timestamp::MAX)
}
