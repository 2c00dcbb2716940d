//! The objects of one kind, found by name, by namespace and by the keys of an index, in the manner of client-go's
//! `Indexer`. A key is a pure function of an object; objects and index change together, under one lock.
//!
//! What cannot be read has only the keys that its metadata gives, and is besides among the unreadable ones. Where such
//! an object could be the one that is looked for, and unknown has to stop, both are read.

mod content;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use futures::StreamExt as _;
use futures::channel::mpsc::{self, UnboundedReceiver};
use futures::stream::Map;
use kube::Resource;
use remediator_api::guarded::Guarded;
use tokio::sync::watch;
use tokio::sync::watch::error::RecvError;

use self::content::Content;
pub(crate) use self::content::ObjectKey;

/// A kind whose objects are found by keys.
pub(crate) trait Indexed: Resource<DynamicType = ()> + Clone + Debug + Send + Sync + 'static {
    /// By what it is found, besides its name and namespace.
    type Key: Hash + Ord + Clone + Debug + Send + Sync;

    /// The keys of an object. Nothing but the object decides them.
    fn keys(object: &Guarded<Self>) -> Vec<Self::Key>;

    /// Whether subscribers are told of a new version of an object. One that is none has the same keys.
    fn is_news(before: &Guarded<Self>, now: &Guarded<Self>) -> bool {
        let _ = (before, now);
        true
    }
}

/// For kinds that are found by their names only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum NoKey {}

type Object<K> = Arc<Guarded<K>>;

/// The objects of one kind; the reading end.
pub(crate) struct IndexedStore<K: Indexed> {
    content: Arc<RwLock<Content<K>>>,
    /// Whether everything has been listed once.
    listed: watch::Receiver<bool>,
}

impl<K: Indexed> Clone for IndexedStore<K> {
    fn clone(&self) -> Self {
        Self {
            content: Arc::clone(&self.content),
            listed: self.listed.clone(),
        }
    }
}

/// One change of a cache.
#[derive(Debug)]
pub(crate) struct Change<K> {
    /// The object as it is now, or as it was last known where it is gone.
    pub(crate) object: Object<K>,
    /// As it was known before; nothing where it has come.
    pub(crate) before: Option<Object<K>>,
    pub(crate) is_gone: bool,
}

impl<K> Clone for Change<K> {
    fn clone(&self) -> Self {
        Self {
            object: Arc::clone(&self.object),
            before: self.before.clone(),
            is_gone: self.is_gone,
        }
    }
}

impl<K> Change<K> {
    /// The object as it is now, if it is there.
    pub(crate) fn now(&self) -> Option<&Guarded<K>> {
        (!self.is_gone).then_some(self.object.as_ref())
    }

    /// The object as it was before and as it is now, as far as it was and is there.
    pub(crate) fn versions(&self) -> impl Iterator<Item = &Guarded<K>> {
        self.before.as_deref().into_iter().chain([self.object.as_ref()])
    }
}

/// What has changed: as it is now, or as it was last known where it is gone.
pub(crate) type Changed<K> = Map<UnboundedReceiver<Change<K>>, fn(Change<K>) -> Object<K>>;

impl<K: Indexed> IndexedStore<K> {
    /// An empty one.
    pub(super) fn new(listed: watch::Receiver<bool>) -> Self {
        Self {
            content: Arc::new(RwLock::new(Content::empty())),
            listed,
        }
    }

    /// The object of a name.
    pub(crate) fn get(&self, namespace: Option<&str>, name: &str) -> Option<Object<K>> {
        self.of_key(&ObjectKey::new(namespace, name))
    }

    /// The same by its key.
    pub(crate) fn of_key(&self, key: &ObjectKey) -> Option<Object<K>> {
        let content = self.content();
        let found = content.objects.get(key).cloned();
        content.visited(usize::from(found.is_some()));
        found
    }

    /// The objects with a key.
    pub(crate) fn by(&self, key: &K::Key) -> Vec<Object<K>> {
        self.content().with_key(key).collect()
    }

    /// How many objects have a key.
    pub(crate) fn count(&self, key: &K::Key) -> usize {
        self.content().count(key)
    }

