//! Has a Machine replaced: deletes it, or asks its owner. Each write only to the very Machine that was looked at.

use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions};
use remediator_api::guarded::Guarded;
use remediator_api::views::Machine;
use remediator_api::views::cluster_api;
use remediator_core::decision::OfMachine;
use remediator_core::machine_api::MachineApi;
use serde_json::{Value, json};

use crate::api_call::{ShellError, within};
use crate::remediation::acting::Acting;
use crate::remediation::memory::Memory;

impl Acting<'_> {
    /// Deletes the Machine, unless it is another one or changed since.
    pub(crate) async fn delete_machine(
        &self,
        machine: &OfMachine,
        memory: &mut Memory,
    ) -> Result<(), ShellError> {
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
    pub(crate) async fn ask_owner(&self, machine: &OfMachine, memory: &mut Memory) -> Result<(), ShellError> {
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
}
