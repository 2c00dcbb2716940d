//! As long as a host may be off because of us, it is brought back: across deadlines, failed attempts, failure,
//! deletion and restarts.

use jiff::SignedDuration;

use super::shell::{Fault, Sim, Turn, millis};
use super::world::{Cause, Says, at};
use crate::decision::{Act, Effect};
use crate::observed::{Observed, PowerRead};
use crate::phase::{Phase, Reason};
use crate::power::PowerState;

/// How long after an obstacle is gone its host has to have power, in milliseconds.
pub(super) const SOON: i64 = 60_000;

/// Runs for a while, whatever there is to do.
pub(super) fn live_on(sim: &mut Sim, millis: i64) {
    let end = sim.world.now + millis;
    while sim.world.now < end && sim.turn(Fault::None) != Turn::Over {}
    sim.world.advance(end.max(sim.world.now));
}

/// Runs until the host is off in a phase; in PoweringOn, until the power-on is journalled and not sent.
pub(super) fn off_in(sim: &mut Sim, phase: Phase) {
    if phase == Phase::PoweringOn {
        sim.run_until(|sim| matches!(sim.decide().act, Some(Act::Effect(Effect::PowerOn { .. }))));
        sim.journal_only();
    }
    sim.run_until(|sim| sim.journal.phase == phase && !sim.world.host.on);
}

/// The BMC is away for ten times every deadline from when the host went off in a phase.
fn bmc_away_from(phase: Phase, attempts: u32) -> Sim {
    let mut sim = Sim::new();
    sim.strategy.as_mut().expect("valid").retries.attempts = attempts;
    off_in(&mut sim, phase);
    sim.world.bmc.reachable = false;
    live_on(&mut sim, 10 * 3_600_000);
    assert!(!sim.world.host.on);
    sim.world.bmc.reachable = true;
    sim
}

#[test]
fn invariant_13_a_bmc_that_was_away_longer_than_every_deadline_leaves_no_host_off() {
    for attempts in [1, 2] {
        for phase in [Phase::PoweringOff, Phase::Fencing, Phase::PoweringOn] {
            let mut sim = bmc_away_from(phase, attempts);
            live_on(&mut sim, SOON);
            let story = format!("{phase:?}, {attempts}: {}", sim.journal.message);
            assert!(sim.world.host.on, "{story}");
            // What has failed waits for its Node to change.
            sim.world.advance(sim.world.now + 120_000);
            sim.run();
            // What the last attempt could not learn, one more does.
            let switched_on = sim.edges(true, 1) + sim.edges(true, 2);
            assert_eq!((sim.edges(false, 1), switched_on), (1, 1), "{story}");
            assert!(!sim.world.tainted() && !sim.world.triggered(), "{story}");
            assert_eq!(sim.journal.intent, None, "{story}");
        }
    }
}

/// It says `null` for good after it was restarted, or hangs between the two until its host is told something.
#[test]
fn a_bmc_that_says_neither_on_nor_off_does_not_keep_off_what_has_failed() {
    for word in [None, Some("PoweringOff"), Some("PoweringOn")] {
        for phase in [Phase::Fencing, Phase::PoweringOn] {
            let mut sim = bmc_away_from(phase, 1);
            assert_eq!(sim.journal.phase, Phase::Failed);
            sim.world.bmc.says = Says::Always(word);
            live_on(&mut sim, 2 * SOON);
            assert!(sim.world.host.on, "{phase:?}, {word:?}: {}", sim.journal.message);
        }
    }
}

/// It may be carried out yet.
#[test]
fn what_a_bmc_said_before_the_power_off_does_not_hurry_the_power_on() {
    let mut sim = Sim::new();
    sim.run_until(|sim| sim.observed.last_read().is_some());
    let any = sim.observed.last_read().expect("read").clone();
    let mut observed = Observed::default();
    for began in [at(0), at(30_000), at(61_000)] {
        observed.note_read(PowerRead {
            began,
            power: PowerState::Unknown,
            ..any.clone()
        });
    }
    let long_by = |from| observed.neither_for_long(from, at(61_000));
    assert_eq!(long_by(at(0)), Some(at(0)));
    assert_eq!(long_by(at(1_000)), None, "it was sent then");
    observed.note_read(any);
    assert_eq!(observed.neither_for_long(at(0), at(200_000)), None, "it says On");
}

#[test]
fn a_power_on_that_is_late_uses_the_attempts_that_are_left() {
    let mut sim = Sim::new();
    off_in(&mut sim, Phase::PoweringOn);
    sim.world.bmc.reachable = false;
    let limit = sim.strategy.as_ref().expect("valid").deadlines.power_on;
    live_on(&mut sim, millis_of(limit) + 60_000);
    assert_eq!(sim.journal.phase, Phase::Pending, "{}", sim.journal.message);
    sim.world.bmc.reachable = true;

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert_eq!((sim.journal.attempt, sim.power_offs()), (1, 1));
}

