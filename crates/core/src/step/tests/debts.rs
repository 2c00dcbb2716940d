//! What is owed to a host, its Node and its Machine is paid, whatever happens in between.

use super::objects::set_ready;
use super::shell::{Fault, Sim};
use super::world::{Kubelet, at};
use crate::decision::{Act, Effect, Observation};
use crate::facts::Obstacle;
use crate::phase::{Phase, Reason};

fn with_node_deletion() -> Sim {
    let mut sim = Sim::new();
    sim.taint_supported = false;
    sim
}

/// The host boots at last, and its kubelet comes up.
fn boot(sim: &mut Sim) {
    sim.world.host.kubelet = Kubelet::Booting {
        until: sim.world.now + 1_000,
    };
    sim.world.advance(sim.world.now + 2_000);
}

#[test]
fn a_deleted_node_gets_back_what_it_had_although_the_write_was_repeated() {
    let mut sim = with_node_deletion();
    sim.run_until(|sim| matches!(sim.decide().act, Some(Act::Effect(Effect::DeleteNode { .. }))));
    sim.turn(Fault::Refused);
    sim.world.metadata.labels.clear();

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert_eq!(
        sim.world.metadata.labels.get("rack").map(String::as_str),
        Some("7")
    );
    let release = sim.journal.release.expect("kept as a record");
    assert!(
        release.saved_node.is_none(),
        "a debt that is paid is not in the journal"
    );
}

#[test]
fn a_deleted_node_gets_back_what_it_had_before_it_is_ready() {
    let mut sim = with_node_deletion();
    sim.run_until(|sim| !sim.world.host.on && sim.journal.phase == Phase::PoweringOn);
    sim.run_until(|sim| sim.journal.phase == Phase::Booting);
    sim.world.register_not_ready();

    sim.run_until(|sim| {
        sim.journal
            .release
            .as_ref()
            .is_some_and(|release| release.saved_node.is_none())
    });

    assert_eq!(sim.journal.phase, Phase::Booting);
    assert_eq!(sim.world.metadata.labels.len(), 1);
}

#[test]
fn a_deleted_node_gets_back_what_it_had_when_the_attempt_after_succeeds() {
    let mut sim = with_node_deletion();
    sim.refuses = |effect| matches!(effect, Effect::RestoreNode { .. });
    sim.world.host.boots_well = false;
    sim.run_until(|sim| sim.journal.phase == Phase::Booting);
    sim.world.register_not_ready();
    sim.world.host.boots_well = true;
    sim.run_until(|sim| sim.journal.attempt == 2 && sim.journal.phase == Phase::Fencing);
    assert!(sim.world.metadata.labels.is_empty());

    sim.refuses = |_| false;
    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert_eq!(
        sim.world.metadata.labels.get("rack").map(String::as_str),
        Some("7")
    );
}

#[test]
fn a_node_is_not_deleted_before_its_metadata_is_saved() {
    let mut sim = with_node_deletion();
    sim.run_until(|sim| matches!(sim.decide().act, Some(Act::Effect(Effect::DeleteNode { .. }))));
    let mut facts = sim.facts();
    facts.node_metadata = None;

    let decision = crate::step::step(&sim.journal, &facts, at(sim.world.now));

    assert!(
        !matches!(decision.act, Some(Act::Effect(_))),
        "{:?}",
        decision.act
    );
}

#[test]
fn a_node_that_comes_back_after_the_failure_is_given_back_once() {
    for taint in [true, false] {
        let mut sim = if taint { Sim::new() } else { with_node_deletion() };
        sim.world.host.boots_well = false;
        sim.run();
        assert_eq!(sim.journal.phase, Phase::Failed);
        assert!(
            !taint || sim.journal.message.contains("taint"),
            "{}",
            sim.journal.message
        );

        boot(&mut sim);
        sim.run();

        assert!(!sim.world.tainted());
        assert!(!sim.world.triggered());
        assert_eq!(sim.world.metadata.labels.len(), 1);

        // What a person changes after that stays, also after a restart. A trigger on a Machine that is well goes again.
        sim.world.metadata.labels.clear();
        sim.world.edit_machine(|machine| machine.state.triggered = true);
        sim.crash();
        sim.run();
        assert!(sim.world.metadata.labels.is_empty());
        assert!(!sim.world.triggered());
    }
}

