//! PoweringOff: the live check, the command, and the proof that it worked.

use jiff::{SignedDuration, Timestamp};

use super::clearing::MINIMUM_OFF;
use super::pending::IDENTITY_AGE;
use super::restarting::confirm_verb;
use super::sending::CAME_ON;
use super::subject::{self, NotDue};
use super::{Next, Step, after, without_node};
use crate::decision::{Effect, Observation};
use crate::eligibility::{Eligible, contradiction};
use crate::facts::{LiveCheck, Obstacle};
use crate::journal::{Intent, Subject, Verb};
use crate::node_lease;
use crate::observed::PowerRead;
use crate::phase::{Phase, Reason};
use crate::power::PowerState;
use crate::power_command::{Delivery, Pace};
use crate::proof;

/// Age at which the live check before a power-off has to be repeated.
pub const LIVE_CHECK_AGE: SignedDuration = SignedDuration::from_secs(2);

/// The same where there is no Node: all Nodes of the cluster are listed then, page by page, which takes longer.
const LIST_AGE: SignedDuration = SignedDuration::from_secs(8);

/// For how long a host that is off waits for leave to be told so once more. What is only being read anew is read by
/// then.
const IN_VAIN_FOR: SignedDuration = SignedDuration::from_secs(30);

/// Looks that fail in a row until no more are waited for.
const FAILED_LOOKS: u32 = 3;

/// Distance of live checks when the API server is too slow for a fresh one.
pub(super) const LIVE_CHECK_PACE: SignedDuration = SignedDuration::from_secs(4);

