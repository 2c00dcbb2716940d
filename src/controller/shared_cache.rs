//! One kind's cache, and those who are told what has changed in it.
//!
//! `reflector::store_shared` of kube-runtime 5 is not used. Its `ReflectHandle::poll_next`
//! (kube-rs `kube-runtime/src/reflector/dispatcher.rs`) is pending without a waker when the object it is told of
//! has left the cache by then: that subscriber sleeps for ever, and once its buffer is full so does the watch, and
//! every reader of the cache sees the past. And it says nothing of deletions.

use std::collections::HashSet;
use std::sync::Arc;

use futures::channel::mpsc::{self, UnboundedReceiver, UnboundedSender};
use kube::Resource;
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::watcher::Event;

use crate::api::guarded::Guarded;

/// What has changed: as it is now, or as it was last known where it is gone.
pub(super) type Changed<K> = UnboundedReceiver<Arc<Guarded<K>>>;

/// The writing end of a cache.
pub(super) struct SharedCache<K>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    store: Store<Guarded<K>>,
    writer: Writer<Guarded<K>>,
    subscribers: Vec<UnboundedSender<Arc<Guarded<K>>>>,
}

impl<K> SharedCache<K>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    /// An empty cache, and the end that is read.
    pub(super) fn new() -> (Store<Guarded<K>>, Self) {
        let (store, writer) = reflector::store();
        let cache = Self {
            store: store.clone(),
            writer,
            subscribers: Vec::new(),
        };
        (store, cache)
    }

    /// Every change from now on. It waits for its reader without a bound: a slow reader must not hold up the cache,
    /// and what is queued are references.
    pub(super) fn subscribe(&mut self) -> Changed<K> {
        let (subscriber, changed) = mpsc::unbounded();
        self.subscribers.push(subscriber);
        changed
    }

    /// Brings the cache up to date, then says what has changed.
    pub(super) fn apply(&mut self, event: &Event<Guarded<K>>) {
        let before = match event {
            Event::InitDone => self.store.state(),
            Event::Delete(object) => vec![Arc::new(object.clone())],
            Event::Apply(_) | Event::Init | Event::InitApply(_) => Vec::new(),
        };
        self.writer.apply_watcher_event(event);
        match event {
            Event::Apply(object) => self.tell(self.store.get(&ObjectRef::from_obj(object))),
            Event::Delete(_) => self.tell(before),
            Event::InitDone => {
                let now = self.store.state();
                let there: HashSet<_> = now
                    .iter()
                    .map(|object| ObjectRef::from_obj(object.as_ref()))
                    .collect();
                let gone = before
                    .into_iter()
                    .filter(|object| !there.contains(&ObjectRef::from_obj(object)));
                self.tell(gone.chain(now));
            }
            Event::Init | Event::InitApply(_) => {}
        }
    }

    fn tell(&self, changed: impl IntoIterator<Item = Arc<Guarded<K>>>) {
        for object in changed {
            for subscriber in &self.subscribers {
                // Who does not listen any more, is stopping.
                drop(subscriber.unbounded_send(Arc::clone(&object)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt as _, StreamExt as _};
    use kube::ResourceExt as _;
    use serde_json::json;

    use super::*;
    use crate::api::views::Node;

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
        let (store, mut cache) = SharedCache::new();
        let (mut one, mut other) = (cache.subscribe(), cache.subscribe());
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
        let (store, mut cache) = SharedCache::new();
        let mut changed = cache.subscribe();
        for listed in [["stays", "leaves"], ["stays", "comes"]] {
            cache.apply(&Event::Init);
            for name in listed {
                cache.apply(&Event::InitApply(node(name)));
            }
            assert_eq!(told(&mut changed), [""; 0], "half a list is no news");
            cache.apply(&Event::InitDone);
            let mut told = told(&mut changed);
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
        let (_store, mut cache) = SharedCache::new();
        drop(cache.subscribe());
        let mut changed = cache.subscribe();
        cache.apply(&Event::Apply(node("worker-0")));
        assert_eq!(told(&mut changed), ["worker-0"]);
    }
}
