//! What a process does that has taken over and has not listed everything yet: it brings hosts back that may be off, and
//! begins nothing. A list may be refused or hang for as long as such a host is off: the webhook that converts
//! a kind may run on it.

use jiff::Timestamp;
use remediator_api::PowerCycleRemediation;
use remediator_core::decision::{Act, Effect, Observation};
use remediator_core::facts::{ControlPlane, Facts, Lookup, Obstacle};
use remediator_core::journal::{Journal, Subject};

use crate::clusters::node_cluster::NodeCluster;
use crate::remediation::Remediator;
use crate::remediation::memory::Memory;
use crate::snapshot::{cached, live};

const NOT_YET: &str = "it is not listed yet";

/// Whether a remediation is looked after now; if not, as soon as everything is listed.
pub(crate) fn may_look_after(context: &Remediator, remediation: &PowerCycleRemediation) -> bool {
    let owes = remediation.journal().is_some_and(Journal::may_have_left_off);
    owes || context.is_all_listed()
}

/// What the caches do not have yet is not absent.
pub(crate) fn hide(
    context: &Remediator,
    remediation: &PowerCycleRemediation,
    (nodes, memory): (&Result<NodeCluster, Obstacle>, &Memory),
    facts: &mut Facts,
) {
    if context.is_all_listed() {
        return;
    }
    let objects = &mut facts.objects;
    objects.policy = unreadable();
    objects.machine = unreadable();
    objects.cluster = unreadable();
    objects.node_of_host = unreadable();
    objects.health_checks = vec![unreadable()];
    objects.control_plane = ControlPlane::default();
    if !context.sources.caches.nodes.is_listed() {
        objects.node = match (nodes, &memory.written_node) {
            (Ok(nodes), Some(read)) => {
                Lookup::Present(cached::node_facts(&context.sources, remediation, nodes, read))
            }
            (Ok(_) | Err(_), _) => unreadable(),
        };
    }
}

/// The Node is read for itself where Nodes are not listed: whether its workloads are gone hangs on it.
pub(crate) async fn read_node(
    context: &Remediator,
    remediation: &PowerCycleRemediation,
    memory: &mut Memory,
) {
    if context.is_all_listed() || context.sources.caches.nodes.is_listed() {
        return;
    }
    let subject = remediation.journal().and_then(|journal| journal.subject.as_ref());
    let node = subject.and_then(Subject::there);
    if let (Some(node), Ok(nodes)) = (node, context.sources.clusters.nodes_of(remediation))
        && let Ok(Some(read)) = live::node(&nodes, &node.name).await
    {
        memory.written_node = Some(read);
    }
}

fn unreadable<T>() -> Lookup<T> {
    Lookup::Unreadable(NOT_YET.to_owned())
}

/// Whether an act looks after a host that may be off, and no more than that.
pub(crate) fn may_act(context: &Remediator, act: &Act) -> bool {
    context.is_all_listed() || brings_back(act)
}

/// It is as one that was refused: meanwhile the power has its turn.
pub(crate) fn note_refusal(memory: &mut Memory, facts: &Facts, now: Timestamp) {
    let (detail, versions) = (NOT_YET.to_owned(), facts.objects.versions());
    memory.observed.note_write_failure(now, detail, versions);
    memory.waits_for_lists = Some(now);
}

/// What waited for the lists need not wait any longer.
pub(crate) fn forgive(context: &Remediator, memory: &mut Memory) {
    if !context.is_all_listed() {
        return;
    }
    if let Some(at) = memory.waits_for_lists.take() {
        let failure = &mut memory.observed.write_failure;
        failure.take_if(|failure| failure.at == at);
    }
}

fn brings_back(act: &Act) -> bool {
    match act {
        Act::Observe(observation) => match observation {
            Observation::Power | Observation::Report | Observation::Cleanup | Observation::BareMetalHost => {
                true
            }
            Observation::LiveCheck | Observation::Admission | Observation::NodeLease => false,
        },
        Act::Effect(effect) => match effect {
            Effect::PowerOn { .. } | Effect::ReleaseHost(_) => true,
            Effect::WriteHold(_)
            | Effect::PowerOff { .. }
            | Effect::Restart { .. }
            | Effect::AddFinalizer
            | Effect::RemoveFinalizer
            | Effect::TakeNodeLease(_)
            | Effect::ReleaseNodeLease { .. }
            | Effect::TaintNode { .. }
            | Effect::DeleteNode { .. }
            | Effect::RestoreNode { .. }
            | Effect::UntaintNode { .. }
            | Effect::ClearTrigger { .. }
            | Effect::AskOwner(_)
            | Effect::DeleteMachine(_) => false,
        },
    }
}
