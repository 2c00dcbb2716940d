use jiff::SignedDuration;
use kube::runtime::watcher::Event;
use serde_json::json;

use super::{Clock, Guarded, LONGEST, LostNodes, MOST, Node, Timestamp};

fn node(ready: &str, since: &str, heartbeat: &str) -> Node {
    serde_json::from_value(json!({
        "metadata": {"name": "worker-1", "uid": "uid-1"},
        "status": {"conditions": [{
            "type": "Ready", "status": ready,
            "lastTransitionTime": since, "lastHeartbeatTime": heartbeat,
        }]},
    }))
    .unwrap()
}

fn lost() -> Node {
    node("Unknown", "2026-01-01T00:00:00Z", "2025-12-31T23:59:00Z")
}

fn apply(nodes: &LostNodes, node: &Node, seconds: i64) {
    note(nodes, &Event::Apply(Guarded(Ok(node.clone()))), seconds);
}

fn note(nodes: &LostNodes, event: &Event<Guarded<Node>>, seconds: i64) {
    nodes.note_at(event, (at(seconds), 0));
}

fn since(nodes: &LostNodes, node: &Node) -> Option<Timestamp> {
    nodes.since_at(node, (at(1_000), 0))
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH
        .checked_add(SignedDuration::from_secs(seconds))
        .unwrap()
}

#[test]
fn a_loss_dates_from_when_it_was_first_seen_whatever_the_objects_clocks_say() {
    let nodes = LostNodes::new(Clock::start());
    assert_eq!(since(&nodes, &lost()), None);
    apply(&nodes, &lost(), 10);
    apply(&nodes, &lost(), 20);
    note(&nodes, &Event::InitApply(Guarded(Ok(lost()))), 30);
    assert_eq!(since(&nodes, &lost()), Some(at(10)));
}

#[test]
fn a_node_that_was_back_in_between_is_lost_anew() {
    let nodes = LostNodes::new(Clock::start());
    apply(&nodes, &lost(), 10);
    let again = node("Unknown", "2026-01-01T00:05:00Z", "2026-01-01T00:04:00Z");
    assert_eq!(
        since(&nodes, &again),
        None,
        "a live read may be newer than the watch"
    );
    apply(&nodes, &again, 20);
    assert_eq!(since(&nodes, &again), Some(at(20)));
    let beat = node("Unknown", "2026-01-01T00:05:00Z", "2026-01-01T00:06:00Z");
    assert_eq!(since(&nodes, &beat), None, "its kubelet reported");
}

#[test]
fn a_node_that_is_ready_or_gone_is_not_lost() {
    let nodes = LostNodes::new(Clock::start());
    apply(&nodes, &lost(), 10);
    apply(
        &nodes,
        &node("True", "2026-01-01T00:05:00Z", "2026-01-01T00:05:00Z"),
        20,
    );
    assert_eq!(since(&nodes, &lost()), None);
    apply(&nodes, &lost(), 30);
    note(&nodes, &Event::Delete(Guarded(Ok(lost()))), 40);
    assert_eq!(since(&nodes, &lost()), None);
}

#[test]
fn a_node_that_vanished_while_nobody_watched_is_forgotten() {
    let nodes = LostNodes::new(Clock::start());
    apply(&nodes, &lost(), 10);
    note(&nodes, &Event::Init, 20);
    note(&nodes, &Event::InitApply(Guarded(Ok(lost()))), 20);
    note(&nodes, &Event::InitDone, 20);
    assert_eq!(since(&nodes, &lost()), Some(at(10)), "it is still there");
    note(&nodes, &Event::Init, 30);
    note(&nodes, &Event::InitDone, 30);
    assert!(nodes.held().is_empty());
}

#[test]
fn lists_that_never_end_fill_no_memory() {
    let nodes = LostNodes::new(Clock::start());
    let mut other = lost();
    for number in 0..=MOST {
        other.metadata.name = Some(number.to_string());
        apply(&nodes, &other, 10);
    }
    assert_eq!(nodes.held().len(), MOST);
    assert_eq!(since(&nodes, &other), None, "one too many");
    other.metadata.name = Some("n".repeat(LONGEST));
    note(&nodes, &Event::Init, 20);
    note(&nodes, &Event::InitDone, 20);
    apply(&nodes, &other, 20);
    assert!(nodes.held().is_empty(), "no Node has such a name");
}

#[test]
fn after_a_jump_of_the_clock_in_either_direction_a_loss_counts_from_then_on() {
    let nodes = LostNodes::new(Clock::start());
    apply(&nodes, &lost(), 10);
    for (jumps, seconds) in [(1, 3_700), (2, 50)] {
        let jumped = |later| nodes.since_at(&lost(), (at(seconds + later), jumps));
        assert_eq!(jumped(0), Some(at(seconds)));
        assert_eq!(jumped(20), Some(at(seconds)));
    }
}
