//! Machines of Cluster API: pauses, conditions of the Machine, Nodes in a workload cluster.

use jiff::SignedDuration;

use super::objects::set_ready;
use super::shell::Sim;
use super::world::at;
use crate::decision::Effect;
use crate::eligibility::Eligible;
use crate::facts::{Lookup, NodeCondition, Obstacle, Origin, OutOfService};
use crate::health::UnhealthyCondition;
use crate::machine_api::MachineApi;
use crate::phase::{Phase, Reason};
use crate::step::subject;

/// A dead Node in a workload cluster, and a request that Cluster API made for its Machine.
fn in_a_workload_cluster() -> Sim {
    let mut sim = Sim::new();
    sim.origin = Origin::Request;
    sim.world.edit_machine(|machine| {
        machine.api = MachineApi::ClusterApi;
        machine.cluster = Some("blue".to_owned());
    });
    sim.world.edit_check(|check| {
        check.external_baremetal = false;
        check.has_template = true;
    });
    sim
}

fn unreachable(sim: &mut Sim) {
    let obstacle = Obstacle::new(
        Reason::WorkloadClusterUnreachable,
        "the API of blue cannot be asked",
    );
    sim.world.objects.node = Lookup::Unreadable(obstacle.detail.clone());
    sim.world.objects.node_cluster = Some(obstacle);
}

fn waits_for(sim: &mut Sim, reason: Reason) {
    sim.run_until(|sim| sim.journal.reason == reason.as_str());
    assert_eq!(sim.journal.phase, Phase::Pending, "{}", sim.journal.message);
    assert_eq!(sim.journal.reason, reason.as_str(), "{}", sim.journal.message);
    assert_eq!(sim.power_offs(), 0);
}

#[test]
fn the_journal_says_in_which_cluster_the_node_is() {
    let mut sim = in_a_workload_cluster();
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert_eq!(sim.power_offs(), 1);
    let subject = sim.journal.subject.expect("it was journalled");
    assert_eq!(subject.machine_group.as_deref(), Some("cluster.x-k8s.io"));
    assert_eq!(subject.cluster.as_deref(), Some("blue"));
}

#[test]
fn a_demand_to_remediate_goes_with_the_reboot_that_answers_it_and_only_then() {
    let mut sim = in_a_workload_cluster();
    sim.world.edit_machine(|machine| machine.state.remediate = true);
    sim.run_until(|sim| sim.journal.phase == Phase::Booting);
    assert!(demanded(&sim));
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert!(!demanded(&sim));

    let mut sim = in_a_workload_cluster();
    sim.world.edit_machine(|machine| machine.state.remediate = true);
    sim.world.revive();
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Cancelled, "{}", sim.journal.message);
    assert!(demanded(&sim), "nothing was done about it");
}

#[test]
fn a_demand_that_cannot_be_taken_off_keeps_no_remediation_from_its_end() {
    let mut sim = in_a_workload_cluster();
    sim.world.edit_machine(|machine| machine.state.remediate = true);
    sim.refuses = |effect| matches!(effect, Effect::ClearTrigger { .. });
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert!(demanded(&sim));
}

fn demanded(sim: &Sim) -> bool {
    let machine = sim.world.objects.machine.present();
    machine.is_some_and(|machine| machine.state.remediate)
}

#[test]
fn a_pause_of_the_machine_or_its_cluster_is_waited_out() {
    let mut sim = in_a_workload_cluster();
    sim.world.edit_machine(|machine| {
        machine.pause = Some("is of Cluster blue, whose spec.paused is true".to_owned());
    });
    waits_for(&mut sim, Reason::MachinePaused);
    // An attempt may be held up for 10 min.
    let later = sim.world.now + 3_600_000;
    sim.run_until(|sim| sim.world.now >= later);
    assert_eq!(sim.journal.phase, Phase::Pending, "{}", sim.journal.message);
    sim.world.edit_machine(|machine| machine.pause = None);
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
}

#[test]
fn a_pause_does_not_keep_a_recovery_from_being_seen() {
    let mut sim = in_a_workload_cluster();
    sim.world
        .edit_machine(|machine| machine.pause = Some("carries cluster.x-k8s.io/paused".to_owned()));
    waits_for(&mut sim, Reason::MachinePaused);
    sim.world.edit_node(|node| set_ready(node, "True", at(0)));
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Cancelled, "{}", sim.journal.message);
    assert_eq!(sim.power_offs(), 0);
}

#[test]
fn a_cluster_that_cannot_be_asked_is_waited_for() {
    let mut sim = in_a_workload_cluster();
    let node = sim.world.objects.node.clone();
    unreachable(&mut sim);
    waits_for(&mut sim, Reason::WorkloadClusterUnreachable);
    sim.world.objects.node = node;
    sim.world.objects.node_cluster = None;
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
}

#[test]
fn a_cluster_that_goes_away_before_the_live_check_stops_the_power_off() {
    let mut sim = in_a_workload_cluster();
    sim.run_until(|sim| sim.journal.phase == Phase::PoweringOff);
    assert_eq!(sim.power_offs(), 0);
    unreachable(&mut sim);
    sim.live_check = None;
    waits_for(&mut sim, Reason::WorkloadClusterUnreachable);
}

#[test]
fn a_cluster_that_goes_away_while_the_host_is_off_does_not_keep_it_off() {
    let mut sim = in_a_workload_cluster();
    sim.run_until(|sim| sim.world.tainted());
    unreachable(&mut sim);
    sim.run();
    assert!(
        sim.world.host.on,
        "{:?} {}",
        sim.journal.phase, sim.journal.message
    );
}

