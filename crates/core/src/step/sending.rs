//! Where a power command stands, when it is sent again, and when its outcome is read.

use jiff::{SignedDuration, Timestamp};

use super::{Step, after};
use crate::decision::{Decision, Observation};
use crate::facts::Obstacle;
use crate::journal::{Intent, Verb};
use crate::observed::{Answer, IntentKey, PowerRead, Sent};
use crate::phase::Reason;
use crate::power::PowerState;
use crate::proof;

/// How long a host may go on saying the old state after a command that may have been carried out,
/// before the command is sent again. sushy-emulator takes up to 11 s, Cray EX about 7 s to power off.
pub(super) const SETTLE: SignedDuration = SignedDuration::from_secs(20);

/// Pause before a command that was definitely not carried out is sent again. iDRAC10 refuses `On`
/// for up to a minute after power-off (ironic `ironic/conf/redfish.py`).
pub(super) const REFUSED_PAUSE: SignedDuration = SignedDuration::from_secs(10);

/// Sends of one command in one attempt; after that only reads, until the deadline.
pub(super) const SENDS_LIMIT: i32 = 12;

/// Distance of reads that say Off while the Node reports. Two of them have to be young at once.
const CONTRADICTED_SPACING: SignedDuration = SignedDuration::from_secs(4);

/// Where one command stands.
#[derive(Debug, PartialEq)]
pub(super) enum Delivery {
    /// Journalled by this process, and not sent.
    Unsent,
    /// Acknowledged by the BMC at this time.
    Acknowledged(Timestamp),
    /// Definitely not carried out; why, and when that was known.
    Refused(Timestamp, Obstacle),
    /// Perhaps carried out: no answer came, the BMC failed over it, or a predecessor journalled it. Why, when
    /// this process sent it.
    Unknown(Timestamp, Option<Obstacle>),
}

/// What has to be read before a power-off is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resend {
    /// On, after the host had time to settle.
    WhenOn,
    /// The same, or Off: that proves nothing without an acknowledgement. `ForceOff` changes nothing
    /// on a host that is off, and its answer is the acknowledgement.
    WhenOnOrOff,
}

