//! Every fault and every event, alone and in pairs, with a host whose Machine has no Node: it is power-cycled only
//! while no Node has its system UUID, nothing is released, and a success is a boot of ours.

use jiff::SignedDuration;

use super::explorer::Explorer;
use super::menu::Menu;
use super::shell::Sim;

fn explored(what: &str, start: Sim, budget: u32, at_least: usize) -> Explorer {
    Explorer::new(Menu::Everything).demand(what, start, budget, at_least)
}

fn explore(what: &str, start: Sim, budget: u32, at_least: usize) {
    let explorer = explored(what, start, budget, at_least);
    let mut endings = explorer.endings.keys();
    let succeeded = endings.any(|ending| ending.starts_with("Succeeded"));
    assert!(succeeded, "{what}: never succeeded");
}

#[test]
fn every_pair_of_faults_with_a_host_that_never_joined() {
    explore("never joined", Sim::without_node(false), 2, 20_000);
}

/// Takes minutes: `make explore` runs it, in release mode.
#[cfg(feature = "deep-exploration")]
#[test]
fn every_three_faults_with_a_host_that_never_joined() {
    explore("never joined", Sim::without_node(false), 3, 1_000_000);
}

#[test]
fn every_pair_of_faults_with_a_node_that_was_deleted() {
    explore("deleted", Sim::without_node(true), 2, 20_000);
}

#[test]
fn every_pair_of_faults_with_a_slow_host_without_a_node() {
    let mut sim = Sim::without_node(false);
    sim.world.host.off_delay = 7_000;
    sim.world.host.on_delay = 12_000;
    sim.world.bmc.going_off_word = "PoweringOff";
    explore("slow", sim, 2, 20_000);
}

#[test]
fn every_fault_with_a_host_without_a_node_that_does_not_boot() {
    let mut sim = Sim::without_node(false);
    sim.world.host.boots_well = false;
    explore("no boot", sim, 1, 500);
}

#[test]
fn every_fault_with_a_host_without_a_node_that_ignores_commands() {
    let mut sim = Sim::without_node(false);
    sim.world.bmc.obeys_off = false;
    explored("ignores off", sim, 1, 500);
    let mut sim = Sim::without_node(false);
    sim.world.bmc.obeys_on = false;
    sim.strategy.as_mut().expect("valid").deadlines.power_on = SignedDuration::from_mins(1);
    explored("ignores on", sim, 1, 500);
}
