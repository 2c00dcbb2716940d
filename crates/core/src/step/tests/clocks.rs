//! A successor whose clock is behind that of the process before it finds times in the journal that are yet to come.
//! It neither waits for them nor hurries.

use jiff::{SignedDuration, Timestamp};

use super::invariants_intent::Change;
use super::shell::{Fault, Sim};
use super::world::Cause;
use crate::decision::{Act, Effect};
use crate::journal::Journal;
use crate::phase::Phase;

/// By how much the clock of the successor is behind.
pub(super) const BEHIND: SignedDuration = SignedDuration::from_hours(1);

impl Sim {
    /// Dies; the successor's clock is behind by an hour. To it, everything that the journal dates lies so much
    /// further in the future.
    pub(super) fn crash_to_a_clock_that_is_behind(&mut self) {
        self.crash();
        self.journal = shifted(&self.journal, BEHIND);
    }
}

fn shifted(journal: &Journal, by: SignedDuration) -> Journal {
    let mut journal = journal.clone();
    let shift = |time: &mut Timestamp| *time += by;
    let shift_some = |time: &mut Option<Timestamp>| *time = time.map(|time| time + by);
    shift_some(&mut journal.phase_started);
    shift_some(&mut journal.deadline);
    shift_some(&mut journal.next_attempt);
    if let Some(intent) = &mut journal.intent {
        shift(&mut intent.journalled);
        shift(&mut intent.not_after);
        shift_some(&mut intent.acknowledged);
    }
    if let Some(hold) = &mut journal.hold {
        shift_some(&mut hold.held);
        shift_some(&mut hold.kicked);
        shift_some(&mut hold.detached);
        shift_some(&mut hold.direct);
        shift_some(&mut hold.left_to_others);
        shift_some(&mut hold.undone);
        shift_some(&mut hold.released);
    }
    if let Some(evidence) = &mut journal.evidence {
        shift(&mut evidence.acknowledged);
        evidence.node_silent.iter_mut().for_each(&shift);
        for read in &mut evidence.reads {
            shift(&mut read.began);
            shift(&mut read.ended);
        }
    }
    if let Some(release) = &mut journal.release {
        shift(&mut release.decided);
        shift_some(&mut release.finished);
        shift_some(&mut release.withdrawn);
    }
    if let Some(escalation) = &mut journal.escalation {
        shift(&mut escalation.decided);
        shift(&mut escalation.held_up_since);
    }
    if let Some(lease) = &mut journal.node_lease {
        shift(&mut lease.since);
    }
    for entry in &mut journal.timeline {
        shift(&mut entry.at);
    }
    for failed in &mut journal.failed_attempts {
        shift(&mut failed.at);
    }
    journal
}

/// In each of the phases in which something was journalled, before and after its command is known of.
fn under_way() -> Vec<(String, Sim)> {
    let phases = [
        Phase::PoweringOff,
        Phase::Fencing,
        Phase::PoweringOn,
        Phase::Booting,
    ];
    let mut without_taint = Sim::new();
    without_taint.taint_supported = false;
    let mut without_operator = Sim::with_metal3();
    without_operator.metal3().operator = false;
    without_operator.metal3().ironic = false;
    let worlds = vec![
        ("taint", Sim::new()),
        ("no taint", without_taint),
        ("metal3", Sim::with_metal3()),
        ("metal3 without operator", without_operator),
    ];
    let mut sims = Vec::new();
    for (world, sim) in worlds {
        for phase in phases {
            let mut sim = sim.clone();
            sim.run_until(|sim| sim.journal.phase == phase);
            sims.push((format!("{phase:?} begun, {world}"), sim.clone()));
            for turn in 1..6 {
                sim.turn(Fault::None);
                if sim.journal.phase == phase {
                    sims.push((format!("{phase:?} {turn}, {world}"), sim.clone()));
                }
            }
        }
    }
    sims
}

#[test]
fn a_successor_whose_clock_is_behind_does_not_wait_for_its_predecessors_times() {
    for (what, start) in under_way() {
        let (mut same, mut behind) = (start.clone(), start);
        same.crash();
        behind.crash_to_a_clock_that_is_behind();

        same.run();
        behind.run();

        let story = format!("{what}: {}", behind.journal.message);
        assert_eq!(behind.journal.phase, Phase::Succeeded, "{story}");
        assert_eq!(behind.world.times_switched(false), 1, "{story}");
        assert_eq!(behind.world.times_switched(true), 1, "{story}");
        assert!(!story.contains(" -"), "{story}");
        let [Some(late), Some(usual)] = [&behind, &same].map(|sim| sim.journal.phase_started) else {
            panic!("{story}: it has ended");
        };
        let later = late.duration_since(usual);
        assert!(
            later < SignedDuration::from_mins(1),
            "{story}: later by {later:#}"
        );
        let (turns, usual) = (behind.counts.turns, same.counts.turns);
        assert!(turns < usual + 100, "{story}: {turns} turns in place of {usual}");
    }
}

