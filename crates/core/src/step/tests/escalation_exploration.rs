//! Every fault and event, alone and in pairs, where an escalation is asked for: it is carried out only on a host
//! that was off in the last attempt and stays away, and never left undecided.

use jiff::SignedDuration;

use super::explorer::Explorer;
use super::menu::Menu;
use super::shell::Sim;
use crate::journal::EscalationKind;
use crate::node_lease::NodeLease;

fn explore(what: &str, menu: Menu, start: Sim, budget: u32, at_least: usize) {
    let mut explorer = Explorer::new(menu);
    explorer.on_end = |sim| {
        let open = sim.journal.open_escalation().is_some();
        // An explored run ends where it could wait for ever.
        let waits = sim.owes_power_for_ever() || !sim.leads;
        let excused = sim.gone || waits || sim.journal.reason == "PolicyPaused";
        (!open || excused)
            .then_some(())
            .ok_or("an escalation is left open")
    };
    if menu == Menu::CrashesAndLostAnswers {
        explorer.on_end = |sim| {
            let done = sim
                .journal
                .escalation
                .as_ref()
                .is_some_and(|one| one.done.is_some());
            (done && sim.escalations == 1)
                .then_some(())
                .ok_or("not escalated exactly once")
        };
    }
    let explorer = explorer.demand(what, start, budget, at_least);
    let escalated = explorer.endings.keys().any(|ending| ending.contains("Escalated"));
    assert!(escalated, "{what}: never escalated");
}

/// The second of two attempts has begun; what may happen in the first is explored without an escalation.
fn in_the_last_attempt(kind: EscalationKind) -> Sim {
    let mut sim = Sim::to_be_escalated(kind);
    sim.run_until(|sim| sim.journal.attempt == 2);
    sim
}

#[test]
fn every_pair_of_faults_with_a_machine_that_is_deleted_at_the_end() {
    let sim = in_the_last_attempt(EscalationKind::MachineDeletion);
    explore("deletion", Menu::Everything, sim, 2, 20_000);
}

#[test]
fn every_pair_of_faults_with_an_owner_that_is_asked_at_the_end() {
    let sim = in_the_last_attempt(EscalationKind::MachineOwner);
    explore("owner", Menu::Everything, sim, 2, 20_000);
}

#[test]
fn every_fault_with_a_machine_that_is_deleted_after_its_node() {
    let mut sim = Sim::to_be_escalated(EscalationKind::MachineDeletion);
    sim.strategy.as_mut().expect("valid").retries.attempts = 1;
    sim.taint_supported = false;
    explore("node deletion", Menu::Everything, sim, 1, 1_000);
}

#[test]
fn every_fault_with_a_machine_that_is_deleted_after_a_retry() {
    let sim = Sim::to_be_escalated(EscalationKind::MachineDeletion);
    explore("after a retry", Menu::Everything, sim, 1, 1_000);
}

#[test]
fn every_fault_with_a_machine_whose_host_ignores_the_power_on() {
    let mut sim = Sim::to_be_escalated(EscalationKind::MachineDeletion);
    sim.strategy.as_mut().expect("valid").retries.attempts = 1;
    sim.world.bmc.obeys_on = false;
    sim.strategy.as_mut().expect("valid").deadlines.power_on = SignedDuration::from_mins(1);
    explore("no power", Menu::Everything, sim, 1, 1_000);
}

#[test]
fn every_three_crashes_escalate_once() {
    let mut sim = Sim::to_be_escalated(EscalationKind::MachineDeletion);
    sim.strategy.as_mut().expect("valid").retries.attempts = 1;
    explore("crashes", Menu::CrashesAndLostAnswers, sim, 3, 1_000);
}

/// The same where actors agree by Leases on who works on the Node.
fn among_others(mut sim: Sim) -> Sim {
    sim.world.node_lease = NodeLease::Free;
    sim.leases_were_unused = false;
    sim
}

#[test]
fn every_fault_with_a_machine_that_is_deleted_among_others() {
    let mut sim = among_others(Sim::to_be_escalated(EscalationKind::MachineDeletion));
    sim.strategy.as_mut().expect("valid").retries.attempts = 1;
    explore("among others", Menu::Everything, sim.clone(), 1, 1_000);
    sim.taint_supported = false;
    explore("among others, node deletion", Menu::Everything, sim, 1, 1_000);
}

/// Takes minutes: `make explore` runs it, in release mode.
#[cfg(feature = "deep-exploration")]
#[test]
fn exploration_of_every_three_faults_with_a_machine_that_is_deleted_among_others() {
    let mut sim = among_others(Sim::to_be_escalated(EscalationKind::MachineDeletion));
    sim.strategy.as_mut().expect("valid").retries.attempts = 1;
    explore("among others", Menu::Everything, sim, 3, 1_000_000);
}
