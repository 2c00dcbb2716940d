//! Every fault and event, alone and in pairs, where actors agree by Leases on who works on the Node: none is
//! powered off that is not held for us, and no Lease of ours stays behind.

use jiff::SignedDuration;

use super::explorer::{Explorer, one_power_cycle};
use super::menu::Menu;
use super::shell::Sim;
use crate::facts::Origin;
use crate::node_lease::{Holders, NodeLease};
use crate::phase::Phase;

fn explore(what: &str, menu: Menu, start: Sim, budget: u32, at_least: usize) {
    let mut explorer = Explorer::new(menu);
    if menu == Menu::CrashesAndLostAnswers {
        explorer.on_end = one_power_cycle;
    }
    explorer.demand(what, start, budget, at_least);
}

#[test]
fn every_pair_of_faults_among_others() {
    explore("taint", Menu::Everything, Sim::among_others(), 2, 50_000);
}

#[test]
fn the_lease_that_went_with_its_node_is_taken_for_the_next_one_at_once() {
    let mut sim = Sim::among_others();
    sim.taint_supported = false;
    sim.run_until(|sim| sim.journal.phase == Phase::Booting);
    assert_eq!(sim.world.node_lease, NodeLease::Free);

    sim.world.register_not_ready();
    let registered = sim.world.now;
    sim.run_until(|sim| sim.lease_is_ours() || sim.world.now > registered + 60_000);

    assert!(sim.lease_is_ours(), "others would take it while the host boots");
    assert_eq!(sim.journal.phase, Phase::Booting);
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert_eq!(sim.world.node_lease, NodeLease::Free);
}

#[test]
fn every_fault_among_others_with_node_deletion() {
    let mut sim = Sim::among_others();
    sim.taint_supported = false;
    explore("node deletion", Menu::Everything, sim, 1, 1_000);
}

#[test]
fn every_fault_while_another_works_on_the_node() {
    let mut sim = Sim::among_others();
    sim.another_takes_the_lease();
    explore("held by another", Menu::Everything, sim, 1, 1_000);
}

#[test]
fn every_fault_while_others_are_not_known_of() {
    let mut sim = Sim::among_others();
    sim.leases_were_unused = true;
    explore("not known of", Menu::Everything, sim, 1, 1_000);
}

#[test]
fn every_fault_while_the_health_checker_holds_it() {
    let mut sim = Sim::among_others();
    sim.origin = Origin::Request;
    sim.lease_holders = Holders::of("pcr-uid", Some("NodeHealthCheck-workers".to_owned()));
    sim.lease_becomes("NodeHealthCheck-workers", SignedDuration::from_mins(11));
    explore("held by the producer", Menu::Everything, sim, 1, 1_000);
}

#[test]
fn every_three_crashes_among_others_cause_one_power_cycle() {
    explore(
        "crashes",
        Menu::CrashesAndLostAnswers,
        Sim::among_others(),
        3,
        1_000,
    );
}

/// Takes minutes: `make explore` runs it, in release mode.
#[cfg(feature = "deep-exploration")]
#[test]
fn exploration_of_every_three_faults_among_others() {
    explore("taint", Menu::Everything, Sim::among_others(), 3, 1_000_000);
}
