//! Objects and their index, which change together, under one lock.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::channel::mpsc::UnboundedSender;
use kube::Resource;

use super::{Change, Indexed, Object};

/// Namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectKey {
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(formatter, "{namespace}/{}", self.name),
            None => formatter.write_str(&self.name),
        }
    }
}

impl ObjectKey {
    pub(crate) fn new(namespace: Option<&str>, name: &str) -> Self {
        Self {
            namespace: namespace.map(ToOwned::to_owned),
            name: name.to_owned(),
        }
    }

    pub(crate) fn of(object: &impl Resource) -> Self {
        let meta = object.meta();
        Self::new(
            meta.namespace.as_deref(),
            meta.name.as_deref().unwrap_or_default(),
        )
    }
}

/// All objects, and by which keys they are found.
pub(in crate::watch) struct Content<K: Indexed> {
    pub(super) objects: BTreeMap<Arc<ObjectKey>, Object<K>>,
    /// By a number for the key, which is shorter than it; what is found has its keys compared.
    index: BTreeSet<(u64, Arc<ObjectKey>)>,
    /// How many objects have the key of a number.
    counts: BTreeMap<u64, usize>,
    pub(super) unreadable: BTreeSet<Arc<ObjectKey>>,
    pub(super) revision: u64,
    pub(super) subscribers: Vec<UnboundedSender<Change<K>>>,
    /// How many objects were looked at or handed out until now; tests count them.
    pub(super) visits: AtomicUsize,
}

fn number<T: Hash>(key: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

impl<K: Indexed> Content<K> {
    pub(super) fn empty() -> Self {
        Self {
            objects: BTreeMap::new(),
            index: BTreeSet::new(),
            counts: BTreeMap::new(),
            unreadable: BTreeSet::new(),
            revision: 0,
            subscribers: Vec::new(),
            visits: AtomicUsize::new(0),
        }
    }

    pub(super) fn with_key<'a>(&'a self, key: &'a K::Key) -> impl Iterator<Item = Object<K>> + 'a {
        let number = number(key);
        let numbered = self.index.range((number, Arc::default())..);
        let numbered = numbered.take_while(move |(of, _)| *of == number);
        numbered
            .filter_map(|(_, name)| self.objects.get(name))
            .inspect(|_| self.visited(1))
            .filter(|object| K::keys(object).contains(key))
            .map(Arc::clone)
    }

    pub(super) fn count(&self, key: &K::Key) -> usize {
        self.counts.get(&number(key)).copied().unwrap_or(0)
    }

    /// These objects, counted.
    pub(super) fn visit(&self, found: impl Iterator<Item = Object<K>>) -> Vec<Object<K>> {
        let found: Vec<_> = found.collect();
        self.visited(found.len());
        found
    }

    pub(super) fn visited(&self, objects: usize) {
        self.visits.fetch_add(objects, Ordering::Relaxed);
    }

    fn insert(&mut self, object: &Object<K>) -> Option<Object<K>> {
        let key = ObjectKey::of(object.as_ref());
        // What is no news is found by the same keys.
        if let Some(stored) = self.objects.get_mut(&key)
            && !K::is_news(stored, object)
        {
            return Some(std::mem::replace(stored, Arc::clone(object)));
        }
        let key = Arc::new(key);
        let before = self.remove(&key);
        for of in K::keys(object) {
            let number = number(&of);
            if self.index.insert((number, Arc::clone(&key))) {
                let count = self.counts.entry(number).or_default();
                *count = count.saturating_add(1);
            }
        }
        if object.0.is_err() {
            self.unreadable.insert(Arc::clone(&key));
        }
        self.objects.insert(key, Arc::clone(object));
        before
    }

    fn remove(&mut self, key: &Arc<ObjectKey>) -> Option<Object<K>> {
        let before = self.objects.remove(key)?;
        for of in K::keys(&before) {
            let number = number(&of);
            if self.index.remove(&(number, Arc::clone(key)))
                && let Some(count) = self.counts.get_mut(&number)
            {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    self.counts.remove(&number);
                }
            }
        }
        self.unreadable.remove(key);
        Some(before)
    }

    /// Takes an object; answers what changed, if that is news.
    pub(in crate::watch) fn apply(&mut self, object: Object<K>) -> Option<Change<K>> {
        let before = self.insert(&object);
        change(object, before)
    }

    pub(in crate::watch) fn delete(&mut self, object: Object<K>) -> Change<K> {
        let before = self.remove(&Arc::new(ObjectKey::of(object.as_ref())));
        Change {
            object,
            before,
            is_gone: true,
        }
    }

    /// Replaces all by a new list; answers what of it is news, and what is gone.
    pub(in crate::watch) fn replace(&mut self, listed: Vec<Object<K>>) -> Vec<Change<K>> {
        self.index.clear();
        self.counts.clear();
        self.unreadable.clear();
        let mut before = std::mem::take(&mut self.objects);
        let mut news = Vec::new();
        for object in listed {
            let known = before.remove(&ObjectKey::of(object.as_ref()));
            // A list that was continued on another version may have an object twice.
            let twice = self.insert(&object);
            news.extend(change(object, known.or(twice)));
        }
        news.extend(before.into_values().map(|object| Change {
            before: Some(Arc::clone(&object)),
            object,
            is_gone: true,
        }));
        news
    }

    /// Tells the subscribers what has changed.
    pub(in crate::watch) fn publish(&mut self, news: &[Change<K>]) {
        self.revision = self.revision.wrapping_add(1);
        self.subscribers.retain(|subscriber| !subscriber.is_closed());
        for change in news {
            for subscriber in &self.subscribers {
                // One that has closed its end is stopping.
                drop(subscriber.unbounded_send(change.clone()));
            }
        }
    }
}

fn change<K: Indexed>(object: Object<K>, before: Option<Object<K>>) -> Option<Change<K>> {
    let is_news = before.as_ref().is_none_or(|before| K::is_news(before, &object));
    is_news.then_some(Change {
        object,
        before,
        is_gone: false,
    })
}
