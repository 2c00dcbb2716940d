//! PoweringOff: the last look, the command, and the proof that it worked.

use jiff::{SignedDuration, Timestamp};

use super::pending::IDENTITY_AGE;
use super::subject::{self, Verdict};
use super::{Step, after};
use crate::core::decision::{Decision, Effect, Observation};
use crate::core::facts::{Look, Machine, Node, Obstacle};
use crate::core::journal::{Intent, Subject, Verb};
use crate::core::observed::{Answer, IntentKey, PowerRead, Sent};
use crate::core::phase::Reason;
use crate::core::power::PowerState;
use crate::core::proof;
use crate::core::strategy::Strategy;

/// Age at which the last look before a power-off has to be repeated.
const LOOK_AGE: SignedDuration = SignedDuration::from_secs(2);

/// How long a host may go on saying the old state after a command that may have been carried out,
/// before the command is sent again. sushy-emulator takes up to 11 s, Cray EX about 7 s to power off.
pub(super) const SETTLE: SignedDuration = SignedDuration::from_secs(20);

/// Pause before a command that was definitely not carried out is sent again. iDRAC10 refuses `On`
/// for up to a minute after power-off (ironic `ironic/conf/redfish.py`).
const REFUSED_PAUSE: SignedDuration = SignedDuration::from_secs(10);

/// Sends of one command in one attempt; after that only reads, until the deadline.
const SENDS_LIMIT: i32 = 12;

