//! A host that is off because of us is read at its pace, and what is left on its Node seldom, whatever the API server does.

use super::shell::{Fault, Sim};
use super::world::at;
use crate::decision::{Act, Effect, Observation};
use crate::facts::Obstacle;
use crate::journal::Journal;
use crate::phase::{Phase, Reason};
use crate::step::watch_due;

/// The longest time (ms) between two reads of the host in a minute.
pub(super) fn longest_unwatched(sim: &mut Sim, fault: impl Fn(&Act) -> Fault) -> i64 {
    let (mut last, mut longest) = (sim.world.now, 0);
    let end = sim.world.now + 60_000;
    while sim.world.now < end {
        let act = sim.decide().act;
        if act == Some(Act::Observe(Observation::Power)) {
            longest = longest.max(sim.world.now - last);
            last = sim.world.now;
        }
        let fault = act.as_ref().map_or(Fault::None, &fault);
        sim.turn(fault);
    }
    longest.max(end - last)
}

fn fencing() -> Sim {
    let mut sim = Sim::new();
    sim.world.pods.push("Pod shop/slow".to_owned());
    sim.run_until(|sim| sim.journal.phase == Phase::Fencing);
    sim.world.hold_pods(600_000);
    sim
}

#[test]
fn a_release_that_is_always_refused_does_not_hold_up_the_watch() {
    let mut sim = fencing();
    sim.refuses = |effect| matches!(effect, Effect::TaintNode { .. });

    let longest = longest_unwatched(&mut sim, |_| Fault::None);

    assert_eq!(sim.journal.phase, Phase::Fencing, "{}", sim.journal.message);
    assert!(longest <= 5_200, "not read for {longest} ms");
}

#[test]
fn looks_that_always_fail_do_not_hold_up_the_watch() {
    let mut sim = fencing();
    let fails = |act: &Act| match act {
        Act::Observe(Observation::Cleanup) => Fault::Refused,
        Act::Observe(_) | Act::Effect(_) => Fault::None,
    };

    let longest = longest_unwatched(&mut sim, fails);

    assert_eq!(sim.journal.phase, Phase::Fencing, "{}", sim.journal.message);
    assert!(longest <= 5_200, "not read for {longest} ms");
    assert!(
        sim.counts.cleanups <= 10,
        "{} looks in a minute",
        sim.counts.cleanups
    );
}

#[test]
fn a_bmc_that_cannot_be_asked_is_not_asked_in_a_hurry() {
    let mut sim = fencing();
    let before = sim.counts.turns;
    let end = sim.world.now + 60_000;

    while sim.world.now < end {
        sim.turn_without_secret();
    }

    let turns = sim.counts.turns - before;
    assert!(turns <= 200, "{turns} turns in a minute");
}

/// Else it would be asked for its power all the time, and a command would wait behind that for longer than it may be sent.
#[test]
fn a_bmc_that_became_slow_is_left_time_for_something_else() {
    for latency in [5_000, 12_000, 15_000] {
        let mut sim = fencing();
        sim.world.bmc.latency = latency;
        sim.world.hold_pods(0);
        sim.world.pods.clear();
        let asked = sim.counts.bmc_reads;
        sim.run_until(|sim| sim.counts.bmc_reads > asked);
        let due = watch_due(&sim.journal, &sim.observed, at(sim.world.now));
        assert!(due >= Some(at(sim.world.now + 4_900)), "{latency}: {due:?}");

        sim.run_until(|sim| sim.journal.phase == Phase::PoweringOn);

        let message = &sim.journal.message;
        assert!(
            sim.journal.is_because(Reason::PowerOnRequested),
            "{latency}: {message}"
        );
        // Nor is it read while that may be sent, however long it takes to write it down.
        let until = sim.journal.intent.as_ref().map(|intent| intent.not_after);
        let due = watch_due(&sim.journal, &sim.observed, at(sim.world.now));
        assert!(due >= until, "{latency}: {due:?}");
        let earlier = at(sim.world.now - 3_600_000);
        let due = watch_due(&sim.journal, &sim.observed, earlier);
        let soon = earlier.checked_add(jiff::SignedDuration::from_secs(10)).ok();
        assert!(due <= soon, "{latency}: {due:?}");
    }
}

#[test]
fn looks_at_what_is_left_become_rare_while_nothing_changes() {
    let mut sim = fencing();
    let begun = sim.world.now;

    sim.run_until(|sim| sim.world.now >= begun + 60_000);
    let unchanged = sim.counts.cleanups;
    assert!((6..=10).contains(&unchanged), "{unchanged} looks in a minute");

    // What changes is looked at again soon: two looks have to find nothing, 2 s apart.
    sim.world.hold_pods(0);
    sim.world.pods.clear();
    let gone = sim.world.now;
    sim.run_until(|sim| sim.journal.phase != Phase::Fencing);
    let took = sim.world.now - gone;
    assert!(took <= 12_500, "seen after {took} ms");
    assert!(sim.counts.cleanups <= unchanged + 3);
}

#[test]
fn what_is_not_off_because_of_us_is_not_watched() {
    let mut sim = Sim::new();
    assert_eq!(watch_due(&Journal::default(), &sim.observed, at(0)), None);

    sim.run_until(|sim| sim.journal.phase == Phase::Fencing);
    let read = sim.observed.last_read().unwrap().began;
    let now = at(sim.world.now);
    // Not before the time of a release that was decided on that read has passed.
    assert_eq!(
        watch_due(&sim.journal, &sim.observed, now),
        read.checked_add(crate::proof::MAX_AGE).ok()
    );
    // Failed reads do not hurry, and a clock that went back does not put it off.
    let failed = Obstacle::new(Reason::BmcUnreachable, "silent");
    sim.observed.note_read_failure(now, failed);
    let due = now.checked_add(jiff::SignedDuration::from_secs(5)).unwrap();
    assert_eq!(watch_due(&sim.journal, &sim.observed, now), Some(due));
    let earlier = at(sim.world.now - 60_000);
    let due = earlier.checked_add(jiff::SignedDuration::from_secs(5)).unwrap();
    assert_eq!(watch_due(&sim.journal, &sim.observed, earlier), Some(due));

    sim.run();
    assert_eq!(sim.journal.phase, Phase::Succeeded);
    assert_eq!(watch_due(&sim.journal, &sim.observed, at(sim.world.now)), None);
}
