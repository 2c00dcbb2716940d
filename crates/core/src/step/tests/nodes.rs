//! Requests that name a Node, as a NodeHealthCheck's do: with a Machine or without one.

use jiff::SignedDuration;

use super::objects::{machine, set_ready};
use super::shell::Sim;
use super::world::{Kubelet, at};
use crate::facts::{Lookup, NodeCondition};
use crate::health::{HealthCheck, UnhealthyCondition};
use crate::phase::{Phase, Reason};

/// Says of the first journal what it waits for.
fn waits_for(sim: &mut Sim) -> (String, String) {
    sim.run_until(|sim| !sim.journal.reason.is_empty());
    assert_eq!((sim.journal.phase, sim.power_offs()), (Phase::Pending, 0));
    (sim.journal.reason.clone(), sim.journal.message.clone())
}

#[test]
fn a_node_without_a_machine_is_power_cycled_once() {
    let mut sim = Sim::of_a_node();

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert_eq!(sim.power_offs(), 1);
    let subject = sim.journal.subject.expect("it was journalled");
    assert_eq!(subject.node_name(), Some("worker-1"));
    assert_eq!((subject.machine, subject.machine_uid), (None, None));
}

#[test]
fn a_node_with_its_machine_is_one_subject() {
    let mut sim = Sim::new();
    sim.named_node = Some("worker-1".to_owned());

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    let subject = sim.journal.subject.expect("it was journalled");
    assert_eq!(subject.machine.as_deref(), Some("machine-1"));
}

#[test]
fn another_node_than_the_machine_has_is_a_contradiction() {
    let mut sim = Sim::new();
    sim.named_node = Some("worker-2".to_owned());
    let (reason, message) = waits_for(&mut sim);
    assert_eq!(reason, Reason::NodeMachineMismatch.as_str());
    assert!(
        message.contains("worker-1") && message.contains("worker-2"),
        "{message}"
    );
}

#[test]
fn a_node_whose_machine_is_in_another_namespace_is_not_taken_for_one_without() {
    let mut sim = Sim::of_a_node();
    sim.world.has_machines = true;
    sim.world
        .edit_node(|node| node.machine_link = Some("openshift-machine-api/machine-1".to_owned()));
    let (reason, message) = waits_for(&mut sim);
    assert_eq!(reason, Reason::NodeMachineMismatch.as_str());
    assert!(message.contains("openshift-machine-api/machine-1"), "{message}");
}

#[test]
fn a_machine_that_appears_before_the_power_off_stops_it() {
    let mut sim = Sim::of_a_node();
    sim.run_until(|sim| sim.journal.phase == Phase::PoweringOff);
    assert_eq!(sim.power_offs(), 0);
    // The live check is the one that finds it.
    sim.world.objects.machine = Lookup::Present(machine());
    sim.live_check = None;
    sim.run_until(|sim| sim.journal.phase == Phase::Pending || sim.power_offs() > 0);
    assert_eq!(sim.power_offs(), 0, "Machine and Node are not what they were");
}

#[test]
fn a_node_that_does_not_exist_is_waited_for() {
    let mut sim = Sim::of_a_node();
    sim.world.objects.node = Lookup::Absent;
    let (reason, _) = waits_for(&mut sim);
    assert_eq!(reason, Reason::NodeMissing.as_str());
}

#[test]
fn a_request_that_was_told_to_stop_before_it_acted_does_nothing() {
    let mut sim = Sim::of_a_node();
    sim.told_to_stop = true;

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Cancelled, "{}", sim.journal.message);
    assert_eq!(sim.journal.reason, Reason::RemediationInterruptedByNHC.as_str());
    assert_eq!(sim.power_offs(), 0);
}

#[test]
fn a_request_that_was_told_to_stop_at_the_live_check_does_nothing() {
    let mut sim = Sim::of_a_node();
    sim.run_until(|sim| sim.journal.phase == Phase::PoweringOff);
    sim.told_to_stop = true;
    sim.live_check = None;

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Cancelled, "{}", sim.journal.message);
    assert_eq!(sim.power_offs(), 0);
}

#[test]
fn a_request_that_was_told_to_stop_while_the_host_is_off_brings_it_back() {
    let mut sim = Sim::of_a_node();
    sim.run_until(|sim| sim.journal.phase == Phase::Fencing);
    sim.told_to_stop = true;

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert!(sim.world.host.on);
}

