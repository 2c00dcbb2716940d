//! What is to be looked at again, in the manner of client-go's workqueue (`util/workqueue`): an object is queued once,
//! however often it is enqueued, and is never looked at twice at a time.
//!
//! `Controller` of kube-runtime 5 is not used. Its `Store` keeps each object a second time, under a key with all that
//! tells one object from another, and its scheduler takes all of them at once after a start: half of what a host took.

mod schedule;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures::stream::{BoxStream, FuturesUnordered, SelectAll, Stream, StreamExt as _};
use remediator_api::guarded::Guarded;
use tokio::time::Instant;
use tracing::Instrument as _;

use self::schedule::Schedule;
use crate::watch::indexed_store::{Indexed, IndexedStore, ObjectKey};

/// What comes after a look at an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Action(Option<Duration>);

impl Action {
    /// It is looked at again after this time, or earlier if it is enqueued.
    pub(crate) const fn requeue(after: Duration) -> Self {
        Self(Some(after))
    }

    /// It is looked at again once it is enqueued.
    pub(crate) const fn await_change() -> Self {
        Self(None)
    }
}

/// Objects of one kind to be looked at, and what enqueues them.
pub(crate) struct WorkQueue<K: Indexed> {
    store: IndexedStore<K>,
    enqueued: SelectAll<BoxStream<'static, Vec<ObjectKey>>>,
    at_once: usize,
}

impl<K: Indexed> WorkQueue<K> {
    /// Of the objects of a cache. Nothing enqueues them yet.
    pub(crate) fn of(store: &IndexedStore<K>) -> Self {
        Self {
            store: store.clone(),
            enqueued: SelectAll::new(),
            at_once: usize::MAX,
        }
    }

    /// Enqueues what is there and whatever changes, where it is wanted.
    pub(crate) fn on_change(self, wanted: impl Fn(&Guarded<K>) -> bool + Send + 'static) -> Self {
        let changed = self.store.subscribe();
        self.on(changed.map(move |object| {
            let key = wanted(&object).then(|| ObjectKey::of(object.as_ref()));
            key.into_iter().collect()
        }))
    }

    /// Enqueues these.
    pub(crate) fn on(mut self, keys: impl Stream<Item = Vec<ObjectKey>> + Send + 'static) -> Self {
        self.enqueued.push(keys.boxed());
        self
    }

    /// Enqueues all objects each time.
    pub(crate) fn on_all(self, signals: impl Stream<Item = ()> + Send + 'static) -> Self {
        let store = self.store.clone();
        self.on(signals.map(move |()| store.all_keys()))
    }

    /// Looks at so many at a time and no more. After a start all are enqueued, and each that waits for an answer takes
    /// memory.
    pub(crate) fn at_once(self, at_once: usize) -> Self {
        Self { at_once, ..self }
    }

    /// Looks at objects until nothing enqueues any more. What is gone by its turn is passed over.
    pub(crate) async fn run<C, E, Look>(
        mut self,
        reconcile: impl Fn(Arc<Guarded<K>>, Arc<C>) -> Look,
        on_error: impl Fn(Arc<Guarded<K>>, &E, Arc<C>) -> Action,
        context: Arc<C>,
    ) where
        Look: Future<Output = Result<Action, E>>,
    {
        let mut schedule = Schedule::default();
        let mut looks = FuturesUnordered::new();
        loop {
            while looks.len() < self.at_once
                && let Some(key) = schedule.next()
            {
                let Some(object) = self.store.of_key(&key) else {
                    schedule.done(&key, None);
                    continue;
                };
                let span = tracing::info_span!("reconcile", kind = %K::kind(&()), %key);
                let look = reconcile(Arc::clone(&object), Arc::clone(&context));
                let look = async move { (key, object, look.await) };
                looks.push(look.instrument(span));
            }
            let due = schedule.due();
            let waits = due.is_some();
            tokio::select! {
                Some(keys) = self.enqueued.next() => {
                    for key in keys {
                        schedule.enqueue(key);
                    }
                }
                Some((key, object, outcome)) = looks.next() => {
                    let action = outcome.unwrap_or_else(|error| on_error(object, &error, Arc::clone(&context)));
                    let again = action.0.and_then(|after| Instant::now().checked_add(after));
                    schedule.done(&key, again);
                }
                () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if waits => {
                    schedule.wake(Instant::now());
                }
                else => return,
            }
        }
    }
}