/// Whoever looked after the Machine has failed, and its Node is well again without us.
#[test]
fn the_trigger_of_a_node_that_recovers_after_the_failure_is_taken_off_each_time() {
    let nobody_knows_the_host = |sim: &mut Sim| {
        sim.host = Err(Obstacle::new(Reason::HostNotFound, "no BMCEndpoint"));
    };
    let the_bmc_does_not_obey = |sim: &mut Sim| sim.world.bmc.obeys_off = false;
    for fails in [nobody_knows_the_host, the_bmc_does_not_obey] {
        let mut sim = Sim::new();
        fails(&mut sim);
        sim.run();
        assert_eq!(sim.journal.phase, Phase::Failed, "{}", sim.journal.message);
        let why = sim.journal.message.clone();
        assert!(sim.world.triggered(), "it is unhealthy: {why}");

        for _ in 0..2 {
            sim.world.revive();
            sim.run();
            assert!(!sim.world.triggered(), "{why}");
            assert_eq!((sim.journal.phase, &sim.journal.message), (Phase::Failed, &why));

            // It fails again. Nothing is begun for it, after a failure.
            sim.world.host.kubelet = Kubelet::Dead;
            let now = at(sim.world.now);
            sim.world.edit_node(|node| set_ready(node, "Unknown", now));
            sim.world.edit_machine(|machine| machine.state.triggered = true);
            sim.crash();
            sim.run();
            assert!(sim.world.triggered(), "{why}");
        }
    }
}

#[test]
fn the_trigger_that_another_answers_stays_with_a_node_that_is_well() {
    let mut sim = Sim::new();
    sim.world
        .edit_machine(|machine| machine.foreign_mark = Some("another's mark".to_owned()));
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Failed, "{}", sim.journal.message);
    sim.world.revive();
    sim.run();
    assert!(sim.world.triggered());

    sim.world.edit_machine(|machine| machine.foreign_mark = None);
    sim.run();
    assert!(!sim.world.triggered());
}

#[test]
fn the_trigger_of_a_node_that_is_unhealthy_or_stands_released_stays_after_the_failure() {
    let mut sim = Sim::new();
    sim.world.host.boots_well = false;
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Failed, "{}", sim.journal.message);
    // Ready with the boot that it had when its workloads were released: a person has to look.
    sim.world.edit_node(|node| set_ready(node, "True", at(0)));
    sim.run();
    assert!(sim.world.triggered());
    assert!(sim.world.tainted());
}

#[test]
fn a_node_that_came_back_while_the_next_attempt_began_is_a_success() {
    let mut sim = Sim::new();
    sim.world.host.boots_well = false;
    sim.run_until(|sim| sim.journal.phase == Phase::Booting);
    sim.world
        .edit_node(|node| node.boot_id = Some("boot-2".to_owned()));
    sim.run_until(|sim| {
        sim.journal.attempt == 1
            && sim.journal.phase == Phase::Pending
            && matches!(sim.decide().act, Some(Act::Observe(Observation::LiveCheck)))
    });
    sim.journal_only();
    assert_eq!((sim.journal.attempt, sim.journal.phase), (2, Phase::PoweringOff));
    sim.world.host.boots = 2;
    sim.world.revive();

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert!(!sim.world.tainted());
    assert_eq!(sim.power_offs(), 1);
}

#[test]
fn a_deletion_waits_until_the_node_is_given_back() {
    for taint in [true, false] {
        for phase in [Phase::Fencing, Phase::PoweringOn, Phase::Booting] {
            let mut sim = if taint { Sim::new() } else { with_node_deletion() };
            sim.run_until(|sim| sim.journal.phase == phase && !sim.released_at.is_empty());

            sim.deletion_requested = true;
            sim.run();

            assert!(sim.gone, "{phase:?}");
            assert!(sim.world.host.on && !sim.world.tainted(), "{phase:?}");
            assert_eq!(sim.world.metadata.labels.len(), 1, "{phase:?}");
        }
    }
}

#[test]
fn a_deletion_between_attempts_waits_until_the_node_is_given_back() {
    let mut sim = Sim::new();
    sim.world.host.boots_well = false;
    sim.run_until(|sim| sim.journal.phase == Phase::Pending && sim.journal.attempt == 1);
    assert!(sim.world.tainted());

    sim.deletion_requested = true;
    sim.run_until(|sim| sim.journal.phase == Phase::Booting);
    boot(&mut sim);
    sim.run();

    assert!(sim.gone);
    assert!(!sim.world.tainted());
}