/// Where one command stands.
#[derive(Debug, PartialEq)]
pub(super) enum Delivery {
    /// Journalled by this process, and not sent.
    Unsent,
    /// Acknowledged by the BMC at this time.
    Acknowledged(Timestamp),
    /// Definitely not carried out; why, and when that was known.
    Refused(Timestamp, Obstacle),
    /// Perhaps carried out: no answer came, or a predecessor journalled it.
    Unknown(Timestamp),
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
    pub(super) fn powering_off(self, strategy: &Strategy) -> Decision {
        let intent = self.journal.intent.clone();
        let intent = intent.filter(|intent| intent.verb == Verb::PowerOff);
        let (Some(intent), Some(subject)) = (intent, self.journal.subject.clone()) else {
            return self.journal_unreadable("phase PoweringOff without its intent or subject");
        };
        let delivery = self.delivery(&intent);
        if self.facts.deletion_requested {
            return self.deleted_while_powering_off(strategy, &intent, &delivery);
        }
        if self.journal.is_overdue(self.now) {
            return self.power_off_failed(strategy);
        }
        match delivery {
            Delivery::Unsent => self.last_look(strategy, &intent, &subject),
            Delivery::Acknowledged(at) => self.prove(strategy, &intent, &subject, at),
            Delivery::Refused(at, obstacle) => self.refused(&intent, at, &obstacle),
            Delivery::Unknown(at) => self.poll_or_send_again(&intent, at, Resend::WhenOnOrOff),
        }
    }

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
                Answer::Unknown(_) => Delivery::Unknown(sent.at),
            },
            None if observed.own_intent == Some(key) => Delivery::Unsent,
            None => Delivery::Unknown(intent.journalled),
        }
    }

    /// The last thing before a power-off: everything is read once more, live.
    fn last_look(mut self, strategy: &Strategy, intent: &Intent, subject: &Subject) -> Decision {
        let read = self.last_read_since(intent.journalled).is_some();
        if self.now >= intent.not_after && intent.sends > 1 && !read {
            return self.poll(intent, intent.journalled);
        }
        if self.now >= intent.not_after {
            return self.journal_again(intent.verb, intent.sends, Observation::Look);
        }
        let (facts, now) = (self.facts, self.now);
        let fresh =
            |look: &&Look| look.began >= intent.journalled && now.duration_since(look.began) <= LOOK_AGE;
        if intent.sends > 1 && self.came_on_again() {
            return self.poll(intent, intent.journalled);
        }
        let Some(look) = facts.look.as_ref().filter(fresh) else {
            return self.observe(Observation::Look);
        };
        let verdict = match subject::examine(facts, &look.world, self.now) {
            Verdict::Unhealthy {
                machine,
                node,
                silence_only,
                ..
            } => match objection(subject, machine, node, silence_only, look, self.now) {
                None => return self.send_power_off(strategy, intent, subject, look),
                Some(obstacle) => Verdict::Waits(obstacle, None),
            },
            verdict @ (Verdict::Recovered | Verdict::Withdrawn(_) | Verdict::Waits(..)) => verdict,
        };
        // A command that was sent before may still be carried out: no second one, only reads.
        let untouched = intent.sends == 1;
        match verdict {
            Verdict::Recovered if untouched => self.recovered(strategy),
            Verdict::Withdrawn(obstacle) if untouched => self.last_look_withdrawn(&obstacle),
            Verdict::Waits(obstacle, until) if untouched => self.back_to_pending(&obstacle, until),
            Verdict::Unhealthy { .. } | Verdict::Recovered | Verdict::Withdrawn(_) | Verdict::Waits(..) => {
                self.poll(intent, intent.journalled)
            }
        }
    }

    /// The signal went away before this attempt's power-off. What an earlier attempt may have left
    /// off is settled in Pending.
    fn last_look_withdrawn(self, obstacle: &Obstacle) -> Decision {
        if self.journal.failed_attempts.is_empty() {
            self.withdrawn(obstacle)
        } else {
            let now = self.now;
            self.back_to_pending(obstacle, Some(now))
        }
    }

    /// The host must still be the right one; then the command goes out.
    fn send_power_off(
        self,
        strategy: &Strategy,
        intent: &Intent,
        subject: &Subject,
        look: &Look,
    ) -> Decision {
        if let Some(failure) = self
            .facts
            .observed
            .read_failure
            .as_ref()
            .filter(|_| intent.sends == 1)
        {
            let obstacle = failure.obstacle.clone();
            return self.back_to_pending(&obstacle, None);
        }
        let Some(read) = self.fresh_read(IDENTITY_AGE) else {
            let retry = self.failed_read_retry().filter(|retry| *retry > self.now);
            return match retry {
                Some(retry) => self.rest_until(retry),
                None => self.observe(Observation::Power),
            };
        };
        if let Some(detail) = proof::wrong_host(read, subject) {
            let obstacle = Obstacle::new(Reason::IdentityMismatch, detail);
            return if intent.sends == 1 {
                self.back_to_pending(&obstacle, None)
            } else {
                self.attempt_failed(strategy, &obstacle)
            };
        }
        let look_end = after(look.began, LOOK_AGE);
        self.perform(Effect::PowerOff {
            not_after: intent.not_after.min(look_end),
        })
    }

    /// The BMC refused, or could not be reached: ask again after a pause.
    fn refused(mut self, intent: &Intent, at: Timestamp, obstacle: &Obstacle) -> Decision {
        if self.came_on_again() {
            return self.poll(intent, at);
        }
        if self.now >= after(at, REFUSED_PAUSE) && intent.sends < SENDS_LIMIT {
            return self.journal_again(intent.verb, intent.sends.saturating_add(1), Observation::Look);
        }
        self.journal.because(
            obstacle.reason,
            format!("{}. {}", obstacle.detail, obstacle.reason.advice()),
        );
        self.poll(intent, at)
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
    fn came_on_again(&mut self) -> bool {
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
        let from = newest.map_or(since, |read| read.began.max(since));
        let at = match (self.failed_read_retry(), newest.map(|read| read.power)) {
            (Some(retry), _) => retry,
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
    fn failed_read_retry(&self) -> Option<Timestamp> {
        let failure = self.facts.observed.read_failure.as_ref()?;
        let pause = interval(failure.consecutive.try_into().unwrap_or(usize::MAX));
        Some(after(failure.at, pause))
    }

    fn power_off_failed(self, strategy: &Strategy) -> Decision {
        let observed = &self.facts.observed;
        let unsent = self
            .journal
            .intent
            .as_ref()
            .is_some_and(|intent| intent.sends == 1 && self.delivery(intent) == Delivery::Unsent);
        let obstacle = if unsent {
            Obstacle::new(
                Reason::PowerOffNotConfirmed,
                "the last look before the power-off could not be completed in time; nothing was sent",
            )
        } else if self.journal.is_because(Reason::NodeStillReporting) {
            Obstacle::new(
                Reason::NodeStillReporting,
                "the BMC says Off, but the Node went on reporting",
            )
        } else if self.journal.is_because(Reason::HostCameOn) {
            Obstacle::new(
                Reason::HostCameOn,
                "the host went off and came on again before Off was proven",
            )
        } else if let Some(failure) = &observed.read_failure {
            failure.obstacle.clone()
        } else {
            let said = observed.last_read().map_or("nothing", |read| read.said.as_str());
            Obstacle::new(
                Reason::PowerOffNotConfirmed,
                format!("the BMC did not say Off twice in time; last it said {said}"),
            )
        };
        self.attempt_failed(strategy, &obstacle)
    }

    /// The producer took the request back after the power-off was journalled.
    fn deleted_while_powering_off(
        mut self,
        strategy: &Strategy,
        intent: &Intent,
        delivery: &Delivery,
    ) -> Decision {
        let since = match delivery {
            Delivery::Unsent if intent.sends == 1 => {
                let obstacle = Obstacle::new(Reason::TriggerWithdrawn, "the remediation is being deleted");
                let now = self.now;
                return self.back_to_pending(&obstacle, Some(now));
            }
            Delivery::Unsent => intent.journalled,
            Delivery::Acknowledged(at) | Delivery::Refused(at, _) | Delivery::Unknown(at) => *at,
        };
        let settled = self.now >= after(since, SETTLE);
        match self.last_read_since(since).map(|read| read.power) {
            Some(PowerState::Off) => self.begin_power_on(strategy, "the remediation is being deleted"),
            Some(PowerState::On) if settled => {
                self.journal.intent = None;
                self.leave(strategy)
            }
            _ if self.journal.is_overdue(self.now) => self.fail(&Obstacle::new(
                Reason::PowerOffNotConfirmed,
                "deleted before the host was proven On or Off",
            )),
            Some(PowerState::On | PowerState::PoweringOn | PowerState::PoweringOff | PowerState::Unknown)
            | None => self.poll(intent, since),
        }
    }
}

/// What, seen live, speaks against powering this Node off: it is another one, or it lives.
fn objection(
    subject: &Subject,
    machine: &Machine,
    node: &Node,
    silence_only: bool,
    look: &Look,
    now: Timestamp,
) -> Option<Obstacle> {
    let changed = machine.uid != subject.machine_uid
        || node.uid != subject.node_uid
        || node.boot_id.as_deref() != Some(subject.boot_id.as_str());
    if changed {
        let detail = format!("Machine or Node {} is not what it was when this began", node.name);
        return Some(Obstacle::new(Reason::Accepted, detail));
    }
    if let Err(obstacle) = &look.host {
        return Some(obstacle.clone());
    }
    if silence_only {
        return subject::contradiction(node, &look.report, now);
    }
    None
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
        Delivery::Acknowledged(at) | Delivery::Unknown(at) => (at, SETTLE),
        Delivery::Refused(at, _) => (at, REFUSED_PAUSE),
    };
    at.saturating_add(pause).ok()
}
