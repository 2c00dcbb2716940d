//! What is counted when somebody asks for the metrics, of what the caches have: nothing is kept for it.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use remediator_api::PowerCycleRemediation;
use remediator_core::brakes::FAILED_FOR;
use remediator_core::journal::{Journal, Subject};
use remediator_core::phase::{Phase, Reason};

use crate::clock::Clock;
use crate::daemon::controllers::Parts;
use crate::leadership::lead::Lead;
use crate::report::{Metrics, Number, Probes};
use crate::snapshot::remediation_history;
use crate::watch::caches::{Caches, readable};
use crate::watch::indexed_store::IndexedStore;
use crate::watch::indexes;

/// Power-offs of one host within [`FAILED_FOR`] that say that reboots do not cure it.
const REPEATED: usize = 3;

type Counts = BTreeMap<&'static str, u64>;

/// What is true of every replica. `lead`: once it leads.
pub(super) fn of_replica(metrics: &Metrics, probes: &Probes, lead: &Arc<OnceLock<Lead>>) {
    let lead = Arc::clone(lead);
    let name = ("leader", "1 while this replica leads, else 0");
    metrics.collect_one(name, move || {
        let leads = lead.get().is_some_and(Lead::holds);
        u64::from(leads)
    });
    let (probes, name) = (
        probes.clone(),
        ("loop_silence_seconds", "For how long a loop has not moved"),
    );
    metrics.collect(name, Number::Gauge, "loop", move || {
        let mut silence = Counts::new();
        for (name, silent) in probes.silence() {
            let longest = silence.entry(name).or_default();
            *longest = silent.as_secs().max(*longest);
        }
        silence
    });
}

/// What only the one that leads knows, once everything is listed.
pub(super) fn of_leader(metrics: &Metrics, parts: &Parts) {
    let sources = &parts.remediator.sources;
    of_remediations(metrics, &sources.caches, &sources.clock);
    let name = ("quarantined_machines", "Machines in quarantine, by API");
    let machines = sources.caches.clone();
    metrics.collect(name, Number::Gauge, "api", move || {
        remediation_history::quarantined(&machines)
    });
    let name = ("bmc_hosts", "Hosts, by what the last check of their BMC found");
    let readiness = Arc::clone(&parts.readiness);
    metrics.collect(name, Number::Gauge, "result", move || {
        readiness.findings.by_reason()
    });
    let bmcs = parts.remediator.bmc.bmcs.clone();
    let name = (
        "bmc_requests",
        "Readings, inspections and commands that BMCs were asked for, by what came of it",
    );
    metrics.collect(name, Number::Counter, "outcome", move || bmcs.outcomes());
}

pub(super) fn of_remediations(metrics: &Metrics, caches: &Caches, clock: &Clock) {
    let (all, name) = (
        caches.remediations.clone(),
        ("remediations", "Remediations, by phase"),
    );
    metrics.collect(name, Number::Gauge, "phase", move || by_phase(&all, |_| true));
    let name = (
        "remediations_waiting",
        "Remediations that wait before the next power-off, by the reason",
    );
    let all = caches.remediations.clone();
    metrics.collect(name, Number::Gauge, "reason", move || waiting(&all));
    let name = (
        "remediations_overdue",
        "Remediations that are in a phase for longer than its deadline allows, by phase",
    );
    let (all, now) = (caches.remediations.clone(), clock.clone());
    metrics.collect(name, Number::Gauge, "phase", move || {
        let now = now.now();
        by_phase(&all, |journal| {
            journal.deadline.is_some_and(|deadline| deadline < now) && !journal.phase.is_final()
        })
    });
    let name = (
        "hosts_left_off",
        "Hosts that may be off because of a remediation that has failed",
    );
    let all = caches.remediations.clone();
    metrics.collect_one(name, move || {
        let left_off = |journal: &&Journal| journal.phase == Phase::Failed && journal.may_have_left_off();
        let all = all.all();
        let left_off = readable(&all)
            .filter_map(PowerCycleRemediation::journal)
            .filter(left_off);
        number(left_off.count())
    });
    let name = (
        "hosts_power_cycled_repeatedly",
        "Hosts that were powered off three times or more within 24 h",
    );
    let (all, now) = (caches.remediations.clone(), clock.clone());
    metrics.collect_one(name, move || repeatedly(&all, now.now()));
}

fn by_phase(all: &IndexedStore<PowerCycleRemediation>, counts: impl Fn(&Journal) -> bool) -> Counts {
    let mut found: Counts = Phase::ALL.iter().map(|phase| (phase.as_str(), 0)).collect();
    let unwritten = Journal::default();
    for remediation in readable(&all.all()) {
        let journal = remediation.journal().unwrap_or(&unwritten);
        if counts(journal) {
            count(&mut found, journal.phase.as_str());
        }
    }
    found
}

fn waiting(all: &IndexedStore<PowerCycleRemediation>) -> Counts {
    let mut found = Counts::new();
    for journal in readable(&all.all()).filter_map(PowerCycleRemediation::journal) {
        let waits = [Phase::Pending, Phase::AwaitingConfirmation].contains(&journal.phase);
        if let Some(reason) = Reason::named(&journal.reason).filter(|_| waits) {
            count(&mut found, reason.as_str());
        }
    }
    found
}

fn repeatedly(all: &IndexedStore<PowerCycleRemediation>, now: jiff::Timestamp) -> u64 {
    let all = all.all();
    let mut power_offs: BTreeMap<_, usize> = BTreeMap::new();
    for journal in readable(&all).filter_map(PowerCycleRemediation::journal) {
        if let Some(host) = journal.subject.as_ref().and_then(Subject::uuid) {
            let young = indexes::power_offs(journal).filter(|at| now.duration_since(*at) < FAILED_FOR);
            let times = power_offs.entry(host.in_either_order()).or_default();
            *times = times.saturating_add(young.count());
        }
    }
    number(power_offs.values().filter(|times| **times >= REPEATED).count())
}

fn count(counts: &mut Counts, name: &'static str) {
    let count = counts.entry(name).or_default();
    *count = count.saturating_add(1);
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