#[test]
fn a_deletion_does_not_wait_for_ever_for_a_node() {
    let mut sim = Sim::new();
    sim.world.host.boots_well = false;
    sim.run_until(|sim| sim.journal.phase == Phase::Pending && sim.journal.attempt == 1);

    sim.deletion_requested = true;
    sim.run();

    assert!(sim.gone);
    assert_eq!(sim.journal.phase, Phase::Failed);
    assert!(sim.journal.message.contains("taint"), "{}", sim.journal.message);
}

#[test]
fn the_trigger_of_another_machine_of_that_name_is_not_cleared() {
    let mut sim = Sim::new();
    sim.run_until(|sim| sim.journal.phase == Phase::Booting);
    sim.world
        .edit_machine(|machine| machine.uid = "machine-uid-2".to_owned());

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded);
    assert!(sim.world.triggered());
}

#[test]
fn a_cache_that_lags_behind_the_live_read_is_no_sign_of_life() {
    let mut sim = Sim::new();
    sim.run_until(|sim| sim.released_at.len() == 1);
    let last = sim.observed.reports.last_mut().expect("silence was read");
    last.found.heartbeat = Some(at(-344_000));

    let decision = sim.decide();

    assert_eq!(
        decision.journal.phase,
        Phase::Fencing,
        "{}",
        decision.journal.message
    );
}

#[test]
fn a_successor_releases_on_a_proof_of_its_own() {
    let mut sim = Sim::new();
    sim.run_until(|sim| matches!(sim.decide().act, Some(Act::Effect(Effect::TaintNode { .. }))));
    sim.turn(Fault::CrashAfterJournal);
    assert_eq!(sim.journal.phase, Phase::Fencing);
    let restarted = sim.world.now;

    sim.run_until(|sim| !sim.released_at.is_empty());

    let reads = sim.observed.reads.iter().filter(|read| read.said() == "Off");
    assert!(reads.count() >= 2);
    // Nothing in its memory says that the Node was silent before: a whole window is waited for.
    assert!(sim.world.now >= restarted + 15_000);
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Succeeded);
}

#[test]
fn a_host_that_is_off_without_a_proof_is_powered_on_at_once() {
    let mut sim = Sim::new();
    sim.run_until(|sim| !sim.world.host.on);
    // Another host renews the Lease of this Node.
    let next_beat = sim.world.now;
    sim.world.host.kubelet = Kubelet::Alive { next_beat };

    sim.run_until(|sim| sim.journal.phase != Phase::PoweringOff);

    assert_eq!(sim.journal.phase, Phase::PoweringOn, "{}", sim.journal.message);
    assert!(sim.released_at.is_empty());
    let failed = sim.journal.failed_attempts.last().expect("the attempt failed");
    assert_eq!(failed.reason, Reason::NodeStillReporting.as_str());
}

#[test]
fn a_host_is_not_powered_on_while_a_predecessor_may_still_power_it_off() {
    let mut sim = Sim::new();
    sim.world.pods.clear();
    sim.run_until(|sim| matches!(sim.decide().act, Some(Act::Effect(Effect::PowerOff { .. }))));
    sim.turn(Fault::AnswerLost);
    sim.run_until(|sim| sim.journal.phase == Phase::Fencing);
    let intent = sim.journal.intent.clone().expect("kept until the power-on");
    assert_eq!(intent.sends, 2);

    sim.run_until(|sim| sim.journal.phase == Phase::PoweringOn);

    let powered_on = sim.sent.last().expect("sent with the intent").0;
    assert!(at(powered_on) >= intent.not_after);
}

#[test]
fn a_deletion_whose_last_write_is_refused_stays_a_deletion() {
    let mut sim = Sim::new();
    sim.world.bmc.obeys_off = false;
    sim.run_until(|sim| sim.power_offs() == 1);
    sim.deletion_requested = true;
    sim.run_until(|sim| matches!(sim.decide().act, Some(Act::Effect(Effect::RemoveFinalizer))));

    sim.turn(Fault::Refused);
    sim.run();

    assert!(sim.gone);
    assert_ne!(sim.journal.reason, Reason::JournalUnreadable.as_str());
}