impl Step<'_> {
    pub(super) fn powering_off(&mut self) -> Next {
        let intent = self.journal.intent.clone();
        let intent = intent.filter(|intent| intent.verb == Verb::PowerOff);
        let (Some(intent), Some(subject)) = (intent, self.journal.subject.clone()) else {
            return self.journal_unreadable("phase PoweringOff without its intent or subject");
        };
        let delivery = self.delivery(&intent);
        if self.facts.deletion_requested {
            return self.deleted_while_powering_off(&intent, &delivery);
        }
        if self.is_overdue() {
            return self.power_off_failed(&intent, &delivery);
        }
        if let Some(next) = self.leave_off_to_metal3(&intent, &delivery) {
            return next;
        }
        match delivery {
            Delivery::Unsent => self.check_live_and_send(&intent, &subject),
            Delivery::Acknowledged(at) => {
                self.note_acknowledged(at);
                self.prove(&intent, &subject, at)
            }
            // It may or may not be carried out, which is read.
            Delivery::Refused(..) | Delivery::Unknown(..) => {
                // The BMC took back that it had acknowledged it.
                if let Some(intent) = &mut self.journal.intent {
                    intent.acknowledged = None;
                }
                self.poll_or_send_again(&intent, &delivery)
            }
        }
    }

    /// Who sent it once more keeps the acknowledgement for those who come after.
    fn note_acknowledged(&mut self, at: Timestamp) {
        let intent = self.journal.intent.as_mut();
        if let Some(intent) = intent.filter(|intent| intent.sends > 1) {
            intent.acknowledged.get_or_insert(at);
        }
    }

    /// The last thing before a power-off: everything is read once more, live.
    pub(super) fn check_live_and_send(&mut self, intent: &Intent, subject: &Subject) -> Next {
        let (facts, now) = (self.facts, self.now);
        if now >= intent.not_after {
            if intent.sends > 1 && self.facts.observed.last_read_since(intent.journalled).is_none() {
                return self.poll(intent, intent.journalled);
            }
            return self.journal_again(intent.verb, intent.sends);
        }
        if intent.sends > 1 && self.came_on_again() {
            return self.poll(intent, intent.journalled);
        }
        let live = match self.live_check(intent.journalled, live_check_age(subject), LIVE_CHECK_PACE) {
            Ok(live) => live,
            Err(next) => return self.without_live_check(intent, next),
        };
        let due = subject::examine(&self.journal, facts, &live.objects, now)
            .and_then(|eligible| self.confirm(&eligible, subject, live))
            .and_then(|()| Ok(confirm_verb(intent.verb == Verb::Restart, live)?))
            .and_then(|()| self.heed_brakes(intent, live));
        let is_first = self.journal.failed_attempts.is_empty();
        match due {
            Ok(()) => self.send_once_examined(intent, subject, live),
            // A command that was sent before may still be carried out: no second one, only reads.
            Err(NotDue::Withdrawn(obstacle) | NotDue::Waits(obstacle, _))
                if self.keeps_off_in_vain(intent) || self.is_taken_from_us(intent, live) =>
            {
                self.is_not_sent_any_more();
                self.attempt_failed(&obstacle)
            }
            Err(_) if intent.sends > 1 => self.poll(intent, intent.journalled),
            Err(NotDue::Recovered) if is_first => self.recovered(),
            Err(NotDue::Withdrawn(obstacle)) if is_first => self.withdrawn(&obstacle),
            Err(NotDue::Recovered) => {
                let detail = "the Node was healthy at the live check before the power-off";
                self.back_to_pending(&Obstacle::new(Reason::Recovered, detail), Some(now))
            }
            // What an earlier attempt may have left off is settled in Pending.
            Err(NotDue::Withdrawn(obstacle)) => self.back_to_pending(&obstacle, Some(now)),
            Err(NotDue::Waits(obstacle, until)) => self.back_to_pending(&obstacle, until),
        }
    }

    /// A host that is off already is not kept off for looks that fail.
    fn without_live_check(&mut self, intent: &Intent, next: Next) -> Next {
        let failed = self.facts.observed.write_failure.as_ref();
        let failed =
            failed.filter(|failed| failed.at >= intent.journalled && failed.consecutive >= FAILED_LOOKS);
        let Some(failed) = failed.filter(|_| self.keeps_off_in_vain(intent)) else {
            return next;
        };
        let obstacle = Obstacle::new(Reason::LiveCheckIncomplete, failed.detail.clone());
        self.is_not_sent_any_more();
        self.attempt_failed(&obstacle)
    }

    /// Whether a host is off already, and a repetition of the power-off, without which Off proves nothing, has been
    /// forbidden for a while to whoever looks after it now.
    fn keeps_off_in_vain(&self, intent: &Intent) -> bool {
        let begun = self.journal.phase_started.max(self.facts.observed.taken_up);
        let late = begun.is_none_or(|begun| after(begun, IN_VAIN_FOR) <= self.now);
        let read = self.right_read_since(intent.journalled);
        let off = read.is_some_and(|read| read.power == PowerState::Off);
        intent.sends > 1 && late && off && after(self.off_since(), MINIMUM_OFF) <= self.now
    }

    /// Nobody but this process could have sent it.
    fn is_not_sent_any_more(&mut self) {
        if let Some(intent) = &mut self.journal.intent {
            intent.not_after = self.now;
        }
    }

    /// Whether what is eligible, seen live, is what was journalled and has not come back to life.
    fn confirm(&self, eligible: &Eligible<'_>, subject: &Subject, live: &LiveCheck) -> Result<(), NotDue> {
        let (facts, now) = (self.facts, self.now);
        let (machine, node, silence_only) = match eligible {
            Eligible::Unhealthy {
                machine,
                node,
                silence_only,
                ..
            } => (*machine, *node, *silence_only),
            Eligible::WithoutNode { machine, why, .. } => {
                without_node::confirm(facts, subject, machine, why, live)?;
                // What the caches have learned meanwhile has to say the same.
                let by_caches = subject::examine(&self.journal, facts, &facts.objects, now)?;
                return Ok(without_node::is_still_so(&by_caches, why)?);
            }
        };
        let is_same_node = subject.there().is_some_and(|there| {
            node.uid == there.uid && node.boot_id.as_deref() == Some(there.boot_id.as_str())
        });
        if !is_same_node || machine.map(|machine| &machine.uid) != subject.machine_uid.as_ref() {
            let detail = format!("Machine or Node {} is not what it was when this began", node.name);
            return Err(Obstacle::new(Reason::Accepted, detail).into());
        }
        live.host.clone()?;
        let lease = live.node_lease.as_ref().map_err(Clone::clone)?;
        node_lease::confirm(&node.name, lease, &facts.lease_holders, now)?;
        let contradiction = contradiction(node, &live.report, now).filter(|_| silence_only);
        contradiction.map_or(Ok(()), |obstacle| Err(obstacle.into()))
    }

    /// Whether one more host may be powered off. One that went off is none; one that is on may never have been told.
    fn heed_brakes(&self, intent: &Intent, live: &LiveCheck) -> Result<(), NotDue> {
        live.own_node.clone()?;
        let Some(policy) = live.objects.policy.present() else {
            return Ok(());
        };
        let is_on = self
            .facts
            .observed
            .last_read()
            .is_some_and(|read| read.power == PowerState::On);
        match (intent.sends, is_on) {
            (1, _) => policy.limits.allow(&live.fleet, &live.claim, self.now)?,
            (_, true) => policy.limits.allow_again(&live.fleet, self.now)?,
            (_, false) => {}
        }
        Ok(())
    }

    /// The host must still be the right one; then the command goes out.
    fn send_once_examined(&mut self, intent: &Intent, subject: &Subject, live: &LiveCheck) -> Next {
        let observed = &self.facts.observed;
        if let Some(failure) = &observed.read_failure
            && intent.sends == 1
        {
            return self.back_to_pending(&failure.obstacle, None);
        }
        let Some(read) = self.fresh_read(IDENTITY_AGE) else {
            let retry = observed.failed_read_retry(Pace::default());
            return self.observe_at(retry.unwrap_or(self.now), Observation::Power);
        };
        if let Some(detail) = proof::wrong_host(read, subject.at_bmc()) {
            let obstacle = Obstacle::new(Reason::IdentityMismatch, detail);
            return if intent.sends == 1 {
                self.back_to_pending(&obstacle, None)
            } else {
                self.attempt_failed(&obstacle)
            };
        }
        let end = after(live.began, live_check_age(subject));
        if self.journal.phase == Phase::Holding {
            return self.write_first_hold(intent, live, end);
        }
        let not_after = intent.not_after.min(end);
        match intent.verb {
            Verb::Restart => self.reset_once_read(intent, read.power, not_after),
            Verb::PowerOff | Verb::PowerOn => Next::perform(Effect::PowerOff { not_after }),
        }
    }

    pub(super) fn power_off_failed(&mut self, intent: &Intent, delivery: &Delivery) -> Next {
        let observed = &self.facts.observed;
        if self.nothing_was_sent(intent) {
            let detail =
                "the live check before the power-off could not be completed in time; nothing was sent";
            let obstacle = match delivery {
                Delivery::Refused(_, why) => why.clone(),
                Delivery::Unsent | Delivery::Acknowledged(_) | Delivery::Unknown(..) => {
                    Obstacle::new(Reason::LiveCheckIncomplete, detail)
                }
            };
            return self.back_to_pending(&obstacle, None);
        }
        let obstacle = if self.journal.node_reported.is_some() {
            let detail = "the BMC says Off, but the Node went on reporting";
            Obstacle::new(Reason::NodeStillReporting, detail)
        } else if self.journal.host_came_on.is_some() {
            Obstacle::new(Reason::HostCameOn, CAME_ON)
        } else if let Some(failure) = &observed.read_failure {
            failure.obstacle.clone()
        } else {
            let said = observed.last_read().map_or("nothing", PowerRead::said);
            let complaint = self.complaint();
            let detail = format!("the BMC did not say Off twice in time; last it said {said}{complaint}");
            Obstacle::new(Reason::PowerOffNotConfirmed, detail)
        };
        self.attempt_failed(&obstacle)
    }

    /// The producer took the request back after the power-off was journalled.
    pub(super) fn deleted_while_powering_off(&mut self, intent: &Intent, delivery: &Delivery) -> Next {
        let deleted = Obstacle::new(Reason::TriggerWithdrawn, "the remediation is being deleted");
        let now = self.now;
        if self.nothing_was_sent(intent) {
            return self.back_to_pending(&deleted, Some(now));
        }
        let since = delivery.since().unwrap_or(intent.journalled);
        match self.right_read_since(since).map(|read| read.power) {
            Some(PowerState::Off) => match self.while_a_power_off_may_come() {
                Some(until) => self.rest_until(until),
                None => self.begin_power_on("the remediation is being deleted"),
            },
            Some(PowerState::On) if !self.may_still_be_off() => self.back_to_pending(&deleted, Some(now)),
            // The hold goes there, and what metal3 may still do is waited for.
            Some(PowerState::On) if self.journal.standing_hold().is_some() => {
                self.settle_in_pending(&deleted)
            }
            // Neither On nor Off was seen in time, and the host may still go off: it is read on for as long as
            // an attempt may be held up, and powered on if it did, before the remediation vanishes.
            _ if self.is_overdue() => self.settle_in_pending(&deleted),
            Some(PowerState::On | PowerState::PoweringOn | PowerState::PoweringOff | PowerState::Unknown)
            | None => self.poll(intent, since),
        }
    }

    fn settle_in_pending(&mut self, deleted: &Obstacle) -> Next {
        let now = self.now;
        self.enter(Phase::Pending, deleted.reason, None);
        self.journal.next_attempt = Some(now);
        self.waiting_until(deleted, Some(now))
    }
}

fn live_check_age(subject: &Subject) -> SignedDuration {
    if subject.had_no_node() {
        LIST_AGE
    } else {
        LIVE_CHECK_AGE
    }
}
