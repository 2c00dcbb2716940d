//! No wait lasts for ever, hurries, or hides its reason.

use super::shell::{Fault, Sim, Turn};
use super::world::at;
use crate::decision::{Act, Effect};
use crate::facts::{Lookup, Obstacle, Origin, Policy};
use crate::phase::{Phase, Reason};

fn paused(paused: bool) -> Lookup<Policy> {
    Lookup::Present(Policy::in_tests(paused))
}

/// Pauses something, or sets it going again.
type Pause = fn(&mut Sim, bool);

/// What a person may pause.
pub(super) const PAUSES: [(Reason, Pause); 3] = [
    (Reason::PolicyPaused, |sim, on| {
        sim.world.objects.policy = paused(on);
    }),
    (Reason::MachinePaused, |sim, on| {
        let pause = on.then(|| "carries cluster.x-k8s.io/paused".to_owned());
        sim.world.edit_machine(|machine| machine.pause = pause);
    }),
    (Reason::HealthCheckPaused, |sim, on| {
        sim.world.edit_check(|check| check.paused = on);
    }),
];

#[test]
fn a_pause_does_not_use_up_the_time_to_begin() {
    for origin in [Origin::Annotation, Origin::Request] {
        for (reason, pause) in PAUSES {
            let mut sim = Sim::new();
            sim.origin = origin;
            pause(&mut sim, true);
            sim.run_until(|sim| sim.world.now > 3_600_000);
            assert_eq!(sim.journal.reason, reason.as_str());
            assert_eq!(sim.counts.journal_writes, 1);

            pause(&mut sim, false);
            sim.host = Err(Obstacle::new(Reason::HostNotFound, "no endpoint yet"));
            sim.run_until(|sim| sim.journal.is_because(Reason::HostNotFound));
            sim.host = Sim::new().host;
            sim.run();

            let story = &sim.journal.message;
            assert_eq!(sim.journal.phase, Phase::Succeeded, "{reason:?}: {story}");
        }
    }
}

#[test]
fn what_comes_up_during_a_long_pause_is_given_its_own_time() {
    for (reason, pause) in PAUSES {
        let mut sim = Sim::new();
        pause(&mut sim, true);
        sim.run_until(|sim| sim.world.now > 3_600_000);

        let node = std::mem::replace(&mut sim.world.objects.node, Lookup::Unreadable("spec".to_owned()));
        sim.run_until(|sim| sim.journal.is_because(Reason::NodeUnreadable));
        sim.world.objects.node = node;
        sim.run_until(|sim| sim.journal.is_because(reason));
        pause(&mut sim, false);
        sim.run();

        let story = &sim.journal.message;
        assert_eq!(sim.journal.phase, Phase::Succeeded, "{reason:?}: {story}");
    }
}

#[test]
fn a_pause_between_attempts_does_not_hide_a_host_that_was_left_off() {
    for (reason, pause) in PAUSES {
        let mut sim = Sim::new();
        sim.run_until(|sim| sim.power_offs() == 1);
        sim.world.bmc.reachable = false;
        sim.run_until(|sim| sim.journal.phase == Phase::Pending);
        pause(&mut sim, true);

        sim.run();

        let story = &sim.journal.message;
        assert_eq!(sim.journal.phase, Phase::Failed, "{reason:?}: {story}");
        assert!(story.contains("may be off"), "{reason:?}: {story}");
    }
}

/// Its host was powered off and counts as under remediation: others wait for it.
#[test]
fn only_the_policy_pauses_what_holds_others_up_without_end() {
    for (reason, pause) in PAUSES {
        let mut sim = Sim::new();
        sim.world.bmc.obeys_off = false;
        sim.run_until(|sim| !sim.journal.failed_attempts.is_empty());
        pause(&mut sim, true);
        // Going on for a moment gives it no time anew.
        for minutes in [9, 18, 27] {
            sim.run_until(|sim| sim.world.now > minutes * 60_000 || sim.journal.phase.is_final());
            pause(&mut sim, false);
            sim.turn(Fault::None);
            pause(&mut sim, true);
        }
        sim.run_until(|sim| sim.world.now > 4 * 3_600_000 || sim.journal.phase.is_final());

        let story = &sim.journal.message;
        if reason == Reason::PolicyPaused {
            assert_eq!(sim.journal.phase, Phase::Pending, "{reason:?}: {story}");
        } else {
            let late = Reason::PendingDeadlineExceeded;
            assert!(sim.journal.is_because(late), "{reason:?}: {story}");
        }
        assert_eq!(sim.journal.attempt, 1, "{reason:?}: {story}");
    }
}

