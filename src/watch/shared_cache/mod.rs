//! The writing end of one kind's cache.
//!
//! `reflector::store_shared` of kube-runtime 5 is not used. Its `ReflectHandle::poll_next`
//! (kube-rs `kube-runtime/src/reflector/dispatcher.rs`) is pending without a waker when the object it is told of
//! has left the cache by then: that subscriber sleeps for ever, and once its buffer is full so does the watch, and
//! every reader of the cache sees the past. And it says nothing of deletions.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use kube::runtime::watcher::Event;
use remediator_api::guarded::Guarded;
use tokio::sync::watch;

use crate::watch::indexed_store::{Change, Indexed, IndexedStore};

/// The writing end of a cache.
pub(crate) struct SharedCache<K: Indexed> {
    store: IndexedStore<K>,
    /// What there is of a list that has not come to its end.
    listing: Vec<Arc<Guarded<K>>>,
    listed: watch::Sender<bool>,
}

impl<K: Indexed> SharedCache<K> {
    /// An empty cache, and the end that is read.
    pub(crate) fn new() -> (IndexedStore<K>, Self) {
        let (listed, is_listed) = watch::channel(false);
        let store = IndexedStore::new(is_listed);
        let cache = Self {
            store: store.clone(),
            listing: Vec::new(),
            listed,
        };
        (store, cache)
    }

    /// Brings the cache up to date, and tells the subscribers what is news of it, which is also the answer. Nobody
    /// reads meanwhile.
    pub(crate) fn apply(&mut self, event: Event<Guarded<K>>) -> Vec<Change<K>> {
        match event {
            Event::Init => {
                self.listing = Vec::new();
                return Vec::new();
            }
            Event::InitApply(object) => {
                self.listing.push(Arc::new(object));
                return Vec::new();
            }
            Event::Apply(_) | Event::Delete(_) | Event::InitDone => {}
        }
        let is_list = matches!(event, Event::InitDone);
        let mut content = self.store.write();
        let news = match event {
            Event::Apply(object) => content.apply(Arc::new(object)).into_iter().collect(),
            Event::Delete(object) => vec![content.delete(Arc::new(object))],
            Event::InitDone | Event::Init | Event::InitApply(_) => {
                content.replace(std::mem::take(&mut self.listing))
            }
        };
        content.publish(&news);
        drop(content);
        if is_list {
            self.listed.send_replace(true);
        }
        news
    }
}
