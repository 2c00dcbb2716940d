//! Invariant 4 at every boundary: a crash before and after each journal write and each act, alone,
//! in pairs and three in a row, and answers that are lost.

use super::explorer::{Explorer, one_power_cycle};
use super::menu::Menu;
use super::shell::Sim;

/// Explores so many crashes and lost answers, and demands what nothing but a
/// crash can excuse: one power-off, one power-on, one attempt, and success.
fn explore(what: &str, start: Sim, crashes: u32) {
    let mut explorer = Explorer::new(Menu::CrashesAndLostAnswers);
    explorer.on_end = one_power_cycle;
    let explorer = explorer.demand(what, start, crashes, 500);
    assert!(explorer.runs >= 500, "{what}: only {} runs", explorer.runs);
}

#[test]
fn invariant_4_intent_before_effect_and_no_replay_with_the_taint() {
    explore("taint", Sim::new(), 3);
}

#[test]
fn invariant_4_intent_before_effect_and_no_replay_with_node_deletion() {
    let mut sim = Sim::new();
    sim.taint_supported = false;
    explore("node deletion", sim, 3);
}

#[test]
fn invariant_4_intent_before_effect_and_no_replay_without_a_node() {
    for named in [false, true] {
        explore("without a node", Sim::without_node(named), 3);
    }
}

#[test]
fn invariant_4_intent_before_effect_and_no_replay_on_a_slow_host() {
    let mut sim = Sim::new();
    sim.world.host.off_delay = 15_000;
    sim.world.host.on_delay = 15_000;
    explore("slow host", sim, 2);
}
