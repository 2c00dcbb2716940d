//! No state is silent: whatever keeps a Machine from being healthy and is not remediated is published.

use super::cluster_api::{in_cluster, of_cluster, passed as in_cluster_api, ready};
use super::pass::{check, machine, now, on, passed, reasons};
use crate::checker::events::{Event, EventType, On, Published};
use crate::checker::pass::Outcome;
use crate::health::target::{NodeState, Target};
use crate::health::verdict::Unknown;

/// Changes what is known of the Machine itself.
fn but(mut target: Target, change: impl FnOnce(&mut crate::health::target::MachineState)) -> Target {
    change(target.machine.as_mut().unwrap());
    target
}

fn of(targets: &[Target]) -> Outcome {
    passed(&[check("workers", "100%")], targets, "workers")
}

fn the_only(outcome: &Outcome) -> &Event {
    let [event] = &outcome.events[..] else {
        panic!("one was expected: {:?}", outcome.events);
    };
    event
}

#[test]
fn a_failed_machine_is_told_once_with_what_a_person_can_do() {
    let failed = [but(machine("a", "True", 900), |machine| machine.failed = true)];
    let outcome = of(&failed);
    assert_eq!(outcome.triggers, [""; 0]);
    assert_eq!(reasons(&outcome), [(on("a"), "MachineFailed")]);
    let event = the_only(&outcome);
    assert_eq!(event.kind, EventType::Warning);
    assert!(
        event
            .note
            .contains("phase Failed. Look into the Machine's errorMessage"),
        "{}",
        event.note
    );
    let mut published = Published::default();
    assert_eq!(published.new_ones(outcome.events).len(), 1);
    assert_eq!(published.new_ones(of(&failed).events), [], "not at every pass");

    let deleting = but(failed[0].clone(), |machine| machine.deleting = true);
    assert_eq!(of(&[deleting]).events, [], "its deletion is under way");
}

#[test]
fn a_machine_and_a_node_that_cannot_be_read_are_named_and_count_against_the_limit() {
    let mut machine_unreadable = machine("a", "True", 900);
    machine_unreadable.machine = Err("spec.providerID: invalid type".to_owned());
    let mut node_unreadable = machine("b", "True", 900);
    node_unreadable.node = Err(Unknown::Node("status.conditions: invalid type".to_owned()));
    let targets = [machine_unreadable, node_unreadable, machine("c", "Unknown", 900)];
    let outcome = passed(&[check("workers", "2")], &targets, "workers");
    assert_eq!(outcome.triggers, [""; 0]);
    assert_eq!(
        reasons(&outcome),
        [
            (on("a"), "MachineUnreadable"),
            (on("b"), "NodeUnreadable"),
            (On::Check, "RemediationRestricted"),
        ]
    );
    for (event, field) in outcome
        .events
        .iter()
        .zip(["spec.providerID", "status.conditions"])
    {
        assert_eq!(event.kind, EventType::Warning);
        assert!(
            event.note.contains(field) && event.note.contains("Correct"),
            "{event:?}"
        );
    }
    assert_eq!(outcome.status.unwrap().counts.unwrap().healthy, 0);
}

#[test]
fn another_field_that_cannot_be_read_is_another_thing_to_tell() {
    let unreadable = |field: &str| {
        let mut target = machine("a", "True", 900);
        target.machine = Err(field.to_owned());
        of(&[target]).events
    };
    let mut published = Published::default();
    assert_eq!(published.new_ones(unreadable("spec.providerID")).len(), 1);
    assert_eq!(published.new_ones(unreadable("spec.providerID")), []);
    assert_eq!(published.new_ones(unreadable("status.phase")).len(), 1);
}

#[test]
fn a_workload_cluster_that_cannot_be_asked_is_told_once_on_the_check_and_not_on_each_machine() {
    let lost = |why: &str| {
        let mut targets = vec![in_cluster("a", "True", 900), in_cluster("b", "True", 900)];
        for target in &mut targets {
            target.node = Err(Unknown::NodeUnreachable(why.to_owned()));
        }
        in_cluster_api(of_cluster(ready(false), |_| {}), &targets)
    };
    let outcome = lost("the API of workload cluster metal/blue cannot be asked: connection refused");
    assert_eq!(reasons(&outcome), [(On::Check, "WorkloadClusterUnreachable")]);
    let note = &the_only(&outcome).note;
    for part in ["metal/blue", "2 Machines", "kubeconfig Secret"] {
        assert!(note.contains(part), "{note}");
    }
    let mut published = Published::default();
    assert_eq!(published.new_ones(outcome.events).len(), 1);
    assert_eq!(
        published.new_ones(lost("timed out").events),
        [],
        "the same silence by another error"
    );
    let well = in_cluster_api(of_cluster(ready(false), |_| {}), &[in_cluster("a", "True", 900)]);
    assert_eq!(published.new_ones(well.events), []);
    assert_eq!(
        published.new_ones(lost("timed out").events).len(),
        1,
        "it is back"
    );
}

#[test]
fn a_machine_that_waits_for_its_first_node_is_told_as_machine_api_operator_does() {
    let starting = |seconds: Option<i64>| {
        let mut target = but(machine("a", "True", 0), |machine| {
            machine.last_updated =
                seconds.and_then(|ago| now().checked_sub(jiff::SignedDuration::from_secs(ago)).ok());
        });
        target.node = Ok(NodeState::Unset);
        of(&[target])
    };
    let mut published = Published::default();
    let first = starting(Some(60));
    assert_eq!(reasons(&first), [(on("a"), "DetectedUnhealthy")]);
    let event = the_only(&first);
    assert_eq!(event.kind, EventType::Normal);
    assert!(event.note.contains("no Node yet"), "{}", event.note);
    assert_eq!(published.new_ones(first.events).len(), 1);
    assert_eq!(
        published.new_ones(starting(Some(1)).events),
        [],
        "its status has changed, it still starts"
    );
    assert_eq!(reasons(&starting(None)), [(on("a"), "DetectedUnhealthy")]);
    assert_eq!(starting(Some(601)).triggers, ["a"]);
}

#[test]
fn cluster_api_is_restricted_only_if_a_machine_needs_to_be_remediated_and_openshift_always() {
    let limited = |target| {
        let none = of_cluster(ready(false), |raw| {
            raw.max_unhealthy = Some(crate::health::limit::IntOrText::Integer(0));
        });
        in_cluster_api(none, &[target])
    };
    let grace = limited(in_cluster("a", "Unknown", 59));
    assert_eq!(reasons(&grace), [(on("a"), "DetectedUnhealthy")]);
    assert!(grace.status.unwrap().allowed.is_err());
    let dead = limited(in_cluster("a", "Unknown", 61));
    assert_eq!(reasons(&dead), [(On::Check, "RemediationRestricted")]);

    let grace = passed(
        &[check("workers", "0")],
        &[machine("a", "Unknown", 59)],
        "workers",
    );
    assert_eq!(
        reasons(&grace),
        [
            (on("a"), "DetectedUnhealthy"),
            (On::Check, "RemediationRestricted")
        ]
    );
}

#[test]
fn a_paused_check_that_is_malformed_is_told_and_its_status_left_as_it_is() {
    let mut paused = check("workers", "some");
    paused.paused = true;
    let outcome = passed(&[paused], &[machine("a", "Unknown", 900)], "workers");
    assert_eq!(reasons(&outcome), [(On::Check, "HealthCheckMalformed")]);
    assert_eq!(outcome.status, None);
    assert!(outcome.paused.is_some());
}
