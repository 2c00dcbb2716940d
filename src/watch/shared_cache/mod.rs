//! The writing end of one kind's cache.
//!
//! `reflector::store_shared` of kube-runtime 5 is not used. Its `ReflectHandle::poll_next`
//! (kube-rs `kube-runtime/src/reflector/dispatcher.rs`) is pending without a waker when the object it is told of
//! has left the cache by then: that subscriber sleeps for ever, and once its buffer is full so does the watch, and
//! every reader of the cache sees the past. And it says nothing of deletions.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use kube::runtime::reflector;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher::Event;
use remediator_api::guarded::Guarded;
use tokio::sync::watch;

use crate::watch::indexed_store::{Change, Indexed, IndexedStore};

/// The writing end of a cache.
pub(crate) struct SharedCache<K: Indexed> {
    writer: Writer<Guarded<K>>,
    store: IndexedStore<K>,
    listed: watch::Sender<bool>,
}

impl<K: Indexed> SharedCache<K> {
    /// An empty cache, and the end that is read.
    pub(crate) fn new() -> (IndexedStore<K>, Self) {
        let (store, writer) = reflector::store();
        let (listed, is_listed) = watch::channel(false);
        let store = IndexedStore::new(store, is_listed);
        let cache = Self {
            writer,
            store: store.clone(),
            listed,
        };
        (store, cache)
    }

    /// Brings the cache up to date, and tells the subscribers what is news of it, which is also the answer. Nobody
    /// reads meanwhile.
    pub(crate) fn apply(&mut self, event: &Event<Guarded<K>>) -> Vec<Change<K>> {
        let mut content = self.store.write();
        self.writer.apply_watcher_event(event);
        let kubes = self.writer.as_reader();
        let news = match event {
            Event::Apply(object) => {
                // Kube's store and this one share the object.
                let stored = kubes.get(&ObjectRef::from_obj(object));
                let news = stored.and_then(|object| content.apply(object));
                news.into_iter().collect()
            }
            Event::Delete(object) => vec![content.delete(Arc::new(object.clone()))],
            Event::InitDone => content.replace(kubes.state()),
            Event::Init | Event::InitApply(_) => return Vec::new(),
        };
        content.publish(&news);
        drop(content);
        if matches!(event, Event::InitDone) {
            self.listed.send_replace(true);
        }
        news
    }
}
