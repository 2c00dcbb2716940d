//! PoweringOff: the last look, the command, and the proof that it worked.

use jiff::{SignedDuration, Timestamp};

use super::pending::IDENTITY_AGE;
use super::subject::{self, Verdict};
use super::{Step, after};
use crate::core::decision::{Decision, Effect, Observation};
use crate::core::facts::{Look, Obstacle, Seen};
use crate::core::journal::{Intent, OffEvidence, OffRead, Subject, Verb};
use crate::core::observed::{Answer, IntentKey, PowerRead};
use crate::core::phase::Reason;
use crate::core::power::PowerState;
use crate::core::proof::{self, OffProof, Silence};
use crate::core::strategy::Strategy;

/// Age at which the last look before a power-off has to be repeated.
const LOOK_AGE: SignedDuration = SignedDuration::from_secs(2);

/// How long a host may go on saying the old state after a command that may have been carried out,
/// before the command is sent again. sushy-emulator takes up to 11 s, Cray EX about 7 s to power off.
const SETTLE: SignedDuration = SignedDuration::from_secs(20);

/// Pause before a command that was definitely not carried out is sent again. iDRAC10 refuses `On`
/// for up to a minute after power-off (ironic `ironic/conf/redfish.py`).
const REFUSED_PAUSE: SignedDuration = SignedDuration::from_secs(10);

/// Sends of one command in one attempt; after that only reads, until the deadline.
const SENDS_LIMIT: i32 = 12;

/// Where one command stands.
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

