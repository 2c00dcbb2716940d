//! What seems to end the debt of power and does not, and what makes it seem paid.

use jiff::SignedDuration;

use super::power_debt::live_on;
use super::shell::{Fault, Sim};
use super::world::{Cause, Says};
use crate::decision::{Act, Effect, Observation};
use crate::facts::{Lookup, Obstacle};
use crate::phase::{Phase, Reason};

const LONG: i64 = 3 * 3_600_000;
const SOON: i64 = 60_000;

fn sends_off(sim: &Sim) -> bool {
    matches!(sim.decide().act, Some(Act::Effect(Effect::PowerOff { .. })))
}

#[test]
fn invariant_13_another_host_that_answers_on_in_between_pays_nothing() {
    for phase in [Phase::PoweringOff, Phase::Fencing, Phase::PoweringOn] {
        for attempts in [1, 2] {
            let mut sim = Sim::new();
            sim.strategy.as_mut().expect("valid").retries.attempts = attempts;
            sim.world.bmc.obeys_on = phase != Phase::PoweringOn;
            sim.run_until(|sim| sim.journal.phase == phase && !sim.world.host.on);
            let uuid = sim
                .world
                .bmc
                .uuid
                .replace("51c4b3a2-9d0e-4f6a-8b7c-1e2d3f4a5b6c".to_owned());
            sim.world.bmc.says = Says::Always(Some("On"));
            live_on(&mut sim, LONG);
            assert!(!sim.world.host.on);
            (sim.world.bmc.uuid, sim.world.bmc.says) = (uuid, Says::TheTruth);
            sim.world.bmc.obeys_on = true;

            live_on(&mut sim, 5 * SOON);

            assert!(
                sim.world.host.on,
                "{phase:?}, {attempts}: {}",
                sim.journal.message
            );
        }
    }
}

#[test]
fn invariant_13_a_health_check_that_is_relaxed_pays_nothing() {
    let mut sim = Sim::new();
    sim.run_until(|sim| sim.journal.phase == Phase::PoweringOff && !sim.world.host.on);
    sim.world.bmc.reachable = false;
    sim.run_until(|sim| sim.journal.phase == Phase::Pending && sim.journal.attempt == 1);
    for check in &mut sim.world.objects.health_checks {
        if let Lookup::Present(check) = check {
            for condition in &mut check.conditions {
                "Never".clone_into(&mut condition.status);
            }
        }
    }
    live_on(&mut sim, LONG);
    sim.world.bmc.reachable = true;

    live_on(&mut sim, SOON);

    assert!(
        sim.world.host.on,
        "{:?}: {}",
        sim.journal.phase, sim.journal.message
    );
}

#[test]
fn invariant_1_an_acknowledgement_that_was_taken_back_is_not_believed_by_a_successor() {
    let mut sim = Sim::new();
    sim.run_until(sends_off);
    sim.world.bmc.obeys_off = false;
    sim.turn(Fault::CrashAfterAct);
    sim.run_until(sends_off);
    sim.world.host.off_delay = 15_000;
    sim.turn(Fault::TaskFails { obeyed: false });
    sim.run_until(|sim| sim.journal.is_because(Reason::BmcCommandFailed));
    let intent = sim.journal.intent.clone().expect("it stands");
    assert_eq!(intent.acknowledged, None);
    let before = sim.power_offs();
    sim.crash();
    sim.world.bmc.obeys_off = true;
    sim.world.command(false, Cause::Outside);

    sim.run_until(|sim| sim.journal.phase != Phase::PoweringOff);

    assert!(
        sim.power_offs() > before,
        "Off proves nothing without an acknowledgement"
    );
}

/// Without a description of the host no power-off is repeated, and without a repetition Off proves nothing to a
/// successor: waiting for the deadline would only keep the host off.
#[test]
fn a_successor_that_may_not_repeat_the_power_off_brings_the_host_back_soon() {
    let mut sim = Sim::new();
    sim.run_until(sends_off);
    sim.turn(Fault::CrashAfterAct);
    sim.host = Err(Obstacle::new(Reason::HostNotFound, "no BMCEndpoint"));
    let begun = sim.world.now;

    sim.run_until(|sim| sim.world.host.on);

    let story = &sim.journal.message;
    let took = sim.world.now - begun;
    assert!(sim.world.host.on && took < SOON, "after {took} ms: {story}");
    assert_eq!((sim.power_offs(), sim.edges(true, 1)), (1, 1), "{story}");
    assert!(!sim.world.tainted(), "{story}");
}