#[test]
fn a_pause_of_the_policy_between_attempts_uses_up_no_time_of_another() {
    let mut sim = Sim::new();
    sim.world.bmc.obeys_off = false;
    sim.run_until(|sim| !sim.journal.failed_attempts.is_empty());
    let [(_, of_policy), (reason, of_machine), _] = PAUSES;
    of_policy(&mut sim, true);
    sim.run_until(|sim| sim.world.now > 3 * 3_600_000);
    of_machine(&mut sim, true);
    of_policy(&mut sim, false);
    sim.run_until(|sim| sim.world.now > 3 * 3_600_000 + 60_000);
    assert!(sim.journal.is_because(reason), "{}", sim.journal.message);
    of_machine(&mut sim, false);
    sim.world.bmc.obeys_off = true;

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
}

/// A day is long for those that wait for it.
#[test]
fn a_host_that_has_used_up_its_power_offs_between_attempts_is_given_up() {
    let mut sim = Sim::new();
    sim.world.bmc.obeys_off = false;
    sim.run_until(|sim| !sim.journal.failed_attempts.is_empty());
    sim.another_at_work = Some(Obstacle::new(Reason::TooManyPowerCycles, "three times in a day"));

    sim.run();

    let story = &sim.journal.message;
    assert_eq!(sim.journal.phase, Phase::Failed, "{story}");
    assert!(sim.journal.is_because(Reason::TooManyPowerCycles), "{story}");
    assert_eq!(sim.journal.attempt, 1);
}

#[test]
fn a_live_check_that_always_objects_ends_with_the_time_to_begin() {
    let mut sim = Sim::new();
    sim.world.lease.lease_renewed = Some(at(100_000_000));

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Failed);
    assert!(
        sim.journal.message.contains(Reason::NodeStillReporting.as_str()),
        "{}",
        sim.journal.message
    );
    assert!(sim.world.now <= 11 * 60_000, "ended after {} ms", sim.world.now);
    assert_eq!(sim.power_offs(), 0);
}

#[test]
fn an_invalid_spec_is_waited_for_but_not_for_ever() {
    let mut sim = Sim::new();
    sim.strategy = Err(Obstacle::new(Reason::SpecInvalid, "spec.retries"));

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Failed);
    assert!(sim.journal.message.contains(Reason::SpecInvalid.as_str()));
    assert!(!sim.has_finalizer);
}

#[test]
fn an_invalid_spec_does_not_keep_the_finalizer() {
    let mut sim = Sim::new();
    sim.run_until(|sim| sim.has_finalizer);
    sim.strategy = Err(Obstacle::new(Reason::SpecInvalid, "spec.retries"));
    sim.deletion_requested = true;

    sim.run();

    assert!(sim.gone);
}

#[test]
fn a_node_that_recovered_is_reported_as_recovered() {
    let mut sim = Sim::new();
    sim.world.revive();

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Cancelled);
    assert_eq!(sim.journal.reason, Reason::Recovered.as_str());
    assert!(!sim.world.triggered());
}

#[test]
fn a_node_that_is_seen_unhealthy_after_the_request_came_has_not_recovered() {
    let mut sim = Sim::new();
    let mut healthy = Sim::new();
    healthy.world.revive();
    let unhealthy = std::mem::replace(&mut sim.world.objects.node, healthy.world.objects.node);
    sim.run_until(|sim| sim.world.now >= 5_000);
    assert_eq!(sim.journal.phase, Phase::Pending, "{}", sim.journal.message);
    sim.world.objects.node = unhealthy;

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
}

#[test]
fn a_machine_that_cannot_be_read_at_the_end_is_named_and_not_waited_for_in_a_hurry() {
    let mut sim = Sim::new();
    sim.run_until(|sim| sim.journal.phase == Phase::Booting);
    sim.world.objects.machine = Lookup::Unreadable("metadata.annotations".to_owned());
    let turns = sim.counts.turns;

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Failed);
    assert_eq!(sim.journal.reason, Reason::MachineUnreadable.as_str());
    assert!(
        sim.counts.turns - turns < 120,
        "{} turns",
        sim.counts.turns - turns
    );
}

