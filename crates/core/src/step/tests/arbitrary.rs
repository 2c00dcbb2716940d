//! Properties that hold for anything: any text as a UUID, any journal with any facts.

use super::generators::sims;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::shell::Sim;
use super::world::at;
use crate::decision::{Act, Effect};
use crate::identity::SystemUuid;
use crate::journal::{Basis, Journal, Verb};
use crate::phase::{Phase, Reason};

/// A runner with a fixed seed: the same cases in every run.
fn runner(cases: u32) -> TestRunner {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

#[test]
fn any_text_is_a_uuid_or_is_not() {
    let texts = prop_oneof![
        any::<String>(),
        "[0-9a-fA-F-]{0,40}",
        "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    ];
    let result = runner(5_000).run(&texts, |text| {
        if let Ok(uuid) = SystemUuid::parse(&text) {
            prop_assert_eq!(
                text.trim().replace('-', "").to_lowercase(),
                uuid.to_string().replace('-', "")
            );
            prop_assert_eq!(SystemUuid::parse(&uuid.to_string()), Ok(uuid.clone()));
            prop_assert!(uuid.matches(&uuid).is_some());
        }
        Ok(())
    });
    result.expect("holds");
}

#[test]
fn any_16_bytes_match_themselves_swapped_and_nothing_else() {
    let result = runner(2_000).run(&any::<([u8; 16], [u8; 16])>(), |(one, other)| {
        let text = |bytes: [u8; 16]| format!("{:032x}", u128::from_be_bytes(bytes));
        let mut swapped = one;
        swapped[0..4].reverse();
        swapped[4..6].reverse();
        swapped[6..8].reverse();
        let (Ok(of_one), Ok(of_other)) = (SystemUuid::parse(&text(one)), SystemUuid::parse(&text(other)))
        else {
            return Ok(());
        };
        let agree = other == one || other == swapped;
        prop_assert_eq!(of_one.matches(&of_other).is_some(), agree);
        if let Ok(of_swapped) = SystemUuid::parse(&text(swapped)) {
            prop_assert!(of_one.matches(&of_swapped).is_some());
        }
        Ok(())
    });
    result.expect("holds");
}

/// What a phase cannot be without.
fn is_whole(journal: &Journal) -> bool {
    let intent = |verb| journal.intent.as_ref().is_some_and(|intent| intent.verb == verb);
    let parts = match journal.phase {
        Phase::PoweringOff => journal.subject.is_some() && intent(Verb::PowerOff),
        Phase::Fencing => {
            let rests_on = journal
                .release
                .as_ref()
                .is_some_and(|release| match release.basis {
                    Basis::BMC => journal.evidence.is_some(),
                    Basis::Confirmation => journal.confirmation.is_some(),
                });
            journal.subject.is_some() && rests_on
        }
        Phase::PoweringOn => intent(Verb::PowerOn),
        Phase::Restarting => journal.subject.is_some() && intent(Verb::Restart),
        Phase::Booting => journal.subject.is_some(),
        Phase::AwaitingConfirmation
        | Phase::Pending
        | Phase::Holding
        | Phase::Succeeded
        | Phase::Cancelled
        | Phase::Failed => return true,
    };
    parts && (journal.deadline.is_some() || journal.awaits_person())
}

#[test]
fn any_journal_is_decided_on_and_a_broken_one_stops() {
    let result = runner(8_000).run(&sims(), |sim| {
        let decision = sim.decide();

        if !is_whole(&sim.journal) {
            prop_assert_eq!(decision.journal.phase, Phase::Failed);
            prop_assert_eq!(
                decision.journal.reason.as_str(),
                Reason::JournalUnreadable.as_str()
            );
            // At most, its host is brought back.
            let begins = matches!(
                decision.act,
                Some(Act::Effect(
                    Effect::PowerOff { .. } | Effect::TaintNode { .. } | Effect::DeleteNode { .. }
                ))
            );
            prop_assert!(!begins, "more than to bring its host back");
        }
        if sim.journal.phase.is_final() {
            prop_assert_eq!(decision.journal.phase, sim.journal.phase);
        }
        if let Some(again) = decision.look_again {
            prop_assert!(again > at(sim.world.now), "{again}");
        }
        match decision.act {
            Some(Act::Effect(Effect::PowerOff { .. })) => {
                prop_assert_eq!(decision.journal.phase, Phase::PoweringOff);
                prop_assert_eq!(
                    decision.journal.intent.map(|intent| intent.verb),
                    Some(Verb::PowerOff)
                );
            }
            Some(Act::Effect(Effect::PowerOn { .. })) => {
                let phases = [
                    Phase::PoweringOn,
                    Phase::Booting,
                    Phase::Pending,
                    Phase::Holding,
                    Phase::Failed,
                ];
                prop_assert!(
                    phases.contains(&decision.journal.phase),
                    "{:?}",
                    decision.journal.phase
                );
                prop_assert_eq!(
                    decision.journal.intent.map(|intent| intent.verb),
                    Some(Verb::PowerOn)
                );
            }
            Some(Act::Effect(Effect::TaintNode { .. } | Effect::DeleteNode { .. })) => {
                prop_assert_eq!(decision.journal.phase, Phase::Fencing);
            }
            Some(Act::Effect(Effect::AskOwner(_) | Effect::DeleteMachine(_))) => {
                prop_assert_eq!(decision.journal.phase, Phase::Failed);
                prop_assert!(decision.journal.open_escalation().is_some());
            }
            Some(_) | None => {}
        }
        Ok(())
    });
    result.expect("holds");
}

#[test]
fn any_journal_comes_to_rest() {
    let result = runner(1_000).run(&sims(), |mut sim| {
        let journal = &mut sim.journal;
        // Times a server would have stored; without them a deadline may lie beyond the end of time.
        for time in [
            &mut journal.deadline,
            &mut journal.next_attempt,
            &mut journal.phase_started,
        ] {
            *time = time.map(|time| time.clamp(at(-600_000), at(600_000)));
        }
        let paused = |sim: &Sim| sim.world.now > 3 * 3_600_000;
        sim.run_until(paused);
        let rests =
            sim.journal.phase.is_final() || sim.journal.awaits_person() || sim.gone || !sim.has_finalizer;
        prop_assert!(
            rests || sim.journal.reason == "PolicyPaused",
            "{:?}: {}",
            sim.journal.phase,
            sim.journal.message
        );
        Ok(())
    });
    result.expect("holds");
}
