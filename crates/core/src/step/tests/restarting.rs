//! A host that metal3 forbids to power off: it is reset, and nothing of it is released.

use super::explorer::Explorer;
use super::menu::Menu;
use super::shell::{Fault, Sim, unreachable};
use crate::decision::{Act, Effect};
use crate::phase::{Phase, Reason};

impl Sim {
    fn with_power_off_disabled() -> Self {
        let mut sim = Self::with_metal3();
        sim.metal3().view.power_off_disabled = true;
        if let Ok(host) = &mut sim.host {
            host.is_only_reset = true;
            host.manager = None;
        }
        sim
    }

    fn resets(&self) -> usize {
        self.world.host.resets.done.len()
    }

    fn run_until_reset(&mut self, fault: Fault) {
        self.run_until(|sim| matches!(sim.decide().act, Some(Act::Effect(Effect::Restart { .. }))));
        self.turn(fault);
    }

    /// That nothing was done to it but resets.
    fn was_only_reset(&self) -> Result<(), &'static str> {
        let of_ours = |on| (1..=self.journal.attempt).any(|attempt| self.edges(on, attempt) > 0);
        if !self.released_at.is_empty() {
            Err("something of it was released")
        } else if self.power_offs() > 0 || of_ours(false) && self.world.host.resets.stay_on {
            Err("it was powered off")
        } else if self.journal.hold.is_some() {
            Err("it was held")
        } else {
            Ok(())
        }
    }
}

#[test]
fn a_host_that_must_not_be_powered_off_is_reset_and_nothing_is_released() {
    let mut sim = Sim::with_power_off_disabled();
    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    let phases: Vec<Phase> = sim.journal.timeline.iter().map(|entry| entry.phase).collect();
    assert_eq!(
        phases,
        [
            Phase::Pending,
            Phase::Restarting,
            Phase::Booting,
            Phase::Succeeded
        ]
    );
    assert_eq!((sim.resets(), sim.was_only_reset()), (1, Ok(())));
    let told = &sim.journal.message;
    assert!(told.contains("after the reset (Restarting "), "{told}");
    assert!(!sim.world.triggered());
    assert_eq!(sim.journal.intent, None);
}

#[test]
fn a_reset_is_sent_once_an_attempt_whatever_became_of_its_answer() {
    for fault in [Fault::AnswerLost, Fault::CarriedOutLate, Fault::CrashAfterAct] {
        let mut sim = Sim::with_power_off_disabled();
        sim.run_until_reset(fault);
        sim.run();

        let what = format!("{fault:?}: {}", sim.journal.message);
        assert_eq!(sim.journal.phase, Phase::Succeeded, "{what}");
        assert_eq!((sim.resets(), sim.journal.attempt), (1, 1), "{what}");
    }
}

#[test]
fn a_reset_that_did_nothing_is_tried_again_in_the_next_attempt() {
    let mut sim = Sim::with_power_off_disabled();
    sim.run_until_reset(Fault::CommandLost);
    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert_eq!(sim.journal.attempt, 2);
    let failed: Vec<&str> = sim
        .journal
        .failed_attempts
        .iter()
        .map(|failed| failed.reason.as_str())
        .collect();
    assert_eq!(failed, [Reason::BootDeadlineExceeded.as_str()]);
    assert_eq!((sim.resets(), sim.was_only_reset()), (1, Ok(())));
}

#[test]
fn a_reset_that_the_bmc_refuses_fails_the_attempt_and_one_that_was_never_sent_is_none() {
    let mut sim = Sim::with_power_off_disabled();
    sim.run_until_reset(Fault::Refused);
    sim.run_until(|sim| sim.journal.phase == Phase::Pending);
    let failed = &sim.journal.failed_attempts;
    assert_eq!(failed.len(), 1, "{}", sim.journal.message);
    assert_eq!(failed[0].reason, Reason::BmcCommandRefused.as_str());

    let mut sim = Sim::with_power_off_disabled();
    sim.run_until(|sim| matches!(sim.decide().act, Some(Act::Effect(Effect::Restart { .. }))));
    sim.world.bmc.reachable = false;
    sim.turn(Fault::None);
    sim.run_until(|sim| sim.journal.phase == Phase::Pending);
    assert_eq!(sim.journal.attempt, 0, "{}", sim.journal.message);
    assert!(sim.journal.failed_attempts.is_empty());
    assert!(sim.journal.message.contains(&unreachable().detail));
}

#[test]
fn a_host_that_a_reset_leaves_off_is_powered_on() {
    let mut sim = Sim::with_power_off_disabled();
    sim.world.host.resets.stay_on = false;
    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert!(sim.world.host.on);
    assert_eq!((sim.resets(), sim.journal.attempt), (1, 1));
    assert!(sim.released_at.is_empty());
}

#[test]
fn a_host_that_is_off_already_is_powered_on() {
    let mut sim = Sim::with_power_off_disabled();
    sim.world.host.on = false;
    sim.metal3().operator = false;
    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert!(sim.world.host.on);
    assert_eq!(sim.resets(), 0);
    assert!(sim.released_at.is_empty());
}

/// The BareMetalHost is read live before anything is sent.
#[test]
fn who_forbids_or_allows_the_power_off_last_is_heeded() {
    let mut sim = Sim::with_power_off_disabled();
    sim.run_until(|sim| sim.decide().journal.phase == Phase::Restarting);
    sim.metal3().view.power_off_disabled = false;
    sim.turn(Fault::None);
    sim.run_until(|sim| sim.journal.phase == Phase::Pending);
    assert_eq!((sim.resets(), sim.journal.attempt), (0, 0));

    let mut sim = Sim::with_metal3();
    sim.run_until(|sim| sim.decide().journal.phase == Phase::Holding);
    sim.metal3().view.power_off_disabled = true;
    sim.turn(Fault::None);
    sim.run_until(|sim| sim.journal.phase == Phase::Pending);
    assert!(
        sim.journal.is_because(Reason::PowerOffDisabled),
        "{}",
        sim.journal.message
    );
    assert_eq!(sim.journal.attempt, 0);
    assert!(sim.metal3().view.is_free());
}

#[test]
fn a_withdrawn_request_resets_nothing() {
    let mut sim = Sim::with_power_off_disabled();
    sim.run_until(|sim| sim.journal.phase == Phase::Restarting);
    sim.deletion_requested = true;
    sim.run();
    assert!(sim.gone);
    assert_eq!(sim.resets(), 0);
}

#[test]
fn a_node_that_keeps_its_boot_fails_the_attempt() {
    let mut sim = Sim::with_power_off_disabled();
    sim.world.bmc.obeys_off = false;
    sim.run_until_reset(Fault::None);
    sim.world.revive();
    sim.run_until(|sim| !sim.journal.failed_attempts.is_empty());
    let told = &sim.journal.message;
    assert!(told.contains("the boot ID it had before the reset"), "{told}");
}

#[test]
fn every_pair_of_faults_with_a_host_that_is_only_reset() {
    let explore = |what: &str, sim: Sim, budget: u32, at_least: usize| {
        let mut explorer = Explorer::new(Menu::Everything);
        explorer.on_end = Sim::was_only_reset;
        explorer.demand(what, sim, budget, at_least);
    };
    explore("only reset", Sim::with_power_off_disabled(), 2, 10_000);
    let mut sim = Sim::with_power_off_disabled();
    sim.world.host.resets.stay_on = false;
    explore("a reset leaves it off", sim, 1, 1_000);
    let mut sim = Sim::with_power_off_disabled();
    sim.strategy.as_mut().expect("valid").retries.attempts = 1;
    explore("only one reset", sim, 1, 1_000);
}
