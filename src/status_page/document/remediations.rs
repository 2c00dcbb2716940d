//! What runs, what waits, and what has ended.

use std::cmp::Reverse;
use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_core::journal::{Journal, TimelineEntry};
use remediator_core::phase::Phase;
use serde::Serialize;

use crate::status_page::document::texts::{Why, first, short, word};
use crate::watch::caches::{Guarded, readable};

/// As many are shown that run, and as many that wait.
const MOST: usize = 100;
/// As many are shown that have ended.
const HISTORY: usize = 50;
/// As many phases are shown of each, the newest.
const PHASES: usize = 20;

/// All remediations, each in one of these.
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Remediations {
    /// Something is being done to the host. The oldest first.
    pub(crate) running: Vec<Remediation>,
    pub(crate) running_left_out: usize,
    /// Nothing is being done: something is in the way, or a person is asked. What has left its host off goes first, then
    /// the oldest.
    pub(crate) waiting: Vec<Remediation>,
    pub(crate) waiting_left_out: usize,
    /// The newest first.
    pub(crate) history: Vec<Remediation>,
    pub(crate) history_left_out: usize,
    /// Those that cannot be read.
    pub(crate) unreadable: usize,
}

/// One remediation.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Remediation {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Name of the Node, else of the Machine.
    pub(crate) host: String,
    /// The Cluster of Cluster API, where it is not the daemon's own.
    pub(crate) cluster: Option<String>,
    pub(crate) phase: Phase,
    #[serde(flatten)]
    pub(crate) why: Why,
    pub(crate) attempt: i32,
    /// When it was asked for.
    pub(crate) created: Option<Timestamp>,
    /// When the phase began.
    pub(crate) since: Option<Timestamp>,
    /// When the phase ends at the latest.
    pub(crate) deadline: Option<Timestamp>,
    /// It has failed, and its host may be off.
    pub(crate) left_off: bool,
    /// The phases that were entered, oldest first.
    pub(crate) timeline: Vec<Entered>,
}

/// A phase that was entered.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Entered {
    pub(crate) phase: Phase,
    pub(crate) at: Timestamp,
    pub(crate) reason: String,
}

/// Where one is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Running,
    Waiting,
    History,
}

pub(super) fn of(all: &[Arc<Guarded<PowerCycleRemediation>>]) -> Remediations {
    let unwritten = Journal::default();
    let each = || readable(all).map(|one| (one, one.journal().unwrap_or(&unwritten)));
    let of = |place| each().filter(move |(_, journal)| self::place(journal) == place);
    let (mut running, mut waiting, mut history): (Vec<_>, Vec<_>, Vec<_>) = (
        of(Place::Running).collect(),
        of(Place::Waiting).collect(),
        of(Place::History).collect(),
    );
    let began = |one: &PowerCycleRemediation| (created(one), one.namespace(), one.name_any());
    running.sort_by_key(|(one, _)| began(one));
    waiting.sort_by_key(|(one, journal)| (Reverse(journal.phase == Phase::Failed), began(one)));
    history.sort_by_key(|(one, journal)| Reverse((journal.phase_started, began(one))));
    let shown = |(these, left_out): (Vec<(&PowerCycleRemediation, &Journal)>, usize)| {
        let these = these
            .into_iter()
            .map(|(one, journal)| Remediation::of(one, journal));
        (these.collect(), left_out)
    };
    let (running, running_left_out) = shown(first(running, MOST));
    let (waiting, waiting_left_out) = shown(first(waiting, MOST));
    let (history, history_left_out) = shown(first(history, HISTORY));
    Remediations {
        running,
        running_left_out,
        waiting,
        waiting_left_out,
        history,
        history_left_out,
        unreadable: all.iter().filter(|guarded| guarded.0.is_err()).count(),
    }
}

fn place(journal: &Journal) -> Place {
    match journal.phase {
        Phase::Pending | Phase::AwaitingConfirmation => Place::Waiting,
        Phase::Holding
        | Phase::PoweringOff
        | Phase::Fencing
        | Phase::PoweringOn
        | Phase::Restarting
        | Phase::Booting => Place::Running,
        Phase::Failed if journal.may_have_left_off() => Place::Waiting,
        Phase::Succeeded | Phase::Cancelled | Phase::Failed => Place::History,
    }
}

fn created(one: &PowerCycleRemediation) -> Option<Timestamp> {
    one.creation_timestamp().map(|time| time.0)
}

impl Remediation {
    fn of(one: &PowerCycleRemediation, journal: &Journal) -> Self {
        let subject = journal.subject.as_ref();
        let node = subject.and_then(|subject| subject.node_name());
        let machine = subject.and_then(|subject| subject.machine.as_deref());
        let asked = [one.spec.node_name.as_deref(), one.spec.machine_name.as_deref()];
        let host = node.or(machine).or(asked[0]).or(asked[1]);
        let name = one.name_any();
        let skipped = journal.timeline.len().saturating_sub(PHASES);
        Self {
            namespace: one.namespace().unwrap_or_default(),
            host: short(host.unwrap_or(&name)),
            name,
            cluster: subject.and_then(|subject| subject.cluster.as_deref()).map(short),
            phase: journal.phase,
            why: Why::of(&journal.reason, &journal.message),
            attempt: journal.attempt,
            created: created(one),
            since: journal.phase_started.or_else(|| created(one)),
            deadline: journal.deadline.filter(|_| !journal.phase.is_final()),
            left_off: journal.phase == Phase::Failed && journal.may_have_left_off(),
            timeline: journal.timeline.iter().skip(skipped).map(Entered::of).collect(),
        }
    }
}

impl Entered {
    fn of(entry: &TimelineEntry) -> Self {
        Self {
            phase: entry.phase,
            at: entry.at,
            reason: word(&entry.reason),
        }
    }
}