#[test]
fn a_request_that_was_told_to_stop_begins_no_other_attempt() {
    let mut sim = Sim::of_a_node();
    sim.world.bmc.obeys_off = false;
    sim.run_until(|sim| sim.journal.attempt == 1 && sim.journal.next_attempt.is_some());
    sim.told_to_stop = true;

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Failed, "{}", sim.journal.message);
    assert_eq!(sim.journal.reason, Reason::RemediationInterruptedByNHC.as_str());
    assert_eq!(sim.journal.attempt, 1);
}

/// A health check that asks for a Node to be remediated while its disk is corrupt, for at least a minute.
fn corrupt_disks() -> HealthCheck {
    HealthCheck {
        name: "disks".to_owned(),
        external_baremetal: false,
        paused: false,
        has_template: true,
        conditions: vec![UnhealthyCondition {
            kind: "DiskCorrupt".to_owned(),
            status: "True".to_owned(),
            timeout: SignedDuration::from_mins(1),
        }],
        machine_conditions: Vec::new(),
        rules: None,
        malformed: None,
    }
}

/// A Node that is Ready, and has a corrupt disk since a while.
fn with_a_corrupt_disk(since: i64) -> Sim {
    let mut sim = Sim::of_a_node();
    sim.world.host.kubelet = Kubelet::Alive { next_beat: 0 };
    sim.world.edit_node(|node| {
        set_ready(node, "True", at(-3_600_000));
        node.conditions.push(NodeCondition {
            kind: "DiskCorrupt".to_owned(),
            status: "True".to_owned(),
            since: Some(at(since)),
        });
    });
    sim.world.objects.health_checks = vec![Lookup::Present(corrupt_disks())];
    sim
}

#[test]
fn a_node_that_is_ready_is_power_cycled_when_its_health_check_says_unhealthy() {
    let mut sim = with_a_corrupt_disk(-120_000);

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert_eq!(sim.power_offs(), 1);
}

#[test]
fn without_a_health_check_a_node_that_is_ready_has_recovered() {
    let mut sim = with_a_corrupt_disk(-120_000);
    sim.world.objects.health_checks.clear();

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Cancelled, "{}", sim.journal.message);
    assert_eq!(sim.journal.reason, Reason::Recovered.as_str());
}

#[test]
fn the_grace_period_of_the_health_check_that_asked_is_waited_for() {
    let mut sim = with_a_corrupt_disk(-30_000);
    let (reason, _) = waits_for(&mut sim);
    assert_eq!(reason, Reason::WithinGracePeriod.as_str());

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    let (off, _) = sim.sent.first().expect("it was powered off");
    assert!(*off > 30_000, "powered off after {off} ms");
}

#[test]
fn of_two_health_checks_that_may_have_asked_a_paused_one_holds_up_only_what_it_asks_for() {
    let paused = || HealthCheck {
        paused: true,
        ..corrupt_disks()
    };
    let of_another_condition = |check: HealthCheck| HealthCheck {
        conditions: Vec::new(),
        ..check
    };
    for (one, other, expected) in [
        (of_another_condition(paused()), corrupt_disks(), None),
        (paused(), corrupt_disks(), Some(Reason::HealthCheckPaused)),
        (
            paused(),
            of_another_condition(corrupt_disks()),
            Some(Reason::HealthCheckPaused),
        ),
    ] {
        let mut sim = with_a_corrupt_disk(-120_000);
        sim.world.objects.health_checks = vec![Lookup::Present(one), Lookup::Present(other)];
        if let Some(reason) = expected {
            let (said, message) = waits_for(&mut sim);
            assert_eq!(said, reason.as_str(), "{message}");
            assert_eq!(sim.power_offs(), 0);
        } else {
            sim.run();
            assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
            assert_eq!(sim.power_offs(), 1);
        }
    }
}

#[test]
fn a_health_check_that_asked_and_is_paused_or_unreadable_holds_the_request_up() {
    let paused = HealthCheck {
        paused: true,
        ..corrupt_disks()
    };
    let malformed = HealthCheck {
        malformed: Some("spec.selector".to_owned()),
        ..corrupt_disks()
    };
    for (check, expected) in [
        (Lookup::Present(paused), Reason::HealthCheckPaused),
        (Lookup::Present(malformed), Reason::HealthCheckUnreadable),
        (
            Lookup::Unreadable("spec.unhealthyConditions".to_owned()),
            Reason::HealthCheckUnreadable,
        ),
    ] {
        let mut sim = with_a_corrupt_disk(-120_000);
        sim.world.objects.health_checks = vec![check];
        let (reason, message) = waits_for(&mut sim);
        assert_eq!(reason, expected.as_str(), "{message}");
        assert_eq!(sim.power_offs(), 0);
    }
}