#[test]
fn a_cluster_that_goes_away_in_the_midst_of_an_attempt_is_told_until_it_is_back() {
    for (phase, usual, end) in [
        (Phase::Fencing, Reason::ReleasingWorkloads, Phase::Succeeded),
        (Phase::Booting, Reason::WaitingForNode, Phase::Failed),
    ] {
        let mut sim = in_a_workload_cluster();
        sim.world.host.boots_well = end == Phase::Succeeded;
        sim.run_until(|sim| sim.decide().journal.phase == phase);
        sim.journal_only();
        let node = sim.world.objects.node.clone();
        unreachable(&mut sim);
        sim.journal_only();
        assert_eq!(sim.journal.phase, phase, "{}", sim.journal.message);
        assert!(sim.journal.is_because(Reason::WorkloadClusterUnreachable));
        let told = "; the API of blue cannot be asked. Bring the API of the workload cluster back";
        assert!(sim.journal.message.contains(told), "{}", sim.journal.message);

        sim.world.objects.node = node;
        sim.world.objects.node_cluster = None;
        let back = sim.decide().journal;
        assert_eq!((back.phase, back.reason.as_str()), (phase, usual.as_str()));
        sim.run();
        assert_eq!(sim.journal.phase, end, "{}", sim.journal.message);
    }
}

/// The Node of this name in another cluster: well, and of another host.
fn a_strangers_node(sim: &mut Sim) {
    sim.world.edit_node(|node| {
        "node-uid-of-another".clone_into(&mut node.uid);
        node.system_uuid = Some("11111111-2222-4333-8444-555555555555".to_owned());
        node.boot_id = Some("boot-of-another".to_owned());
        node.out_of_service = OutOfService::No;
        set_ready(node, "True", at(0));
    });
}

#[test]
fn a_node_of_that_name_in_another_cluster_is_no_sign_of_life_and_no_end() {
    for phase in [
        Phase::PoweringOff,
        Phase::Fencing,
        Phase::PoweringOn,
        Phase::Booting,
    ] {
        let mut sim = in_a_workload_cluster();
        sim.world.host.boots_well = false;
        sim.run_until(|sim| sim.journal.phase == phase && sim.power_offs() > 0);
        a_strangers_node(&mut sim);

        let next = sim.decide();
        assert_ne!(next.journal.phase, Phase::Succeeded, "{}", next.journal.message);
        sim.run();

        let at_the_end = format!("{phase:?} {:?} {}", sim.journal.phase, sim.journal.message);
        assert_eq!(sim.journal.phase, Phase::Failed, "{at_the_end}");
        assert!(sim.world.host.on, "{at_the_end}");
        let node = sim.world.node().expect("nobody deletes it");
        assert_eq!(node.out_of_service, OutOfService::No, "{at_the_end}");
    }
}

#[test]
fn a_node_of_that_name_in_another_cluster_is_not_given_what_the_deleted_one_had() {
    let mut sim = in_a_workload_cluster();
    sim.taint_supported = false;
    sim.world.host.boots_well = false;
    let node = sim.world.objects.node.clone();
    sim.run_until(|sim| sim.journal.phase == Phase::Booting);
    sim.world.objects.node = node;
    a_strangers_node(&mut sim);
    sim.refuses = |effect| {
        let restores = matches!(effect, Effect::RestoreNode { .. });
        assert!(!restores, "a Node of another host was written to");
        false
    };

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Failed, "{}", sim.journal.message);
}

#[test]
fn a_control_plane_machine_is_refused_whether_its_cluster_answers_or_not() {
    for answers in [true, false] {
        let mut sim = in_a_workload_cluster();
        sim.world.edit_machine(|machine| machine.control_plane = true);
        if !answers {
            unreachable(&mut sim);
        }
        waits_for(&mut sim, Reason::ControlPlaneRefused);
    }
}

#[test]
fn a_condition_of_the_machine_is_a_cause_though_its_node_is_ready() {
    let mut sim = in_a_workload_cluster();
    sim.world.edit_node(|node| set_ready(node, "True", at(0)));
    sim.world.edit_check(|check| {
        check.machine_conditions = vec![UnhealthyCondition {
            kind: "NodeHealthy".to_owned(),
            status: "False".to_owned(),
            timeout: SignedDuration::from_mins(1),
        }];
    });
    let condition = |since: i64| NodeCondition {
        kind: "NodeHealthy".to_owned(),
        status: "False".to_owned(),
        since: Some(at(since)),
    };
    let cause = |sim: &Sim| {
        let facts = sim.facts();
        match subject::examine(&sim.journal, &facts, &facts.objects, at(0)) {
            Ok(Eligible::Unhealthy {
                cause, silence_only, ..
            }) => Some((cause, silence_only)),
            Ok(Eligible::WithoutNode { .. }) | Err(_) => None,
        }
    };
    assert_eq!(cause(&sim), None);
    sim.world
        .edit_machine(|machine| machine.state.conditions = vec![condition(-30_000)]);
    assert_eq!(cause(&sim), None, "not for long enough");
    sim.world
        .edit_machine(|machine| machine.state.conditions = vec![condition(-90_000)]);
    assert_eq!(cause(&sim), Some(("NodeHealthy=False".to_owned(), false)));
    sim.world.edit_machine(|machine| {
        machine.state.conditions.clear();
        machine.unhealthy_by_itself = Some("cluster.x-k8s.io/remediate-machine".to_owned());
    });
    let asked = Some(("cluster.x-k8s.io/remediate-machine".to_owned(), false));
    assert_eq!(cause(&sim), asked);
}
