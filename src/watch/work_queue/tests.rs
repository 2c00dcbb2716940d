use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::channel::mpsc;
use kube::ResourceExt as _;
use kube::runtime::watcher::Event;
use proptest::prelude::*;
use remediator_api::views::Node;
use serde_json::json;

use super::*;
use crate::watch::shared_cache::SharedCache;

const PATIENCE: Duration = Duration::from_secs(30);

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(None, name)
}

fn node(name: &str) -> Guarded<Node> {
    serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()
}

fn nodes(names: &[&str]) -> (IndexedStore<Node>, SharedCache<Node>) {
    let (store, mut cache) = SharedCache::new();
    for name in names {
        cache.apply(Event::Apply(node(name)));
    }
    (store, cache)
}

/// What happened, in order.
#[derive(Default)]
struct Looks {
    seen: Mutex<Vec<String>>,
    at_once: AtomicUsize,
    most: AtomicUsize,
}

impl Looks {
    fn of(&self, name: &str) -> usize {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|one| *one == name).count()
    }
}

async fn look(object: Arc<Guarded<Node>>, looks: Arc<Looks>) -> Result<Action, String> {
    let at_once = looks.at_once.fetch_add(1, Ordering::SeqCst).saturating_add(1);
    looks.most.fetch_max(at_once, Ordering::SeqCst);
    tokio::task::yield_now().await;
    looks.at_once.fetch_sub(1, Ordering::SeqCst);
    looks.seen.lock().unwrap().push(object.name_any());
    Ok(Action::await_change())
}

fn no_error(_: Arc<Guarded<Node>>, error: &String, _: Arc<Looks>) -> Action {
    panic!("{error}")
}

#[tokio::test]
async fn what_is_enqueued_is_looked_at_and_what_is_gone_or_not_wanted_is_not() {
    let (store, mut cache) = nodes(&["a", "b", "c"]);
    cache.apply(Event::Delete(node("c")));
    let (enqueue, enqueued) = mpsc::unbounded();
    enqueue.unbounded_send(vec![key("c"), key("b")]).unwrap();
    drop(enqueue);
    let looks = Arc::new(Looks::default());
    let queue = WorkQueue::of(&store)
        .on_change(|node| node.name_any() == "a")
        .on(enqueued);
    drop((store, cache));
    let run = queue.run(look, no_error, Arc::clone(&looks));
    // The cache has subscribers for as long as the queue has its store.
    let ended = tokio::time::timeout(Duration::from_millis(200), run).await;
    assert!(ended.is_err());
    assert_eq!((looks.of("a"), looks.of("b"), looks.of("c")), (1, 1, 0));
}

#[tokio::test]
async fn no_more_than_so_many_are_looked_at_at_once() {
    let names: Vec<String> = (0..20).map(|number| format!("n{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (store, _cache) = nodes(&names);
    for (at_once, most) in [(3, 3), (usize::MAX, 20)] {
        let looks = Arc::new(Looks::default());
        let all = WorkQueue::of(&store).on_all(futures::stream::iter([(), ()]));
        let run = all.at_once(at_once).run(look, no_error, Arc::clone(&looks));
        tokio::time::timeout(PATIENCE, run).await.unwrap();
        assert_eq!(looks.most.load(Ordering::SeqCst), most);
        assert!(names.iter().all(|name| looks.of(name) >= 1));
    }
}

#[tokio::test]
async fn what_fails_or_asks_for_it_comes_again() {
    let (store, _cache) = nodes(&["fails", "asks"]);
    let looks = Arc::new(Looks::default());
    let reconcile = |object: Arc<Guarded<Node>>, looks: Arc<Looks>| async move {
        let name = object.name_any();
        looks.seen.lock().unwrap().push(name.clone());
        match (name.as_str(), looks.of(&name)) {
            ("fails", 1) => Err("it fails once".to_owned()),
            ("asks", 1) => Ok(Action::requeue(Duration::from_millis(1))),
            _ => Ok(Action::await_change()),
        }
    };
    let on_error = |_: Arc<Guarded<Node>>, _: &String, _: Arc<Looks>| Action::requeue(Duration::ZERO);
    let queue = WorkQueue::of(&store).on_all(futures::stream::iter([()]));
    let run = queue.run(reconcile, on_error, Arc::clone(&looks));
    tokio::time::timeout(PATIENCE, run).await.unwrap();
    assert_eq!((looks.of("fails"), looks.of("asks")), (2, 2));
}

/// What may happen to a schedule; times are in milliseconds from its begin.
#[derive(Clone, Debug)]
enum Step {
    Enqueue(u8),
    Next,
    Done(u8, Option<u64>),
    Wake(u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0_u8..4).prop_map(Step::Enqueue),
        3 => Just(Step::Next),
        3 => ((0_u8..4), proptest::option::of(0_u64..50)).prop_map(|(key, at)| Step::Done(key, at)),
        1 => (0_u64..60).prop_map(Step::Wake),
    ]
}

proptest! {
    /// Whatever was enqueued is looked at after that, and nothing is looked at twice at a time or forgotten.
    #[test]
    fn nothing_that_was_enqueued_is_lost(steps in proptest::collection::vec(any_step(), 1..60)) {
        let begin = Instant::now();
        let at = |millis: u64| begin.checked_add(Duration::from_millis(millis)).unwrap();
        let mut schedule = Schedule::default();
        let mut running = BTreeMap::new();
        let mut owed: BTreeMap<String, bool> = BTreeMap::new();
        let take = |schedule: &mut Schedule, running: &mut BTreeMap<String, Arc<ObjectKey>>| {
            let next = schedule.next()?;
            let twice = running.insert(next.name.clone(), Arc::clone(&next));
            assert!(twice.is_none(), "{next} is looked at twice at a time");
            Some(next.name.clone())
        };
        for step in steps {
            match step {
                Step::Enqueue(number) => {
                    schedule.enqueue(key(&number.to_string()));
                    owed.insert(number.to_string(), true);
                }
                Step::Next => {
                    if let Some(name) = take(&mut schedule, &mut running) {
                        owed.remove(&name);
                    }
                }
                Step::Done(number, again) => {
                    if let Some(key) = running.remove(&number.to_string()) {
                        schedule.done(&key, again.map(at));
                        if again.is_some() {
                            owed.insert(number.to_string(), true);
                        }
                    }
                }
                Step::Wake(millis) => schedule.wake(at(millis)),
            }
        }
        for key in std::mem::take(&mut running).values() {
            schedule.done(key, None);
        }
        schedule.wake(at(1_000));
        while let Some(name) = take(&mut schedule, &mut running) {
            owed.remove(&name);
            schedule.done(&running.remove(&name).unwrap(), None);
        }
        prop_assert_eq!(owed, BTreeMap::new());
        prop_assert_eq!((schedule.len(), schedule.due()), (0, None), "what is over is not kept");
    }
}
