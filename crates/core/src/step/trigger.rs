//! The trigger on a Machine: it goes when its Node is well, and nobody but us takes it off.

use std::cmp::Ordering;

use super::Step;
use crate::decision::Effect;
use crate::eligibility::{self, Candidate};
use crate::facts::{Lookup, Machine, Obstacle, Origin};
use crate::phase::Reason;
use crate::resource_version;

/// How often it is tried to remove what no remediation depends on.
const COURTESY_TRIES: u32 = 3;

impl Step<'_> {
    /// What removes the signal that a reboot has answered: the trigger, or a person's demand to remediate a Machine of
    /// Cluster API, which nobody else removes, and with which it stays unhealthy.
    pub(super) fn clear_signal(&mut self) -> Result<Option<Effect>, Obstacle> {
        match self.facts.origin {
            Origin::Annotation => self.clear_trigger(),
            Origin::Request => {
                let failure = self.facts.observed.write_failure.as_ref();
                let is_refused = failure.is_some_and(|failure| failure.consecutive >= COURTESY_TRIES);
                // What was asked for is done, and must neither fail nor wait because its health check cannot be told.
                if self.facts.deletion_requested || is_refused {
                    return Ok(None);
                }
                self.note_cleared();
                let machine = self.facts.objects.machine.present();
                let demanded = machine.filter(|machine| machine.state.remediate && self.is_meant(machine));
                let is_new = self.journal.trigger_cleared.is_none();
                Ok(demanded.filter(|_| is_new).map(clearing))
            }
        }
    }

    /// What removes the trigger, if it is still there and ours to remove.
    pub(super) fn clear_trigger(&mut self) -> Result<Option<Effect>, Obstacle> {
        self.note_cleared();
        if self.facts.origin == Origin::Request || self.journal.trigger_cleared.is_some() {
            return Ok(None);
        }
        match &self.facts.objects.machine {
            Lookup::Present(machine) => Ok(self.trigger_of(machine)),
            Lookup::Absent => Ok(None),
            Lookup::Unreadable(detail) => Err(Obstacle::new(Reason::MachineUnreadable, detail.clone())),
        }
    }

    /// What removes the trigger of a Machine whose Node is well although the remediation failed, also a later one.
    /// Nobody else removes it, and meanwhile the Machine uses up a place of `maxUnhealthy`, which others may need.
    pub(super) fn needless_trigger(&mut self) -> Option<Effect> {
        self.note_cleared();
        let is_released = self.journal.release.is_some() && !self.came_back_since_release();
        if self.facts.origin == Origin::Request || is_released {
            return None;
        }
        let objects = &self.facts.objects;
        let machine = objects.machine.present()?;
        let cleared = self.journal.trigger_cleared.as_deref();
        let version = |cleared| resource_version::compare(&machine.resource_version, cleared);
        if cleared.is_some_and(|cleared| version(cleared) != Some(Ordering::Greater)) {
            return None;
        }
        // Another who answers it takes it for what it began with.
        let candidate =
            Candidate::of_trigger(Lookup::Present(machine), &objects.node, &objects.health_checks);
        let examined = eligibility::examine(&candidate, self.now);
        let is_needless = examined.is_err_and(|obstacles| obstacles.is_needless());
        self.trigger_of(machine).filter(|_| is_needless)
    }

    fn note_cleared(&mut self) {
        if let Some(cleared) = &self.facts.observed.trigger_cleared {
            self.journal.trigger_cleared = Some(cleared.clone());
        }
    }

    /// What removes the trigger of a Machine, if it has one and is the one that is meant.
    fn trigger_of(&self, machine: &Machine) -> Option<Effect> {
        (machine.state.triggered && self.is_meant(machine)).then(|| clearing(machine))
    }

    fn is_meant(&self, machine: &Machine) -> bool {
        let of_subject = self.journal.subject.as_ref();
        let of_subject = of_subject.and_then(|subject| subject.machine_uid.as_ref());
        let expected = self.facts.expected_machine_uid.as_ref();
        let mut meant = [of_subject, expected].into_iter().flatten();
        meant.all(|meant| *meant == machine.uid)
    }
}

fn clearing(machine: &Machine) -> Effect {
    Effect::ClearTrigger {
        machine: machine.name.clone(),
        uid: machine.uid.clone(),
    }
}
