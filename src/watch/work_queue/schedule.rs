//! Which object comes next, and which later. It knows only those that are queued, looked at or wait for their time.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use tokio::time::Instant;

use crate::watch::indexed_store::ObjectKey;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Queued,
    /// It is looked at; `again`: it was enqueued since.
    LookedAt {
        again: bool,
    },
    /// It waits for its time.
    Later(Instant),
}

#[derive(Debug, Default)]
pub(super) struct Schedule {
    stages: HashMap<Arc<ObjectKey>, Stage>,
    queued: VecDeque<Arc<ObjectKey>>,
    later: BTreeSet<(Instant, Arc<ObjectKey>)>,
}

impl Schedule {
    /// Has an object looked at as soon as may be.
    pub(super) fn enqueue(&mut self, key: ObjectKey) {
        let key = Arc::new(key);
        match self.stages.get(&key).copied() {
            Some(Stage::Queued | Stage::LookedAt { again: true }) => {}
            Some(Stage::LookedAt { again: false }) => {
                self.stages.insert(key, Stage::LookedAt { again: true });
            }
            Some(Stage::Later(at)) => {
                self.later.remove(&(at, Arc::clone(&key)));
                self.queue(key);
            }
            None => self.queue(key),
        }
    }

    /// The next object to look at; it counts as looked at until it is done.
    pub(super) fn next(&mut self) -> Option<Arc<ObjectKey>> {
        let key = self.queued.pop_front()?;
        self.stages
            .insert(Arc::clone(&key), Stage::LookedAt { again: false });
        Some(key)
    }

    /// The look is over; unless it was enqueued meanwhile, it comes again at this time, if at one.
    pub(super) fn done(&mut self, key: &Arc<ObjectKey>, again: Option<Instant>) {
        let enqueued = matches!(self.stages.remove(key), Some(Stage::LookedAt { again: true }));
        match again {
            _ if enqueued => self.queue(Arc::clone(key)),
            Some(at) => {
                self.stages.insert(Arc::clone(key), Stage::Later(at));
                self.later.insert((at, Arc::clone(key)));
            }
            None => {}
        }
    }

    /// When the first of those comes that wait for their time.
    pub(super) fn due(&self) -> Option<Instant> {
        self.later.first().map(|(at, _)| *at)
    }

    /// Queues those whose time has come.
    pub(super) fn wake(&mut self, now: Instant) {
        while self.due().is_some_and(|at| at <= now)
            && let Some((_, key)) = self.later.pop_first()
        {
            self.queue(key);
        }
    }

    fn queue(&mut self, key: Arc<ObjectKey>) {
        self.stages.insert(Arc::clone(&key), Stage::Queued);
        self.queued.push_back(key);
    }

    /// How many objects it knows.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.stages.len()
    }
}
