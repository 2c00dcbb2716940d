//! Escalation: when it is decided, what bars it, what it waits for, and what it writes.

use super::escalation_acts::set;
use super::shell::{Fault, Sim, Turn};
use super::waits::PAUSES;
use super::world::Kubelet;
use crate::decision::{Act, Effect};
use crate::facts::{Lookup, Obstacle, Origin, Policy};
use crate::journal::EscalationKind;
use crate::machine_api::MachineApi;
use crate::phase::{Phase, Reason};
use crate::strategy::Escalation;

/// What is said, and what happens before it.
type Case = (&'static str, fn(&mut Sim));

fn deletion() -> Sim {
    Sim::to_be_escalated(EscalationKind::MachineDeletion)
}

/// Runs until something of the escalation is about to be written.
fn run_until_due(sim: &mut Sim) {
    sim.run_until(|sim| {
        let act = sim.decide().act;
        matches!(
            act,
            Some(Act::Effect(Effect::AskOwner(_) | Effect::DeleteMachine(_)))
        )
    });
}

/// Runs until the remediation has failed, and its failure is journalled.
fn run_until_failed(sim: &mut Sim) {
    sim.run_until(|sim| sim.journal.phase == Phase::Failed);
}

fn is_done(sim: &Sim) -> bool {
    let escalation = sim.journal.escalation.as_ref();
    escalation.is_some_and(|escalation| escalation.done.is_some())
}

fn is_given_up(sim: &Sim, why: &str) -> bool {
    let escalation = sim.journal.escalation.as_ref();
    let given_up = escalation.is_some_and(|escalation| escalation.given_up.is_some());
    given_up && sim.escalations == 0 && sim.journal.message.contains(why)
}

#[test]
fn by_default_a_host_that_stays_away_is_left_to_a_person() {
    let mut sim = deletion();
    sim.strategy.as_mut().unwrap().escalation = Escalation::None;
    sim.run();
    assert_eq!(sim.journal.reason, "BootDeadlineExceeded");
    assert_eq!((sim.escalations, sim.journal.escalation), (0, None));
    assert!(
        !sim.journal.message.contains("escalated"),
        "{}",
        sim.journal.message
    );
}

#[test]
fn after_the_last_attempt_the_machine_is_deleted_or_its_owner_is_asked_once() {
    for kind in [EscalationKind::MachineDeletion, EscalationKind::MachineOwner] {
        for taint in [true, false] {
            let mut sim = Sim::to_be_escalated(kind);
            sim.taint_supported = taint;
            // A Node that was deleted and did not come back is not power-cycled again.
            let attempts = if taint { 2 } else { 1 };
            sim.strategy.as_mut().unwrap().retries.attempts = attempts;
            sim.run();
            assert_eq!(u32::try_from(sim.journal.attempt), Ok(attempts));
            assert_eq!((sim.escalations, sim.bad_escalation), (1, None), "{kind:?}");
            assert!(is_done(&sim), "{:?}", sim.journal);
            assert_eq!(sim.journal.phase, Phase::Failed);
            assert_eq!(sim.journal.reason, Reason::Escalated.as_str());
            assert!(
                sim.journal.message.contains("BootDeadlineExceeded"),
                "{}",
                sim.journal.message
            );
        }
    }
}

#[test]
fn a_host_that_gets_no_power_in_its_last_attempt_is_replaced_too() {
    let mut sim = deletion();
    sim.strategy.as_mut().unwrap().retries.attempts = 1;
    sim.world.bmc.obeys_on = false;
    sim.run();
    assert!(is_done(&sim), "{}", sim.journal.message);
    assert!(
        sim.journal.message.contains("PowerOnNotConfirmed"),
        "{}",
        sim.journal.message
    );
}

#[test]
fn what_was_not_proven_or_not_tried_often_enough_bars_it() {
    let cases: [Case; 6] = [
        ("Off was not proven in the last attempt", |sim| {
            sim.world.bmc.obeys_off = false;
        }),
        ("only 1 of 2 attempts", |sim| {
            sim.world.bmc.obeys_off = false;
            sim.run_until(|sim| sim.journal.failed_attempts.len() == 1);
            sim.world.objects.policy = Lookup::Absent;
        }),
        ("the Node has no Machine", |sim| {
            let strategy = sim.strategy.clone();
            *sim = Sim::of_a_node();
            sim.strategy = strategy;
            sim.world.host.boots_well = false;
        }),
        ("MachineOwner is for Machines of cluster.x-k8s.io", |sim| {
            sim.strategy.as_mut().unwrap().escalation = Escalation::MachineOwner;
        }),
        ("MachineDeletion is for Machines of machine.openshift.io", |sim| {
            sim.world
                .edit_machine(|machine| machine.api = MachineApi::ClusterApi);
        }),
        ("no controller owns Machine machine-1", |sim| {
            sim.world.edit_machine(|machine| machine.controller_owner = None);
        }),
    ];
    for (why, change) in cases {
        let mut sim = deletion();
        change(&mut sim);
        sim.run();
        assert_eq!(sim.journal.phase, Phase::Failed, "{why}");
        assert_eq!((sim.escalations, &sim.journal.escalation), (0, &None), "{why}");
        let said = sim.journal.message.contains(&format!("; not escalated: {why}"));
        assert!(said, "{why}: {}", sim.journal.message);
        let reason = Reason::named(&sim.journal.reason).expect("a reason of ours");
        assert!(
            sim.journal.message.ends_with(reason.advice()) || sim.owes_power_for_ever(),
            "{}",
            sim.journal.message
        );
    }
}

#[test]
fn a_proof_that_was_taken_back_bars_it() {
    let mut sim = deletion();
    sim.strategy.as_mut().unwrap().retries.attempts = 1;
    sim.run_until(|sim| sim.journal.phase == Phase::Fencing && sim.world.tainted());
    sim.world.command(true, super::world::Cause::Outside);
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Failed, "{}", sim.journal.message);
    assert!(sim.journal.release.as_ref().unwrap().withdrawn.is_some());
    assert_eq!((sim.escalations, &sim.journal.escalation), (0, &None));
    assert!(
        sim.journal.message.contains("not escalated: Off was not proven"),
        "{}",
        sim.journal.message
    );
}

