//! Attempts count what was sent: one of which no command was sent is none, and nothing is held against its host.

use super::objects::set_ready;
use super::shell::{Fault, Sim, unreachable};
use super::world::at;
use crate::admission::Stage;
use crate::decision::{Act, Effect, Observation};
use crate::observed::IntentKey;
use crate::phase::{Phase, Reason};
use crate::power_command::{CommandCame, CommandError};
use crate::quarantine;

/// A brown-out of the API server: every live check is older when it is there than it may be.
const SLOWLY: i64 = 6_000;

/// A turn in which a live check takes that long.
fn turn_in_a_brown_out(sim: &mut Sim) {
    if sim.decide().act == Some(Act::Observe(Observation::LiveCheck)) {
        sim.turn(Fault::None);
        sim.pass(SLOWLY);
    } else {
        sim.turn(Fault::None);
    }
}

fn run_in_a_brown_out(sim: &mut Sim, stop: impl Fn(&Sim) -> bool) {
    for _ in 0..5_000 {
        if stop(sim) {
            return;
        }
        turn_in_a_brown_out(sim);
    }
    panic!("no end, in {:?}: {}", sim.journal.phase, sim.journal.message);
}

fn is_untouched(sim: &Sim) {
    assert_eq!(sim.power_offs(), 0);
    assert_eq!(sim.journal.attempt, 0, "{}", sim.journal.message);
    assert!(sim.journal.failed_attempts.is_empty(), "{:?}", sim.journal);
    assert_eq!(quarantine::since(&sim.journal, false), None);
}

#[test]
fn an_attempt_whose_live_check_was_never_completed_in_time_is_none() {
    let mut sim = Sim::new();
    run_in_a_brown_out(&mut sim, |sim| sim.journal.phase == Phase::PoweringOff);

    run_in_a_brown_out(&mut sim, |sim| sim.journal.phase != Phase::PoweringOff);

    is_untouched(&sim);
    assert_eq!(sim.journal.phase, Phase::Pending);
    assert!(
        sim.journal.is_because(Reason::LiveCheckIncomplete),
        "{}",
        sim.journal.message
    );
    assert_eq!(sim.journal.next_attempt, None, "its time is not put off");

    // The brown-out is over.
    sim.run();
    assert_eq!((sim.journal.phase, sim.journal.attempt), (Phase::Succeeded, 1));
    assert_eq!((sim.edges(false, 1), sim.edges(true, 1)), (1, 1));
}

#[test]
fn a_brown_out_that_lasts_ends_the_remediation_in_time_and_quarantines_nothing() {
    let mut sim = Sim::new();

    run_in_a_brown_out(&mut sim, |sim| sim.journal.phase.is_final());

    is_untouched(&sim);
    assert_eq!(sim.journal.phase, Phase::Failed);
    assert!(
        sim.journal.is_because(Reason::PendingDeadlineExceeded),
        "{}",
        sim.journal.message
    );
    assert_eq!(Stage::of(&sim.journal, false), Stage::Over);
    // No attempt is begun after the time; the last may have been begun just before it.
    let deadlines = sim.strategy.as_ref().expect("valid").deadlines.clone();
    let latest = deadlines.pending.as_millis() + deadlines.power_off.as_millis() + 60_000;
    assert!(i128::from(sim.world.now) <= latest, "{}", sim.world.now);
}

#[test]
fn only_the_attempts_that_sent_something_are_counted() {
    let mut sim = Sim::new();
    sim.world.host.boots_well = false;
    sim.run_until(|sim| sim.journal.failed_attempts.len() == 1);

    run_in_a_brown_out(&mut sim, |sim| sim.journal.phase.is_final());

    assert_eq!(sim.power_offs(), 1);
    assert_eq!((sim.journal.phase, sim.journal.attempt), (Phase::Failed, 1));
    assert_eq!(sim.journal.failed_attempts.len(), 1);
    assert!(sim.world.host.on);
    assert!(quarantine::since(&sim.journal, false).is_some());
}

#[test]
fn what_ends_at_its_first_live_check_has_made_no_attempt() {
    for is_recovered in [true, false] {
        let mut sim = Sim::new();
        sim.run_until(|sim| sim.decide().journal.phase == Phase::PoweringOff);
        sim.journal_only();
        if is_recovered {
            sim.world.edit_node(|node| set_ready(node, "True", at(-1_000)));
        } else {
            sim.world.edit_machine(|machine| machine.state.triggered = false);
        }

        sim.run();

        is_untouched(&sim);
        assert_eq!(sim.journal.phase, Phase::Cancelled, "{}", sim.journal.message);
    }
}