#[test]
fn what_failed_says_whether_its_host_may_be_off() {
    let mut sim = bmc_away_from(Phase::PoweringOn, 1);
    assert_eq!(sim.journal.phase, Phase::Failed);
    assert_eq!(sim.journal.reason, Reason::PowerOnNotConfirmed.as_str());
    let told = sim.journal.message.clone();
    assert!(told.contains("may be off"), "{told}");
    let quiet = sim.counts.journal_writes;
    sim.world.bmc.reachable = false;
    live_on(&mut sim, 10 * 3_600_000);
    assert_eq!(sim.counts.journal_writes, quiet, "nothing new, nothing written");

    sim.world.bmc.reachable = true;
    live_on(&mut sim, SOON);

    let told = &sim.journal.message;
    assert!(sim.world.host.on && told.contains("On again"), "{told}");
    assert!(!told.contains("may be off"), "{told}");
    assert_eq!(sim.journal.reason, Reason::PowerOnNotConfirmed.as_str());
}

#[test]
fn a_deletion_waits_for_the_power_of_what_failed() {
    let mut sim = bmc_away_from(Phase::PoweringOn, 1);
    sim.world.bmc.reachable = false;
    sim.deletion_requested = true;
    live_on(&mut sim, 3_600_000);
    assert!(!sim.gone);
    sim.world.bmc.reachable = true;

    sim.run();

    assert!(sim.gone && sim.world.host.on);
}

#[test]
fn a_person_ends_it() {
    let mut sim = bmc_away_from(Phase::PoweringOn, 1);
    sim.world.bmc.reachable = false;
    sim.leave_off = true;
    sim.run();
    assert_eq!(sim.journal.intent, None);
    assert_eq!(sim.journal.phase, Phase::Failed);
    sim.deletion_requested = true;
    sim.run();
    assert!(sim.gone && !sim.world.host.on);
}

#[test]
fn a_node_that_is_back_with_a_new_boot_ends_it() {
    let mut sim = bmc_away_from(Phase::PoweringOn, 1);
    sim.world.bmc.reachable = false;
    sim.world.command(true, Cause::Outside);
    sim.run();
    assert_eq!(sim.journal.intent, None, "{}", sim.journal.message);
    assert!(sim.world.host.on && !sim.world.tainted() && !sim.world.triggered());
}

/// It fails at the end of the phase, and the host obeys after that.
#[test]
fn a_host_that_goes_off_during_the_pause_between_attempts_is_noticed_at_once() {
    let mut sim = Sim::new();
    sim.world.host.off_delay = 200_000;
    sim.world.bmc.going_off_word = "PoweringOff";
    sim.strategy.as_mut().expect("valid").retries.backoff = SignedDuration::from_hours(1);
    sim.run_until(|sim| sim.journal.phase == Phase::Pending && sim.journal.attempt == 1);
    sim.run_until(|sim| !sim.world.host.on);
    let off = sim.world.now;

    sim.run_until(|sim| sim.world.host.on);

    assert!(sim.world.now - off <= SOON, "{} ms", sim.world.now - off);
}

/// Nobody could ask the BMC whether it would still carry out the power-off. It is asked before the remediation ends.
#[test]
fn a_node_that_reports_again_after_a_power_off_that_was_ignored_is_found_to_have_recovered() {
    let mut sim = Sim::new();
    sim.world.bmc.obeys_off = false;
    sim.run_until(|sim| !sim.sent.is_empty());
    sim.world.bmc.reachable = false;
    sim.run_until(|sim| sim.journal.phase == Phase::Pending && sim.journal.attempt == 1);
    assert!(sim.journal.intent.is_some(), "{}", sim.journal.message);
    let pause_is_over = |sim: &Sim| {
        sim.journal
            .next_attempt
            .is_none_or(|next| next < at(sim.world.now))
    };
    sim.run_until(pause_is_over);
    sim.world.revive();
    live_on(&mut sim, 10_000);
    assert_eq!(sim.journal.phase, Phase::Pending, "{}", sim.journal.message);
    sim.world.bmc.reachable = true;
    sim.run();
    let ended = (sim.journal.phase, sim.journal.reason.as_str());
    let recovered = (Phase::Cancelled, Reason::Recovered.as_str());
    assert_eq!(ended, recovered, "{}", sim.journal.message);
    assert_eq!(sim.journal.intent, None);
}

#[test]
fn a_successor_that_finds_a_deadline_passed_has_the_whole_time_of_the_phase() {
    for phase in [
        Phase::PoweringOff,
        Phase::Fencing,
        Phase::PoweringOn,
        Phase::Booting,
    ] {
        let mut sim = Sim::new();
        sim.strategy.as_mut().expect("valid").retries.attempts = 1;
        sim.world.host.boot_delay = 30_000;
        if phase == Phase::Booting {
            sim.run_until(|sim| sim.journal.phase == phase);
        } else {
            off_in(&mut sim, phase);
        }
        let (reads, commands) = (sim.counts.bmc_reads, sim.sent.len());
        let later = sim.world.now + 10 * 3_600_000;
        if phase == Phase::Booting {
            // It does not come up before the successor is there.
            sim.world.host.kubelet = super::world::Kubelet::Booting {
                until: later + 60_000,
            };
        }
        sim.world.advance(later);
        sim.crash();
        let took_over = sim.world.now;
        sim.run_until(|sim| sim.journal.phase.is_final());
        let story = format!("{phase:?}: {}", sim.journal.message);
        assert_eq!(sim.journal.phase, Phase::Succeeded, "{story}");
        assert_eq!(sim.journal.attempt, 1, "{story}");
        assert!(phase == Phase::Booting || sim.counts.bmc_reads > reads, "{story}");
        assert!(sim.sent.len() > commands || phase == Phase::Booting, "{story}");
        let on = sim.world.host.edges.last().expect("it came on").at;
        assert!(on <= took_over + SOON, "{story}");
    }
}

