//! One kind's cache, and those who are told what has changed in it.
//!
//! `reflector::store_shared` of kube-runtime 5 is not used. Its `ReflectHandle::poll_next`
//! (kube-rs `kube-runtime/src/reflector/dispatcher.rs`) is pending without a waker when the object it is told of
//! has left the cache by then: that subscriber sleeps for ever, and once its buffer is full so does the watch, and
//! every reader of the cache sees the past. And it says nothing of deletions.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use futures::channel::mpsc::{self, UnboundedReceiver, UnboundedSender};
use kube::Resource;
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::watcher::Event;
use remediator_api::guarded::Guarded;

/// What has changed: as it is now, or as it was last known where it is gone.
pub(crate) type Changed<K> = UnboundedReceiver<Arc<Guarded<K>>>;

type Subscribers<K> = Vec<UnboundedSender<Arc<Guarded<K>>>>;

/// The writing end of a cache.
pub(crate) struct SharedCache<K>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    writer: Writer<Guarded<K>>,
    changes: Changes<K>,
}

/// What changes in a cache, for as many as want to hear of it.
#[derive(Clone)]
pub(crate) struct Changes<K>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    store: Store<Guarded<K>>,
    subscribers: Arc<Mutex<Subscribers<K>>>,
}

impl<K> SharedCache<K>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    /// An empty cache, the end that is read, and what changes in it.
    pub(crate) fn new() -> (Store<Guarded<K>>, Changes<K>, Self) {
        let (store, writer) = reflector::store();
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

    /// Brings the cache up to date, then says what has changed.
    pub(crate) fn apply(&mut self, event: &Event<Guarded<K>>) {
        let before = match event {
            Event::InitDone => self.changes.store.state(),
            Event::Delete(object) => vec![Arc::new(object.clone())],
            Event::Apply(_) | Event::Init | Event::InitApply(_) => Vec::new(),
        };
        self.writer.apply_watcher_event(event);
        let changes = &self.changes;
        match event {
            Event::Apply(object) => changes.tell(changes.store.get(&ObjectRef::from_obj(object))),
            Event::Delete(_) => changes.tell(before),
            Event::InitDone => {
                let now = changes.store.state();
                let there: HashSet<_> = now
                    .iter()
                    .map(|object| ObjectRef::from_obj(object.as_ref()))
                    .collect();
                let gone = before
                    .into_iter()
                    .filter(|object| !there.contains(&ObjectRef::from_obj(object)));
                changes.tell(gone.chain(now));
            }
            Event::Init | Event::InitApply(_) => {}
        }
    }
}

impl<K> Changes<K>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    /// All that is there, and every change from now on. It waits for its reader without a bound: a slow reader must
    /// not hold up the cache, and what is queued are references.
    pub(crate) fn subscribe(&self) -> Changed<K> {
        let (subscriber, changed) = mpsc::unbounded();
        let mut subscribers = self.subscribers();
        for object in self.store.state() {
            drop(subscriber.unbounded_send(object));
        }
        subscribers.push(subscriber);
        changed
    }

    fn tell(&self, changed: impl IntoIterator<Item = Arc<Guarded<K>>>) {
        let mut subscribers = self.subscribers();
        subscribers.retain(|subscriber| !subscriber.is_closed());
        for object in changed {
            for subscriber in subscribers.iter() {
                // Who does not listen any more, is stopping.
                drop(subscriber.unbounded_send(Arc::clone(&object)));
            }
        }
    }

    fn subscribers(&self) -> MutexGuard<'_, Subscribers<K>> {
        self.subscribers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a cache has been filled once.
pub(crate) fn is_listed<K>(store: &Store<Guarded<K>>) -> bool
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    let listed = store.wait_until_ready().now_or_never();
    listed.is_some_and(|listed| listed.is_ok())
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt as _, StreamExt as _};
    use kube::ResourceExt as _;
    use remediator_api::views::Node;
    use serde_json::json;

    use super::*;

    fn node(name: &str) -> Guarded<Node> {
        serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()
    }

    /// The names that a subscriber has been told of and not read yet, in order.
    fn told(changed: &mut Changed<Node>) -> Vec<String> {
        let next = || {
            changed
                .next()
                .now_or_never()
                .flatten()
                .map(|node| node.name_any())
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn what_is_gone_before_it_was_heard_of_silences_nobody() {
        let (store, changes, mut cache) = SharedCache::new();
        let (mut one, mut other) = (changes.subscribe(), changes.subscribe());
        for _ in 0..1000 {
            cache.apply(&Event::Apply(node("early")));
            cache.apply(&Event::Delete(node("early")));
        }
        cache.apply(&Event::Apply(node("late")));
        assert_eq!(store.len(), 1);
        for changed in [&mut one, &mut other] {
            let told = told(changed);
            assert_eq!(
                (told.len(), told.last().map(String::as_str)),
                (2001, Some("late"))
            );
        }
    }

    #[test]
    fn a_new_list_tells_of_what_is_there_and_of_what_is_gone() {
        let (store, changes, mut cache) = SharedCache::new();
        let mut heard = changes.subscribe();
        for listed in [["stays", "leaves"], ["stays", "comes"]] {
            cache.apply(&Event::Init);
            for name in listed {
                cache.apply(&Event::InitApply(node(name)));
            }
            assert_eq!(told(&mut heard), [""; 0], "half a list is no news");
            cache.apply(&Event::InitDone);
            let mut told = told(&mut heard);
            told.sort();
            let mut expected: Vec<_> = listed.into_iter().collect();
            if listed.contains(&"comes") {
                expected.push("leaves");
            }
            expected.sort_unstable();
            assert_eq!(told, expected);
        }
        assert!(store.get(&ObjectRef::new("leaves")).is_none());
    }

    #[test]
    fn a_subscriber_that_left_keeps_nobody_else_from_hearing() {
        let (_store, changes, mut cache) = SharedCache::new();
        drop(changes.subscribe());
        let mut heard = changes.subscribe();
        cache.apply(&Event::Apply(node("worker-0")));
        assert_eq!(told(&mut heard), ["worker-0"]);
    }

    #[test]
    fn who_comes_late_is_told_of_all_that_is_there() {
        let (_store, changes, mut cache) = SharedCache::new();
        for name in ["worker-0", "worker-1"] {
            cache.apply(&Event::Apply(node(name)));
        }
        let mut heard = changes.subscribe();
        let mut told = told(&mut heard);
        told.sort();
        assert_eq!(told, ["worker-0", "worker-1"]);
    }
}
