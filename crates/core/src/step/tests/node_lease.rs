//! The Lease of medik8s on the Node: nobody is powered off under another's hands, and none of ours stays.

use jiff::SignedDuration;

use super::node_lease_acts::{ANOTHER, MINUTES};
use super::shell::{Fault, Sim};
use super::world::at;
use crate::decision::{Act, Effect, Observation};
use crate::facts::{Lookup, Obstacle, Origin, Policy};
use crate::node_lease::{Holders, NodeLease};
use crate::phase::{Phase, Reason};

fn takes(sim: &Sim) -> bool {
    matches!(sim.decide().act, Some(Act::Effect(Effect::TakeNodeLease(_))))
}

fn is_about_to_power_off(sim: &Sim) -> bool {
    matches!(sim.decide().act, Some(Act::Effect(Effect::PowerOff { .. })))
}

#[test]
fn it_is_taken_before_the_power_off_and_given_back_at_the_end() {
    let mut sim = Sim::among_others();

    sim.run_until(takes);
    assert_eq!((sim.journal.phase, sim.power_offs()), (Phase::Pending, 0));
    sim.run_until(|sim| sim.power_offs() == 1);
    assert!(sim.lease_is_ours());
    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert_eq!(
        (&sim.world.node_lease, &sim.journal.node_lease),
        (&NodeLease::Free, &None)
    );
    let counts = sim.counts;
    // Taken and given back; the journal says so before the one and after the other.
    assert_eq!((counts.lease_writes, counts.lease_reads), (2, 3));
    assert_eq!(counts.journal_writes, 7);
}

#[test]
fn what_is_held_of_the_node_that_the_machine_had_before_goes_first() {
    let mut sim = Sim::among_others();
    sim.run_until(takes);
    sim.run_until(Sim::lease_is_ours);
    if let Some(held) = &mut sim.journal.node_lease {
        held.node = "worker-0".to_owned();
    }

    sim.run_until(|sim| {
        matches!(
            sim.decide().act,
            Some(Act::Effect(Effect::ReleaseNodeLease { .. }))
        )
    });
    let Some(Act::Effect(Effect::ReleaseNodeLease { node, .. })) = sim.decide().act else {
        panic!("{} is never given back", "worker-0");
    };
    assert_eq!((node.as_str(), sim.power_offs()), ("worker-0", 0));
    sim.run_until(takes);
    let held = sim.decide().journal.node_lease.expect("it is written down first");
    assert_eq!(held.node, "worker-1");
    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert_eq!(sim.world.node_lease, NodeLease::Free);
    assert_eq!(sim.counts.lease_writes, 4, "two are taken and given back");
}

#[test]
fn where_nobody_agrees_by_leases_the_live_check_is_enough() {
    for (known, reads) in [(true, 0), (false, 1)] {
        let mut sim = Sim::new();
        sim.leases_were_unused = known;

        sim.run();

        assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
        assert_eq!((sim.counts.lease_writes, sim.counts.lease_reads), (0, reads));
        assert_eq!(sim.journal.node_lease, None);
    }
}

#[test]
fn others_that_came_since_are_found_by_the_live_check() {
    for held in [false, true] {
        let mut sim = Sim::among_others();
        sim.leases_were_unused = true;
        if held {
            sim.another_takes_the_lease();
        }

        sim.run_until(|sim| sim.counts.looks == 1);
        sim.run_until(|sim| sim.journal.phase == Phase::Pending);
        assert_eq!(sim.power_offs(), 0);
        sim.run_until(|sim| sim.power_offs() == 1);
        assert!(sim.lease_is_ours());
        sim.run();

        assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
        assert_eq!(sim.world.node_lease, NodeLease::Free);
    }
}

#[test]
fn a_crash_after_the_journal_and_before_the_write_leaves_a_lease_that_the_journal_knows() {
    let mut sim = Sim::among_others();
    sim.run_until(takes);

    sim.turn(Fault::CrashAfterAct);

    assert!(sim.lease_is_ours());
    assert_eq!(
        sim.journal.node_lease.as_ref().map(|held| held.node.as_str()),
        Some("worker-1")
    );
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Succeeded);
    assert_eq!(sim.world.node_lease, NodeLease::Free);
}

