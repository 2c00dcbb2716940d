//! What becomes of a request by what its producer does with it.

use super::shell::Sim;
use super::waits::PAUSES;
use crate::facts::{Lookup, Origin};
use crate::phase::{Phase, Reason};

/// A request of machine-api-operator or Cluster API, and one of a NodeHealthCheck.
fn requests() -> [(&'static str, Sim); 2] {
    let mut of_a_machine = Sim::new();
    of_a_machine.origin = Origin::Request;
    [("Machine", of_a_machine), ("Node", Sim::of_a_node())]
}

#[test]
fn deleted_by_producer() {
    let phases = [
        Phase::Pending,
        Phase::PoweringOff,
        Phase::Fencing,
        Phase::PoweringOn,
        Phase::Booting,
    ];
    for phase in phases {
        for (of, mut sim) in requests() {
            sim.run_until(|sim| sim.has_finalizer && sim.journal.phase == phase);
            let row = format!("{of} in {phase:?}");
            assert_eq!(sim.journal.phase, phase, "{row}");
            let begun = sim.power_offs();

            sim.deletion_requested = true;
            sim.run();

            let story = format!("{row}: {}", sim.journal.message);
            assert_eq!(sim.power_offs(), begun, "no new power-off, {story}");
            assert!(sim.world.host.on, "host On, {story}");
            assert!(!sim.world.tainted(), "our taint gone, {story}");
            assert!(sim.gone, "it blocks no later request of that name, {story}");
        }
    }
}

#[test]
fn deleted_by_producer_when_the_node_is_well_before_anything_was_done() {
    for (of, mut sim) in requests() {
        sim.run_until(|sim| sim.has_finalizer);
        sim.world.revive();
        sim.deletion_requested = true;

        sim.run();

        assert!(sim.gone, "{of}");
        assert_eq!(sim.power_offs(), 0, "{of}");
    }
}

/// Its check or its Cluster is paused; or, which nobody tells us, short-circuited, disabled, upgraded, or waiting
/// for `healthyDelay`.
#[test]
fn not_deleted_while() {
    let nothing_told: (&str, fn(&mut Sim)) = ("nothing is told", |_| {});
    let check_paused: (&str, fn(&mut Sim)) = ("health check paused", |sim| {
        sim.world.edit_check(|check| check.paused = true);
    });
    let machine_paused: (&str, fn(&mut Sim)) = ("Machine or Cluster paused", |sim| {
        let pause = Some("carries cluster.x-k8s.io/paused".to_owned());
        sim.world.edit_machine(|machine| machine.pause = pause);
    });
    for (row, hold) in [nothing_told, check_paused, machine_paused] {
        let [(_, mut sim), _] = requests();
        hold(&mut sim);
        sim.world.revive();

        sim.run();

        assert_eq!(
            sim.journal.phase,
            Phase::Cancelled,
            "{row}: {}",
            sim.journal.message
        );
        assert_eq!(
            sim.journal.reason,
            Reason::Recovered.as_str(),
            "{row}: by its Node"
        );
        assert!(!sim.gone, "{row}: the request is still there");
        assert_eq!(sim.power_offs(), 0, "{row}");
    }
    for (reason, pause) in PAUSES {
        let [(_, mut sim), _] = requests();
        pause(&mut sim, true);
        sim.run_until(|sim| sim.world.now > 3_600_000);
        let waits = (sim.journal.phase, sim.journal.reason.as_str(), sim.power_offs());
        assert_eq!(
            waits,
            (Phase::Pending, reason.as_str(), 0),
            "and its Node is not well"
        );
    }
}

#[test]
fn not_deleted_after_it_has_done_its_work() {
    for (of, mut sim) in requests() {
        sim.run();
        assert_eq!(
            sim.journal.phase,
            Phase::Succeeded,
            "{of}: {}",
            sim.journal.message
        );

        let (turns, power_offs) = (sim.counts.turns, sim.power_offs());
        sim.run_until(|sim| sim.counts.turns > turns + 50);
        assert_eq!(
            (sim.journal.phase, sim.power_offs()),
            (Phase::Succeeded, power_offs),
            "{of}"
        );

        sim.deletion_requested = true;
        sim.run();
        assert!(sim.gone, "{of}");
    }
}

#[test]
fn told_to_stop() {
    let [_, (_, request)] = requests();
    for phase in [Phase::Pending, Phase::PoweringOff] {
        let mut sim = request.clone();
        sim.run_until(|sim| sim.has_finalizer && sim.journal.phase == phase);
        sim.told_to_stop = true;
        sim.live_check = None;

        sim.run();

        let stopped = (sim.journal.phase, sim.journal.reason.as_str(), sim.power_offs());
        let interrupted = Reason::RemediationInterruptedByNHC.as_str();
        assert_eq!(stopped, (Phase::Cancelled, interrupted, 0), "{phase:?}");
        assert!(!sim.gone, "{phase:?}: only by the annotation, and deleted later");

        sim.deletion_requested = true;
        sim.run();
        assert!(sim.gone, "{phase:?}");
    }
}

/// As where a MachineHealthCheck of another namespace asks for a Machine that never had a Node.
#[test]
fn a_request_that_names_neither_machine_nor_node_does_nothing() {
    let mut sim = Sim::of_a_node();
    sim.named_node = None;
    sim.world.objects.node = Lookup::Absent;

    sim.run_until(|sim| !sim.journal.reason.is_empty());

    let waits = (sim.journal.phase, sim.journal.reason.as_str());
    assert_eq!(waits, (Phase::Pending, Reason::MachineNotFound.as_str()));
    sim.run();
    assert_eq!((sim.journal.phase, sim.power_offs()), (Phase::Failed, 0));
}
