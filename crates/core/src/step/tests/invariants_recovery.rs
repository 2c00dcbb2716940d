//! Invariants 8, 9 and 12: recovery, the unknown, and hosts that are refused.

use super::invariants_intent::{Change, before_the_live_check};
use super::shell::{Sim, millis, strategy};
use super::world::{Cause, at};
use crate::decision::Effect;
use crate::facts::{Lookup, Obstacle, Origin, Policy};
use crate::phase::{Phase, Reason};
use crate::power::PowerState;
use crate::step::clearing::MINIMUM_OFF;
use crate::strategy::{Escalation, FencingMode};

fn namespace_not_allowed(sim: &mut Sim) {
    let mut policy = Policy::in_tests(false);
    policy.allowed.namespaces.machines = Some([].into());
    policy.allowed.namespaces.endpoints = Some([].into());
    sim.world.objects.policy = Lookup::Present(policy);
}

fn strategy_not_allowed(sim: &mut Sim) {
    let mut policy = Policy::in_tests(false);
    policy.allowed.fencing_modes = Some(vec![FencingMode::NodeDeletion]);
    policy.allowed.escalations = Some(vec![Escalation::MachineDeletion]);
    sim.world.objects.policy = Lookup::Present(policy);
}

#[test]
fn invariant_8_recovery_is_never_blocked() {
    let blocks: [(&str, Change); 10] = [
        ("paused", |sim| {
            sim.world.objects.policy = Lookup::Present(Policy::in_tests(true));
        }),
        ("policy gone", |sim| sim.world.objects.policy = Lookup::Absent),
        ("policy unreadable", |sim| {
            sim.world.objects.policy = Lookup::Unreadable("spec".to_owned());
        }),
        ("namespace not allowed any more", namespace_not_allowed),
        ("strategy not allowed any more", strategy_not_allowed),
        ("spec invalid", |sim| {
            sim.strategy = Err(Obstacle::new(Reason::SpecInvalid, "spec.retries"));
        }),
        ("machine gone", |sim| sim.world.objects.machine = Lookup::Absent),
        ("health check gone", |sim| sim.world.objects.health_checks.clear()),
        ("remediation deleted", |sim| sim.deletion_requested = true),
        ("host unknown", |sim| {
            sim.host = Err(Obstacle::new(Reason::HostNotFound, "no endpoint"));
        }),
    ];
    let phases = [Phase::PoweringOff, Phase::Fencing, Phase::PoweringOn];
    for (what, block) in blocks {
        for phase in phases {
            let mut sim = Sim::new();
            sim.run_until(|sim| sim.journal.phase == phase && !sim.world.host.on);

            block(&mut sim);
            sim.run();

            let story = format!("{what} in {phase:?}: {}", sim.journal.message);
            assert!(sim.world.host.on, "left off: {story}");
            assert!(!sim.world.tainted(), "left tainted: {story}");
        }
    }
}

#[test]
fn invariant_8_recovery_of_a_host_that_a_failed_attempt_left_off() {
    let blocks: [(&str, Change); 6] = [
        ("paused", |sim| {
            sim.world.objects.policy = Lookup::Present(Policy::in_tests(true));
        }),
        ("namespace not allowed any more", namespace_not_allowed),
        ("strategy not allowed any more", strategy_not_allowed),
        ("trigger gone", |sim| {
            sim.world.edit_machine(|machine| machine.state.triggered = false);
        }),
        ("machine gone", |sim| sim.world.objects.machine = Lookup::Absent),
        ("remediation deleted", |sim| sim.deletion_requested = true),
    ];
    for (what, block) in blocks {
        let mut sim = Sim::new();
        sim.run_until(|sim| sim.power_offs() == 1);
        sim.world.bmc.reachable = false;
        sim.run_until(|sim| sim.journal.phase == Phase::Pending);

        block(&mut sim);
        sim.world.bmc.reachable = true;
        sim.run();

        assert!(sim.world.host.on, "{what}: left off, {}", sim.journal.message);
        assert_eq!(sim.edges(false, 1), 1, "{what}");
        assert_eq!(sim.edges(false, 2), 0, "{what}");
    }
}

