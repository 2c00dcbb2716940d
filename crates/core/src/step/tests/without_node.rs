//! Hosts whose Machine has no Node: power-cycled once, with nothing released, and never when they have one.

use super::objects::node;
use super::shell::Sim;
use super::world::{Cause, Says, at};
use crate::facts::{Lookup, Origin};
use crate::journal::{EscalationKind, NoNode, NodeOfSubject};
use crate::phase::{Phase, Reason};

fn phases(sim: &Sim) -> Vec<Phase> {
    sim.journal.timeline.iter().map(|entry| entry.phase).collect()
}

#[test]
fn a_host_that_never_joined_or_lost_its_node_is_power_cycled_once_and_joins() {
    for (named, why) in [
        (false, NoNode::NeverJoined),
        (true, NoNode::Deleted("worker-1".to_owned())),
    ] {
        let mut sim = Sim::without_node(named);

        sim.run();

        assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
        assert_eq!((sim.edges(false, 1), sim.edges(true, 1)), (1, 1));
        assert!(sim.released_at.is_empty(), "there was nothing to release");
        assert!(!sim.world.triggered());
        let expected = [
            Phase::Pending,
            Phase::PoweringOff,
            Phase::PoweringOn,
            Phase::Booting,
            Phase::Succeeded,
        ];
        assert_eq!(phases(&sim), expected);
        let evidence = sim.journal.evidence.clone().expect("Off was proven");
        assert!(evidence.reads.len() >= 2 && evidence.node_silent.is_none());
        assert_eq!(sim.journal.release, None);
        let off_for = sim.world.host.edges[1].at - sim.world.host.edges[0].at;
        assert!(
            off_for >= 5_000,
            "a late command must not hit it after On: {off_for} ms"
        );
        let subject = sim.journal.subject.clone().expect("it was journalled");
        let node = NodeOfSubject::None {
            why,
            earlier_boot: None,
        };
        assert_eq!(subject.node, node);
        assert!(
            subject.identity.contains("spec.systemUUID"),
            "{}",
            subject.identity
        );
        assert_eq!((sim.counts.lease_reads, sim.counts.lease_writes), (0, 0));
    }
}

#[test]
fn a_host_that_is_off_already_is_powered_on() {
    let mut sim = Sim::without_node(false);
    sim.world.command(false, Cause::Outside);

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert_eq!((sim.edges(false, 1), sim.edges(true, 1)), (0, 1));
}

#[test]
fn the_proof_of_off_is_as_strong_as_with_a_node() {
    let mut sim = Sim::without_node(false);
    sim.world.bmc.says = Says::Always(Some("PoweringOff"));

    sim.run_until(|sim| !sim.journal.failed_attempts.is_empty());

    assert_eq!(sim.journal.failed_attempts[0].reason, "PowerOffNotConfirmed");
    assert_eq!(sim.journal.evidence, None);
}

#[test]
fn a_node_that_appears_and_reports_contradicts_the_proof() {
    let mut sim = Sim::without_node(false);
    // A BMC that says Off of a host that goes on running.
    sim.world.bmc.obeys_off = false;
    sim.run_until(|sim| sim.power_offs() > 0);
    sim.world.bmc.says = Says::Always(Some("Off"));
    sim.world.join();

    sim.run_until(|sim| !sim.journal.failed_attempts.is_empty());

    let failed = &sim.journal.failed_attempts[0];
    assert_eq!(failed.reason, Reason::NodeStillReporting.as_str());
    assert_eq!(sim.journal.evidence, None);
    assert!(sim.released_at.is_empty());
    let subject = sim.journal.subject.as_ref().expect("it was journalled");
    assert_eq!(
        subject.boot_before(),
        Some("boot-1"),
        "what it runs is no boot of ours"
    );
}

#[test]
fn a_node_that_appears_and_falls_silent_with_the_power_is_no_success_until_it_boots_anew() {
    let mut sim = Sim::without_node(false);
    sim.world.host.off_delay = 3_000;
    sim.run_until(|sim| sim.power_offs() > 0);
    sim.world.join();

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert!(sim.journal.failed_attempts.is_empty());
    let evidence = sim.journal.evidence.as_ref().expect("Off was proven");
    assert!(
        evidence.node_silent.is_some(),
        "there was a Node that could have reported"
    );
    let subject = sim.journal.subject.as_ref().expect("it was journalled");
    assert_eq!(subject.boot_before(), Some("boot-1"));
    let node = sim.world.node().expect("it joined");
    assert_eq!(node.boot_id.as_deref(), Some("boot-2"));
}

#[test]
fn a_node_that_joins_before_the_power_off_is_left_alone() {
    for linked in [false, true] {
        let mut sim = Sim::without_node(false);
        sim.run_until(|sim| sim.journal.phase == Phase::PoweringOff);
        assert_eq!(sim.power_offs(), 0);
        sim.world.join();
        sim.live_check = None;
        if linked {
            sim.pass(2_000);
        }

        sim.run();

        assert_eq!(sim.journal.phase, Phase::Cancelled, "{}", sim.journal.message);
        assert_eq!(sim.journal.reason, Reason::Recovered.as_str());
        assert_eq!(sim.power_offs(), 0);
    }
}

