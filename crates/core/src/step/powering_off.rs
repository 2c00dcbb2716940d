//! PoweringOff: the live check, the command, and the proof that it worked.

use jiff::{SignedDuration, Timestamp};

use super::pending::IDENTITY_AGE;
use super::subject::{self, Diagnosis};
use super::{Step, after, without_node};
use crate::decision::{Decision, Effect, Observation};
use crate::eligibility::contradiction;
use crate::facts::{Facts, LiveCheck, Machine, Node, Obstacle};
use crate::journal::{Intent, Subject, Verb};
use crate::node_lease;
use crate::observed::PowerRead;
use crate::phase::{Phase, Reason};
use crate::power::PowerState;
use crate::power_command::{Delivery, Pace};
use crate::proof;
use crate::strategy::Strategy;

/// Age at which the live check before a power-off has to be repeated.
const LOOK_AGE: SignedDuration = SignedDuration::from_secs(2);

/// The same where there is no Node: all Nodes of the cluster are listed then, page by page, which takes longer. What
/// the caches have learned meanwhile has to say the same.
const LIST_AGE: SignedDuration = SignedDuration::from_secs(8);

/// Distance of looks when the API server is too slow for a fresh one.
const LOOK_PACE: SignedDuration = SignedDuration::from_secs(4);

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
            Delivery::Refused(at, ref obstacle) => self.refused(&intent, at, obstacle, &delivery),
            Delivery::Unknown(at, ref why) => self.unknown(&intent, at, why.as_ref(), &delivery),
        }
    }

    /// The last thing before a power-off: everything is read once more, live.
    fn last_look(mut self, strategy: &Strategy, intent: &Intent, subject: &Subject) -> Decision {
        let read = self.last_read_since(intent.journalled).is_some();
        if self.now >= intent.not_after && intent.sends > 1 && !read {
            return self.poll(intent, intent.journalled);
        }
        if self.now >= intent.not_after {
            return self.journal_again(intent.verb, intent.sends, Observation::LiveCheck);
        }
        let (facts, now) = (self.facts, self.now);
        let age = live_check_age(subject);
        let fresh =
            |live: &&LiveCheck| live.began >= intent.journalled && now.duration_since(live.began) <= age;
        if intent.sends > 1 && self.came_on_again() {
            return self.poll(intent, intent.journalled);
        }
        let Some(live) = facts.live_check.as_ref().filter(fresh) else {
            // A look that took too long to be fresh is not hurried: the API server is slow already.
            let slow = facts
                .live_check
                .as_ref()
                .filter(|live| live.began >= intent.journalled);
            let pace = slow.map(|live| after(live.began, LOOK_PACE));
            return match pace.filter(|pace| *pace > now) {
                Some(pace) => self.rest_until(pace),
                None => self.observe(Observation::LiveCheck),
            };
        };
        let verdict = match subject::examine(&self.journal, facts, &live.world, self.now) {
            Diagnosis::Unhealthy {
                machine,
                node,
                silence_only,
                ..
            } => match objection(facts, subject, (machine, node), silence_only, live, self.now) {
                None => return self.send_power_off(strategy, intent, subject, live),
                Some(obstacle) => Diagnosis::Waits(obstacle, None),
            },
            Diagnosis::WithoutNode { machine, why, .. } => {
                let by_caches = subject::examine(&self.journal, facts, &facts.world, self.now);
                match without_node::objection(facts, subject, (machine, &why), live) {
                    None => match without_node::still_so(by_caches, &why) {
                        None => return self.send_power_off(strategy, intent, subject, live),
                        Some(otherwise) => otherwise,
                    },
                    Some(obstacle) => Diagnosis::Waits(obstacle, None),
                }
            }
            verdict @ (Diagnosis::Recovered | Diagnosis::Withdrawn(_) | Diagnosis::Waits(..)) => verdict,
        };
        // A command that was sent before may still be carried out: no second one, only reads.
        let untouched = intent.sends == 1;
        match verdict {
            Diagnosis::Recovered if untouched && self.journal.failed_attempts.is_empty() => {
                self.recovered(strategy)
            }
            Diagnosis::Recovered if untouched => {
                let detail = "the Node was healthy at the live check before the power-off";
                self.back_to_pending(&Obstacle::new(Reason::Recovered, detail), Some(now))
            }
            Diagnosis::Withdrawn(obstacle) if untouched => self.last_look_withdrawn(&obstacle),
            Diagnosis::Waits(obstacle, until) if untouched => self.back_to_pending(&obstacle, until),
            Diagnosis::Unhealthy { .. }
            | Diagnosis::WithoutNode { .. }
            | Diagnosis::Recovered
            | Diagnosis::Withdrawn(_)
            | Diagnosis::Waits(..) => self.poll(intent, intent.journalled),
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
        live: &LiveCheck,
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
            let retry = self.facts.observed.failed_read_retry(Pace::default());
            let retry = retry.filter(|retry| *retry > self.now);
            return match retry {
                Some(retry) => self.rest_until(retry),
                None => self.observe(Observation::Power),
            };
        };
        if let Some(detail) = proof::wrong_host(read, subject.at_bmc()) {
            let obstacle = Obstacle::new(Reason::IdentityMismatch, detail);
            return if intent.sends == 1 {
                self.back_to_pending(&obstacle, None)
            } else {
                self.attempt_failed(strategy, &obstacle)
            };
        }
        let look_end = after(live.began, live_check_age(subject));
        self.perform(Effect::PowerOff {
            not_after: intent.not_after.min(look_end),
        })
    }

    /// The BMC refused, or could not be reached: ask again after a pause.
    fn refused(
        mut self,
        intent: &Intent,
        at: Timestamp,
        obstacle: &Obstacle,
        delivery: &Delivery,
    ) -> Decision {
        // What the reads say against the host is more than what the BMC says against the command.
        if !self.came_on_again() && !self.is_sent_again(intent, at, delivery) {
            self.journal.because(obstacle.reason, obstacle.for_people());
            self.note_complaint(obstacle);
        }
        self.poll_or_send_again(intent, at, delivery)
    }

    /// It may or may not be carried out, which is read.
    fn unknown(
        mut self,
        intent: &Intent,
        at: Timestamp,
        why: Option<&Obstacle>,
        delivery: &Delivery,
    ) -> Decision {
        if !self.came_on_again() {
            self.tell_failure(why);
        }
        self.poll_or_send_again(intent, at, delivery)
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
                "the live check before the power-off could not be completed in time; nothing was sent",
            )
        } else if self.journal.node_reported.is_some() {
            Obstacle::new(
                Reason::NodeStillReporting,
                "the BMC says Off, but the Node went on reporting",
            )
        } else if self.journal.host_came_on.is_some() {
            Obstacle::new(
                Reason::HostCameOn,
                "the host went off and came on again before Off was proven",
            )
        } else if let Some(failure) = &observed.read_failure {
            failure.obstacle.clone()
        } else {
            let said = observed.last_read().map_or("nothing", PowerRead::said);
            Obstacle::new(
                Reason::PowerOffNotConfirmed,
                format!(
                    "the BMC did not say Off twice in time; last it said {said}{}",
                    self.complaint()
                ),
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
        let deleted = Obstacle::new(Reason::TriggerWithdrawn, "the remediation is being deleted");
        let since = match delivery {
            Delivery::Unsent if intent.sends == 1 => {
                let now = self.now;
                return self.back_to_pending(&deleted, Some(now));
            }
            Delivery::Unsent => intent.journalled,
            Delivery::Acknowledged(at) | Delivery::Refused(at, _) | Delivery::Unknown(at, _) => *at,
        };
        let settled = !self.may_still_be_off();
        match self.right_read_since(since).map(|read| read.power) {
            Some(PowerState::Off) => self.begin_power_on(strategy, "the remediation is being deleted"),
            Some(PowerState::On) if settled => {
                let now = self.now;
                self.back_to_pending(&deleted, Some(now))
            }
            _ if self.journal.is_overdue(self.now) => self.settle_before_leaving(&deleted),
            Some(PowerState::On | PowerState::PoweringOn | PowerState::PoweringOff | PowerState::Unknown)
            | None => self.poll(intent, since),
        }
    }

    /// Neither On nor Off was seen in time, and the host may still go off: it is read on for as long as
    /// an attempt may be held up, and powered on if it did, before the remediation vanishes.
    fn settle_before_leaving(mut self, deleted: &Obstacle) -> Decision {
        self.enter(Phase::Pending, deleted.reason, None);
        self.journal.next_attempt = Some(self.now);
        let now = self.now;
        self.waiting_until(deleted, Some(now))
    }
}