/// The API server answers slowly, or the process has not listed everything yet.
#[test]
fn a_successor_whose_live_checks_fail_brings_the_host_back_soon() {
    let mut sim = Sim::new();
    sim.run_until(sends_off);
    sim.turn(Fault::CrashAfterAct);
    let begun = sim.world.now;

    while !sim.world.host.on && sim.world.now < begun + 2 * SOON {
        let looks = matches!(sim.decide().act, Some(Act::Observe(Observation::LiveCheck)));
        sim.turn(if looks { Fault::Refused } else { Fault::None });
    }

    let story = &sim.journal.message;
    let took = sim.world.now - begun;
    assert!(sim.world.host.on && took < SOON, "after {took} ms: {story}");
    assert_eq!((sim.power_offs(), sim.edges(true, 1)), (1, 1), "{story}");
    assert!(!sim.world.tainted(), "{story}");
}

#[test]
fn a_host_without_a_node_that_was_brought_back_after_the_failure_is_well_when_its_node_joins() {
    let mut sim = Sim::without_node(true);
    sim.strategy.as_mut().expect("valid").retries.attempts = 1;
    sim.run_until(|sim| sim.journal.phase == Phase::PoweringOff && !sim.world.host.on);
    sim.world.bmc.reachable = false;
    live_on(&mut sim, LONG);
    assert_eq!(sim.journal.phase, Phase::Failed);
    sim.world.bmc.reachable = true;

    live_on(&mut sim, SOON);
    sim.world.advance(sim.world.now + 3_600_000);
    sim.run();

    let story = &sim.journal.message;
    assert!(sim.world.host.on && !sim.world.triggered(), "{story}");
    assert!(sim.journal.quarantine_lifted.is_some(), "{story}");
}

#[test]
fn a_person_who_leaves_a_host_off_ends_what_is_under_way() {
    let mut between = Sim::new();
    between.run_until(|sim| sim.journal.phase == Phase::PoweringOff && !sim.world.host.on);
    between.world.bmc.reachable = false;
    between.run_until(|sim| sim.journal.phase == Phase::Pending && sim.journal.attempt == 1);
    let mut powering_on = Sim::new();
    powering_on.world.bmc.obeys_on = false;
    powering_on.run_until(|sim| sim.journal.phase == Phase::PoweringOn);
    for mut sim in [between, powering_on] {
        sim.leave_off = true;
        sim.world.bmc.reachable = true;
        sim.world.bmc.obeys_on = true;
        let commands = sim.sent.len();
        live_on(&mut sim, 3_600_000);
        assert_eq!((sim.journal.phase, &sim.journal.intent), (Phase::Failed, &None));
        assert_eq!(sim.sent.len(), commands, "{}", sim.journal.message);
    }
}

#[test]
fn what_was_waited_for_in_the_pause_is_not_told_when_it_is_over() {
    let mut sim = Sim::new();
    sim.world.bmc.obeys_off = false;
    sim.strategy.as_mut().expect("valid").retries.backoff = SignedDuration::from_mins(5);
    sim.run_until(|sim| sim.journal.phase == Phase::Pending && sim.journal.attempt == 1);
    live_on(&mut sim, 200_000);
    assert_eq!(sim.journal.phase, Phase::Pending);
    assert!(
        sim.journal.is_because(Reason::RetryBackoff),
        "{}",
        sim.journal.message
    );
}

#[test]
fn no_power_on_goes_out_while_the_last_power_off_may_come() {
    let mut sim = Sim::new();
    for _ in 0..60 {
        sim.run_until(|sim| {
            sends_off(sim) || sim.journal.phase != Phase::PoweringOff && sim.journal.attempt > 0
        });
        if !sends_off(&sim) {
            break;
        }
        sim.turn(Fault::CrashAfterAct);
    }
    let last = sim.sent.iter().rev().find_map(|(at, effect)| {
        let Effect::PowerOff { not_after } = effect else {
            return None;
        };
        Some((*at, *not_after))
    });
    let (_, not_after) = last.expect("sent");
    sim.run_until(|sim| matches!(sim.sent.last(), Some((_, Effect::PowerOn { .. }))));
    let on = sim.sent.last().expect("sent").0;
    assert!(super::world::at(on) >= not_after);
}

/// Fencing, with the workloads released; the host is off.
fn released() -> Sim {
    let mut sim = Sim::new();
    sim.strategy.as_mut().expect("valid").retries.attempts = 1;
    sim.world.hold_pods(600_000);
    sim.run_until(|sim| sim.journal.phase == Phase::Fencing && sim.world.tainted());
    sim
}

fn is_on_soon(mut sim: Sim, story: &str) {
    assert!(!sim.world.host.on, "{story}");
    live_on(&mut sim, SOON);
    let (phase, message) = (sim.journal.phase, &sim.journal.message);
    assert!(sim.world.host.on, "{story}: {phase:?}: {message}");
}

