//! One kind's cache, and those who are told what has changed in it.
//!
//! `reflector::store_shared` of kube-runtime 5 is not used. Its `ReflectHandle::poll_next`
//! (kube-rs `kube-runtime/src/reflector/dispatcher.rs`) is pending without a waker when the object it is told of
//! has left the cache by then: that subscriber sleeps for ever, and once its buffer is full so does the watch, and
//! every reader of the cache sees the past. And it says nothing of deletions.

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt as _;
use futures::channel::mpsc::{self, UnboundedReceiver, UnboundedSender};
use futures::stream::Map;
use kube::runtime::reflector;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher::Event;
use remediator_api::guarded::Guarded;

use crate::watch::indexed_store::{Change, Indexed, IndexedStore};

/// What has changed: as it is now, or as it was last known where it is gone.
pub(crate) type Changed<K> = Map<ChangeStream<K>, fn(Change<K>) -> Arc<Guarded<K>>>;

/// The same with what was known before.
pub(crate) type ChangeStream<K> = UnboundedReceiver<Change<K>>;

type Subscribers<K> = Vec<UnboundedSender<Change<K>>>;

/// The writing end of a cache.
pub(crate) struct SharedCache<K: Indexed> {
    writer: Writer<Guarded<K>>,
    changes: Changes<K>,
}

/// What changes in a cache, for as many as want to hear of it.
pub(crate) struct Changes<K: Indexed> {
    store: IndexedStore<K>,
    subscribers: Arc<Mutex<Subscribers<K>>>,
}

impl<K: Indexed> Clone for Changes<K> {
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            subscribers: Arc::clone(&self.subscribers),
        }
    }
}

impl<K: Indexed> SharedCache<K> {
    /// An empty cache, the end that is read, and what changes in it.
    pub(crate) fn new() -> (IndexedStore<K>, Changes<K>, Self) {
        let (store, writer) = reflector::store();
        let store = IndexedStore::new(store);
        let changes = Changes {
            store: store.clone(),
            subscribers: Arc::default(),
        };
        let cache = Self {
            writer,
            changes: changes.clone(),
        };
        (store, changes, cache)
    }

    /// Brings the cache up to date, then tells the subscribers what is news of it, which is also answered. Of what
    /// nobody has to be told the cache has the newest version all the same.
    pub(crate) fn apply(&mut self, event: &Event<Guarded<K>>) -> Vec<Change<K>> {
        let news = self.store(event);
        self.changes.tell(&news);
        news
    }

    /// Objects and index change together: nobody reads meanwhile.
    fn store(&mut self, event: &Event<Guarded<K>>) -> Vec<Change<K>> {
        let mut written = self.changes.store.write();
        self.writer.apply_watcher_event(event);
        let kubes = self.writer.as_reader();
        match event {
            Event::Apply(object) => {
                // Kube's store and this one share the object.
                let stored = kubes.get(&ObjectRef::from_obj(object));
                let news = stored.and_then(|object| written.apply(object));
                news.into_iter().collect()
            }
            Event::Delete(object) => vec![written.delete(Arc::new(object.clone()))],
            Event::InitDone => written.replace(kubes.state()),
            Event::Init | Event::InitApply(_) => Vec::new(),
        }
    }
}

impl<K: Indexed> Changes<K> {
    /// All that is there, and every change from now on. It waits for its reader without a bound: a slow reader must
    /// not hold up the cache, and what is queued are references.
    pub(crate) fn subscribe(&self) -> Changed<K> {
        let object: fn(Change<K>) -> Arc<Guarded<K>> = |change| change.object;
        self.subscribe_to_changes().map(object)
    }

    /// The same with what was known before.
    pub(crate) fn subscribe_to_changes(&self) -> ChangeStream<K> {
        let (subscriber, changed) = mpsc::unbounded();
        let mut subscribers = self.subscribers();
        for object in self.store.all() {
            let come = Change {
                object,
                before: None,
                is_gone: false,
            };
            drop(subscriber.unbounded_send(come));
        }
        subscribers.push(subscriber);
        changed
    }

    fn tell(&self, news: &[Change<K>]) {
        let mut subscribers = self.subscribers();
        subscribers.retain(|subscriber| !subscriber.is_closed());
        for change in news {
            for subscriber in subscribers.iter() {
                // Who does not listen any more, is stopping.
                drop(subscriber.unbounded_send(change.clone()));
            }
        }
    }

    fn subscribers(&self) -> MutexGuard<'_, Subscribers<K>> {
        self.subscribers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