/// How old the live check may be when the power-off is sent.
fn live_check_age(subject: &Subject) -> SignedDuration {
    if subject.had_no_node() { LIST_AGE } else { LOOK_AGE }
}

/// What, seen live, speaks against powering this Node off: it is another one, or it lives.
fn objection(
    facts: &Facts,
    subject: &Subject,
    (machine, node): (Option<&Machine>, &Node),
    silence_only: bool,
    live: &LiveCheck,
    now: Timestamp,
) -> Option<Obstacle> {
    let changed = machine.map(|machine| &machine.uid) != subject.machine_uid.as_ref()
        || subject.there().is_none_or(|there| {
            node.uid != there.uid || node.boot_id.as_deref() != Some(there.boot_id.as_str())
        });
    if changed {
        let detail = format!("Machine or Node {} is not what it was when this began", node.name);
        return Some(Obstacle::new(Reason::Accepted, detail));
    }
    if let Err(obstacle) = &live.host {
        return Some(obstacle.clone());
    }
    let by_lease = match &live.node_lease {
        Ok(lease) => node_lease::objection(&node.name, lease, &facts.lease_holders, now),
        Err(obstacle) => Some(obstacle.clone()),
    };
    by_lease.or_else(|| {
        silence_only
            .then(|| contradiction(node, &live.report, now))
            .flatten()
    })
}