#[test]
fn invariant_2_a_successor_whose_clock_is_behind_sees_the_host_come_on() {
    let mut sim = Sim::new();
    sim.world.hold_pods(300_000);
    sim.run_until(|sim| sim.released_at.len() == 1);
    sim.crash_to_a_clock_that_is_behind();
    sim.run_until(|sim| sim.observed.last_read().is_some());
    sim.world.command(true, Cause::Outside);
    let on = sim.world.now;

    sim.run_until(|sim| !sim.world.tainted());

    assert!(sim.world.now - on < 6_000, "after {} ms", sim.world.now - on);
}

#[test]
fn a_power_on_that_was_journalled_in_the_future_is_sent_again_at_the_usual_distance() {
    let clocks: [(&str, Change); 2] = [
        ("of a successor", Sim::crash_to_a_clock_that_is_behind),
        ("of this process", |sim| {
            sim.journal = shifted(&sim.journal, BEHIND);
        }),
    ];
    for (whose, set_back) in clocks {
        let mut sim = Sim::new();
        sim.world.bmc.obeys_on = false;
        sim.run_until(|sim| matches!(sim.decide().act, Some(Act::Effect(Effect::PowerOn { .. }))));
        sim.journal_only();
        set_back(&mut sim);
        let from = sim.world.now;

        sim.run_until(|sim| sim.world.now > from + 90_000);

        let sent = sim
            .sent
            .iter()
            .filter(|(time, effect)| *time >= from && matches!(effect, Effect::PowerOn { .. }));
        let times: Vec<i64> = sent.map(|(time, _)| *time).collect();
        assert!(times.len() >= 2, "{whose}: {times:?}");
        let pauses = times.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(pauses.min() >= Some(20_000), "{whose}: {times:?}");
    }
}

#[test]
fn a_wait_for_the_next_attempt_is_no_longer_by_a_clock_that_is_behind() {
    let mut same = Sim::new();
    same.world.host.boots_well = false;
    same.run_until(|sim| sim.journal.phase == Phase::Booting && sim.decide().journal.phase == Phase::Pending);
    same.journal_only();
    let mut behind = same.clone();
    same.crash();
    behind.crash_to_a_clock_that_is_behind();

    same.run_until(|sim| sim.journal.attempt == 2);
    behind.run_until(|sim| sim.journal.attempt == 2);

    let later = behind.world.now - same.world.now;
    assert!(later < 5_000, "later by {later} ms");
}

impl Sim {
    /// The clock of this process is set, on or back. What was seen before is forgotten, and what stands in the journal is
    /// so much older or newer.
    fn jump(&mut self, by: SignedDuration) {
        self.forget();
        self.process_started = self.world.now;
        self.journal = shifted(&self.journal, -by);
    }
}

/// By how many turns a clock that was set on is set back later.
const TURNS: [usize; 5] = [0, 1, 3, 9, 40];

#[test]
fn whenever_a_clock_jumps_on_by_an_hour_and_back_each_attempt_powers_off_once_and_the_host_comes_back() {
    for (what, start) in under_way() {
        for turns in TURNS {
            let mut sim = start.clone();
            sim.jump(BEHIND);
            for _ in 0..turns {
                sim.turn(Fault::None);
            }
            sim.jump(-BEHIND);

            sim.run();

            let story = format!("{what}, back after {turns} turns: {}", sim.journal.message);
            assert_eq!(sim.journal.phase, Phase::Succeeded, "{story}");
            assert!(sim.world.host.on && !sim.world.tainted(), "{story}");
            for attempt in 1..=sim.journal.attempt {
                let edges = (sim.edges(false, attempt), sim.edges(true, attempt));
                assert!(edges.0 <= 1 && edges.1 <= 1, "{story}: {edges:?}");
            }
            assert!(!story.contains(" -"), "{story}");
            if turns == 0 {
                let off = sim.world.times_switched(false);
                assert_eq!((sim.journal.attempt, off), (1, 1), "{story}");
            }
        }
    }
}

#[test]
fn a_clock_that_jumps_on_and_stays_there_leaves_no_host_off() {
    for (what, start) in under_way() {
        for by in [BEHIND, -BEHIND] {
            let mut sim = start.clone();
            sim.jump(by);
            sim.run();
            let story = format!("{what}, by {by}: {}", sim.journal.message);
            assert_eq!(sim.journal.phase, Phase::Succeeded, "{story}");
            assert!(sim.world.host.on && !sim.world.tainted(), "{story}");
        }
    }
}