/// The Node was found silent by a read that was older than its last heartbeat: a later version of it, with a
/// heartbeat of before the power-off.
fn late_heartbeat(sim: &mut Sim) {
    let evidence = sim.journal.evidence.as_mut().expect("proven");
    let found = evidence.node_heartbeat.as_mut().expect("there was one");
    *found = found.checked_sub(SignedDuration::from_secs(1)).expect("in range");
    sim.world.edit_node(|_| {});
}

#[test]
fn invariant_13_a_heartbeat_that_comes_late_pays_nothing() {
    let mut sim = released();
    late_heartbeat(&mut sim);

    sim.run_until(|sim| sim.journal.phase == Phase::Booting);

    assert!(sim.journal.is_because(Reason::NodeStillReporting));
    assert!(sim.journal.intent.is_some());
    is_on_soon(sim, "after a late heartbeat");
}

#[test]
fn invariant_13_writes_that_are_refused_keep_no_host_off() {
    let untaint = |effect: &Effect| matches!(effect, Effect::UntaintNode { .. });
    let mut booting = released();
    late_heartbeat(&mut booting);
    booting.refuses = untaint;
    is_on_soon(booting, "Booting");

    let mut awaiting = Sim::new();
    awaiting.strategy.as_mut().expect("valid").retries.attempts = 1;
    awaiting.run_until(|sim| sim.journal.phase == Phase::PoweringOff && !sim.world.host.on);
    awaiting.world.bmc.reachable = false;
    awaiting.run_until(|sim| sim.journal.phase == Phase::AwaitingConfirmation);
    awaiting.world.tainted_by_us();
    awaiting.refuses = untaint;
    awaiting.world.bmc.reachable = true;
    is_on_soon(awaiting, "AwaitingConfirmation");

    let mut pending = Sim::new();
    pending.run_until(|sim| sim.journal.phase == Phase::PoweringOff && !sim.world.host.on);
    pending.world.bmc.reachable = false;
    pending.run_until(|sim| sim.journal.phase == Phase::Pending && sim.journal.attempt == 1);
    let pause_is_over = pending.journal.next_attempt.expect("it pauses");
    pending.has_finalizer = false;
    pending.refuses = |effect| matches!(effect, Effect::AddFinalizer);
    pending.run_until(|sim| super::world::at(sim.world.now) >= pause_is_over);
    pending.world.bmc.reachable = true;
    is_on_soon(pending, "Pending");
}

/// A look that failed some time ago forbids no write.
#[test]
fn a_finalizer_that_was_taken_off_is_put_back_also_after_a_look_that_failed() {
    let mut sim = released();
    sim.world.bmc.reachable = false;
    sim.run_until(|sim| sim.journal.phase == Phase::Failed);
    sim.write_failed();
    sim.has_finalizer = false;

    live_on(&mut sim, SOON);

    assert!(sim.has_finalizer, "{}", sim.journal.message);
}

/// The BMC was replaced, or its firmware: it names the same host otherwise.
#[test]
fn invariant_13_a_host_whose_bmc_renames_it_is_powered_on() {
    for phase in [Phase::PoweringOff, Phase::Fencing, Phase::PoweringOn] {
        let mut sim = Sim::new();
        sim.strategy.as_mut().expect("valid").retries.attempts = 1;
        sim.world.bmc.obeys_on = phase != Phase::PoweringOn;
        sim.run_until(|sim| sim.journal.phase == phase && !sim.world.host.on);
        "/redfish/v1/Systems/System.Embedded.1".clone_into(&mut sim.world.bmc.system);
        sim.world.bmc.obeys_on = true;

        live_on(&mut sim, LONG);

        let story = format!("{phase:?}: {}", sim.journal.message);
        assert!(sim.world.host.on && sim.journal.intent.is_none(), "{story}");
        assert_eq!(sim.power_offs(), 1, "{story}");
    }
}

/// Only power-ons that were acknowledged and did nothing are worth a long pause.
#[test]
fn power_ons_that_were_refused_put_off_no_other() {
    let mut sim = released();
    sim.world.hold_pods(0);
    let is_on = |sim: &Sim| matches!(sim.decide().act, Some(Act::Effect(Effect::PowerOn { .. })));
    while sim.journal.phase != Phase::Failed {
        sim.run_until(|sim| is_on(sim) || sim.journal.phase == Phase::Failed);
        sim.turn(Fault::Refused);
    }
    sim.world.bmc.obeys_on = false;
    sim.run_until(is_on);
    sim.turn(Fault::None);
    sim.world.bmc.obeys_on = true;

    is_on_soon(sim, "after refusals");
}
