//! Hosts of the control plane: refused by default, and power-cycled while the others keep quorum.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::shell::Sim;
use super::world::at;
use crate::facts::{ControlPlane, ControlPlaneRule, Member, MemberState, Members, NodeReport, Role};
use crate::journal::EscalationKind;
use crate::phase::{Phase, Reason};
use crate::strategy::FencingMode;

fn members(runs_etcd: [bool; 2]) -> BTreeMap<String, Member> {
    let member = |runs_etcd| Member {
        roles: vec![Role::ControlPlane],
        standing: MemberState::Ready,
        lease: NodeReport {
            lease_renewed: Some(at(0)),
            lease_duration: Some(SignedDuration::from_hours(24)),
            heartbeat: None,
        },
        runs_etcd,
    };
    let [b, c] = runs_etcd.map(member);
    [("b".to_owned(), b), ("c".to_owned(), c)].into()
}

/// The policy wants etcd Pods, which run on these of the two others.
fn of_three(sim: &mut Sim, runs_etcd: [bool; 2]) {
    sim.world.edit_node(|node| node.control_plane = true);
    sim.world.objects.control_plane = ControlPlane {
        rule: ControlPlaneRule::WithQuorumOfEtcdPods,
        members: Members::Live(members(runs_etcd)),
    };
}

#[test]
fn invariant_12_by_default_a_host_of_the_control_plane_is_left_to_a_person() {
    let mut sim = Sim::new();
    sim.world.edit_node(|node| node.control_plane = true);
    sim.run();
    assert_eq!((sim.journal.phase, sim.power_offs()), (Phase::Failed, 0));
    let said = &sim.journal.message;
    assert!(said.contains(Reason::ControlPlaneRefused.as_str()), "{said}");
}

#[test]
fn a_host_without_which_the_others_keep_quorum_is_power_cycled_as_any() {
    let mut sim = Sim::new();
    of_three(&mut sim, [true, true]);
    sim.run();
    assert_eq!((sim.journal.phase, sim.power_offs()), (Phase::Succeeded, 1));
    assert!(sim.journal.subject.is_some_and(|subject| subject.control_plane));
}

/// Else each one that does not return would make the quorum that is asked for smaller.
#[test]
fn invariant_12_no_node_of_the_control_plane_is_deleted() {
    let modes: [fn(&mut Sim); 2] = [
        |sim| sim.strategy.as_mut().expect("valid").fencing = FencingMode::NodeDeletion,
        |sim| sim.taint_supported = false,
    ];
    for deletes in modes {
        let mut sim = Sim::new();
        of_three(&mut sim, [true, true]);
        deletes(&mut sim);
        sim.run();
        assert_eq!((sim.journal.phase, sim.power_offs()), (Phase::Failed, 0));
        let said = &sim.journal.message;
        assert!(said.contains(Reason::ControlPlaneRefused.as_str()), "{said}");
    }
}

#[test]
fn invariant_12_what_only_the_live_check_finds_is_waited_for_and_counts_no_attempt() {
    let mut sim = Sim::new();
    of_three(&mut sim, [true, false]);
    sim.run_until(|sim| sim.world.now > 120_000);
    assert_eq!(sim.journal.reason, Reason::ControlPlaneQuorum.as_str());
    let said = &sim.journal.message;
    assert!(said.contains("Node c runs no etcd Pod that is Ready"), "{said}");
    assert_eq!((sim.power_offs(), sim.journal.attempt), (0, 0));
    assert!(
        sim.counts.looks < 10,
        "{} live checks in two minutes",
        sim.counts.looks
    );

    of_three(&mut sim, [true, true]);
    sim.run();
    assert_eq!((sim.journal.phase, sim.power_offs()), (Phase::Succeeded, 1));
}

#[test]
fn invariant_8_quorum_that_is_lost_later_keeps_no_host_off() {
    for phase in [Phase::Fencing, Phase::PoweringOn, Phase::Booting] {
        let mut sim = Sim::new();
        of_three(&mut sim, [true, true]);
        sim.run_until(|sim| sim.journal.phase == phase);
        of_three(&mut sim, [false, false]);
        sim.run();
        assert_eq!(
            sim.journal.phase,
            Phase::Succeeded,
            "{phase:?}: {}",
            sim.journal.message
        );
        assert!(sim.world.host.on);
    }
}

#[test]
fn the_machine_of_a_host_of_the_control_plane_is_never_replaced() {
    let mut sim = Sim::to_be_escalated(EscalationKind::MachineDeletion);
    of_three(&mut sim, [true, true]);
    sim.run();
    assert_eq!((sim.journal.phase, sim.escalations), (Phase::Failed, 0));
    let said = &sim.journal.message;
    assert!(said.contains("is of the control plane"), "{said}");
}
