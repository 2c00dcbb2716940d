//! BMCs that take long to answer.

use super::power_debt::{SOON, millis_of, off_in};
use super::shell::{BMC_LATENCY, Sim};
use crate::phase::{Phase, Reason};
use crate::proof::SLOWEST_ANSWER;
use crate::readiness::SLOW_ANSWERS;

fn answering_within(millis: i64) -> Sim {
    let mut sim = Sim::new();
    sim.world.bmc.latency = millis;
    sim
}

fn is_told(sim: &Sim) -> bool {
    sim.journal.reason == Reason::BmcTooSlow.as_str()
}

#[test]
fn a_host_is_power_cycled_in_one_attempt_by_the_slowest_answers_that_are_good_enough() {
    let slowest = i64::try_from(SLOWEST_ANSWER.as_millis()).unwrap();
    let mut sim = answering_within(slowest);
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert_eq!((sim.edges(false, 1), sim.edges(true, 1)), (1, 1));
}

#[test]
fn a_bmc_that_is_too_slow_is_waited_for_before_anything_is_journalled() {
    for latency in [3_001, 8_000, 15_000] {
        let mut sim = answering_within(latency);
        sim.run_until(|sim| sim.world.now > 300_000);
        assert!(is_told(&sim), "{latency}: {}", sim.journal.message);
        assert_eq!((sim.journal.phase, sim.journal.attempt), (Phase::Pending, 0));
        assert_eq!(sim.power_offs(), 0);

        sim.world.bmc.latency = BMC_LATENCY;
        sim.run();
        assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    }
}

#[test]
fn fewer_slow_answers_than_it_takes_stop_nothing() {
    let mut sim = answering_within(8_000);
    let most = usize::try_from(sim.counts.bmc_reads).unwrap() + SLOW_ANSWERS - 1;
    sim.run_until(|sim| sim.observed.reads.len() == most);
    assert!(!is_told(&sim));
    sim.world.bmc.latency = BMC_LATENCY;
    sim.run_until(|sim| is_told(sim) || sim.journal.phase.is_final());
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
}

/// Too slow to prove Off by, and not to bring a host back.
#[test]
fn invariant_13_a_bmc_that_becomes_slow_while_the_host_is_off_leaves_it_not_off() {
    for latency in [5_000, 8_000, 15_000] {
        for phase in [Phase::PoweringOff, Phase::Fencing, Phase::PoweringOn] {
            for attempts in [1, 2] {
                let mut sim = Sim::new();
                sim.strategy.as_mut().expect("valid").retries.attempts = attempts;
                off_in(&mut sim, phase);
                sim.world.bmc.latency = latency;
                let story = |sim: &Sim| format!("{latency}, {phase:?}, {attempts}: {}", sim.journal.message);
                let deadlines = sim.strategy.as_ref().expect("valid").deadlines.clone();
                let end = sim.world.now + millis_of(deadlines.of_an_attempt()) + SOON;
                sim.run_until(|sim| sim.world.host.on || sim.world.now > end);
                assert!(sim.world.host.on, "{}", story(&sim));
                assert_eq!(
                    (sim.edges(false, 1), sim.edges(true, 1)),
                    (1, 1),
                    "{}",
                    story(&sim)
                );
            }
        }
    }
}
