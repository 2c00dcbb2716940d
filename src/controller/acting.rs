//! Carries out the one act of a decision and notes what came of it.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{PersistentVolume, Pod};
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::json;

use super::api_call::{ShellError, within};
use super::bmc_conversation::Conversation;
use super::caches;
use super::context::Context;
use super::host::ResolvedHost;
use super::look;
use super::memory::Memory;
use crate::api::guarded::Guarded;
use crate::api::views::{Machine, Node};
use crate::api::{PowerCycleRemediation, keys};
use crate::core::decision::{Act, Effect, Observation};
use crate::core::facts::{Facts, Obstacle, Seen};
use crate::core::identity::SystemUuid;
use crate::core::journal::Verb;
use crate::core::observed::{Answer, CleanupRead, IntentKey, ReportRead, Sent, WriteFailure};
use crate::core::phase::Reason;
use crate::fencing::{cleanup, node_deletion, taint};

/// One remediation in one reconciliation.
pub(crate) struct Acting<'a> {
    pub(crate) context: &'a Context,
    pub(crate) remediation: &'a PowerCycleRemediation,
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

    async fn observe(&self, observation: Observation, memory: &mut Memory) -> Result<(), ShellError> {
        match observation {
            Observation::Power => self.read_power(memory).await,
            Observation::Look => {
                let (look, metadata) = look::look(self.context, self.remediation, &self.node_name()).await?;
                memory.observed.note_report(ReportRead {
                    began: look.began,
                    report: look.report.clone(),
                });
                memory.node_metadata = metadata;
                memory.look = Some(look);
                Ok(())
            }
            Observation::Report => {
                let heartbeat = match &self.facts.world.node {
                    Seen::Present(node) => node.heartbeat,
                    Seen::Absent | Seen::Unreadable(_) => None,
                };
                let read = look::report(self.context, &self.node_name(), heartbeat).await?;
                memory.observed.note_report(read);
                Ok(())
            }
            Observation::Cleanup => {
                let read = self.read_cleanup().await?;
                memory.observed.note_cleanup(read);
                Ok(())
            }
        }
    }

    /// The Node of the journal, else of the Machine.
    fn node_name(&self) -> String {
        let journalled = self
            .remediation
            .status
            .as_ref()
            .and_then(|status| status.journal.subject.as_ref());
        match (journalled, &self.facts.world.machine) {
            (Some(subject), _) => subject.node.clone(),
            (None, Seen::Present(machine)) => machine.node_name.clone().unwrap_or_default(),
            (None, Seen::Absent | Seen::Unreadable(_)) => String::new(),
        }
    }

    async fn read_power(&self, memory: &mut Memory) -> Result<(), ShellError> {
        if memory.conversation.is_none() {
            match self.open_conversation().await? {
                Ok(conversation) => memory.conversation = Some(conversation),
                Err(obstacle) => {
                    memory
                        .observed
                        .note_read_failure(self.context.clock.now(), obstacle);
                    return Ok(());
                }
            }
        }
        let Some(conversation) = &mut memory.conversation else {
            return Ok(());
        };
        match conversation.read(self.context).await {
            Ok(read) => memory.observed.note_read(read),
            Err(obstacle) => {
                memory
                    .observed
                    .note_read_failure(self.context.clock.now(), obstacle);
                // The next read begins with the Secret, which may have been corrected by then.
                if let Some(conversation) = memory.conversation.take() {
                    conversation.close().await;
                }
            }
        }
        Ok(())
    }

    async fn open_conversation(&self) -> Result<Result<Conversation, Obstacle>, ShellError> {
        let host = match self.host {
            Ok(host) => host,
            Err(obstacle) => return Ok(Err(obstacle.clone())),
        };
        let namespace = self.remediation.namespace().unwrap_or_default();
        Conversation::open(self.context, &namespace, host, self.expected_uuid(host)).await
    }

    fn expected_uuid(&self, host: &ResolvedHost) -> Option<SystemUuid> {
        let of_node = match &self.facts.world.node {
            Seen::Present(node) => node
                .system_uuid
                .as_deref()
                .and_then(|uuid| SystemUuid::parse(uuid).ok()),
            Seen::Absent | Seen::Unreadable(_) => None,
        };
        of_node.or_else(|| host.host.stated_uuid.clone())
    }

    async fn read_cleanup(&self) -> Result<CleanupRead, ShellError> {
        let began = self.context.clock.now();
        let node = self.node_name();
        let client = &self.context.client;
        let pods = Api::<Pod>::all(client.clone());
        let on_node = ListParams::default().fields(&format!("spec.nodeName={node}"));
        let attachments = Api::<VolumeAttachment>::all(client.clone());
        let all = ListParams::default();
        let (pods, attachments) = tokio::join!(
            within("listing the Node's pods", pods.list(&on_node)),
            within("listing the VolumeAttachments", attachments.list(&all)),
        );
        let (pods, attachments) = (pods?.items, attachments?.items);
        let mut remaining = cleanup::pods_left(&pods);
        let staying = cleanup::claims_that_stay(&pods);
        for attachment in cleanup::of_node(&attachments, &node) {
            let stays = match cleanup::volume_of(attachment) {
                Some(volume) if !staying.is_empty() => {
                    let claim = self.claim_of(volume).await?;
                    claim.is_some_and(|claim| staying.contains(&claim))
                }
                Some(_) | None => false,
            };
            if !stays {
                remaining.push(format!("VolumeAttachment {}", attachment.name_any()));
            }
        }
        Ok(CleanupRead { began, remaining })
    }

    async fn claim_of(&self, volume: &str) -> Result<Option<String>, ShellError> {
        let volumes = Api::<PersistentVolume>::all(self.context.client.clone());
        let volume = within("reading a PersistentVolume", volumes.get_opt(volume)).await?;
        Ok(volume.and_then(|volume| cleanup::claim_of(&volume)))
    }

    async fn perform(&self, effect: &Effect, memory: &mut Memory) -> Result<(), ShellError> {
        match effect {
            Effect::PowerOff { not_after } => {
                self.send(Verb::PowerOff, *not_after, memory).await;
                Ok(())
            }
            Effect::PowerOn { not_after } => {
                self.send(Verb::PowerOn, *not_after, memory).await;
                Ok(())
            }
            Effect::AddFinalizer
            | Effect::RemoveFinalizer
            | Effect::TaintNode { .. }
            | Effect::DeleteNode { .. }
            | Effect::RestoreNode { .. }
            | Effect::UntaintNode { .. }
            | Effect::ClearTrigger { .. } => {
                let written = self.write(effect, memory).await;
                self.note_write(written, memory)
            }
        }
    }

    /// Sends a power command once, unless its time has passed.
    async fn send(&self, verb: Verb, not_after: Timestamp, memory: &mut Memory) {
        let Some(journal) = self.remediation.status.as_ref().map(|status| &status.journal) else {
            return;
        };
        let Some(intent) = journal.intent.as_ref().filter(|intent| intent.verb == verb) else {
            return;
        };
        let key = IntentKey {
            verb,
            attempt: journal.attempt,
            sends: intent.sends,
        };
        if self.context.clock.now() >= not_after {
            return;
        }
        let answer = match &mut memory.conversation {
            Some(conversation) => Some(conversation.command(self.context, verb).await),
            None => self.send_in_new_conversation(verb, not_after, memory).await,
        };
        let Some(answer) = answer else { return };
        let at = self.context.clock.now();
        tracing::info!(remediation = %self.remediation.name_any(), ?verb, ?answer, "power command");
        memory.observed.sent = Some(Sent {
            intent: key,
            at,
            answer,
        });
    }

    /// Sends a command in a conversation that has to be begun first. A power-off is not sent: what
    /// the new conversation reads may be another host, so it is judged before anything else.
    async fn send_in_new_conversation(
        &self,
        verb: Verb,
        not_after: Timestamp,
        memory: &mut Memory,
    ) -> Option<Answer> {
        if let Err(error) = self.read_power(memory).await {
            let obstacle = Obstacle::new(Reason::BmcUnreachable, error.to_string());
            return Some(Answer::NotSent(obstacle));
        }
        match (&mut memory.conversation, verb) {
            (Some(_), Verb::PowerOff) => None,
            (Some(conversation), Verb::PowerOn) if self.context.clock.now() < not_after => {
                Some(conversation.command(self.context, verb).await)
            }
            (Some(_) | None, _) => {
                let failure = memory.observed.read_failure.as_ref();
                let failure = failure.map(|failure| failure.obstacle.clone());
                let late = || Obstacle::new(Reason::BmcUnreachable, "the BMC answered too late");
                Some(Answer::NotSent(failure.unwrap_or_else(late)))
            }
        }
    }

    async fn write(&self, effect: &Effect, memory: &mut Memory) -> Result<(), ShellError> {
        let client = &self.context.client;
        match effect {
            Effect::AddFinalizer => self.set_finalizer(true, memory).await,
            Effect::RemoveFinalizer => self.set_finalizer(false, memory).await,
            Effect::TaintNode {
                resource_version,
                not_after,
                ..
            } => {
                let (uid, node) = (self.remediation.uid().unwrap_or_default(), self.node(memory)?);
                let call = taint::add(client, &node, resource_version, &uid);
                remember_node(self.before(*not_after, "tainting the Node", call).await?, memory)
            }
            Effect::UntaintNode { resource_version, .. } => {
                let node = self.node(memory)?;
                let call = taint::remove(client, &node, resource_version);
                remember_node(Some(within("untainting the Node", call).await?), memory)
            }
            Effect::DeleteNode {
                node,
                uid,
                resource_version,
                not_after,
            } => {
                let call = node_deletion::delete(client, node, uid, resource_version);
                self.before(*not_after, "deleting the Node", call)
                    .await
                    .map(|_| ())
            }
            Effect::RestoreNode {
                resource_version,
                saved,
                ..
            } => {
                let node = self.node(memory)?;
                let call = node_deletion::restore(client, &node, resource_version, saved);
                remember_node(Some(within("restoring the Node", call).await?), memory)?;
                memory.observed.node_restored = true;
                Ok(())
            }
            Effect::ClearTrigger { machine, uid } => self.clear_trigger(machine, uid, memory).await,
            Effect::PowerOff { .. } | Effect::PowerOn { .. } => Ok(()),
        }
    }

    /// Makes a call only while its time has not passed; it is dropped when it does not end in time.
    async fn before<T>(
        &self,
        not_after: Timestamp,
        call: &'static str,
        future: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<Option<T>, ShellError> {
        let left = not_after.duration_since(self.context.clock.now());
        let Ok(left) = std::time::Duration::try_from(left) else {
            return Ok(None);
        };
        match tokio::time::timeout(left, within(call, future)).await {
            Ok(answer) => answer.map(Some),
            Err(_) => Err(ShellError::Timeout { call }),
        }
    }

    /// The Node that the decision was taken on.
    fn node(&self, memory: &Memory) -> Result<Node, ShellError> {
        let cached = caches::find(&self.context.caches.nodes, None, &self.node_name());
        let cached = cached.and_then(|guarded| guarded.0.clone().ok());
        let newer = memory.written_node.clone().filter(|written| {
            cached
                .as_ref()
                .is_none_or(|cached| super::gather::is_newer(written, cached))
        });
        newer.or(cached).ok_or(ShellError::Conflict { object: "Node" })
    }

    async fn set_finalizer(&self, wanted: bool, memory: &mut Memory) -> Result<(), ShellError> {
        let namespace = self.remediation.namespace().unwrap_or_default();
        let mut finalizers = self.remediation.finalizers().to_vec();
        finalizers.retain(|finalizer| finalizer != keys::FINALIZER);
        if wanted {
            finalizers.push(keys::FINALIZER.to_owned());
        }
        let change = json!({ "metadata": {
            "resourceVersion": self.remediation.metadata.resource_version, "finalizers": finalizers,
        }});
        let api = Api::<PowerCycleRemediation>::namespaced(self.context.client.clone(), &namespace);
        let (name, parameters, patch) = (
            self.remediation.name_any(),
            PatchParams::default(),
            Patch::Merge(&change),
        );
        match within("writing our finalizer", api.patch(&name, &parameters, &patch)).await {
            Ok(written) => memory.written = Some(written),
            Err(error) if error.is_not_found() && !wanted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Removes the trigger if it is still there, on the Machine it was accepted from.
    async fn clear_trigger(&self, machine: &str, uid: &str, memory: &mut Memory) -> Result<(), ShellError> {
        let namespace = self.remediation.namespace().unwrap_or_default();
        let change = json!({ "metadata": { "uid": uid, "annotations": { keys::TRIGGER_ANNOTATION: null } } });
        let machines = Api::<Guarded<Machine>>::namespaced(self.context.client.clone(), &namespace);
        let (parameters, patch) = (PatchParams::default(), Patch::Merge(&change));
        let written = match within(
            "removing the trigger",
            machines.patch(machine, &parameters, &patch),
        )
        .await
        {
            Ok(written) => written,
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) => return Err(error),
        };
        memory.observed.trigger_cleared = written.resource_version();
        Ok(())
    }

    /// A write that failed is not an error of the reconciliation: the next step decides on it.
    fn note_write(&self, written: Result<(), ShellError>, memory: &mut Memory) -> Result<(), ShellError> {
        match written {
            Ok(()) => {
                memory.observed.write_failure = None;
                Ok(())
            }
            Err(error) if error.is_conflict() => {
                tracing::info!(remediation = %self.remediation.name_any(), %error, "decided on a stale view");
                memory.observed.write_failure = Some(WriteFailure {
                    at: self.context.clock.now(),
                    detail: error.to_string(),
                });
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

fn remember_node(written: Option<Guarded<Node>>, memory: &mut Memory) -> Result<(), ShellError> {
    if let Some(Ok(mut node)) = written.map(|guarded| guarded.0) {
        node.narrow();
        memory.written_node = Some(node);
    }
    Ok(())
}
