//! The last attempt failed, and its power-off may have left the host off: that is settled before the remediation
//! fails, and no other attempt is begun meanwhile.

use jiff::SignedDuration;

use super::invariants_recovery::obeys_late;
use super::shell::{Sim, millis};
use super::world::Kubelet;
use crate::facts::{Lookup, Obstacle};
use crate::phase::{Phase, Reason};
use crate::strategy::{Escalation, Strategy};

fn edit(sim: &mut Sim, edit: impl FnOnce(&mut Strategy)) {
    edit(sim.strategy.as_mut().expect("valid"));
}

/// The only attempt has failed over a BMC that fell silent after it had taken the power-off.
fn silent_after_the_only_power_off() -> Sim {
    let mut sim = Sim::new();
    edit(&mut sim, |strategy| strategy.retries.attempts = 1);
    sim.run_until(|sim| sim.power_offs() == 1);
    sim.world.bmc.reachable = false;
    sim.run_until(|sim| sim.journal.phase != Phase::PoweringOff);
    assert_eq!(sim.journal.phase, Phase::Pending, "{}", sim.journal.message);
    sim
}

#[test]
fn invariant_8_a_power_off_sent_just_before_the_last_deadline_is_waited_for() {
    let mut sim = obeys_late();
    edit(&mut sim, |strategy| strategy.retries.attempts = 1);

    sim.run();

    assert_eq!((sim.edges(false, 1), sim.edges(true, 1)), (1, 1));
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
}

#[test]
fn invariant_8_a_host_behind_a_bmc_that_answers_again_gets_its_power_back_before_the_failure() {
    let mut sim = silent_after_the_only_power_off();
    sim.world.host.boots_well = false;
    sim.world.objects.policy = Lookup::Absent;
    sim.world.bmc.reachable = true;

    sim.run();

    assert!(sim.world.host.on);
    assert_eq!((sim.edges(false, 1), sim.edges(true, 1)), (1, 1));
    assert_eq!(sim.journal.phase, Phase::Failed);
    assert!(
        !sim.journal.message.contains("may be off"),
        "{}",
        sim.journal.message
    );
}

#[test]
fn a_host_that_is_seen_on_ends_it_with_the_failure_that_it_was() {
    let mut sim = silent_after_the_only_power_off();
    let said = sim.journal.failed_attempts.clone();
    sim.world.bmc.reachable = true;
    sim.world.command(true, super::world::Cause::Outside);
    sim.world.host.kubelet = Kubelet::Dead;

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Failed);
    assert_eq!(sim.journal.reason, Reason::BmcUnreachable.as_str());
    assert_eq!(sim.journal.failed_attempts, said, "it fails once");
    assert!(
        !sim.journal.message.contains("may be off"),
        "{}",
        sim.journal.message
    );
}

#[test]
fn a_bmc_that_stays_silent_is_waited_for_as_long_as_a_power_on_may_take() {
    let mut sim = silent_after_the_only_power_off();
    edit(&mut sim, |strategy| {
        strategy.retries.attempts = 3;
        strategy.escalation = Escalation::MachineDeletion;
    });
    let begun = sim.world.now;
    let told = &sim.journal.message;
    assert!(told.contains("attempt 1 was the last and failed"), "{told}");

    sim.run_until(|sim| sim.journal.phase != Phase::Pending);

    let limit = sim.strategy.as_ref().expect("valid").deadlines.power_on;
    let asked = millis(sim.journal.phase_started.expect("begun"));
    let took = SignedDuration::from_millis(asked - begun);
    assert!(took <= limit + SignedDuration::from_secs(1), "{took}");
    sim.run();
    assert_eq!(sim.journal.phase, Phase::AwaitingConfirmation);
    sim.leave_off = true;
    sim.run();
    assert_eq!(sim.power_offs(), 1, "no other attempt");
    let (reason, message) = (&sim.journal.reason, &sim.journal.message);
    assert_eq!(sim.journal.phase, Phase::Failed);
    assert_eq!(reason, Reason::PowerOnNotConfirmed.as_str());
    assert!(message.contains("not escalated"), "{message}");
}

#[test]
fn a_bmc_that_cannot_even_be_asked_does_not_put_the_failure_off_for_ever() {
    let mut sim = silent_after_the_only_power_off();
    let limit = millis(sim.journal.deadline.expect("bounded")) + 60_000;

    while !sim.journal.phase.is_final() && sim.world.now < limit {
        sim.turn_without_secret();
    }

    let end = sim.journal.phase;
    assert_eq!(end, Phase::AwaitingConfirmation, "{}", sim.journal.message);
}

#[test]
fn a_deletion_meanwhile_waits_for_the_power_too() {
    let mut sim = silent_after_the_only_power_off();
    sim.deletion_requested = true;
    sim.world.advance(sim.world.now + 60_000);
    sim.world.bmc.reachable = true;

    sim.run();

    assert!(sim.gone && sim.world.host.on, "{}", sim.journal.message);
}

#[test]
fn invariant_8_a_failure_of_a_reason_that_there_is_not_keeps_no_host_without_its_power() {
    let unheard = || {
        let mut sim = silent_after_the_only_power_off();
        sim.world.host.boots_well = false;
        sim.journal.failing.as_mut().expect("put off").reason = "Unheard".to_owned();
        sim
    };
    let mut answers = unheard();
    answers.world.bmc.reachable = true;
    answers.run();
    assert!(answers.world.host.on, "{}", answers.journal.message);
    assert_eq!((answers.edges(false, 1), answers.edges(true, 1)), (1, 1));
    assert_eq!(answers.journal.phase, Phase::Failed);

    let mut silent = unheard();
    silent.run();
    assert_eq!(silent.journal.phase, Phase::Failed);
    assert_eq!(silent.journal.reason, Reason::JournalUnreadable.as_str());
}

#[test]
fn invariant_8_who_else_may_be_at_work_keeps_no_host_without_its_power() {
    let another = || {
        Some(Obstacle::new(
            Reason::JournalUnreadable,
            "PowerCycleRemediation x cannot be read",
        ))
    };
    for attempts in [1, 2] {
        let mut sim = Sim::new();
        edit(&mut sim, |strategy| strategy.retries.attempts = attempts);
        sim.run_until(|sim| sim.power_offs() == 1);
        sim.world.bmc.reachable = false;
        sim.run_until(|sim| sim.journal.phase != Phase::PoweringOff);
        assert_eq!(sim.journal.phase, Phase::Pending, "{}", sim.journal.message);
        sim.world.host.boots_well = false;
        sim.another_at_work = another();
        sim.world.bmc.reachable = true;

        sim.run();

        assert_eq!(sim.power_offs(), 1, "nothing is begun beside it");
        assert!(sim.world.host.on, "{}", sim.journal.message);
        assert_eq!(sim.journal.phase, Phase::Failed, "{}", sim.journal.message);
    }
}

#[test]
fn nothing_is_begun_beside_another() {
    for mut sim in [Sim::new(), Sim::without_node(false)] {
        sim.another_at_work = Some(Obstacle::new(Reason::AnotherRemediationActive, "x is at work"));
        sim.run_until(|sim| sim.journal.is_because(Reason::AnotherRemediationActive));
        assert_eq!(sim.journal.phase, Phase::Pending);
        sim.another_at_work = None;
        sim.run();
        assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
        assert_eq!(sim.power_offs(), 1);
    }
}