#[test]
fn another_holder_is_waited_for_by_name_and_time_and_the_host_is_left_alone() {
    for origin in [Origin::Annotation, Origin::Request] {
        let mut sim = Sim::among_others();
        sim.origin = origin;
        sim.another_takes_the_lease();
        let (until, reads) = (MINUTES * 60_000, sim.counts.bmc_reads);

        sim.run_until(|sim| sim.journal.reason == Reason::NodeLeaseHeld.as_str());
        let message = &sim.journal.message;
        assert!(
            message.contains(ANOTHER) && message.contains(&format!("{:.0}", at(until))),
            "{message}"
        );
        sim.run_until(|sim| sim.world.now >= until - 1_000);
        assert_eq!(
            (sim.counts.bmc_reads, sim.power_offs()),
            (reads, 0),
            "not even asked"
        );

        // It crashed, and does not come back: the Lease runs out.
        sim.run_until(|sim| sim.power_offs() == 1);
        assert!(sim.world.now >= until && sim.lease_is_ours());
        let transitions = match &sim.world.node_lease {
            NodeLease::There(lease) => lease.transitions,
            NodeLease::Free | NodeLease::Unused => 0,
        };
        assert_eq!(transitions, 1);
        sim.run();
        assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    }
}

#[test]
fn another_that_never_ends_is_told_of_when_the_time_to_begin_is_over() {
    let mut sim = Sim::among_others();
    sim.lease_becomes(ANOTHER, SignedDuration::from_hours(24));

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Failed);
    let message = &sim.journal.message;
    assert!(
        message.contains("NodeLeaseHeld") && message.contains(ANOTHER),
        "{message}"
    );
    assert!(sim.lease_is_of_another());
}

#[test]
fn what_the_health_checker_behind_the_request_holds_is_neither_taken_nor_given_back() {
    let mut sim = Sim::among_others();
    sim.origin = Origin::Request;
    sim.lease_holders = Holders::of("pcr-uid", Some("NodeHealthCheck-workers".to_owned()));
    sim.lease_becomes("NodeHealthCheck-workers", SignedDuration::from_mins(11));
    let held = sim.world.node_lease.clone();

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert_eq!(sim.world.node_lease, held);
    assert_eq!(sim.counts.lease_writes, 0);
}

#[test]
fn what_another_health_checker_holds_is_another_s() {
    let mut sim = Sim::among_others();
    sim.origin = Origin::Request;
    sim.lease_holders = Holders::of("pcr-uid", Some("NodeHealthCheck-workers".to_owned()));
    sim.lease_becomes("NodeHealthCheck-others", SignedDuration::from_hours(1));

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Failed);
    assert_eq!((sim.power_offs(), sim.counts.lease_writes), (0, 0));
}

#[test]
fn what_is_seen_at_the_live_check_takes_the_power_off_back() {
    let unreadable = || Err(Obstacle::new(Reason::NodeLeaseUnreadable, "no answer"));
    for (seen, reason) in [
        (Ok(NodeLease::Free), Reason::Accepted),
        (unreadable(), Reason::NodeLeaseUnreadable),
    ] {
        let mut sim = Sim::among_others();
        sim.run_until(is_about_to_power_off);
        sim.live_check.as_mut().expect("looked").node_lease = seen;

        let decision = sim.decide();

        assert_eq!(decision.act, None);
        assert_eq!(decision.journal.phase, Phase::Pending);
        assert_eq!(decision.journal.reason, reason.as_str());
    }
    let mut sim = Sim::among_others();
    sim.run_until(|sim| matches!(sim.decide().act, Some(Act::Observe(Observation::LiveCheck))));
    sim.another_takes_the_lease();
    sim.run_until(|sim| sim.journal.reason == Reason::NodeLeaseHeld.as_str());
    assert_eq!((sim.journal.phase, sim.power_offs()), (Phase::Pending, 0));
}

#[test]
fn a_lease_that_cannot_be_read_is_named_and_no_power_off_is_journalled_again_and_again() {
    for others in [false, true] {
        let mut sim = if others { Sim::among_others() } else { Sim::new() };
        sim.lease_is_hidden = true;

        sim.run();

        assert_eq!((sim.journal.phase, sim.power_offs()), (Phase::Failed, 0));
        assert!(
            sim.journal.message.contains("NodeLeaseUnreadable"),
            "{}",
            sim.journal.message
        );
        assert!(sim.counts.journal_writes <= 4, "{:?}", sim.counts);
        assert!(sim.counts.lease_reads <= 12, "{:?}", sim.counts);
    }
}