#[test]
fn a_pause_holds_it_up_for_as_long_as_it_lasts() {
    for (reason, pause) in PAUSES {
        let mut sim = deletion();
        run_until_due(&mut sim);
        pause(&mut sim, true);
        let began = sim.world.now;
        sim.run_until(|sim| sim.world.now > began + 3 * 3_600_000);
        assert_eq!(
            (sim.escalations, sim.journal.reason.as_str()),
            (0, reason.as_str())
        );

        pause(&mut sim, false);
        sim.another_at_work = Some(Obstacle::new(Reason::AnotherRemediationActive, "x"));
        sim.run_until(|sim| sim.journal.reason == "AnotherRemediationActive");
        sim.another_at_work = None;
        sim.run();
        assert!(is_done(&sim), "{reason:?}: {}", sim.journal.message);
    }
}

#[test]
fn a_policy_that_does_not_allow_it_any_more_holds_it_up() {
    let mut sim = deletion();
    run_until_due(&mut sim);
    let mut narrowed = Policy::in_tests(false);
    narrowed.allowed.escalations = Some(vec![Escalation::None]);
    sim.world.objects.policy = Lookup::Present(narrowed);
    sim.run_until(|sim| sim.journal.is_because(Reason::StrategyNotAllowed));
    assert_eq!(sim.escalations, 0);
    sim.world.objects.policy = Lookup::Present(Policy::in_tests(false));
    sim.run();
    assert!(is_done(&sim), "{}", sim.journal.message);
}

#[test]
fn anything_else_that_holds_it_up_for_too_long_ends_it() {
    let mut sim = deletion();
    run_until_due(&mut sim);
    sim.another_at_work = Some(Obstacle::new(
        Reason::AnotherRemediationActive,
        "somebody tries again",
    ));
    let began = sim.world.now;
    sim.run();
    assert!(
        is_given_up(&sim, "somebody tries again"),
        "{}",
        sim.journal.message
    );
    assert!(sim.world.now - began >= 600_000);
}

#[test]
fn what_changes_the_case_before_it_is_written_ends_it() {
    let cases: [Case; 6] = [
        ("is healthy again", |sim| {
            sim.world.host.boots_well = true;
            let until = sim.world.now + 1;
            sim.world.host.kubelet = Kubelet::Booting { until };
            sim.world.advance(until + 1_000);
        }),
        ("trigger annotation", |sim| {
            sim.world.edit_machine(|machine| machine.state.triggered = false);
        }),
        ("control-plane role", |sim| {
            sim.world.edit_machine(|machine| machine.control_plane = true);
        }),
        ("told this remediation to stop", |sim| sim.told_to_stop = true),
        ("no controller owns", |sim| {
            sim.world.edit_machine(|machine| machine.controller_owner = None);
        }),
        ("spec.escalation does not ask", |sim| {
            sim.strategy.as_mut().unwrap().escalation = Escalation::None;
        }),
    ];
    for (why, change) in cases {
        let mut sim = deletion();
        run_until_failed(&mut sim);
        change(&mut sim);
        sim.run();
        assert!(is_given_up(&sim, why), "{why}: {}", sim.journal.message);
        assert_eq!(sim.journal.reason, "BootDeadlineExceeded", "{why}");
    }
}