#[test]
fn a_write_that_is_always_refused_is_named_and_not_repeated_in_a_hurry() {
    let mut sim = Sim::new();
    sim.refuses = |effect| matches!(effect, Effect::ClearTrigger { .. });
    sim.run_until(|sim| sim.journal.phase.is_final());

    assert_eq!(sim.journal.phase, Phase::Failed);
    assert_eq!(sim.journal.reason, Reason::ApiWriteRefused.as_str());
    assert!(sim.journal.message.contains("the server said no"));
    let (writes, began) = (sim.counts.api_writes, sim.world.now);
    sim.run_until(|sim| sim.world.now > began + 600_000);
    assert!(
        sim.counts.api_writes - writes <= 21,
        "{} writes",
        sim.counts.api_writes - writes
    );
}

#[test]
fn without_the_lead_nothing_is_done() {
    for phase in [
        Phase::Pending,
        Phase::PoweringOff,
        Phase::Fencing,
        Phase::PoweringOn,
        Phase::Booting,
    ] {
        let mut sim = Sim::new();
        sim.run_until(|sim| sim.journal.phase == phase);

        sim.leads = false;
        let decision = sim.decide();

        assert_eq!(decision.act, None, "{phase:?}");
        assert_eq!(decision.journal, sim.journal, "{phase:?}");
    }
}

#[test]
fn a_node_that_comes_back_without_a_reboot_is_a_failure_of_its_own_kind() {
    let mut sim = Sim::new();
    sim.world.host.boots_well = false;
    sim.run_until(|sim| sim.journal.phase == Phase::Booting);
    sim.world.revive();
    assert_eq!(
        sim.world.node().and_then(|node| node.boot_id.as_deref()),
        Some("boot-1")
    );

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Failed);
    assert_eq!(sim.journal.reason, Reason::BootIdUnchanged.as_str());
    assert!(sim.journal.message.contains("taint"), "{}", sim.journal.message);
    assert_eq!(sim.power_offs(), 1);
}

#[test]
fn a_release_that_takes_long_says_what_it_waits_for() {
    let mut sim = Sim::new();
    sim.world.pods = (0..5).map(|pod| format!("Pod shop/db-{pod}")).collect();
    sim.run_until(|sim| sim.released_at.len() == 1);
    sim.world.hold_pods(100_000);
    let writes = sim.counts.journal_writes;

    sim.run_until(|sim| sim.world.pods.is_empty());

    assert_eq!(
        sim.journal.message,
        "workloads are released; waiting for Pod shop/db-0, Pod shop/db-1, Pod shop/db-2 and 2 more to go"
    );
    assert_eq!(sim.counts.journal_writes - writes, 1);
}

#[test]
fn another_remediation_does_not_use_up_the_time_to_begin() {
    for mut sim in [Sim::new(), Sim::without_node(false)] {
        sim.another_at_work = Some(Obstacle::new(Reason::AnotherRemediationActive, "x is at work"));
        sim.run_until(|sim| sim.world.now > 3 * 3_600_000);
        assert!(
            sim.journal.is_because(Reason::AnotherRemediationActive),
            "{}",
            sim.journal.message
        );

        sim.another_at_work = None;
        sim.host = Err(Obstacle::new(Reason::HostNotFound, "no endpoint yet"));
        sim.run_until(|sim| sim.journal.is_because(Reason::HostNotFound));
        assert_eq!(sim.journal.phase, Phase::Pending, "it is given its own time");
        sim.run();
        assert!(
            sim.journal.is_because(Reason::PendingDeadlineExceeded),
            "{}",
            sim.journal.message
        );
    }
}

/// The other reboots the host, so that its Node is unhealthy for a while since then only, or gone.
#[test]
fn what_becomes_of_the_node_while_another_is_at_work_is_that_ones_doing() {
    let changes: [fn(&mut Sim); 2] = [
        |sim| sim.world.edit_check(|check| check.conditions.clear()),
        |sim| sim.world.objects.node = Lookup::Unreadable("status".to_owned()),
    ];
    for change in changes {
        let mut sim = Sim::new();
        sim.another_at_work = Some(Obstacle::new(Reason::AnotherRemediationActive, "x is at work"));
        sim.run_until(|sim| sim.world.now > 3 * 3_600_000);
        change(&mut sim);
        sim.run_until(|sim| sim.world.now > 6 * 3_600_000 || sim.journal.phase.is_final());
        if sim.journal.phase.is_final() {
            assert!(
                sim.journal.is_because(Reason::Recovered),
                "{}",
                sim.journal.message
            );
        } else {
            assert!(
                sim.journal.is_because(Reason::AnotherRemediationActive),
                "{}",
                sim.journal.message
            );
        }
    }
}