#[test]
fn whoever_holds_it_up_others_may_work_on_the_node_meanwhile() {
    let mut sim = Sim::among_others();
    sim.run_until(takes);
    sim.turn(Fault::None);
    sim.world.objects.policy = Lookup::Present(Policy::in_tests(true));

    sim.run_until(|sim| sim.journal.reason == Reason::PolicyPaused.as_str());

    assert_eq!(sim.world.node_lease, NodeLease::Free);
    assert_eq!(sim.journal.node_lease, None);
}

#[test]
fn a_lease_that_is_lost_after_the_power_off_does_not_keep_the_host_off_and_is_told_of() {
    let mut sim = Sim::among_others();
    sim.run_until(|sim| sim.journal.phase == Phase::PoweringOn);
    sim.another_takes_the_lease();
    // The successor of a process looks at once; it would be found at half of the time otherwise.
    sim.crash();

    sim.run_until(|sim| sim.journal.held_node_lease().is_none());
    assert!(sim.journal.message.contains(ANOTHER), "{}", sim.journal.message);
    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert!(sim.lease_is_of_another(), "what is another's stays");
    let held = sim.journal.node_lease.expect("kept as a record");
    assert_eq!(held.lost_to.as_deref(), Some(ANOTHER));
}

#[test]
fn a_host_comes_back_whatever_becomes_of_the_lease() {
    let mut sim = Sim::among_others();
    sim.run_until(|sim| sim.journal.phase == Phase::PoweringOff && sim.power_offs() == 1);
    sim.refuses = |effect| matches!(effect, Effect::TakeNodeLease(_) | Effect::ReleaseNodeLease { .. });

    sim.run_until(|sim| sim.journal.phase.is_final());

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert!(sim.lease_is_ours() && sim.journal.held_node_lease().is_some());
    // It stays a debt until it can be paid.
    let (writes, began) = (sim.counts.lease_writes, sim.world.now);
    sim.run_until(|sim| sim.world.now > began + 600_000);
    assert!(sim.counts.lease_writes - writes <= 10, "{:?}", sim.counts);
    sim.refuses = |_| false;
    sim.run();
    assert_eq!(sim.world.node_lease, NodeLease::Free);
}

#[test]
fn a_lease_that_cannot_be_given_back_does_not_hold_the_finalizer_for_ever() {
    let mut sim = Sim::among_others();
    sim.refuses = |effect| matches!(effect, Effect::ReleaseNodeLease { .. });
    sim.run_until(|sim| sim.journal.phase.is_final());
    let began = sim.world.now;

    sim.deletion_requested = true;
    sim.run();

    assert!(sim.gone);
    assert!(sim.world.now - began <= 90_000, "{} ms", sim.world.now - began);
}

#[test]
fn it_is_renewed_at_half_of_its_time_and_for_every_attempt() {
    let mut sim = Sim::among_others();
    // 3 + 2 + 4 + 60 minutes, and 5 to undo what was done.
    sim.strategy.as_mut().expect("valid").deadlines.boot = SignedDuration::from_mins(60);
    sim.world.host.boots_well = false;
    let renewed = |sim: &Sim| match &sim.world.node_lease {
        NodeLease::There(lease) => lease.renewed,
        NodeLease::Free | NodeLease::Unused => None,
    };

    sim.run_until(|sim| sim.journal.phase == Phase::Booting);
    let taken = renewed(&sim).expect("held");
    sim.run_until(|sim| renewed(sim) != Some(taken));
    let again = renewed(&sim).expect("held");
    assert_eq!(again.duration_since(taken), SignedDuration::from_mins(37));
    assert_eq!(sim.journal.attempt, 1);

    sim.run_until(|sim| sim.journal.attempt == 2);
    let end = renewed(&sim).expect("held") + SignedDuration::from_mins(74);
    assert!(end >= at(sim.world.now) + SignedDuration::from_mins(69));
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Failed);
    assert_eq!(sim.world.node_lease, NodeLease::Free);
}