#[test]
fn a_machine_that_goes_or_is_another_by_itself_is_left_alone() {
    let cases: [Case; 3] = [
        ("is being deleted", |sim| {
            sim.world.edit_machine(|machine| machine.state.deleting = true);
        }),
        ("is gone", |sim| sim.world.objects.machine = Lookup::Absent),
        ("was replaced", |sim| {
            sim.world
                .edit_machine(|machine| machine.uid = "another".to_owned());
        }),
    ];
    let ages = [true, false].into_iter();
    for ((how, change), is_young) in cases
        .into_iter()
        .flat_map(|case| ages.clone().map(move |age| (case, age)))
    {
        let mut sim = deletion();
        sim.origin = Origin::Request;
        // A live check that is young was made before it happened: the next one decides.
        if is_young {
            run_until_due(&mut sim);
            assert!(sim.live_check.is_some(), "{how}");
        } else {
            run_until_failed(&mut sim);
            sim.live_check = None;
        }
        change(&mut sim);
        sim.run();
        assert!(
            is_done(&sim) && sim.escalations == 0,
            "{how}: {}",
            sim.journal.message
        );
        assert!(
            sim.journal.message.contains(how),
            "{how}: {}",
            sim.journal.message
        );
    }
}

/// A cache can be behind: by it alone nothing is done, nor given up.
#[test]
fn a_machine_that_only_the_cache_misses_is_replaced_all_the_same() {
    let mut sim = deletion();
    sim.origin = Origin::Request;
    run_until_due(&mut sim);
    let there = std::mem::replace(&mut sim.world.objects.machine, Lookup::Absent);
    sim.run_until(|sim| sim.journal.is_because(Reason::MachineNotFound));
    sim.world.objects.machine = there;
    sim.run();
    assert!(is_done(&sim), "{}", sim.journal.message);
    assert_eq!(sim.escalations, 1);
}

#[test]
fn an_owner_is_asked_only_while_a_health_check_says_that_the_machine_is_unhealthy() {
    let mut sim = Sim::to_be_escalated(EscalationKind::MachineOwner);
    sim.world
        .edit_machine(|machine| set(machine, "HealthCheckSucceeded", "Unknown"));
    sim.run_until(|sim| sim.journal.reason == Reason::MachineNotMarkedUnhealthy.as_str());
    assert_eq!(sim.escalations, 0);
    sim.world
        .edit_machine(|machine| set(machine, "HealthCheckSucceeded", "False"));
    sim.run();
    assert!(is_done(&sim) && sim.escalations == 1, "{}", sim.journal.message);
}

#[test]
fn refused_writes_are_told_and_repeated_at_growing_distances() {
    let mut sim = deletion();
    sim.refuses = |effect| matches!(effect, Effect::DeleteMachine(_));
    run_until_due(&mut sim);
    let mut refused = Vec::new();
    while refused.len() < 5 {
        let decision = sim.decide();
        if matches!(decision.act, Some(Act::Effect(Effect::DeleteMachine(_)))) {
            refused.push(sim.world.now);
        }
        let turn = sim.turn_with(decision, Fault::None);
        assert_ne!(turn, Turn::Over);
        if turn == Turn::Waited {
            assert_eq!(sim.journal.reason, Reason::ApiWriteRefused.as_str());
            assert!(
                sim.journal.message.contains("the server said no"),
                "{}",
                sim.journal.message
            );
        }
    }
    let pauses: Vec<i64> = refused
        .windows(2)
        .map(|pair| (pair[1] - pair[0]) / 10_000)
        .collect();
    assert_eq!(pauses, [3, 6, 12, 24]);
    sim.refuses = |_| false;
    sim.run();
    assert!(is_done(&sim), "{}", sim.journal.message);
}

/// An owner that was merely asked may never do it.
#[test]
fn invariant_13_a_host_is_owed_its_power_until_its_machine_goes() {
    for goes in [false, true] {
        let mut sim = Sim::to_be_escalated(EscalationKind::MachineOwner);
        sim.strategy.as_mut().unwrap().retries.attempts = 1;
        sim.world.bmc.obeys_on = false;
        sim.run_until(is_done);
        assert!(sim.journal.intent.is_some(), "{}", sim.journal.message);
        if goes {
            sim.world.edit_machine(|machine| machine.state.deleting = true);
        }
        sim.world.bmc.obeys_on = true;

        super::power_debt::live_on(&mut sim, 330_000);

        let story = &sim.journal.message;
        assert_eq!(sim.journal.intent, None, "{story}");
        assert_eq!(sim.world.host.on, !goes, "{story}");
        assert_eq!(sim.journal.reason, Reason::Escalated.as_str(), "{story}");
    }
}

#[test]
fn a_remediation_that_is_deleted_escalates_nothing_any_more() {
    let mut sim = deletion();
    run_until_due(&mut sim);
    sim.deletion_requested = true;
    sim.run();
    assert!(sim.gone);
    assert_eq!(sim.escalations, 0);
}
