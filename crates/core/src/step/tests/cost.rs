//! What a remediation costs: requests to the BMC, writes and live reads at the API server.

use jiff::SignedDuration;

use super::shell::Sim;
use super::world::at;
use crate::phase::Phase;

#[test]
fn a_happy_remediation_costs_six_bmc_requests() {
    let mut sim = Sim::new();

    sim.run();

    let counts = sim.counts;
    println!("{counts:?}");
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    // Identity and state, two Off reads, one On read; ForceOff and On.
    assert_eq!((counts.bmc_reads, counts.bmc_commands), (4, 2));
    assert_eq!(counts.looks, 1);
    assert_eq!(counts.reports, 1);
    // PoweringOff, Fencing, PoweringOn, Booting, Succeeded.
    assert_eq!(counts.journal_writes, 5);
    // Finalizer, taint, untaint, trigger.
    assert_eq!(counts.api_writes, 4);
}

#[test]
fn the_watch_costs_one_read_per_five_seconds() {
    let mut sim = Sim::new();
    sim.world.pods.push("Pod shop/slow".to_owned());
    sim.run_until(|sim| sim.journal.phase == Phase::Fencing);
    let begun = sim.world.now;
    sim.world.hold_pods(60_000);

    sim.run_until(|sim| sim.journal.phase != Phase::Fencing);

    let seconds = (sim.world.now - begun) / 1_000;
    assert!(seconds >= 60, "released after {seconds} s");
    let reads = i64::from(sim.counts.watch_reads);
    assert!(
        (seconds / 6..=seconds / 5).contains(&reads),
        "{reads} reads in {seconds} s"
    );
}

#[test]
fn waiting_for_off_costs_few_polls() {
    let cases = [1_u32, 2, 5, 10, 19, 30, 60, 120].into_iter();
    for (seconds, word) in cases.flat_map(|seconds| [(seconds, "On"), (seconds, "PoweringOff")]) {
        let mut sim = Sim::new();
        sim.world.host.off_delay = i64::from(seconds) * 1_000;
        sim.world.bmc.going_off_word = word;

        sim.run();

        let extra = f64::from(sim.counts.bmc_reads) - 4.0;
        let allowed = 4.0 + (f64::from(seconds) / 0.5).log2();
        println!(
            "T_off {seconds} s, {word}: {extra} extra polls, {allowed:.1} allowed, {:?}",
            sim.counts
        );
        assert_eq!(
            sim.journal.phase,
            Phase::Succeeded,
            "{seconds} s: {}",
            sim.journal.message
        );
        assert!(
            extra <= allowed,
            "{seconds} s: {extra} extra polls, {allowed} allowed"
        );
        // A host that says that it is going off is left alone. One that says On is told again every 20 s at most, and
        // never on a read that is more than 10 s old. However often, it goes off once.
        let most = if word == "On" { 1 + (seconds + 10) / 20 } else { 1 };
        let commands = u32::try_from(sim.power_offs()).unwrap();
        assert!(
            (1..=most).contains(&commands),
            "{seconds} s, {word}: {commands} power-offs"
        );
        assert_eq!((sim.edges(false, 1), sim.edges(true, 1)), (1, 1), "{seconds} s");
    }
}

#[test]
fn a_wait_writes_its_reason_once() {
    let mut sim = Sim::new();
    sim.world.bmc.reachable = false;

    sim.run_until(|sim| sim.journal.phase != Phase::Pending);

    assert_eq!(sim.journal.phase, Phase::AwaitingConfirmation);
    // The reason, and that a person is asked.
    assert_eq!(sim.counts.journal_writes, 2);
    assert!(
        sim.counts.bmc_reads <= 10,
        "{} reads in ten minutes",
        sim.counts.bmc_reads
    );
}

#[test]
fn what_only_a_live_check_finds_is_looked_for_every_half_minute() {
    let mut sim = Sim::new();
    // The kubelet is alive again, and the caches do not know it.
    sim.world.lease.lease_renewed = Some(at(sim.world.now));
    sim.world.lease.lease_duration = Some(SignedDuration::from_secs(100));
    let end = sim.world.now + 90_000;

    sim.run_until(|sim| sim.world.now >= end);

    assert_eq!(sim.power_offs(), 0);
    assert!(sim.counts.looks <= 4, "{} live checks", sim.counts.looks);
    assert!(
        sim.counts.journal_writes <= 10,
        "{} writes",
        sim.counts.journal_writes
    );
}