/// A turn at which the BMC is gone just when the power-off is to be sent.
fn gone_before_the_command(sim: &mut Sim) {
    sim.run_until(|sim| matches!(sim.decide().act, Some(Act::Effect(Effect::PowerOff { .. }))));
    sim.world.bmc.reachable = false;
    sim.turn(Fault::None);
}

#[test]
fn a_bmc_that_is_away_when_the_command_is_to_be_sent_was_sent_nothing() {
    let mut sim = Sim::new();
    gone_before_the_command(&mut sim);
    // The shell of the tests counts what was tried.
    sim.sent.clear();

    sim.run_until(|sim| sim.journal.phase == Phase::Pending);
    is_untouched(&sim);
    assert!(sim.journal.intent.is_none(), "nothing is to be brought back");

    let mut back = sim.clone();
    back.world.bmc.reachable = true;
    back.run();
    assert_eq!((back.journal.phase, back.journal.attempt), (Phase::Succeeded, 1));

    sim.run();
    is_untouched(&sim);
    assert_eq!(sim.journal.phase, Phase::AwaitingConfirmation);
    assert!(
        sim.journal.is_because(Reason::AwaitingConfirmation),
        "{}",
        sim.journal.message
    );
}

#[test]
fn a_command_that_was_never_sent_uses_up_no_number() {
    let mut sim = Sim::new();
    gone_before_the_command(&mut sim);
    sim.world.bmc.reachable = true;

    sim.run_until(|sim| sim.power_offs() == 2);

    let key = sim.observed.sent.as_ref().map(|sent| sent.intent);
    let expected = IntentKey {
        verb: crate::journal::Verb::PowerOff,
        attempt: 1,
        sends: 1,
        epoch: 1,
        process: 1,
    };
    assert_eq!(key, Some(expected));
    sim.run();
    assert_eq!((sim.edges(false, 1), sim.edges(true, 1)), (1, 1));
}

/// Two processes may number alike where one of them took its intent back.
#[test]
fn an_intent_of_another_process_is_not_ours_whatever_its_number() {
    let mut sim = Sim::new();
    sim.run_until(|sim| sim.journal.phase == Phase::PoweringOff);
    assert!(matches!(
        sim.decide().act,
        Some(Act::Effect(Effect::PowerOff { .. }))
    ));

    sim.journal.intent.as_mut().expect("journalled").process += 1;

    assert_eq!(sim.decide().act, None, "it is read in a while, and not sent");
}

/// The BMC has got it, and said no.
#[test]
fn a_command_that_the_bmc_refused_was_sent() {
    let mut sim = Sim::new();
    sim.strategy.as_mut().expect("valid").retries.attempts = 1;
    sim.run_until(|sim| sim.journal.phase == Phase::PoweringOff);

    for _ in 0..5_000 {
        let is_command = matches!(sim.decide().act, Some(Act::Effect(Effect::PowerOff { .. })));
        sim.turn(if is_command { Fault::Refused } else { Fault::None });
        if sim.journal.phase.is_final() {
            break;
        }
    }

    assert_eq!((sim.journal.phase, sim.journal.attempt), (Phase::Failed, 1));
    assert!(sim.world.host.edges.is_empty());
    assert!(quarantine::since(&sim.journal, false).is_some());
}

/// A BMC that denies the command is there, and has seen it.
#[test]
fn an_attempt_whose_command_was_never_sent_is_none_and_one_that_was_answered_is() {
    for (came, attempts) in [(CommandCame::NotSent, 0), (CommandCame::NotExecuted, 1)] {
        let mut sim = Sim::new();
        let mut was_sent = false;
        for _ in 0..5_000 {
            let is_command = matches!(sim.decide().act, Some(Act::Effect(Effect::PowerOff { .. })));
            sim.turn(if is_command { Fault::Refused } else { Fault::None });
            if let Some(sent) = sim.observed.sent.as_mut().filter(|_| is_command) {
                was_sent = true;
                let obstacle = unreachable();
                sent.answer = Err(CommandError { came, obstacle });
            }
            if was_sent && sim.journal.phase != Phase::PoweringOff {
                break;
            }
        }
        assert!(was_sent && sim.journal.phase != Phase::PoweringOff);
        assert_eq!(sim.journal.attempt, attempts, "{came:?}: {}", sim.journal.message);
        assert!(sim.world.host.edges.is_empty());
    }
}

/// The answer is younger than the intent, and still to another one.
#[test]
fn the_answer_to_a_command_of_another_intent_is_no_acknowledgement_of_this_one() {
    let mut sim = Sim::new();
    sim.run_until(|sim| sim.observed.sent.is_some());

    sim.journal.intent.as_mut().expect("journalled").process += 1;
    sim.run_until(|sim| !sim.released_at.is_empty());

    assert_eq!(sim.power_offs(), 2, "one more, to have an acknowledgement of it");
    assert_eq!(sim.edges(false, 1), 1);
}