impl Step<'_> {
    /// What became of a journalled command.
    pub(super) fn delivery(&self, intent: &Intent) -> Delivery {
        let key = IntentKey {
            verb: intent.verb,
            attempt: self.journal.attempt,
            sends: intent.sends,
        };
        let observed = &self.facts.observed;
        let of_this = |sent: &&Sent| sent.intent == key && sent.at >= intent.journalled;
        match observed.sent.as_ref().filter(of_this) {
            Some(sent) => match &sent.answer {
                Answer::Acknowledged => Delivery::Acknowledged(sent.at),
                Answer::Refused(obstacle) | Answer::NotSent(obstacle) => {
                    Delivery::Refused(sent.at, obstacle.clone())
                }
                Answer::Unknown(obstacle) => Delivery::Unknown(sent.at, Some(obstacle.clone())),
            },
            None if observed.own_intent == Some(key) => Delivery::Unsent,
            None => Delivery::Unknown(intent.journalled, None),
        }
    }

    /// Tells people that the BMC failed over a command, once it said so.
    pub(super) fn tell_failure(&mut self, why: Option<&Obstacle>) {
        if let Some(why) = why.filter(|why| why.reason == Reason::BmcCommandFailed) {
            self.journal.because(why.reason, why.for_people());
        }
    }

    /// What the BMC is known to have had against a command of this phase, as the rest of a sentence.
    pub(super) fn command_complaint(&self) -> String {
        let reasons = [Reason::BmcCommandFailed, Reason::BmcCommandRefused];
        let told = reasons
            .into_iter()
            .find(|reason| self.journal.is_because(*reason));
        let detail = told.and_then(|reason| {
            let detail = self.journal.message.strip_suffix(reason.advice())?;
            Some(detail.trim_end_matches(['.', ' ']))
        });
        detail.map_or_else(String::new, |detail| format!("; of a command it said: {detail}"))
    }

    /// Reads, and sends the command again only on what is read.
    pub(super) fn poll_or_send_again(
        mut self,
        intent: &Intent,
        since: Timestamp,
        resend: Resend,
    ) -> Decision {
        let power = self.last_read_since(since).map(|read| read.power);
        let came_on = self.came_on_again();
        let settled = self.now >= after(since, SETTLE);
        let again = match power {
            Some(PowerState::Off) => resend == Resend::WhenOnOrOff,
            Some(PowerState::On) => settled && !came_on,
            Some(PowerState::PoweringOn | PowerState::PoweringOff | PowerState::Unknown) | None => false,
        };
        if again && intent.sends < SENDS_LIMIT {
            return self.journal_again(intent.verb, intent.sends.saturating_add(1), Observation::Look);
        }
        self.poll(intent, since)
    }

    /// Whether the host went off in this attempt and came on: somebody powers it, and a second
    /// power-off would be a second outage. Once noticed it stays in the journal.
    pub(super) fn came_on_again(&mut self) -> bool {
        let begun = self.journal.phase_started.unwrap_or(Timestamp::MIN);
        let reads = &self.facts.observed.reads;
        let mut words = reads
            .iter()
            .filter(|read| read.began >= begun)
            .map(|read| read.power);
        let went_off = words.any(|power| power == PowerState::Off);
        if went_off && words.next_back().is_some_and(|last| last == PowerState::On) {
            let detail = "the host went off and came on again before Off was proven";
            let advice = Reason::HostCameOn.advice();
            self.journal
                .because(Reason::HostCameOn, format!("{detail}. {advice}"));
        }
        self.journal.is_because(Reason::HostCameOn)
    }

    /// Journals the intent anew before its command may be sent (again).
    pub(super) fn journal_again(mut self, verb: Verb, sends: i32, then: Observation) -> Decision {
        self.journal.intent = Some(self.intent(verb, sends));
        self.observe(then)
    }

    /// The newest read begun at or after a time, unless another host gave it.
    pub(super) fn right_read_since(&self, since: Timestamp) -> Option<&PowerRead> {
        let subject = self.journal.subject.as_ref()?;
        self.last_read_since(since)
            .filter(|read| proof::wrong_host(read, subject.at_bmc()).is_none())
    }

    /// The newest read begun at or after a time.
    pub(super) fn last_read_since(&self, since: Timestamp) -> Option<&PowerRead> {
        self.facts.observed.last_read().filter(|read| read.began >= since)
    }

    /// Reads the power state now or at its time.
    pub(super) fn poll(self, intent: &Intent, since: Timestamp) -> Decision {
        let due = self.read_due(since.max(intent.journalled));
        match due {
            Ok(()) => self.observe(Observation::Power),
            Err(at) => self.rest_until(at),
        }
    }

    /// Whether a read is due, else when. Intervals grow with the reads of the phase, not only of the
    /// last send: 1, 1, 1.6,
    /// 2.6, 4.1 ... s, at most a minute; the read that confirms an Off comes after one second.
    pub(super) fn read_due(&self, since: Timestamp) -> Result<(), Timestamp> {
        let observed = &self.facts.observed;
        let begun = self.journal.phase_started.unwrap_or(since);
        let reads: Vec<&PowerRead> = observed.reads.iter().filter(|read| read.began >= begun).collect();
        let newest = reads.last().copied();
        // Whatever the journal's times are, reads are never hurried.
        let from = observed.last_read().map_or(since, |read| read.began.max(since));
        let at = match (self.failed_read_retry(), newest.map(|read| read.power)) {
            (Some(retry), _) => retry,
            // A BMC that contradicts the Node is not worth a read a second.
            (None, Some(PowerState::Off)) if self.journal.is_because(Reason::NodeStillReporting) => {
                after(from, CONTRADICTED_SPACING)
            }
            (None, Some(PowerState::Off)) => after(from, proof::READ_SPACING),
            (
                None,
                Some(PowerState::On | PowerState::PoweringOn | PowerState::PoweringOff | PowerState::Unknown)
                | None,
            ) => after(from, interval(reads.len())),
        };
        if at <= self.now { Ok(()) } else { Err(at) }
    }

    /// When a BMC that did not answer is asked again.
    pub(super) fn failed_read_retry(&self) -> Option<Timestamp> {
        let failure = self.facts.observed.read_failure.as_ref()?;
        let pause = interval(failure.consecutive.try_into().unwrap_or(usize::MAX));
        Some(after(failure.at, pause))
    }
}

/// The pause before read number `done + 1`.
fn interval(done: usize) -> SignedDuration {
    const GROWTH: [i64; 10] = [
        1_000, 1_000, 1_600, 2_560, 4_100, 6_550, 10_490, 16_780, 26_840, 42_950,
    ];
    SignedDuration::from_millis(GROWTH.get(done).copied().unwrap_or(60_000))
}

/// When a command that was not carried out, or perhaps was, may be sent again.
pub(super) fn resend_time(delivery: &Delivery) -> Option<Timestamp> {
    let (at, pause) = match delivery {
        Delivery::Unsent => return None,
        Delivery::Acknowledged(at) | Delivery::Unknown(at, _) => (at, SETTLE),
        Delivery::Refused(at, _) => (at, REFUSED_PAUSE),
    };
    at.saturating_add(pause).ok()
}
