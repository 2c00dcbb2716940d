//! A host that metal3 forbids to power off: it is reset, and nothing of it is released.

use jiff::SignedDuration;

use super::explorer::Explorer;
use super::menu::Menu;
use super::shell::{Fault, Sim, unreachable};
use super::world::{Cause, Kubelet, Says};
use crate::decision::{Act, Effect};
use crate::phase::{Phase, Reason};
use crate::power_command::{CommandAnswer, Refusal};

impl Sim {
    fn with_power_off_disabled() -> Self {
        let mut sim = Self::with_metal3();
        sim.metal3().view.power_off_disabled = true;
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
        let may_be_powered_off = self
            .world
            .metal3
            .as_ref()
            .is_some_and(|metal3| !metal3.view.power_off_disabled);
        if may_be_powered_off {
            return Ok(());
        }
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
    assert!(
        told.contains("after the reset was decided (Restarting "),
        "{told}"
    );
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
fn a_host_that_stays_between_its_power_states_is_not_reset_and_its_bmc_is_named() {
    let mut sim = Sim::with_power_off_disabled();
    sim.world.bmc.says = Says::Always(Some("PoweringOn"));
    sim.run_until(|sim| sim.journal.phase == Phase::Restarting);
    sim.run_until(|sim| sim.journal.phase != Phase::Restarting);

    let told = &sim.journal.message;
    assert!(sim.journal.is_because(Reason::BmcNotReady), "{told}");
    assert!(told.contains("PoweringOn"), "{told}");
    assert_eq!((sim.journal.attempt, sim.resets()), (0, 0));

    sim.world.bmc.says = Says::TheTruth;
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert_eq!((sim.resets(), sim.was_only_reset()), (1, Ok(())));
}

#[test]
fn a_reset_that_the_bmc_refuses_is_sent_again_and_fails_the_attempt_when_its_time_is_over() {
    let mut sim = Sim::with_power_off_disabled();
    sim.run_until_reset(Fault::Refused);
    let refused = sim.world.now;
    sim.run_until_reset(Fault::None);
    assert!(sim.world.now - refused >= 10_000);
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert_eq!((sim.resets(), sim.journal.attempt), (1, 1));

    let mut sim = Sim::with_power_off_disabled();
    while sim.journal.failed_attempts.is_empty() {
        let is_reset = matches!(sim.decide().act, Some(Act::Effect(Effect::Restart { .. })));
        sim.turn(if is_reset { Fault::Refused } else { Fault::None });
    }
    assert_eq!(
        sim.journal.failed_attempts[0].reason,
        Reason::BmcCommandRefused.as_str()
    );
    assert_eq!(sim.resets(), 0);
}

#[test]
fn a_reset_that_was_never_sent_is_no_attempt() {
    let mut sim = Sim::with_power_off_disabled();
    sim.run_until(|sim| matches!(sim.decide().act, Some(Act::Effect(Effect::Restart { .. }))));
    sim.world.bmc.reachable = false;
    sim.turn(Fault::None);
    sim.run_until(|sim| sim.journal.phase == Phase::Pending);
    assert_eq!(sim.journal.attempt, 0, "{}", sim.journal.message);
    assert!(sim.journal.failed_attempts.is_empty());
    assert!(sim.journal.message.contains(&unreachable().detail));
}

/// A host that is on looks the same before a reset and after it.
#[test]
fn a_reset_that_comes_late_and_leaves_the_host_off_is_noticed() {
    for attempts in [1, 3] {
        let mut sim = Sim::with_power_off_disabled();
        sim.strategy.as_mut().expect("valid").retries.attempts = attempts;
        sim.world.host.resets.stay_on = false;
        sim.world.host.off_delay = 90_000;
        sim.run_until_reset(Fault::None);
        let sent = sim.world.now;
        sim.run();

        let what = &sim.journal.message;
        assert_eq!(sim.journal.phase, Phase::Succeeded, "{what}");
        assert_eq!((sim.resets(), sim.journal.attempt), (1, 1), "{what}");
        let on = sim.world.host.edges.last().expect("it came on");
        assert!(on.on && on.at - sent < 200_000, "{what}");
    }
}

/// Nothing but an attempt of its own helps a host whose power-on did nothing, and that one resets it, too.
#[test]
fn a_host_that_stays_off_after_a_reset_is_never_powered_off_and_nobody_is_asked() {
    let mut sim = Sim::with_power_off_disabled();
    sim.world.host.resets.stay_on = false;
    sim.world.bmc.obeys_on = false;
    sim.run_until(|sim| sim.journal.attempt == 2 || sim.world.now > 10_000_000);
    assert!(sim.world.now < 3_600_000, "{}", sim.journal.message);
    sim.run_until(|sim| sim.journal.phase == Phase::Failed || sim.world.now > 100_000_000);
    assert_eq!(sim.journal.phase, Phase::Failed, "{}", sim.journal.message);
    assert_eq!((sim.power_offs(), sim.released_at.len()), (0, 0));
    sim.world.bmc.obeys_on = true;
    let now = sim.world.now;
    sim.run_until(|sim| sim.world.host.on || sim.world.now > now + 1_000_000);
    assert!(sim.world.host.on && sim.world.now - now < 400_000);

    let mut sim = Sim::with_power_off_disabled();
    sim.world.host.resets.stay_on = false;
    sim.world.bmc.obeys_on = false;
    sim.run_until(|sim| sim.journal.phase == Phase::PoweringOn);
    sim.world.bmc.reachable = false;
    sim.run_until(|sim| sim.journal.phase == Phase::Failed || sim.world.now > 100_000_000);
    assert_eq!(sim.journal.phase, Phase::Failed, "{}", sim.journal.message);
}

/// The objects are not asked what becomes of a host that was not seen on yet.
#[test]
fn who_changes_their_mind_while_the_host_is_off_does_not_keep_it_off() {
    for forbids in [true, false] {
        let mut sim = Sim::with_metal3();
        sim.metal3().view.power_off_disabled = !forbids;
        sim.world.host.resets.stay_on = false;
        sim.world.bmc.obeys_on = false;
        sim.run_until(|sim| sim.journal.phase == Phase::PoweringOn);
        sim.metal3().view.power_off_disabled = forbids;
        sim.run_until(|sim| !sim.journal.failed_attempts.is_empty());
        sim.pass(600_000);
        sim.world.bmc.obeys_on = true;
        let now = sim.world.now;
        sim.run_until(|sim| sim.world.host.on || sim.world.now > now + 10_000_000);
        let took = sim.world.now - now;
        assert!(took < 400_000, "{forbids}: {took} ms: {}", sim.journal.message);
        sim.run();
        assert_eq!(
            sim.journal.phase,
            Phase::Succeeded,
            "{forbids}: {}",
            sim.journal.message
        );
    }
}

#[test]
fn a_reset_whose_task_failed_ends_the_attempt() {
    let mut sim = Sim::with_power_off_disabled();
    sim.run_until_reset(Fault::None);
    let sent = sim.world.now;
    sim.run_until(|sim| sim.journal.phase == Phase::Booting);
    let sent_as = sim.observed.sent.as_mut().expect("it was sent");
    sent_as.answer = Ok(CommandAnswer::Refused {
        class: Refusal::Failed,
        text: "its task ended in Exception".to_owned(),
        retry_after: None,
    });
    sim.world.host.kubelet = Kubelet::Dead;
    sim.run_until(|sim| !sim.journal.failed_attempts.is_empty());
    assert!(sim.world.now - sent < 60_000, "{}", sim.journal.message);
    assert_eq!(
        sim.journal.failed_attempts[0].reason,
        Reason::BmcCommandFailed.as_str()
    );
}

#[test]
fn a_host_that_is_being_switched_on_is_not_reset_in_between() {
    let mut sim = Sim::with_power_off_disabled();
    sim.world.host.on = false;
    sim.world.host.on_delay = 30_000;
    sim.world.host.boots_well = false;
    sim.metal3().operator = false;
    sim.run_until(|sim| sim.decide().journal.phase == Phase::Restarting);
    sim.world.command(true, Cause::Outside);
    sim.world.bmc.says = Says::Always(Some("PoweringOn"));
    sim.run_until(|sim| sim.world.now > 60_000);
    assert_eq!(sim.resets(), 0, "{}", sim.journal.message);
    sim.world.bmc.says = Says::TheTruth;
    sim.run_until(|sim| sim.resets() == 1);
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
    let decided = sim.decide();
    sim.metal3().view.power_off_disabled = false;
    sim.turn_with(decided, Fault::None);
    sim.run_until(|sim| sim.journal.phase == Phase::Pending);
    assert_eq!((sim.resets(), sim.journal.attempt), (0, 0));

    let mut sim = Sim::with_metal3();
    sim.run_until(|sim| sim.decide().journal.phase == Phase::Holding);
    let decided = sim.decide();
    sim.metal3().view.power_off_disabled = true;
    sim.turn_with(decided, Fault::None);
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
    let explore = |what: &str, menu: Menu, start: &Sim, budget: u32, at_least: usize| {
        let mut explorer = Explorer::new(menu);
        explorer.on_end = Sim::was_only_reset;
        let mut sim = start.clone();
        // The host is read until then.
        sim.strategy.as_mut().expect("valid").deadlines.boot = SignedDuration::from_mins(3);
        explorer.demand(what, sim, budget, at_least);
    };
    let only_reset = Sim::with_power_off_disabled();
    explore("only reset", Menu::Failures, &only_reset, 2, 10_000);
    explore("only reset, deletions", Menu::Deletions, &only_reset, 1, 1_000);
    let mut left_off = only_reset.clone();
    left_off.world.host.resets.stay_on = false;
    explore("a reset leaves it off", Menu::Everything, &left_off, 1, 1_000);
    left_off.strategy.as_mut().expect("valid").retries.attempts = 1;
    explore("left off by the only one", Menu::Everything, &left_off, 1, 1_000);
}
