//! Commands that a BMC acknowledges and then, by their task, says to have failed.

use super::shell::{Fault, Sim, Turn};
use super::tables_proof::read;
use super::world::at;
use crate::decision::{Act, Effect};
use crate::facts::Obstacle;
use crate::journal::Verb;
use crate::observed::{IntentKey, Observed, PowerRead, Sent};
use crate::phase::{Phase, Reason};
use crate::power_command::{CommandAnswer, CommandCame, CommandError, Refusal};

const WORDS: &str = "its task ended in Exception";

fn is_next(sim: &Sim, verb: Verb) -> bool {
    match sim.decide().act {
        Some(Act::Effect(Effect::PowerOff { .. })) => verb == Verb::PowerOff,
        Some(Act::Effect(Effect::PowerOn { .. })) => verb == Verb::PowerOn,
        Some(Act::Effect(_) | Act::Observe(_)) | None => false,
    }
}

/// A remediation whose first command of this kind was taken and failed.
fn failed(verb: Verb, obeyed: bool, set_up: fn(&mut Sim)) -> Sim {
    let mut sim = Sim::new();
    set_up(&mut sim);
    sim.run_until(|sim| is_next(sim, verb));
    sim.turn(Fault::TaskFails { obeyed });
    sim
}

fn times_sent(sim: &Sim, verb: Verb) -> Vec<i64> {
    let of_verb = |effect: &Effect| match verb {
        Verb::PowerOff => matches!(effect, Effect::PowerOff { .. }),
        Verb::PowerOn => matches!(effect, Effect::PowerOn { .. }),
        Verb::Restart => matches!(effect, Effect::Restart { .. }),
    };
    let sent = sim.sent.iter().filter(|(_, effect)| of_verb(effect));
    sent.map(|(at, _)| *at).collect()
}

#[test]
fn invariant_3_a_command_whose_task_failed_is_not_repeated_blindly_and_people_are_told() {
    for verb in [Verb::PowerOff, Verb::PowerOn] {
        let mut sim = failed(verb, false, |_| {});
        let read = sim.counts.bmc_reads;
        sim.run_until(|sim| sim.journal.is_because(Reason::BmcCommandFailed));
        assert!(sim.journal.message.starts_with(WORDS), "{}", sim.journal.message);
        assert_eq!(times_sent(&sim, verb).len(), 1, "{verb:?}");

        sim.run_until(|sim| times_sent(sim, verb).len() == 2);
        let sent = times_sent(&sim, verb);
        assert!(sent[1] - sent[0] >= 20_000, "{verb:?}: {sent:?}");
        assert!(
            sim.counts.bmc_reads > read + 1,
            "{verb:?}: sent again without a read"
        );
        sim.run();
        assert_eq!(
            sim.journal.phase,
            Phase::Succeeded,
            "{verb:?}: {}",
            sim.journal.message
        );
        assert_eq!((sim.edges(false, 1), sim.edges(true, 1)), (1, 1), "{verb:?}");
    }
}

#[test]
fn invariant_1_an_off_after_a_command_that_failed_is_proven_after_another_acknowledgement() {
    let mut sim = failed(Verb::PowerOff, true, |sim| sim.world.host.off_delay = 7_000);
    sim.run_until(|sim| !sim.released_at.is_empty());

    let sent = times_sent(&sim, Verb::PowerOff);
    assert_eq!(sent.len(), 2, "{sent:?}");
    let evidence = sim.journal.evidence.clone().expect("journalled with the release");
    assert!(evidence.acknowledged >= at(sent[1]));
    assert_eq!(sim.edges(false, 1), 1);
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Succeeded);
}

#[test]
fn a_command_is_not_said_to_have_failed_once_the_power_is_what_it_wanted() {
    let mut sim = failed(Verb::PowerOff, true, |_| {});
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Succeeded);
    assert_eq!(times_sent(&sim, Verb::PowerOff).len(), 1);
}

#[test]
fn after_a_crash_only_readings_decide() {
    let mut sim = failed(Verb::PowerOff, false, |_| {});
    sim.run_until(|sim| sim.journal.is_because(Reason::BmcCommandFailed));
    sim.crash();
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert_eq!((sim.edges(false, 1), sim.edges(true, 1)), (1, 1));
}

#[test]
fn an_attempt_whose_commands_all_fail_ends_with_the_words_of_the_bmc() {
    for verb in [Verb::PowerOff, Verb::PowerOn] {
        let mut sim = Sim::new();
        for _ in 0..5_000 {
            let fault = if is_next(&sim, verb) {
                Fault::TaskFails { obeyed: false }
            } else {
                Fault::None
            };
            if sim.turn(fault) == Turn::Over || sim.journal.phase == Phase::Failed {
                break;
            }
        }
        assert_eq!(sim.journal.phase, Phase::Failed, "{verb:?}");
        let told = &sim.journal.message;
        assert!(told.contains(WORDS), "{told}");
    }
}

#[test]
fn only_an_acknowledgement_before_the_read_is_taken_back() {
    let failed = |text: &str| {
        Ok(CommandAnswer::Refused {
            class: Refusal::Failed,
            text: text.to_owned(),
            retry_after: None,
        })
    };
    let none = |came| {
        Err(CommandError {
            came,
            obstacle: Obstacle::new(Reason::BmcUnreachable, "x"),
        })
    };
    for (answer, sent, expected) in [
        (Ok(CommandAnswer::Accepted), 1_000, failed(WORDS)),
        (Ok(CommandAnswer::Accepted), 1_001, Ok(CommandAnswer::Accepted)),
        (none(CommandCame::NotExecuted), 0, none(CommandCame::NotExecuted)),
        (none(CommandCame::Unknown), 0, none(CommandCame::Unknown)),
        (failed("earlier words"), 0, failed("earlier words")),
    ] {
        let mut observed = Observed {
            sent: Some(Sent {
                intent: IntentKey {
                    verb: Verb::PowerOff,
                    attempt: 1,
                    sends: 1,
                    epoch: 1,
                    process: 1,
                },
                at: at(sent),
                answer,
            }),
            ..Observed::default()
        };
        observed.note_read(PowerRead {
            command_failure: Some(WORDS.to_owned()),
            ..read(1_000, "On")
        });
        assert_eq!(observed.sent.map(|sent| sent.answer), Some(expected));
    }
}
