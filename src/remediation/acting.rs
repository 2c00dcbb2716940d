//! Carries out the one act of a decision and notes what came of it.

use remediator_api::PowerCycleRemediation;
use remediator_core::decision::{Act, Effect};
use remediator_core::facts::{Facts, Lookup, Obstacle, Origin};
use remediator_core::journal::Verb;

use crate::api_call::ShellError;
use crate::bmc_access::host::ResolvedHost;
use crate::clusters::node_cluster::NodeCluster;
use crate::remediation::Remediator;
use crate::remediation::memory::Memory;

pub(crate) struct Acting<'a> {
    pub(crate) context: &'a Remediator,
    pub(crate) remediation: &'a PowerCycleRemediation,
    /// The cluster of its Node.
    pub(crate) nodes: Result<NodeCluster, Obstacle>,
    pub(crate) facts: &'a Facts,
    pub(crate) host: Result<&'a ResolvedHost, &'a Obstacle>,
}

impl Acting<'_> {
    /// Carries out one act. The world is read again before the next one is decided.
    pub(crate) async fn act(&self, act: &Act, memory: &mut Memory) -> Result<(), ShellError> {
        match act {
            Act::Observe(observation) => self.observe(*observation, memory).await,
            Act::Effect(effect) => self.perform(effect, memory).await,
        }
    }

    async fn perform(&self, effect: &Effect, memory: &mut Memory) -> Result<(), ShellError> {
        match effect {
            Effect::PowerOff { not_after } => self.send(Verb::PowerOff, *not_after, memory).await,
            Effect::PowerOn { not_after } => self.send(Verb::PowerOn, *not_after, memory).await,
            Effect::TakeNodeLease(claim) => self.take_node_lease(claim, memory).await,
            Effect::ReleaseNodeLease {
                node,
                uid,
                resource_version,
            } => {
                let exactly = (node.as_str(), uid.as_str(), resource_version.as_str());
                self.release_node_lease(exactly, memory).await;
            }
            Effect::AddFinalizer
            | Effect::RemoveFinalizer
            | Effect::TaintNode { .. }
            | Effect::DeleteNode { .. }
            | Effect::RestoreNode { .. }
            | Effect::UntaintNode { .. }
            | Effect::ClearTrigger { .. }
            | Effect::AskOwner(_)
            | Effect::DeleteMachine(_) => {
                let written = self.write(effect, memory).await;
                // A request is done without its signal being removed, whatever keeps that from being written.
                let is_courtesy =
                    matches!(effect, Effect::ClearTrigger { .. }) && self.facts.origin == Origin::Request;
                return self.note_write(written, is_courtesy, memory);
            }
        }
        Ok(())
    }

    /// The cluster of the Node, to read or write there.
    pub(crate) fn nodes(&self) -> Result<&NodeCluster, ShellError> {
        self.nodes.as_ref().map_err(|obstacle| obstacle.clone().into())
    }

    /// The Node of the journal, else of the Machine, else the one that the request names.
    pub(crate) fn node_name(&self) -> String {
        let journal = self.remediation.journal();
        let journalled = journal.and_then(|journal| journal.subject.as_ref()?.there());
        match (journalled, &self.facts.world.machine) {
            (Some(node), _) => node.name.clone(),
            (None, Lookup::Present(machine)) => machine.node_name.clone().unwrap_or_default(),
            (None, Lookup::Absent) => self.facts.named_node.clone().unwrap_or_default(),
            (None, Lookup::Unreadable(_)) => String::new(),
        }
    }
}
