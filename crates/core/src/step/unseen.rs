//! An attempt that goes on while the API that its Node is in cannot be asked.

use super::Step;
use crate::phase::Reason;

impl Step<'_> {
    /// Says so in a phase that waits as usual, and takes it back when the API can be asked. Once for each time, for
    /// what exactly is wrong may change with every try. That it was not asked yet is nothing to tell.
    pub(super) fn say_unseen(&mut self, usual: Reason, waiting: impl Into<String>) {
        let unreachable = Reason::WorkloadClusterUnreachable;
        match &self.facts.world.node_cluster {
            Some(obstacle) if obstacle.reason == unreachable && self.journal.is_because(usual) => {
                let told = format!("{}; {}", waiting.into(), obstacle.for_people());
                self.journal.because(unreachable, told);
            }
            None if self.journal.is_because(unreachable) => self.journal.because(usual, waiting),
            Some(_) | None => return,
        }
        // The message that named them is gone.
        if let Some(release) = &mut self.journal.release {
            release.waiting_for.clear();
        }
    }
}
