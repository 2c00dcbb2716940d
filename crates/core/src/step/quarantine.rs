//! The end of a quarantine: the failed remediation itself sees that its Node has been well for a while, and writes it
//! down, so that it is known when the Node is unhealthy again.

use jiff::Timestamp;

use super::Step;
use crate::quarantine;

impl Step<'_> {
    /// Lifts the quarantine that the failure began, once its Node has been Ready for long enough with a boot that is
    /// none of those before the power-offs. Answers when that will be, where it is not yet.
    pub(super) fn lift_quarantine(&mut self) -> Option<Timestamp> {
        let is_taken_back = self.facts.deletion_requested || self.facts.told_to_stop;
        let began = quarantine::since(&self.journal, is_taken_back)?;
        let node = self.facts.objects.node.present()?;
        let ready_since = node.ready_since().filter(|_| self.came_back())?;
        let ends = quarantine::ends(began, ready_since);
        if ends > self.now {
            return Some(ends);
        }
        self.journal.quarantine_lifted = Some(self.now);
        None
    }
}
