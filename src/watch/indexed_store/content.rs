//! Objects and their index, which change together.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::{Arc, RwLockWriteGuard};

use kube::Resource;

use super::visits::Visits;
use super::{Change, Indexed, Object};

/// Namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ObjectKey {
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

impl ObjectKey {
    pub(super) fn of(object: &impl Resource) -> Self {
        let meta = object.meta();
        Self {
            namespace: meta.namespace.clone(),
            name: meta.name.clone().unwrap_or_default(),
        }
    }
}

/// All objects, and by which keys they are found.
pub(super) struct Content<K: Indexed> {
    pub(super) objects: BTreeMap<Arc<ObjectKey>, Object<K>>,
    /// By a number for the key, which is shorter than it; what is found has its keys compared.
    index: BTreeMap<(u64, Arc<ObjectKey>), Object<K>>,
    pub(super) unreadable: BTreeSet<Arc<ObjectKey>>,
    pub(super) revision: u64,
}

pub(super) fn start_of(namespace: Option<&str>) -> ObjectKey {
    ObjectKey {
        namespace: namespace.map(ToOwned::to_owned),
        name: String::new(),
    }
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
            index: BTreeMap::new(),
            unreadable: BTreeSet::new(),
            revision: 0,
        }
    }

    pub(super) fn with_key<'a>(
        &'a self,
        key: &'a K::Key,
        visits: &'a Visits,
    ) -> impl Iterator<Item = Object<K>> + 'a {
        let number = number(key);
        let numbered = self.index.range((number, Arc::default())..);
        let numbered = numbered.take_while(move |((of, _), _)| *of == number);
        numbered
            .inspect(|_| visits.add(1))
            .filter(|(_, object)| K::keys(object).contains(key))
            .map(|(_, object)| Arc::clone(object))
    }

    fn insert(&mut self, object: &Object<K>) -> Option<Object<K>> {
        let key = Arc::new(ObjectKey::of(object.as_ref()));
        let before = self.remove(&key);
        for of in K::keys(object) {
            self.index
                .insert((number(&of), Arc::clone(&key)), Arc::clone(object));
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
            self.index.remove(&(number(&of), Arc::clone(key)));
        }
        self.unreadable.remove(key);
        Some(before)
    }
}

/// The content while it is written; readers wait.
pub(in crate::watch) struct Written<'a, K: Indexed>(pub(super) RwLockWriteGuard<'a, Content<K>>);

impl<K: Indexed> Written<'_, K> {
    /// Takes an object; says what changed, if that is news.
    pub(in crate::watch) fn apply(&mut self, object: Object<K>) -> Option<Change<K>> {
        self.changed();
        let before = self.0.insert(&object);
        change(object, before)
    }

    pub(in crate::watch) fn delete(&mut self, object: Object<K>) -> Change<K> {
        self.changed();
        let before = self.0.remove(&Arc::new(ObjectKey::of(object.as_ref())));
        Change {
            object,
            before,
            is_gone: true,
        }
    }

    /// Replaces all by a new list; says what of it is news, and what is gone.
    pub(in crate::watch) fn replace(&mut self, listed: Vec<Object<K>>) -> Vec<Change<K>> {
        self.changed();
        self.0.index.clear();
        self.0.unreadable.clear();
        let mut before = std::mem::take(&mut self.0.objects);
        let mut news = Vec::new();
        for object in listed {
            let known = before.remove(&ObjectKey::of(object.as_ref()));
            self.0.insert(&object);
            news.extend(change(object, known));
        }
        news.extend(before.into_values().map(|object| Change {
            before: Some(Arc::clone(&object)),
            object,
            is_gone: true,
        }));
        news
    }

    fn changed(&mut self) {
        self.0.revision = self.0.revision.wrapping_add(1);
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