    /// The first of the objects with a key that is wanted.
    pub(crate) fn first_by(
        &self,
        key: &K::Key,
        mut wanted: impl FnMut(&Guarded<K>) -> bool,
    ) -> Option<Object<K>> {
        let content = self.content();
        content.with_key(key).find(|object| wanted(object))
    }

    /// The objects with any of these keys, each once, in the order of their names.
    pub(crate) fn by_any(&self, keys: impl IntoIterator<Item = K::Key>) -> Vec<Object<K>> {
        let content = self.content();
        let mut found = BTreeMap::new();
        for key in keys {
            let with_key = content.with_key(&key);
            found.extend(with_key.map(|object| (ObjectKey::of(object.as_ref()), object)));
        }
        found.into_values().collect()
    }

    /// The objects that cannot be read.
    pub(crate) fn unreadable(&self) -> Vec<Object<K>> {
        let content = self.content();
        let unreadable = content.unreadable.iter();
        content.visit(unreadable.filter_map(|key| content.objects.get(key).cloned()))
    }

    /// Those of them in a namespace.
    pub(crate) fn unreadable_in(&self, namespace: &str) -> Vec<Object<K>> {
        let content = self.content();
        let unreadable = content.unreadable.range(ObjectKey::new(Some(namespace), "")..);
        let unreadable = unreadable.take_while(|key| key.namespace.as_deref() == Some(namespace));
        content.visit(unreadable.filter_map(|key| content.objects.get(key).cloned()))
    }

    /// The objects of a namespace, also those that cannot be read.
    pub(crate) fn in_namespace(&self, namespace: Option<&str>) -> Vec<Object<K>> {
        let content = self.content();
        let objects = content.objects.range(ObjectKey::new(namespace, "")..);
        let objects = objects.take_while(|(key, _)| key.namespace.as_deref() == namespace);
        content.visit(objects.map(|(_, object)| Arc::clone(object)))
    }

    /// All objects: never for each event or host.
    pub(crate) fn all(&self) -> Vec<Object<K>> {
        let content = self.content();
        content.visit(content.objects.values().cloned())
    }

    /// The keys of all objects.
    pub(crate) fn all_keys(&self) -> Vec<ObjectKey> {
        let content = self.content();
        content.objects.keys().map(|key| key.as_ref().clone()).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.content().objects.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether both are ends of one cache.
    pub(crate) fn is_the_same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.content, &other.content)
    }

    /// Whether nobody else has it any more, so that nothing changes in it.
    pub(crate) fn is_orphaned(&self) -> bool {
        Arc::strong_count(&self.content) == 1
    }

    /// Another number whenever something has changed.
    pub(crate) fn revision(&self) -> u64 {
        self.content().revision
    }

    /// All that is there, and every change from now on. The channel has no bound: a slow reader must not hold up
    /// the cache, and what is queued are references.
    pub(crate) fn subscribe(&self) -> Changed<K> {
        let object: fn(Change<K>) -> Object<K> = |change| change.object;
        self.subscribe_to_changes().map(object)
    }

    /// The same with what was known before.
    pub(crate) fn subscribe_to_changes(&self) -> UnboundedReceiver<Change<K>> {
        let (subscriber, changed) = mpsc::unbounded();
        let mut content = self.write();
        for object in content.visit(content.objects.values().cloned()) {
            let come = Change {
                object,
                before: None,
                is_gone: false,
            };
            drop(subscriber.unbounded_send(come));
        }
        content.subscribers.push(subscriber);
        changed
    }

    /// Waits until everything has been listed once.
    ///
    /// # Errors
    /// The writing end has gone before that.
    pub(crate) async fn wait_until_ready(&self) -> Result<(), RecvError> {
        self.listed.clone().wait_for(|listed| *listed).await.map(drop)
    }

    /// Whether everything has been listed once.
    pub(crate) fn is_listed(&self) -> bool {
        *self.listed.borrow()
    }

    /// How many objects were looked at or handed out until now.
    #[cfg(test)]
    pub(crate) fn visits(&self) -> usize {
        self.content().visits.load(std::sync::atomic::Ordering::Relaxed)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, Content<K>> {
        self.content.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn content(&self) -> RwLockReadGuard<'_, Content<K>> {
        self.content.read().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
