//! Writes to Kubernetes objects: each with a precondition, none after its time.

use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions};
use remediator_api::guarded::Guarded;
use remediator_api::views::cluster_api;
use remediator_api::views::{Machine, Node};
use remediator_api::{PowerCycleRemediation, keys};
use remediator_core::decision::{Effect, OfMachine};
use remediator_core::facts::{Lookup, Origin};
use remediator_core::machine_api::MachineApi;
use serde_json::{Value, json};

use crate::api_call::{ShellError, within};
use crate::fencing::{node_deletion, taint};
use crate::remediation::acting::Acting;
use crate::remediation::memory::Memory;
use crate::snapshot::machines;
use crate::watch::lookup;

impl Acting<'_> {
    pub(crate) async fn write(&self, effect: &Effect, memory: &mut Memory) -> Result<(), ShellError> {
        match effect {
            Effect::AddFinalizer => self.set_finalizer(true, memory).await,
            Effect::RemoveFinalizer => self.set_finalizer(false, memory).await,
            Effect::TaintNode {
                resource_version,
                not_after,
                ..
            } => {
                let (uid, node) = (self.remediation.uid().unwrap_or_default(), self.node(memory)?);
                let call = taint::add(&self.nodes()?.client, &node, resource_version, &uid);
                remember_node(self.before(*not_after, "tainting the Node", call).await?, memory);
                Ok(())
            }
            Effect::UntaintNode { resource_version, .. } => {
                let node = self.node(memory)?;
                let call = taint::remove(&self.nodes()?.client, &node, resource_version);
                remember_node(Some(within("untainting the Node", call).await?), memory);
                Ok(())
            }
            Effect::DeleteNode {
                node,
                uid,
                resource_version,
                not_after,
            } => {
                let call = node_deletion::delete(&self.nodes()?.client, node, uid, resource_version);
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
                let call = node_deletion::restore(&self.nodes()?.client, &node, resource_version, saved);
                remember_node(Some(within("restoring the Node", call).await?), memory);
                memory.observed.node_restored = node.metadata.uid.clone();
                Ok(())
            }
            Effect::ClearTrigger { machine, uid } => self.clear_trigger(machine, uid, memory).await,
            Effect::AskOwner(machine) => self.ask_owner(machine, memory).await,
            Effect::DeleteMachine(machine) => self.delete_machine(machine, memory).await,
            Effect::ReleaseHost(host) => self.release_host(host, memory).await,
            // Those have places of their own.
            Effect::WriteHold(_)
            | Effect::PowerOff { .. }
            | Effect::PowerOn { .. }
            | Effect::Restart { .. }
            | Effect::TakeNodeLease(_)
            | Effect::ReleaseNodeLease { .. } => Ok(()),
        }
    }

    /// Makes a call only while its time has not passed; it is dropped when it does not end in time.
    pub(crate) async fn before<T>(
        &self,
        not_after: Timestamp,
        call: &'static str,
        future: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<Option<T>, ShellError> {
        let Some(in_time) = self.context.sources.clock.deadline(not_after, self.jumps) else {
            return Ok(None);
        };
        match tokio::time::timeout_at(in_time, within(call, future)).await {
            Ok(answer) => answer.map(Some),
            Err(_) => Err(ShellError::Timeout { call }),
        }
    }

    /// The Node that the decision was taken on.
    fn node(&self, memory: &Memory) -> Result<Node, ShellError> {
        let cached = self.nodes()?.find(&self.node_name());
        let cached = cached.and_then(|guarded| guarded.0.clone().ok());
        let newer = memory.written_node.clone().filter(|written| {
            cached
                .as_ref()
                .is_none_or(|cached| lookup::is_newer_of_same(written, cached))
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
        let api = Api::<PowerCycleRemediation>::namespaced(self.context.sources.client.clone(), &namespace);
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

    /// Removes the trigger from the Machine it was seen on, unless the Machine changed since: others
    /// write whole Machines, and what they wrote has to be looked at first. A person's demand to remediate a
    /// Machine of Cluster API goes with it: it asks for one remediation, and stays unhealthy while it stands.
    async fn clear_trigger(&self, machine: &str, uid: &str, memory: &mut Memory) -> Result<(), ShellError> {
        let namespace = self.remediation.namespace().unwrap_or_default();
        let (api, seen) = match &self.facts.objects.machine {
            Lookup::Present(seen) if seen.uid == uid => (seen.api, seen.resource_version.clone()),
            Lookup::Present(_) | Lookup::Absent | Lookup::Unreadable(_) => {
                return Err(ShellError::Conflict { object: "Machine" });
            }
        };
        let annotations = match (api, self.facts.origin) {
            (MachineApi::OpenShift, Origin::Annotation | Origin::Request) => {
                json!({ keys::TRIGGER_ANNOTATION: null })
            }
            (MachineApi::ClusterApi, Origin::Annotation) => json!({
                keys::TRIGGER_ANNOTATION: null, keys::REMEDIATE_MACHINE_ANNOTATION: null,
            }),
            (MachineApi::ClusterApi, Origin::Request) => json!({ keys::REMEDIATE_MACHINE_ANNOTATION: null }),
        };
        let change =
            json!({ "metadata": { "uid": uid, "resourceVersion": seen, "annotations": annotations }});
        let written = machines::patch(&self.context.sources, (api, &namespace, machine), &change);
        memory.observed.trigger_cleared = within("removing the trigger", written).await?;
        Ok(())
    }

    /// Deletes the Machine, unless it is another one or changed since.
    async fn delete_machine(&self, machine: &OfMachine, memory: &mut Memory) -> Result<(), ShellError> {
        // Machines of Cluster API are handed to their owners; there is no right to delete them.
        if machine.api != MachineApi::OpenShift {
            return Err(ShellError::Conflict { object: "Machine" });
        }
        let exactly = DeleteParams {
            preconditions: Some(Preconditions {
                uid: Some(machine.uid.clone()),
                resource_version: Some(machine.resource_version.clone()),
            }),
            ..DeleteParams::default()
        };
        let namespace = self.remediation.namespace().unwrap_or_default();
        let machines = Api::<Guarded<Machine>>::namespaced(self.context.sources.client.clone(), &namespace);
        let call = machines.delete(&machine.machine, &exactly);
        let deleted = self.before(machine.not_after, "deleting the Machine", call).await;
        self.note_escalated(deleted, memory)
    }

    /// Says on the Machine, in both forms of conditions, that its owner has to replace it.
    async fn ask_owner(&self, machine: &OfMachine, memory: &mut Memory) -> Result<(), ShellError> {
        let namespace = self.remediation.namespace().unwrap_or_default();
        let served = &self.context.sources.cluster_api;
        let machines = served.api::<Machine>(&self.context.sources.client, Some(&namespace));
        let machines = machines.ok_or(ShellError::Conflict { object: "Machine" })?;
        let live = within("reading the Machine", machines.api.get(&machine.machine)).await?;
        // Whole lists are written, so they have to be those of the version that is written to.
        if live.resource_version().as_ref() != Some(&machine.resource_version) {
            return Err(ShellError::Conflict { object: "Machine" });
        }
        let message = format!(
            "the power cycles of PowerCycleRemediation {} did not bring the host back",
            self.remediation.name_any()
        );
        let status = live.data.get("status").unwrap_or(&Value::Null);
        let now = self.context.sources.clock.now();
        let status = cluster_api::owner_asked(machines.version, status, &message, now).map_err(|error| {
            tracing::warn!(machine = %machine.machine, %error, "the conditions of a Machine cannot be read");
            ShellError::Conflict { object: "Machine" }
        })?;
        let change = Patch::Merge(json!({
            "metadata": {"uid": machine.uid, "resourceVersion": machine.resource_version}, "status": status,
        }));
        let parameters = PatchParams::default();
        let call = machines.api.patch_status(&machine.machine, &parameters, &change);
        let asked = self
            .before(machine.not_after, "asking the owner of the Machine", call)
            .await;
        self.note_escalated(asked, memory)
    }

    /// Whatever became of the Machine is looked at after this.
    fn note_escalated<T>(
        &self,
        written: Result<Option<T>, ShellError>,
        memory: &mut Memory,
    ) -> Result<(), ShellError> {
        match written {
            Ok(_) => {}
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
        memory.observed.escalated = Some(self.context.sources.clock.now());
        Ok(())
    }

    /// A write that failed is not an error of the reconciliation: the next step decides on it.
    pub(crate) fn note_write(
        &self,
        written: Result<(), ShellError>,
        is_courtesy: bool,
        memory: &mut Memory,
    ) -> Result<(), ShellError> {
        match written {
            Ok(()) => {
                memory.observed.write_failure = None;
                Ok(())
            }
            Err(error) if error.is_refusal() || is_courtesy => {
                let error = crate::report::chain(&error);
                // It is tried once a second. The same refusal in a row is told once.
                let before = memory.observed.write_failure.as_ref();
                if before.is_none_or(|before| before.detail != error) {
                    tracing::info!(remediation = %self.remediation.name_any(), error, "the API server refused a write; it is decided anew");
                }
                memory.observed.note_write_failure(
                    self.context.sources.clock.now(),
                    error,
                    self.facts.objects.versions(),
                );
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// What we wrote is believed until the cache has caught up.
fn remember_node(written: Option<Guarded<Node>>, memory: &mut Memory) {
    if let Some(Guarded(Ok(mut node))) = written {
        // Nobody asks this one for its failure domain.
        node.narrow("");
        memory.written_node = Some(node);
    }
}
