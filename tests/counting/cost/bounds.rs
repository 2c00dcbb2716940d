//! What a remediation costs, exactly: docs/design.md, "Costs". What depends on how long the host and its workloads take is
//! counted apart, and bounded.

use std::collections::BTreeMap;
use std::time::Duration;

use bmc_simulator::Counters;
use remediator_core::journal::Journal;
use world::WorldHost;
use world::conversation::{Conversation, watch_allowed};

/// Identity and state, ForceOff, two reads of Off, On, a read of On; with a session also its opening and its closing.
const FLOOR: u64 = 6;
const FLOOR_WITH_SESSION: u64 = 8;

fn expected(pairs: &[(&str, usize)]) -> BTreeMap<String, usize> {
    pairs
        .iter()
        .map(|(what, count)| ((*what).to_owned(), *count))
        .collect()
}

/// How long the workloads took to go.
fn released_for(journal: &Journal) -> Duration {
    let release = journal.release.as_ref().expect("it was released");
    let finished = release.finished.expect("the release is finished");
    Duration::try_from(finished.duration_since(release.decided)).expect("it took some time")
}

/// What a BMC was asked, sorted; checks what is counted apart.
fn conversation(host: &WorldHost, journal: &Journal) -> Conversation {
    let evidence = journal.evidence.as_ref().expect("Off was proven");
    let asked = Conversation::of(&host.bmc.journal(), evidence.reads.len());
    println!("{}: {asked:?} {:?}", host.name, host.bmc.counters());
    assert!(
        asked.off_polls <= asked.polls_allowed(),
        "polls of {}: {asked:?}",
        host.name
    );
    let watched = watch_allowed(released_for(journal));
    assert!(
        asked.watch <= watched,
        "{} may be read {watched} times while it is released: {asked:?}",
        host.name
    );
    let sorted = (
        asked.identity,
        asked.force_off,
        asked.off_proof,
        asked.on,
        asked.on_reads,
    );
    assert_eq!(sorted, (1, 1, 2, 1, 1), "of {}", host.name);
    asked
}

fn one_connection(counters: &Counters) {
    let connections = (
        counters.tls_handshakes,
        counters.tcp_connections,
        counters.tls_failures,
    );
    assert_eq!(connections, (1, 1, 0), "{counters:?}");
}

pub(crate) fn assert_cost_with_session(host: &WorldHost, journal: &Journal) {
    let (asked, counters) = (conversation(host, journal), host.bmc.counters());
    assert_eq!(
        counters.requests - asked.apart(),
        FLOOR_WITH_SESSION,
        "{counters:?}"
    );
    assert_eq!((counters.session_create, counters.session_delete), (1, 1));
    one_connection(&counters);
}

/// Learning that there are no sessions is counted apart: the root, and one login that is refused.
pub(crate) fn assert_cost_with_basic(host: &WorldHost, journal: &Journal) {
    let (asked, counters) = (conversation(host, journal), host.bmc.counters());
    let learned = counters.session_create + counters.other + counters.service_root;
    assert!(learned <= 2, "{learned} questions for sessions: {counters:?}");
    assert_eq!(counters.requests - asked.apart() - learned, FLOOR, "{counters:?}");
    assert_eq!(counters.session_delete, 0);
    one_connection(&counters);
}

/// A host that is off at the first read is not polled.
pub(crate) fn assert_not_polled(host: &WorldHost, journal: &Journal) {
    assert_eq!(conversation(host, journal).off_polls, 0, "of {}", host.name);
}

/// Nine writes, two events, and of the seven live reads those that name something of the host. The other two are of the
/// policy and of the namespace of medik8s' Leases: [`assert_shared_cost`].
pub(crate) fn assert_api_cost(table: &BTreeMap<String, usize>) {
    let of = |wanted: fn(&str) -> bool| -> BTreeMap<String, usize> {
        let counted = table.iter().filter(|(what, _)| wanted(what));
        counted.map(|(what, count)| (what.clone(), *count)).collect()
    };
    let writes = of(|what| {
        !["get ", "list ", "watch ", "conflict: ", "refused: "]
            .iter()
            .any(|other| what.starts_with(other))
    });
    assert_eq!(
        writes,
        expected(&[
            ("create powercycleremediations", 1),
            // PoweringOff, Fencing, PoweringOn, Booting, Succeeded.
            ("update powercycleremediations/status", 5),
            ("patch nodes", 2),
            ("patch machines", 1),
            ("create events", 2),
        ])
    );
    // A Node that comes back is written by others, too; the write is decided on anew then.
    let conflicts = of(|what| what.starts_with("conflict: "));
    let patches = conflicts.get("conflict: patch nodes").copied().unwrap_or(0);
    assert!(
        conflicts.len() <= 1 && patches <= 2,
        "writes that others came before: {conflicts:?}"
    );
    // Whether Secrets may be held is tried once by a process, with what is read of the Secret for it.
    let tried = table.get("refused: patch secrets").copied().unwrap_or(0);
    assert_eq!(
        of(|what| what.starts_with("get ")),
        expected(&[
            ("get leases", 2),
            ("get machines", 1),
            ("get nodes", 1),
            ("get secrets", tried.min(1).saturating_add(1)),
        ])
    );
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
    // The role does not let Secrets be held: that is tried once, for all that begin before the answer is known.
    let refused = all.iter().filter(|(what, _)| what.starts_with("refused: "));
    let refused: Vec<_> = refused
        .map(|(what, count)| (what.as_str(), *count <= remediations))
        .collect();
    assert_eq!(refused, [("refused: patch secrets", true)]);
    // Two looks that find nothing left, and one or two that find pods on their way.
    assert!(
        count("list pods") <= 4 * remediations,
        "{} lists of pods",
        count("list pods")
    );
    // Those who look at the same time look at one list.
    let lists = count("list volumeattachments");
    assert!(
        (1..=count("list pods")).contains(&lists),
        "{lists} lists of VolumeAttachments"
    );
}