/// Requests for one host are one, and so is what becomes of them.
#[test]
fn what_has_failed_meanwhile_is_not_begun_anew_by_who_waited() {
    for mut sim in [Sim::new(), Sim::without_node(false)] {
        sim.another_at_work = Some(Obstacle::new(Reason::AnotherRemediationActive, "x is at work"));
        sim.run_until(|sim| sim.journal.is_because(Reason::AnotherRemediationActive));
        sim.another_at_work = Some(Obstacle::new(Reason::Quarantined, "x has failed"));
        sim.run();
        assert_eq!(sim.journal.phase, Phase::Failed, "{}", sim.journal.message);
        assert!(
            sim.journal.is_because(Reason::Quarantined),
            "{}",
            sim.journal.message
        );
        assert_eq!(sim.power_offs(), 0);
    }
}

#[test]
fn a_grace_period_is_waited_for_no_longer_than_an_attempt_may_be_held_up() {
    let mut sim = Sim::new();
    sim.world.edit_check(|check| {
        for condition in &mut check.conditions {
            condition.timeout = jiff::SignedDuration::from_hours(50);
        }
    });
    sim.run();
    assert!(
        sim.journal.is_because(Reason::PendingDeadlineExceeded),
        "{}",
        sim.journal.message
    );
    let limit = sim
        .strategy
        .map(|strategy| strategy.deadlines.pending.as_secs() * 1_000);
    let limit = limit.expect("it is valid");
    assert!(
        (limit..limit + 60_000).contains(&sim.world.now),
        "{}",
        sim.world.now
    );
}

#[test]
fn a_storm_stops_a_power_off_that_a_crash_kept_from_being_sent() {
    let mut sim = Sim::new();
    sim.run_until(|sim| matches!(sim.decide().act, Some(Act::Effect(Effect::PowerOff { .. }))));
    sim.crash();
    sim.fleet.unhealthy = 20;
    let storm_until = sim.world.now + 120_000;
    while sim.world.now < storm_until && sim.turn(Fault::None) != Turn::Over {}
    assert_eq!(sim.power_offs(), 0, "{}", sim.journal.message);
    sim.fleet.unhealthy = 1;

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert_eq!(sim.power_offs(), 1);
}

/// A predecessor elsewhere has begun with the host on which its successor runs: neither sends the power-off, not for the
/// first time nor again.
#[test]
fn the_host_of_the_replica_that_leads_is_not_powered_off_whoever_began_with_it() {
    for sent_before in [false, true] {
        let mut sim = Sim::new();
        sim.run_until(|sim| matches!(sim.decide().act, Some(Act::Effect(Effect::PowerOff { .. }))));
        if sent_before {
            sim.turn(Fault::CommandLost);
            sim.crash();
        }
        let before = sim.power_offs();
        sim.live_check = None;
        let own = Obstacle::new(Reason::OwnNode, "the replica that leads runs on this Node");
        sim.own_node = Err(own);
        let while_it_leads = sim.world.now + 60_000;
        while sim.world.now < while_it_leads && sim.turn(Fault::None) != Turn::Over {}
        assert_eq!(sim.power_offs(), before, "{}", sim.journal.message);
        // Another one has taken over.
        sim.own_node = Ok(());
        sim.crash();

        sim.run();

        assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    }
}

#[test]
fn what_was_braked_for_longer_than_its_deadline_has_the_whole_of_it_for_the_next_obstacle() {
    let mut sim = Sim::new();
    sim.fleet.unhealthy = 20;
    let day = sim.world.now + 86_400_000;
    while sim.world.now < day && sim.turn(Fault::None) != Turn::Over {}
    assert!(
        sim.journal.is_because(Reason::TooManyUnhealthy),
        "{}",
        sim.journal.message
    );
    let checks = std::mem::replace(
        &mut sim.world.objects.health_checks,
        vec![Lookup::Unreadable("spec".to_owned())],
    );
    let a_while = sim.world.now + 60_000;
    while sim.world.now < a_while && sim.turn(Fault::None) != Turn::Over {}
    assert_eq!(sim.journal.phase, Phase::Pending, "{}", sim.journal.message);
    sim.world.objects.health_checks = checks;
    sim.fleet.unhealthy = 0;

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
}
