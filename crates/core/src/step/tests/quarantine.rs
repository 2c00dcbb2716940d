//! A quarantine ends when the Node has been well for a while, with a boot that none of the power-offs had seen.

use super::objects::set_ready;
use super::shell::{Sim, millis};
use super::world::{Kubelet, at};
use crate::facts::Lookup;
use crate::journal::Journal;
use crate::phase::Phase;
use crate::quarantine;

/// Its host does not come back from any of its power cycles.
fn failed() -> Sim {
    let mut sim = Sim::new();
    sim.world.host.boots_well = false;
    sim.run_until(|sim| sim.journal.phase == Phase::Failed);
    sim.run();
    assert_eq!(sim.journal.attempt, 2);
    assert!(is_quarantined(&sim.journal));
    sim
}

fn is_quarantined(journal: &Journal) -> bool {
    quarantine::since(journal, false).is_some()
}

fn a_while() -> i64 {
    i64::try_from(quarantine::READY_FOR.as_millis()).expect("fits")
}

/// The host boots at last; answers since when its Node is Ready.
fn boot(sim: &mut Sim) -> i64 {
    sim.world.host.kubelet = Kubelet::Booting {
        until: sim.world.now + 1_000,
    };
    sim.world.advance(sim.world.now + 2_000);
    let since = sim.world.node().and_then(crate::facts::Node::ready_since);
    millis(since.expect("Ready"))
}

/// Runs until this time.
fn run_to(sim: &mut Sim, end: i64) {
    sim.run_until(|sim| sim.world.now >= end);
}

#[test]
fn it_is_lifted_when_the_node_was_ready_for_a_while_after_a_reboot() {
    let mut sim = failed();
    let ready = boot(&mut sim);

    run_to(&mut sim, ready + a_while() - 20_000);
    assert!(is_quarantined(&sim.journal));
    assert_eq!(sim.decide().look_again, Some(at(ready + a_while())));
    let (before, writes) = (sim.journal.clone(), sim.counts.journal_writes);
    sim.run_until(|sim| sim.world.now > ready + a_while() + 60_000);

    let lifted = sim.journal.quarantine_lifted.expect("it is written down");
    assert!(
        (ready + a_while()..ready + a_while() + 100).contains(&millis(lifted)),
        "{lifted}"
    );
    assert!(!is_quarantined(&sim.journal));
    assert_eq!(sim.counts.journal_writes, writes + 1, "one write");
    let unchanged = Journal {
        quarantine_lifted: None,
        ..sim.journal.clone()
    };
    assert_eq!(unchanged, before, "nothing else is said");

    // It stays lifted when the Node is unhealthy again, and in a successor.
    sim.world.edit_node(|node| set_ready(node, "Unknown", at(0)));
    sim.world.host.kubelet = Kubelet::Dead;
    sim.crash();
    sim.run();
    assert_eq!(sim.journal.quarantine_lifted, Some(lifted));
}

#[test]
fn a_node_that_does_not_stay_ready_begins_anew() {
    let mut sim = failed();
    let first = boot(&mut sim);
    run_to(&mut sim, first + a_while() - 20_000);
    let again = sim.world.now;
    sim.world.edit_node(|node| set_ready(node, "False", at(again)));
    sim.world.edit_node(|node| set_ready(node, "True", at(again)));

    run_to(&mut sim, first + a_while() + 20_000);
    assert!(is_quarantined(&sim.journal));
    run_to(&mut sim, again + a_while() + 20_000);
    assert!(!is_quarantined(&sim.journal));
}

#[test]
fn nothing_else_lifts_it() {
    type Change = fn(&mut Sim);
    let table: [(&str, Change); 7] = [
        ("the Node is back without a reboot", |sim| {
            sim.world.edit_node(|node| set_ready(node, "True", at(0)));
        }),
        ("with the boot before the release", |sim| {
            sim.world.edit_node(|node| {
                node.boot_id = Some("boot-0".to_owned());
                set_ready(node, "True", at(0));
            });
            let release = sim.journal.release.as_mut().expect("it was released");
            release.boot_id = "boot-0".to_owned();
        }),
        ("not Ready after a reboot", |sim| {
            sim.world.edit_node(|node| {
                node.boot_id = Some("boot-9".to_owned());
                set_ready(node, "False", at(0));
            });
        }),
        ("Ready since nobody knows when", |sim| {
            sim.world.edit_node(|node| {
                node.boot_id = Some("boot-9".to_owned());
                set_ready(node, "True", at(0));
                node.conditions[0].since = None;
            });
        }),
        ("another host has its name", |sim| {
            sim.world.edit_node(|node| {
                node.boot_id = Some("boot-9".to_owned());
                node.uid = "another".to_owned();
                node.system_uuid = Some("00000000-0000-0000-0000-0cc47a000001".to_owned());
                set_ready(node, "True", at(0));
            });
        }),
        ("the Node is gone", |sim| sim.world.objects.node = Lookup::Absent),
        ("the Node cannot be read", |sim| {
            sim.world.objects.node = Lookup::Unreadable("status".to_owned());
        }),
    ];
    for (what, change) in table {
        let mut sim = failed();
        change(&mut sim);
        // Who reports nothing more does not change it.
        let later = sim.world.now + 10 * a_while();
        sim.world.now = later;

        let decision = sim.decide();

        assert!(is_quarantined(&decision.journal), "{what}");
        assert_eq!(decision.look_again, None, "{what}");
    }
}

#[test]
fn the_failure_itself_is_waited_for_although_the_node_was_ready_before() {
    let mut sim = failed();
    boot(&mut sim);
    sim.run_until(|sim| !sim.world.tainted() && !sim.world.triggered());
    let long_ago = sim.world.now - 100 * a_while();
    let conditions = |sim: &mut Sim| {
        sim.world.edit_node(|node| {
            for condition in &mut node.conditions {
                condition.since = Some(at(long_ago));
            }
        });
    };
    conditions(&mut sim);
    let failed = millis(sim.journal.phase_started.expect("known"));

    assert_eq!(sim.decide().look_again, Some(at(failed + a_while())));
}

#[test]
fn one_that_is_being_deleted_or_was_told_to_stop_writes_nothing() {
    for is_deleted in [true, false] {
        let mut sim = failed();
        let ready = boot(&mut sim);
        sim.run_until(|sim| !sim.world.tainted() && !sim.world.triggered());
        sim.deletion_requested = is_deleted;
        sim.told_to_stop = !is_deleted;
        sim.world.now = ready + 2 * a_while();

        assert_eq!(sim.decide().journal.quarantine_lifted, None, "{is_deleted}");
    }
}

#[test]
fn without_a_node_it_is_lifted_by_one_that_joined_with_a_boot_that_was_not_seen() {
    let mut sim = Sim::without_node(false);
    sim.world.host.boots_well = false;
    sim.run_until(|sim| sim.journal.phase == Phase::Failed);
    assert!(is_quarantined(&sim.journal), "{}", sim.journal.message);
    sim.world.host.kubelet = Kubelet::Booting {
        until: sim.world.now + 1_000,
    };
    // It registers, and its Machine gets to name it.
    sim.world.advance(sim.world.now + 5_000);
    let end = sim.world.now + a_while() + 120_000;

    run_to(&mut sim, end);

    assert!(!is_quarantined(&sim.journal), "{:?}", sim.world.node());
}
