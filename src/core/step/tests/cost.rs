//! What a remediation costs.

use super::shell::Sim;
use crate::core::phase::Phase;

#[test]
fn a_happy_remediation_costs_the_floor() {
    let mut sim = Sim::new();
    sim.run();
    println!("{:?}", sim.counts);
    for entry in &sim.journal.timeline {
        println!("{entry:?}");
    }
    println!("{}", sim.journal.message);
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert_eq!(sim.counts.bmc_reads + sim.counts.bmc_commands, 6);
}
