//! Exhaustive exploration of the real `step` against the model: every fault and every event at every
//! turn, and every pair of them.

use jiff::SignedDuration;

use super::explorer::Explorer;
use super::menu::Menu;
use super::shell::Sim;
use crate::facts::Origin;

fn explore(what: &str, start: Sim, budget: u32, at_least: usize) {
    Explorer::new(Menu::Everything).demand(what, start, budget, at_least);
}

#[test]
fn every_pair_of_faults_with_the_taint() {
    explore("taint", Sim::new(), 2, 50_000);
}

#[test]
fn every_pair_of_faults_in_the_only_attempt() {
    let mut sim = Sim::new();
    sim.strategy.as_mut().expect("valid").retries.attempts = 1;
    explore("one attempt, taint", sim.clone(), 2, 50_000);
    sim.taint_supported = false;
    explore("one attempt, node deletion", sim, 1, 1_000);
}

#[test]
fn every_deletion_of_what_a_remediation_refers_to() {
    let deletions = |what: &str, start: Sim, budget: u32| {
        Explorer::new(Menu::Deletions).demand(what, start, budget, 1_000);
    };
    let pairs = if cfg!(feature = "deep-exploration") { 2 } else { 1 };
    deletions("deletions, taint", Sim::new(), pairs);
    deletions("deletions, no Node", Sim::without_node(false), pairs);
    let mut sim = Sim::new();
    sim.taint_supported = false;
    deletions("deletions, node deletion", sim, pairs);
    deletions("deletions, metal3", Sim::with_metal3(), 1);
    deletions("deletions, among others", Sim::among_others(), 1);
}

/// A power-off may be carried out 20 s after it was sent; here the phase ends, and the next attempt begins, before.
#[test]
fn every_pair_of_faults_with_deadlines_shorter_than_commands_take() {
    for attempts in [1, 2] {
        let mut sim = Sim::new();
        let strategy = sim.strategy.as_mut().expect("valid");
        strategy.deadlines.power_off = SignedDuration::from_secs(5);
        strategy.retries.attempts = attempts;
        strategy.retries.backoff = SignedDuration::from_secs(2);
        explore("short deadlines", sim, 2, 20_000);
    }
}

/// Takes minutes: `make explore` runs it, in release mode.
#[cfg(feature = "deep-exploration")]
#[test]
fn every_three_faults_with_the_taint() {
    explore("taint", Sim::new(), 3, 1_000_000);
}

/// Takes minutes: `make explore` runs it, in release mode.
#[cfg(feature = "deep-exploration")]
#[test]
fn every_three_faults_in_the_only_attempt() {
    let mut sim = Sim::new();
    sim.strategy.as_mut().expect("valid").retries.attempts = 1;
    explore("one attempt", sim, 3, 1_000_000);
}

#[test]
fn every_pair_of_faults_with_node_deletion() {
    let mut sim = Sim::new();
    sim.taint_supported = false;
    explore("node deletion", sim, 2, 50_000);
}

#[test]
fn every_fault_with_a_slow_host() {
    let mut sim = Sim::new();
    sim.world.host.off_delay = 7_000;
    sim.world.host.on_delay = 12_000;
    sim.world.bmc.going_off_word = "PoweringOff";
    explore("slow host", sim, 1, 1_000);
}

#[test]
fn every_fault_with_a_host_that_does_not_boot() {
    let mut sim = Sim::new();
    sim.world.host.boots_well = false;
    explore("no boot, taint", sim.clone(), 1, 1_000);
    sim.taint_supported = false;
    explore("no boot, node deletion", sim, 1, 1_000);
}

#[test]
fn every_fault_with_a_host_that_ignores_the_power_off() {
    let mut sim = Sim::new();
    sim.world.bmc.obeys_off = false;
    explore("ignores off", sim, 1, 1_000);
}

#[test]
fn every_fault_with_a_host_that_ignores_the_power_on() {
    let mut sim = Sim::new();
    sim.world.bmc.obeys_on = false;
    sim.strategy.as_mut().expect("valid").deadlines.power_on = SignedDuration::from_mins(1);
    explore("ignores on", sim, 1, 1_000);
}

#[test]
fn every_fault_with_a_node_that_has_no_machine() {
    explore("node, taint", Sim::of_a_node(), 1, 1_000);
    let mut sim = Sim::of_a_node();
    sim.taint_supported = false;
    explore("node, node deletion", sim, 1, 1_000);
}

#[test]
fn every_fault_with_a_request_instead_of_a_trigger() {
    let mut sim = Sim::new();
    sim.origin = Origin::Request;
    explore("request", sim, 1, 1_000);
}
