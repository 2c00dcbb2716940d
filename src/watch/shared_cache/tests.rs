use futures::{FutureExt as _, StreamExt as _};
use kube::ResourceExt as _;
use remediator_api::views::Node;
use serde_json::json;

use super::*;
use crate::watch::indexed_store::Changed;

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
    let (mut one, mut other) = (store.subscribe(), store.subscribe());
    for _ in 0..1000 {
        cache.apply(Event::Apply(node("early")));
        cache.apply(Event::Delete(node("early")));
    }
    cache.apply(Event::Apply(node("late")));
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
fn a_new_list_tells_of_what_is_new_and_of_what_is_gone() {
    let (store, mut cache) = SharedCache::new();
    let mut heard = store.subscribe();
    for (listed, expected) in [
        (["stays", "leaves"], ["leaves", "stays"]),
        (["stays", "comes"], ["comes", "leaves"]),
    ] {
        cache.apply(Event::Init);
        for name in listed {
            cache.apply(Event::InitApply(node(name)));
        }
        assert_eq!(told(&mut heard), [""; 0], "half a list is no news");
        cache.apply(Event::InitDone);
        let mut told = told(&mut heard);
        told.sort();
        assert_eq!(told, expected);
    }
    assert!(store.get(None, "leaves").is_none());
}

#[test]
fn a_subscriber_that_left_keeps_nobody_else_from_hearing() {
    let (store, mut cache) = SharedCache::new();
    drop(store.subscribe());
    let mut heard = store.subscribe();
    cache.apply(Event::Apply(node("worker-0")));
    assert_eq!(told(&mut heard), ["worker-0"]);
}

#[test]
fn who_comes_late_is_told_of_all_that_is_there() {
    let (store, mut cache) = SharedCache::new();
    for name in ["worker-0", "worker-1"] {
        cache.apply(Event::Apply(node(name)));
    }
    let mut heard = store.subscribe();
    let mut told = told(&mut heard);
    told.sort();
    assert_eq!(told, ["worker-0", "worker-1"]);
}

/// `DelayedInit` of kube-runtime 5 remembers one waker: whoever only looks would put all who wait to sleep for ever.
#[tokio::test]
async fn those_who_wait_for_the_list_hear_of_it_whoever_looks_meanwhile() {
    let (store, mut cache) = SharedCache::<Node>::new();
    let waiters = [store.clone(), store.clone()]
        .map(|store| tokio::spawn(async move { store.wait_until_ready().await.is_ok() }));
    tokio::task::yield_now().await;
    assert!(!store.is_listed());
    cache.apply(Event::Init);
    cache.apply(Event::InitDone);
    assert!(store.is_listed());
    for waiter in waiters {
        let heard = tokio::time::timeout(std::time::Duration::from_secs(10), waiter).await;
        assert!(heard.expect("it sleeps for ever").unwrap());
    }
}