/// Who takes over needs an acknowledgement of its own once; those after it need none.
#[test]
fn power_offs_do_not_add_up_in_a_crash_loop() {
    let mut sim = Sim::new();
    sim.run_until(|sim| sim.power_offs() == 1);
    for _ in 0..60 {
        let end = sim.world.now + 1_500;
        while sim.world.now < end {
            sim.turn(Fault::None);
        }
        sim.crash();
    }
    assert!(sim.power_offs() <= 3, "{} power-offs", sim.power_offs());
    assert_eq!(sim.edges(false, 1), 1);
    let over = sim.world.now;
    sim.run();
    let on = sim.world.host.edges.last().expect("it came on").at;
    assert!(on - over <= SOON, "{} ms", on - over);
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
}

/// It dies each time with the power-off sent and its acknowledgement not written.
#[test]
fn a_crash_before_every_acknowledgement_does_not_keep_the_host_off() {
    let mut sim = Sim::new();
    let sends = |sim: &Sim| matches!(sim.decide().act, Some(Act::Effect(Effect::PowerOff { .. })));
    for _ in 0..60 {
        sim.run_until(|sim| sends(sim) || sim.journal.phase != Phase::PoweringOff && sim.journal.attempt > 0);
        if !sends(&sim) {
            break;
        }
        sim.turn(Fault::CrashAfterAct);
    }
    let over = sim.world.now;
    sim.run_until(|sim| sim.world.host.on && sim.power_offs() > 0);
    assert!(sim.world.now - over <= SOON, "{}", sim.journal.message);
    assert_eq!((sim.edges(false, 1), sim.edges(true, 1)), (1, 1));
}

#[test]
fn a_finalizer_that_somebody_took_off_is_put_back_while_the_host_is_off() {
    for phase in [Phase::Fencing, Phase::PoweringOn] {
        let mut sim = Sim::new();
        off_in(&mut sim, phase);
        sim.has_finalizer = false;
        sim.run_until(|sim| sim.has_finalizer || sim.world.host.on);
        assert!(sim.has_finalizer, "{phase:?}");
        sim.run();
        assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    }
}

#[test]
fn a_host_that_ignores_power_ons_is_told_less_and_less_often() {
    let mut sim = Sim::new();
    sim.strategy.as_mut().expect("valid").retries.attempts = 1;
    sim.world.bmc.obeys_on = false;
    sim.run_until(|sim| sim.journal.phase == Phase::Failed);
    let told = sim.sent.len();
    live_on(&mut sim, 24 * 3_600_000);
    let more = sim.sent.len() - told;
    assert!((100..=400).contains(&more), "{more} power-ons in a day");
    sim.world.bmc.obeys_on = true;
    live_on(&mut sim, 330_000);
    assert!(sim.world.host.on, "{}", sim.journal.message);
    assert_eq!(sim.journal.intent, None);
}

pub(super) fn millis_of(duration: SignedDuration) -> i64 {
    i64::try_from(duration.as_millis()).expect("in range")
}

#[test]
fn an_end_of_the_phase_by_the_clock_is_not_believed_before_a_read() {
    let mut sim = Sim::new();
    sim.strategy.as_mut().expect("valid").retries.attempts = 1;
    sim.run_until(|sim| sim.journal.phase == Phase::PoweringOn);
    // Nothing is seen for longer than the phase may take.
    let deadline = millis(sim.journal.deadline.expect("a deadline"));
    sim.world.advance(deadline + 1_000);
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
}

#[test]
fn a_power_off_that_could_not_be_sent_leaves_what_is_owed_from_the_attempt_before() {
    let mut sim = Sim::new();
    sim.world.bmc.obeys_on = false;
    sim.strategy.as_mut().expect("valid").deadlines.power_on = SignedDuration::from_mins(1);
    sim.run_until(|sim| {
        sim.journal.attempt == 2 && matches!(sim.decide().act, Some(Act::Effect(Effect::PowerOff { .. })))
    });
    sim.world.bmc.reachable = false;
    sim.world.bmc.obeys_on = true;
    sim.run_until(|sim| sim.journal.phase == Phase::Failed);
    live_on(&mut sim, 3_600_000);
    sim.world.bmc.reachable = true;
    live_on(&mut sim, SOON);
    assert!(sim.world.host.on, "{}", sim.journal.message);
}