#[test]
fn invariant_9_unknown_stops() {
    let unknowns: [(&str, Reason, Change); 4] = [
        ("machine", Reason::MachineUnreadable, |sim| {
            sim.world.objects.machine = Lookup::Unreadable("x".to_owned());
        }),
        ("node", Reason::NodeUnreadable, |sim| {
            sim.world.objects.node = Lookup::Unreadable("x".to_owned());
        }),
        ("policy", Reason::PolicyUnreadable, |sim| {
            sim.world.objects.policy = Lookup::Unreadable("x".to_owned());
        }),
        ("health check", Reason::HealthCheckUnreadable, |sim| {
            sim.world
                .objects
                .health_checks
                .push(Lookup::Unreadable("x".to_owned()));
        }),
    ];
    for (what, reason, unknown) in unknowns {
        for start in [Sim::new(), before_the_live_check()] {
            let mut sim = start;
            unknown(&mut sim);
            sim.run();
            assert_eq!(sim.power_offs(), 0, "{what}");
            assert_eq!(sim.journal.phase, Phase::Failed, "{what}");
            assert!(
                sim.journal.message.contains(reason.as_str()),
                "{what}: {}",
                sim.journal.message
            );
        }
    }
}

#[test]
fn invariant_12_control_plane_hosts_are_refused() {
    let of_machine = {
        let mut sim = Sim::new();
        sim.world.edit_machine(|machine| machine.control_plane = true);
        sim
    };
    let of_node = {
        let mut sim = Sim::new();
        sim.world.edit_node(|node| node.control_plane = true);
        sim
    };
    for mut sim in [of_machine, of_node] {
        sim.run();
        assert_eq!(sim.power_offs(), 0);
        assert!(sim.journal.message.contains(Reason::ControlPlaneRefused.as_str()));
    }
}

#[test]
fn the_trigger_of_a_control_plane_host_that_is_well_again_is_taken_off() {
    for of_machine in [true, false] {
        let mut sim = Sim::new();
        if of_machine {
            sim.world.edit_machine(|machine| machine.control_plane = true);
        } else {
            sim.world.edit_node(|node| node.control_plane = true);
        }
        sim.run_until(|sim| sim.journal.reason == Reason::ControlPlaneRefused.as_str());
        sim.world.revive();
        sim.run();

        assert_eq!(sim.journal.phase, Phase::Cancelled, "{}", sim.journal.message);
        assert!(sim.journal.trigger_cleared.is_some());
        assert_eq!(sim.power_offs(), 0);
    }
}

#[test]
fn a_request_needs_no_trigger_and_clears_none() {
    let mut sim = Sim::new();
    sim.origin = Origin::Request;
    sim.world.objects.health_checks.clear();

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded);
    assert!(sim.world.triggered());
    let outside = sim
        .world
        .host
        .edges
        .iter()
        .any(|edge| edge.cause == Cause::Outside);
    assert!(!outside);
}

#[test]
fn invariant_8_a_host_that_goes_off_after_the_deadline_of_a_deleted_remediation_gets_its_power_back() {
    let mut sim = Sim::new();
    sim.world.host.off_delay = 200_000;
    sim.world.bmc.going_off_word = "PoweringOff";
    sim.run_until(|sim| sim.power_offs() == 1);
    sim.deletion_requested = true;

    sim.run();

    assert!(sim.gone, "{:?}: {}", sim.journal.phase, sim.journal.message);
    assert_eq!((sim.edges(false, 1), sim.edges(true, 1)), (1, 1));
    assert!(sim.world.host.on);
}

/// A host that obeys only the last of several power-offs, sent just before the deadline, and obeys slowly.
pub(super) fn obeys_late() -> Sim {
    let mut sim = Sim::new();
    sim.world.bmc.obeys_off = false;
    sim.run_until(|sim| sim.power_offs() == 1);
    let deadline = millis(sim.journal.deadline.expect("a deadline"));
    let mut disobeyed = sim.clone();
    disobeyed.run_until(|sim| sim.journal.phase != Phase::PoweringOff);
    let (sends, last) = (disobeyed.power_offs(), disobeyed.sent.last().expect("sent").0);
    let before_last = |sim: &Sim| {
        let intent = sim.journal.intent.as_ref();
        sim.power_offs() == sends - 1
            && intent.is_some_and(|intent| usize::try_from(intent.sends) == Ok(sends))
    };
    sim.run_until(before_last);
    sim.world.bmc.obeys_off = true;
    sim.world.host.off_delay = deadline - last + 3_000;
    sim.run_until(|sim| sim.power_offs() == sends);
    sim
}