#[test]
fn invariant_6_live_check_at_all_nodes_where_there_is_none() {
    let mut sim = Sim::without_node(false);
    sim.run_until(|sim| sim.journal.phase == Phase::PoweringOff && sim.live_check.is_some());
    let look = sim.live_check.as_mut().expect("it looked");
    look.objects.node_of_host = Lookup::Unreadable("Node x cannot be read".to_owned());

    sim.turn(super::shell::Fault::None);

    assert_eq!(sim.journal.phase, Phase::Pending, "{}", sim.journal.message);
    assert_eq!(sim.journal.reason, Reason::NodeUnreadable.as_str());
    assert_eq!((sim.power_offs(), sim.journal.attempt), (0, 0));
    // It is not journalled again and again meanwhile.
    sim.run();
    let (off, _) = sim.sent.first().expect("the next look found nothing");
    assert!(*off > 30_000, "powered off after {off} ms");
}

#[test]
fn an_unhealthy_node_that_joins_takes_the_usual_way_in_a_new_attempt() {
    let mut sim = Sim::without_node(false);
    sim.world.host.boots_well = false;
    sim.run_until(|sim| sim.journal.failed_attempts.len() == 1);
    assert_eq!(
        sim.journal.failed_attempts[0].reason,
        Reason::BootDeadlineExceeded.as_str()
    );
    sim.world.register_not_ready();
    sim.world
        .edit_machine(|machine| machine.node_name = Some("worker-1".to_owned()));

    sim.run_until(|sim| sim.journal.phase == Phase::PoweringOff);

    let subject = sim.journal.subject.as_ref().expect("it was journalled");
    assert_eq!(subject.there().map(|node| node.name.as_str()), Some("worker-1"));
    assert_eq!(sim.journal.attempt, 2);
}

#[test]
fn a_node_that_joins_while_the_next_attempt_waits_is_a_success() {
    let mut sim = Sim::without_node(false);
    sim.world.host.boots_well = false;
    sim.run_until(|sim| sim.journal.failed_attempts.len() == 1);
    assert_eq!(sim.journal.phase, Phase::Pending);
    sim.world.host.boots += 1;
    sim.world.join();

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert_eq!(sim.journal.attempt, 1);
}

#[test]
fn a_host_that_does_not_join_fails_and_is_left_with_power() {
    let mut sim = Sim::without_node(false);
    sim.world.host.boots_well = false;

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Failed, "{}", sim.journal.message);
    assert_eq!(sim.journal.reason, Reason::BootDeadlineExceeded.as_str());
    assert_eq!(sim.journal.attempt, 2);
    assert!(sim.world.host.on);
    assert!(sim.world.triggered(), "the Machine is in quarantine");
}

#[test]
fn a_host_that_does_not_join_is_escalated_where_that_is_asked_for() {
    for named in [false, true] {
        let mut sim = Sim::without_node(named);
        sim.world.host.boots_well = false;
        sim.strategy = Sim::to_be_escalated(EscalationKind::MachineDeletion).strategy;

        sim.run();

        assert_eq!(sim.journal.phase, Phase::Failed, "{}", sim.journal.message);
        assert_eq!(
            sim.journal.reason,
            Reason::Escalated.as_str(),
            "{}",
            sim.journal.message
        );
        assert_eq!(sim.escalations, 1);
    }
}

#[test]
fn a_machine_whose_node_joined_since_off_was_proven_is_not_replaced() {
    let mut sim = Sim::without_node(false);
    sim.world.host.boots_well = false;
    sim.strategy = Sim::to_be_escalated(EscalationKind::MachineDeletion).strategy;
    sim.run_until(|sim| sim.journal.phase == Phase::Failed);
    // It may run something, whatever its conditions say.
    sim.world.objects.node = Lookup::Present(node("late", "boot-9", "Unknown", at(-3_600_000), at(0)));
    sim.world
        .edit_machine(|machine| machine.node_name = Some("worker-1".to_owned()));
    sim.live_check = None;

    sim.run();

    assert_eq!(sim.escalations, 0, "{}", sim.journal.message);
    assert!(
        sim.journal.message.contains("Node worker-1 has joined"),
        "{}",
        sim.journal.message
    );
}

#[test]
fn a_request_by_a_health_check_is_served_without_a_node() {
    let mut sim = Sim::without_node(false);
    sim.origin = Origin::Request;

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert_eq!(sim.power_offs(), 1);
}

#[test]
fn an_attempt_that_was_begun_on_a_node_does_not_go_on_without_it() {
    let mut sim = Sim::new();
    if let Ok(host) = &mut sim.host {
        host.stated_uuid = Sim::without_node(false).host.expect("valid").stated_uuid;
    }
    sim.world
        .edit_machine(|machine| machine.state.last_updated = Some(at(-3_600_000)));
    sim.world.host.boots_well = false;
    sim.taint_supported = false;

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Failed);
    assert_eq!(sim.journal.attempt, 1, "its Node was deleted by us, and is gone");
    assert!(
        sim.journal.message.contains("NodeMissing"),
        "{}",
        sim.journal.message
    );
}
