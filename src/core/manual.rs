//! A power command by a person's hand: the protocol of a remediation without Kubernetes.
//!
//! The same rules hold: absolute verbs, none repeated before a read, and Off is only what two fresh reads
//! after the acknowledgement say literally.

use jiff::{SignedDuration, Timestamp};

use super::journal::{Subject, Verb};
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
    subject: Subject,
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
        let none = String::new;
        Self {
            verb,
            subject: Subject {
                machine: None,
                machine_group: None,
                cluster: None,
                machine_uid: None,
                node: none(),
                node_uid: none(),
                boot_id: none(),
                host: none(),
                bmc: none(),
                system: first.system.clone(),
                system_uuid: first.uuid.clone().unwrap_or_default(),
                identity: none(),
            },
            deadline,
            sent: Vec::new(),
            reads: Vec::new(),
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
            .and_then(|read| proof::wrong_host(read, &self.subject))
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
                        proof::off(&self.reads, *at, &self.subject, now),
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

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "00112233-4455-6677-8899-aabbccddeeff";

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000_000_i64.saturating_add(seconds)).unwrap()
    }

    fn read(seconds: i64, said: &str) -> PowerRead {
        PowerRead {
            began: at(seconds),
            ended: at(seconds),
            power: PowerState::from_literal(Some(said)),
            said: said.to_owned(),
            uuid: Some(UUID.to_owned()),
            system: "/redfish/v1/Systems/1".to_owned(),
            session: None,
            command_failure: None,
            fallback: None,
        }
    }

    fn manual(verb: Verb, sent: &[(i64, Outcome)], reads: &[(i64, &str)]) -> Manual {
        let mut manual = Manual::new(verb, &read(-1, "On"), at(300));
        for (seconds, outcome) in sent {
            manual.note_sent(at(*seconds), outcome.clone());
        }
        for (seconds, said) in reads {
            manual.note_read(read(*seconds, said));
        }
        manual
    }

    type Row<'a> = (&'a str, &'a [(i64, Outcome)], &'a [(i64, &'a str)], i64, Next);

    #[test]
    fn a_power_off_is_done_when_two_reads_after_the_acknowledgement_say_off() {
        use Outcome::{Acknowledged, Refused, Unknown};
        let refused = || Refused("busy".to_owned());
        let rows: [Row<'_>; 12] = [
            ("nothing sent", &[], &[(-1, "On")], 0, Next::Send),
            ("sent", &[(0, Acknowledged)], &[], 0, Next::Read(at(1))),
            (
                "going",
                &[(0, Acknowledged)],
                &[(1, "PoweringOff"), (2, "PoweringOff")],
                2,
                Next::Read(at(4)),
            ),
            ("once", &[(0, Acknowledged)], &[(1, "Off")], 1, Next::Read(at(2))),
            (
                "twice",
                &[(0, Acknowledged)],
                &[(1, "Off"), (2, "Off")],
                2,
                Next::Done,
            ),
            (
                "twice, too long ago",
                &[(0, Acknowledged)],
                &[(1, "Off"), (2, "Off")],
                8,
                Next::Read(at(3)),
            ),
            (
                "before the acknowledgement",
                &[(3, Acknowledged)],
                &[(1, "Off"), (2, "Off")],
                3,
                Next::Read(at(4)),
            ),
            (
                "still on",
                &[(0, Acknowledged)],
                &[(19, "On")],
                19,
                Next::Read(at(20)),
            ),
            ("on for long", &[(0, Acknowledged)], &[(20, "On")], 20, Next::Send),
            ("unknown, off", &[(0, Unknown)], &[(1, "Off")], 1, Next::Send),
            ("refused", &[(0, refused())], &[], 5, Next::Read(at(10))),
            ("refused, later", &[(0, refused())], &[], 10, Next::Send),
        ];
        for (name, sent, reads, now, expected) in rows {
            assert_eq!(
                manual(Verb::PowerOff, sent, reads).next(at(now)),
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn a_power_on_is_done_when_a_read_after_it_says_on() {
        use Outcome::{Acknowledged, Unknown};
        let next = |sent: &[(i64, Outcome)], reads: &[(i64, &str)], now| {
            manual(Verb::PowerOn, sent, reads).next(at(now))
        };
        assert_eq!(next(&[(0, Acknowledged)], &[(1, "On")], 1), Next::Done);
        assert_eq!(next(&[(0, Acknowledged)], &[(-1, "On")], 1), Next::Read(at(1)));
        assert_eq!(
            next(&[(0, Acknowledged)], &[(1, "PoweringOn")], 1),
            Next::Read(at(2))
        );
        assert_eq!(next(&[(0, Unknown)], &[(1, "Off")], 1), Next::Read(at(2)));
        assert_eq!(next(&[(0, Unknown)], &[(20, "Off")], 20), Next::Send);
    }

    #[test]
    fn a_command_that_the_bmc_failed_over_is_no_acknowledgement() {
        let failed = |seconds, said| PowerRead {
            command_failure: Some("its task ended in Exception".to_owned()),
            ..read(seconds, said)
        };
        let mut off = manual(Verb::PowerOff, &[(0, Outcome::Acknowledged)], &[]);
        off.note_read(failed(1, "On"));
        // Not sooner than after any other that came to nothing.
        assert_eq!(off.next(at(19)), Next::Read(at(2)));
        off.note_read(read(20, "On"));
        assert_eq!(off.next(at(20)), Next::Send);
        let Next::GiveUp(text) = off.next(at(300)) else {
            panic!("it is over");
        };
        assert!(
            text.ends_with("and of the command: its task ended in Exception"),
            "{text}"
        );

        let mut off = manual(Verb::PowerOff, &[(0, Outcome::Acknowledged)], &[]);
        off.note_read(failed(1, "On"));
        off.note_read(read(2, "Off"));
        off.note_read(read(3, "Off"));
        assert_eq!(off.next(at(3)), Next::Send, "nothing acknowledges this Off");

        // What was read before the command is about another one.
        let mut early = manual(Verb::PowerOff, &[(2, Outcome::Acknowledged)], &[]);
        early.note_read(failed(1, "On"));
        early.note_read(read(3, "Off"));
        early.note_read(read(4, "Off"));
        assert_eq!(early.next(at(4)), Next::Done);
    }

    #[test]
    fn it_gives_up_at_its_time_and_on_another_host() {
        let overdue = manual(Verb::PowerOff, &[(0, Outcome::Unknown)], &[(299, "On")]).next(at(300));
        let Next::GiveUp(text) = overdue else {
            panic!("{overdue:?}");
        };
        assert!(
            text.contains("says On") && text.contains("did not answer"),
            "{text}"
        );

        let mut other = manual(Verb::PowerOff, &[(0, Outcome::Acknowledged)], &[(1, "Off")]);
        let mut wrong = read(2, "Off");
        wrong.uuid = Some("ffffffff-4455-6677-8899-aabbccddeeff".to_owned());
        other.note_read(wrong);
        assert!(matches!(other.next(at(2)), Next::GiveUp(_)));
    }
}
