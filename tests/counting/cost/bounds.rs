//! What a remediation may cost at most.

use std::collections::BTreeMap;

use bmc_simulator::{Counters, Event};
use world::WorldHost;

/// How often a BMC was read between two of its commands, or after the last one.
fn reads_after(host: &WorldHost, command: bmc_simulator::Command) -> (usize, usize) {
    let (mut within, mut off) = (0, 0);
    let mut counting = false;
    for entry in host.bmc.journal() {
        match &entry.event {
            Event::Command { command: sent, .. } => counting = *sent == command,
            Event::Observed { reported, .. } if counting => {
                within += 1;
                off += usize::from(reported.as_deref() == Some("Off"));
            }
            _ => {}
        }
    }
    (within, off)
}

fn expected(pairs: &[(&str, usize)]) -> BTreeMap<String, usize> {
    pairs
        .iter()
        .map(|(what, count)| ((*what).to_owned(), *count))
        .collect()
}

/// The reads during the release are one in 5 s, whatever else is going on.
fn watch_reads(counters: &Counters, floor: u64) -> u64 {
    counters.requests.saturating_sub(floor)
}

pub(crate) fn assert_bmc_cost(session: &WorldHost, basic: &WorldHost, slow: &WorldHost) {
    let (with_session, with_basic, slowly) =
        (session.bmc.counters(), basic.bmc.counters(), slow.bmc.counters());
    println!("BMC with session: {with_session:?}");
    println!("BMC with Basic:   {with_basic:?}");
    println!("BMC, T_off 5 s:   {slowly:?}");
    // Identity, two Off reads, one On read; what goes beyond that is the watch, one read in 5 s.
    let watched = watch_reads(&with_session, 8);
    assert!(
        watched <= 3,
        "{watched} reads while releasing, which took about 12 s"
    );
    assert_eq!(
        (
            with_session.session_create,
            with_session.reset,
            with_session.session_delete,
            with_session.other
        ),
        (1, 2, 1, 0)
    );
    assert_eq!(with_session.system_get, 4 + watched);
    assert_eq!(with_session.service_root + with_session.system_collection, 0);
    // Learning that there are no sessions is counted apart: one refused login and the root.
    let asked = with_basic.session_create + with_basic.other + with_basic.service_root;
    let watched = watch_reads(&with_basic, 6 + asked);
    assert!(
        asked <= 2 && watched <= 1,
        "{asked} questions for sessions, {watched} reads while releasing"
    );
    assert_eq!((with_basic.reset, with_basic.system_get), (2, 4 + watched));
    for counters in [with_session, with_basic, slowly] {
        assert_eq!((counters.tls_handshakes, counters.tcp_connections), (1, 1));
        assert_eq!(counters.tls_failures, 0);
    }
    let polls = |host: &WorldHost| {
        let (all, off) = reads_after(host, bmc_simulator::Command::ForceOff);
        all.saturating_sub(off).saturating_add(2)
    };
    println!(
        "polls until Off is proven: {} and {} (T_off 5 s)",
        polls(session),
        polls(slow)
    );
    assert_eq!(polls(session), 2, "the host was off at the first read");
    // 4 + log2(5 s / 0.5 s) = 7.3
    assert!(polls(slow) <= 7, "{} polls", polls(slow));
}

/// `goals.md` P2: 1 claim, at most 8 writes, at most 2 events, at most 6 live reads; one more looks for Leases of medik8s.
pub(crate) fn assert_api_cost(table: &BTreeMap<String, usize>) {
    let writes: BTreeMap<String, usize> = table
        .iter()
        .filter(|(what, _)| {
            !["get ", "list ", "watch ", "conflict: "]
                .iter()
                .any(|read| what.starts_with(read))
        })
        .map(|(what, count)| (what.clone(), *count))
        .collect();
    assert_eq!(
        writes,
        expected(&[
            ("create powercycleremediations", 1),
            ("update powercycleremediations/status", 5),
            ("patch nodes", 2),
            ("patch machines", 1),
            ("create events", 2),
        ])
    );
    // A Node that comes back is written by others, too; the write is decided on anew then.
    let conflicts: BTreeMap<&String, &usize> = table
        .iter()
        .filter(|(what, _)| what.starts_with("conflict: "))
        .collect();
    let patches = conflicts
        .get(&"conflict: patch nodes".to_owned())
        .map_or(0, |count| **count);
    assert!(
        conflicts.len() <= 1 && patches <= 2,
        "writes that others came before: {conflicts:?}"
    );
    let is_read = |(what, _): &(&String, &usize)| what.starts_with("get ");
    let reads: BTreeMap<&String, &usize> = table.iter().filter(is_read).collect();
    let all: usize = reads.values().copied().sum();
    // The policy and the namespace of Leases have no host's name and are counted with what is shared.
    assert!(all <= 5, "live reads: {reads:?}");
}

/// What cannot be told apart by host: the policy, and lists.
pub(crate) fn assert_shared_cost(all: &BTreeMap<String, usize>, remediations: usize) {
    let count = |what: &str| all.get(what).copied().unwrap_or(0);
    println!("shared by {remediations} remediations: {all:?}");
    assert_eq!(count("get remediationpolicies"), remediations);
    assert_eq!(count("list machinehealthchecks"), remediations);
    // Whether actors of medik8s agree on who works on a Node; where they do not, no Lease is written.
    let of_leases = ["get namespaces", "create leases", "patch leases", "delete leases"];
    assert_eq!(of_leases.map(count), [remediations, 0, 0, 0]);
    // Two looks that find nothing left, and one or two that find pods on their way.
    assert!(
        count("list pods") <= 4 * remediations,
        "{} lists of pods",
        count("list pods")
    );
    assert_eq!(count("list pods"), count("list volumeattachments"));
}