#[test]
fn invariant_8_a_power_off_sent_just_before_the_deadline_is_waited_for_when_deleted() {
    let mut sim = obeys_late();
    sim.deletion_requested = true;

    sim.run();
    sim.world.advance(sim.world.now + 60_000);

    assert!(sim.gone && sim.world.host.on, "{:?}", sim.world.host.edges);
}

#[test]
fn invariant_8_a_power_off_sent_just_before_the_deadline_is_waited_for_between_attempts() {
    let mut sim = obeys_late();
    let deadline = millis(sim.journal.deadline.expect("a deadline"));
    sim.run_until(|sim| sim.world.now >= deadline);
    sim.journal_only();
    assert_eq!(sim.journal.phase, Phase::Pending);
    sim.deletion_requested = true;

    sim.run();
    sim.world.advance(sim.world.now + 60_000);

    assert!(sim.gone && sim.world.host.on, "{:?}", sim.world.host.edges);
}

/// The host ignored every power-off until somebody pulled its plug between two attempts: the last power-off may still
/// be carried out.
#[test]
fn invariant_8_a_host_that_went_off_just_now_is_not_powered_on_while_a_power_off_may_come() {
    let mut sim = Sim::new();
    sim.world.bmc.obeys_off = false;
    sim.run_until(|sim| sim.journal.phase == Phase::Pending && sim.power_offs() > 0);
    sim.world.command(false, Cause::Outside);
    let said_off = |sim: &Sim| {
        sim.observed
            .last_read()
            .is_some_and(|read| read.power == PowerState::Off)
    };
    sim.run_until(said_off);
    let off = millis(sim.observed.last_read().expect("read").began);

    sim.run_until(|sim| sim.world.host.on);

    let on = sim
        .sent
        .iter()
        .find(|(_, effect)| matches!(effect, Effect::PowerOn { .. }));
    let on = on.expect("it is brought back").0;
    assert!(on - off >= MINIMUM_OFF.as_secs() * 1_000, "{} ms", on - off);
}

#[test]
fn invariant_8_an_on_that_was_read_too_early_settles_nothing() {
    let mut sim = Sim::new();
    sim.world.host.off_delay = 5_000;
    sim.run_until(|sim| {
        let read = sim.observed.last_read().map(|read| millis(read.began));
        sim.power_offs() == 1 && read > Some(sim.sent[0].0)
    });
    sim.world.bmc.reachable = false;
    sim.deletion_requested = true;

    sim.run();

    assert!(!sim.world.host.on);
    assert_eq!(sim.journal.phase, Phase::Failed, "a person is told");
    assert!(
        sim.journal.message.contains("may be off"),
        "{}",
        sim.journal.message
    );
}

#[test]
fn invariant_13_a_deleted_remediation_whose_looks_all_fail_stays_until_a_person_lets_it_go() {
    let mut sim = Sim::new();
    sim.world.host.off_delay = 100_000_000;
    sim.world.bmc.going_off_word = "PoweringOff";
    sim.run_until(|sim| sim.power_offs() == 1);
    sim.deletion_requested = true;
    sim.run_until(|sim| sim.journal.phase == Phase::Pending);
    let limit = sim.journal.next_attempt.expect("counted anew") + 2 * strategy().deadlines.pending;

    while !sim.gone && at(sim.world.now) < limit {
        sim.turn_without_secret();
    }
    assert!(!sim.gone);
    assert_eq!(sim.journal.phase, Phase::Failed, "a person is told");

    sim.leave_off = true;
    while !sim.gone && at(sim.world.now) < limit + strategy().deadlines.pending {
        sim.turn_without_secret();
    }
    assert!(sim.gone, "{:?}: {}", sim.journal.phase, sim.journal.message);
}

#[test]
fn what_the_policy_does_not_allow_waits_untouched_and_begins_when_it_is_allowed() {
    for narrow in [namespace_not_allowed, strategy_not_allowed] {
        for start in [Sim::new(), before_the_live_check()] {
            let mut sim = start;
            narrow(&mut sim);
            let refused = [Reason::NamespaceNotAllowed, Reason::StrategyNotAllowed];
            sim.run_until(|sim| {
                sim.journal.phase == Phase::Pending
                    && refused.iter().any(|reason| sim.journal.is_because(*reason))
            });
            assert_eq!(sim.power_offs(), 0);
            sim.world.objects.policy = Lookup::Present(Policy::in_tests(false));
            sim.run();
            assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
        }
    }
}
