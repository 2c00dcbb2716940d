//! Carries out the one act of a decision and notes what came of it.

use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_api::PowerCycleRemediation;
use remediator_bmc::Until;
use remediator_core::decision::{Act, Effect};
use remediator_core::facts::{Facts, Lookup, Obstacle, Origin};
use remediator_core::journal::Verb;
use remediator_core::observed::Sent;
use remediator_core::phase::Reason;
use remediator_core::power_command::{CommandAnswer, CommandCame, CommandError};

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
    /// How often the clock had jumped when the act was decided on.
    pub(crate) jumps: u64,
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
            Effect::Restart { not_after } => self.send(Verb::Restart, *not_after, memory).await,
            Effect::TakeNodeLease(claim) => self.take_node_lease(claim, memory).await,
            Effect::ReleaseNodeLease {
                node,
                uid,
                resource_version,
            } => {
                let exactly = (node.as_str(), uid.as_str(), resource_version.as_str());
                self.release_node_lease(exactly, memory).await;
            }
            Effect::WriteHold(hold) => {
                let written = self.write_hold(hold, memory).await;
                return self.note_write(written, false, memory);
            }
            Effect::AddFinalizer
            | Effect::RemoveFinalizer
            | Effect::ReleaseHost(_)
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
        match (journalled, &self.facts.objects.machine) {
            (Some(node), _) => node.name.clone(),
            (None, Lookup::Present(machine)) => machine.node_name.clone().unwrap_or_default(),
            (None, Lookup::Absent) => self.facts.named_node.clone().unwrap_or_default(),
            (None, Lookup::Unreadable(_)) => String::new(),
        }
    }

    /// Sends a power command once, unless its time has passed.
    async fn send(&self, verb: Verb, not_after: Timestamp, memory: &mut Memory) {
        let Some(journal) = self.remediation.journal() else {
            return;
        };
        let Some(key) = journal.intent_key().filter(|key| key.verb == verb) else {
            return;
        };
        let Some(in_time) = self.until(not_after) else {
            return;
        };
        // What is found of an earlier write must not make this one unsent.
        memory.unanswered = None;
        let answer = match memory.trusted_conversation() {
            Some(conversation) => {
                self.take_host();
                conversation.command(&self.context.bmc, verb, in_time).await
            }
            None => self.send_in_new_conversation(verb, not_after, memory).await,
        };
        let Some(answer) = answer else { return };
        let at = self.context.sources.clock.now();
        let is_sent = answer
            .as_ref()
            .err()
            .is_none_or(|error| error.came != CommandCame::NotSent);
        if verb.takes_down() && key.sends == 1 && is_sent {
            self.context.admitted.note_power_off(self.remediation, at);
        }
        tracing::info!(remediation = %self.remediation.name_any(), ?verb, ?answer, "power command");
        memory.observed.note_sent(Sent {
            intent: key,
            at,
            answer,
        });
    }

    /// Until when a command may be sent; none if that is over. What is sent later is asked for once more by then: the
    /// machine may be frozen in between.
    fn until(&self, not_after: Timestamp) -> Option<Until> {
        let sources = Arc::clone(&self.context.sources);
        let jumps = self.jumps;
        let in_time = sources.clock.deadline(not_after, jumps)?;
        let is_over = move || sources.clock.deadline(not_after, jumps).is_none() || !sources.lead.holds();
        Some(Until::unless(in_time, is_over))
    }

    /// Whoever brings the host back from memory has no say any more. Not before: what is journalled may be taken back
    /// unsent, and then nobody else owes the host anything.
    fn take_host(&self) {
        if let Some(subject) = self
            .remediation
            .journal()
            .and_then(|journal| journal.subject.as_ref())
        {
            let uid = self.remediation.uid().unwrap_or_default();
            self.context.admitted.note_command(subject, &uid);
        }
    }

    /// Sends a command in a conversation that has to be begun first. A power-off or reset is not sent: what
    /// the new conversation reads may be another host, so it is judged before anything else.
    async fn send_in_new_conversation(
        &self,
        verb: Verb,
        not_after: Timestamp,
        memory: &mut Memory,
    ) -> Option<Result<CommandAnswer, CommandError>> {
        if let Err(error) = self.read_power(memory).await {
            let obstacle = Obstacle::new(Reason::BmcUnreachable, error.to_string());
            return Some(Err(not_sent(obstacle)));
        }
        let in_time = self.until(not_after);
        match (memory.trusted_conversation(), verb, in_time) {
            (Some(_), Verb::PowerOff | Verb::Restart, _) => None,
            (Some(conversation), Verb::PowerOn, Some(in_time)) => {
                self.take_host();
                conversation.command(&self.context.bmc, verb, in_time).await
            }
            (Some(_) | None, _, _) => {
                let failure = memory.observed.read_failure.as_ref();
                let failure = failure.map(|failure| failure.obstacle.clone());
                let late = || Obstacle::new(Reason::BmcUnreachable, "the BMC answered too late");
                Some(Err(not_sent(failure.unwrap_or_else(late))))
            }
        }
    }
}

/// A command for which no conversation came about.
fn not_sent(obstacle: Obstacle) -> CommandError {
    CommandError {
        came: CommandCame::NotSent,
        obstacle,
    }
}