impl Step<'_> {
    pub(super) fn powering_off(self, strategy: &Strategy) -> Decision {
        let (Some(intent), Some(subject)) = (self.journal.intent.clone(), self.journal.subject.clone())
        else {
            return self.journal_unreadable("phase PoweringOff without intent or subject");
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
            Delivery::Unknown(at) => self.unacknowledged(&intent, at),
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
        match observed.sent.as_ref().filter(|sent| sent.intent == key) {
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
    fn last_look(self, strategy: &Strategy, intent: &Intent, subject: &Subject) -> Decision {
        if self.now >= intent.not_after {
            return self.journal_again(intent.verb, intent.sends, Observation::Look);
        }
        let facts = self.facts;
        let fresh =
            |look: &&Look| look.began >= intent.journalled && self.now.duration_since(look.began) <= LOOK_AGE;
        let Some(look) = facts.look.as_ref().filter(fresh) else {
            return self.observe(Observation::Look);
        };
        match subject::examine(facts, &look.world, self.now) {
            Verdict::Recovered if intent.sends == 1 => self.recovered(),
            Verdict::Withdrawn(obstacle) if intent.sends == 1 => self.withdrawn(&obstacle),
            Verdict::Waits(obstacle, until) if intent.sends == 1 => self.back_to_pending(&obstacle, until),
            // The command was sent before and may still be carried out: no second one, only reads.
            Verdict::Recovered | Verdict::Withdrawn(_) | Verdict::Waits(..) => {
                self.poll(intent, intent.journalled)
            }
            Verdict::Unhealthy {
                machine,
                node,
                silence_only,
                ..
            } => {
                let changed = machine.uid != subject.machine_uid
                    || node.uid != subject.node_uid
                    || node.boot_id.as_deref() != Some(subject.boot_id.as_str());
                let alive = silence_only
                    .then(|| subject::contradiction(node, &look.report, self.now))
                    .flatten();
                if intent.sends == 1 && changed {
                    let detail = format!("Machine or Node {} is not what it was when this began", node.name);
                    let now = self.now;
                    return self.back_to_pending(&Obstacle::new(Reason::Accepted, detail), Some(now));
                }
                if let Some(obstacle) = alive.filter(|_| intent.sends == 1) {
                    return self.back_to_pending(&obstacle, None);
                }
                self.send_power_off(strategy, intent, subject, look)
            }
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
            return match self.read_due(intent.journalled) {
                Ok(()) => self.observe(Observation::Power),
                Err(at) => self.rest(Some(at)),
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

    /// Acknowledged: Off has to be read, more than once, and the Node has to be silent.
    fn prove(
        mut self,
        strategy: &Strategy,
        intent: &Intent,
        subject: &Subject,
        acknowledged: Timestamp,
    ) -> Decision {
        match self.off_and_silent(subject, acknowledged) {
            Standing::Proven {
                reads,
                newest,
                silent,
            } => {
                let evidence = OffEvidence {
                    acknowledged,
                    reads,
                    node_silent: silent,
                };
                self.begin_release(strategy, subject, evidence, newest)
            }
            Standing::WrongHost(detail) => {
                self.attempt_failed(strategy, &Obstacle::new(Reason::IdentityMismatch, detail))
            }
            Standing::Report => self.observe(Observation::Report),
            Standing::Wait(at) => self.rest(Some(at)),
            Standing::Reporting => {
                let detail = format!("the BMC says Off, but Node {} went on reporting", subject.node);
                let advice = Reason::NodeStillReporting.advice();
                self.journal
                    .because(Reason::NodeStillReporting, format!("{detail}. {advice}"));
                self.poll(intent, acknowledged)
            }
            Standing::NotYet => {
                let on = self
                    .last_read_since(acknowledged)
                    .is_some_and(|read| read.power == PowerState::On);
                if on && self.now >= after(acknowledged, SETTLE) && intent.sends < SENDS_LIMIT {
                    return self.journal_again(
                        intent.verb,
                        intent.sends.saturating_add(1),
                        Observation::Look,
                    );
                }
                self.poll(intent, acknowledged)
            }
        }
    }

    /// Judges reads and signs of life together.
    pub(super) fn off_and_silent(&self, subject: &Subject, acknowledged: Timestamp) -> Standing {
        let standing = self.off_and_silent_since(subject, acknowledged);
        match standing {
            // Everything read before the sign of life is void; judge what came after it.
            Ok(seen) => match self.off_and_silent_since(subject, seen) {
                Err(Standing::NotYet) | Ok(_) => Standing::Reporting,
                Err(standing) => standing,
            },
            Err(standing) => standing,
        }
    }

    fn off_and_silent_since(&self, subject: &Subject, not_before: Timestamp) -> Result<Timestamp, Standing> {
        let observed = &self.facts.observed;
        let (reads, began, newest) = match proof::off(&observed.reads, not_before, subject, self.now) {
            OffProof::Proven { reads, began, newest } => (reads, began, newest),
            OffProof::WrongHost(detail) => return Err(Standing::WrongHost(detail)),
            OffProof::NotYet => return Err(Standing::NotYet),
        };
        match proof::silence(&observed.reports, self.known_silent(), began, newest) {
            Silence::Silent(silent) => Err(Standing::Proven {
                reads,
                newest,
                silent,
            }),
            Silence::ReadNow => Err(Standing::Report),
            Silence::ReadAt(at) if at <= self.now => Err(Standing::Report),
            Silence::ReadAt(at) => Err(Standing::Wait(at)),
            Silence::Reporting { seen } => Ok(seen),
        }
    }

    /// Whether the last look already found the Node silent: lost to the node lifecycle controller,
    /// with an expired Lease.
    fn known_silent(&self) -> bool {
        self.facts.look.as_ref().is_some_and(|look| {
            let unknown = match &look.world.node {
                Seen::Present(node) => node
                    .conditions
                    .iter()
                    .any(|condition| condition.kind == "Ready" && condition.status == "Unknown"),
                Seen::Absent | Seen::Unreadable(_) => false,
            };
            unknown && !look.report.lease_is_fresh(look.began)
        })
    }

    /// The BMC refused, or could not be reached: ask again after a pause.
    fn refused(mut self, intent: &Intent, at: Timestamp, obstacle: &Obstacle) -> Decision {
        if self.now >= after(at, REFUSED_PAUSE) && intent.sends < SENDS_LIMIT {
            return self.journal_again(intent.verb, intent.sends.saturating_add(1), Observation::Look);
        }
        self.journal.because(
            obstacle.reason,
            format!("{}. {}", obstacle.detail, obstacle.reason.advice()),
        );
        self.poll(intent, at)
    }

    /// Nobody knows whether the command was carried out: read, and send again only on what is read.
    fn unacknowledged(self, intent: &Intent, since: Timestamp) -> Decision {
        let sends = intent.sends.saturating_add(1);
        let power = self.last_read_since(since).map(|read| read.power);
        let settled = self.now >= after(since, SETTLE);
        match power {
            _ if intent.sends >= SENDS_LIMIT => self.poll(intent, since),
            // Off without an acknowledgement proves nothing yet. ForceOff changes nothing on a host
            // that is off, and its answer is the acknowledgement.
            Some(PowerState::Off) => self.journal_again(intent.verb, sends, Observation::Look),
            Some(PowerState::On) if settled => self.journal_again(intent.verb, sends, Observation::Look),
            Some(PowerState::On | PowerState::PoweringOn | PowerState::PoweringOff | PowerState::Unknown)
            | None => self.poll(intent, since),
        }
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
            Err(at) => {
                let at = self.journal.deadline.map_or(at, |deadline| at.min(deadline));
                self.rest(Some(at))
            }
        }
    }

    /// Whether a read is due, else when. Intervals grow with the reads since the command: 1, 1, 1.6,
    /// 2.6, 4.1 ... s, at most a minute; the read that confirms an Off comes after one second.
    pub(super) fn read_due(&self, since: Timestamp) -> Result<(), Timestamp> {
        let observed = &self.facts.observed;
        let reads: Vec<&PowerRead> = observed.reads.iter().filter(|read| read.began >= since).collect();
        let at = match (&observed.read_failure, reads.last()) {
            (Some(failure), _) => after(
                failure.at,
                interval(failure.consecutive.try_into().unwrap_or(usize::MAX)),
            ),
            (None, None) => after(since, interval(0)),
            (None, Some(read)) if read.power == PowerState::Off => after(read.began, proof::READ_SPACING),
            (None, Some(read)) => after(read.began, interval(reads.len())),
        };
        if at <= self.now { Ok(()) } else { Err(at) }
    }

    fn power_off_failed(self, strategy: &Strategy) -> Decision {
        let observed = &self.facts.observed;
        let obstacle = if self.journal.reason == Reason::NodeStillReporting.as_str() {
            Obstacle::new(
                Reason::NodeStillReporting,
                "the BMC says Off, but the Node went on reporting",
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
        self,
        strategy: &Strategy,
        intent: &Intent,
        delivery: &Delivery,
    ) -> Decision {
        let since = match delivery {
            Delivery::Unsent if intent.sends == 1 => return self.let_go(),
            Delivery::Unsent => intent.journalled,
            Delivery::Acknowledged(at) | Delivery::Refused(at, _) | Delivery::Unknown(at) => *at,
        };
        let settled = self.now >= after(since, SETTLE);
        match self.last_read_since(since).map(|read| read.power) {
            Some(PowerState::Off) => self.begin_power_on(strategy, "the remediation is being deleted"),
            Some(PowerState::On) if settled => self.let_go(),
            _ if self.journal.is_overdue(self.now) => self.fail(&Obstacle::new(
                Reason::PowerOffNotConfirmed,
                "deleted before the host was proven On or Off",
            )),
            Some(PowerState::On | PowerState::PoweringOn | PowerState::PoweringOff | PowerState::Unknown)
            | None => self.poll(intent, since),
        }
    }
}

/// Where the proof of Off stands.
pub(super) enum Standing {
    /// Off and silent.
    Proven {
        reads: Vec<OffRead>,
        newest: Timestamp,
        silent: Timestamp,
    },
    /// More reads are needed.
    NotYet,
    /// Another host answered.
    WrongHost(String),
    /// The Node's signs of life have to be read.
    Report,
    /// They have to be read later.
    Wait(Timestamp),
    /// The Node reports.
    Reporting,
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
