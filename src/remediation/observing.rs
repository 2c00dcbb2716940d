//! Looks at the world for a decision and remembers what was seen.

use k8s_openapi::api::core::v1::{PersistentVolume, Pod};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams};
use remediator_api::PowerCycleRemediation;
use remediator_api::target_ref::begun;
use remediator_core::decision::Observation;
use remediator_core::facts::{Facts, Obstacle};
use remediator_core::identity::SystemUuid;
use remediator_core::journal::Subject;
use remediator_core::observed::Reading;

use crate::api_call::{ShellError, within};
use crate::bmc_access::conversation::{Asker, Conversation};
use crate::bmc_access::host::ResolvedHost;
use crate::clusters::{attachments, node_of_host};
use crate::fencing::cleanup;
use crate::remediation::acting::Acting;
use crate::remediation::memory::Memory;
use crate::snapshot::live;

impl Acting<'_> {
    /// Looks at the world. A look that failed is noted, and the next step decides on it: it must not
    /// keep a released host from being watched.
    pub(crate) async fn observe(
        &self,
        observation: Observation,
        memory: &mut Memory,
    ) -> Result<(), ShellError> {
        let Err(error) = self.look_at(observation, memory).await else {
            return Ok(());
        };
        let detail = crate::report::chain(&error);
        let noted = memory.observed.write_failure.as_ref();
        if noted.is_none_or(|noted| noted.detail != detail) {
            tracing::warn!(remediation = %self.remediation.name_any(), error = %detail, "a look failed; it is tried again");
        }
        let decided_on = self.facts.objects.versions();
        memory
            .observed
            .note_write_failure(self.context.sources.clock.now(), detail, decided_on);
        Ok(())
    }

    async fn look_at(&self, observation: Observation, memory: &mut Memory) -> Result<(), ShellError> {
        match observation {
            Observation::Power => self.read_power(memory).await,
            Observation::LiveCheck => {
                let subject = begun(self.remediation);
                if subject.is_some_and(Subject::had_no_node) {
                    let host = self
                        .host
                        .map(|resolved| resolved.host.clone())
                        .map_err(Clone::clone);
                    let look =
                        live::without_node(&self.context.sources, self.remediation, &self.nodes, &host);
                    memory.live_check = Some(Box::pin(look).await?);
                    return Ok(());
                }
                let node = self.node_name();
                let look = live::look(&self.context.sources, self.remediation, &self.nodes, &node);
                let (look, metadata) = Box::pin(look).await?;
                memory
                    .observed
                    .note_live_check(&look, self.context.sources.clock.now());
                memory.node_metadata = metadata;
                memory.live_check = Some(look);
                Ok(())
            }
            Observation::Admission => {
                if let Ok(host) = self.host {
                    self.context.admitted.ask(self.context, self.remediation, host);
                }
                Ok(())
            }
            Observation::NodeLease => {
                self.read_node_lease(memory).await;
                Ok(())
            }
            Observation::Report => {
                let subject = begun(self.remediation);
                let reporting = subject.and_then(|subject| self.facts.objects.may_report(subject));
                let (name, heartbeat) = match reporting {
                    Some(node) => (node.name.clone(), node.heartbeat),
                    None => (self.node_name(), None),
                };
                let nodes = match reporting {
                    // It may have joined another cluster than its Machine is of.
                    Some(node) if subject.is_some_and(Subject::had_no_node) => {
                        node_of_host::cluster_of(&self.context.sources.clusters, self.nodes()?, node)?
                    }
                    Some(_) | None => self.nodes()?.clone(),
                };
                let read = live::report(&self.context.sources, &nodes, &name, heartbeat).await?;
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

    pub(crate) async fn read_power(&self, memory: &mut Memory) -> Result<(), ShellError> {
        if memory.conversation.is_none() {
            match self.open_conversation().await? {
                Ok(conversation) => memory.conversation = Some(conversation),
                Err(obstacle) => {
                    memory
                        .observed
                        .note_own_failure(self.context.sources.clock.now(), obstacle);
                    return Ok(());
                }
            }
        }
        let Some(conversation) = &mut memory.conversation else {
            return Ok(());
        };
        match conversation.read(&self.context.bmc).await {
            Ok(read) => memory.observed.note_read(read),
            Err(obstacle) => {
                memory
                    .observed
                    .note_read_failure(self.context.sources.clock.now(), obstacle);
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
        let expected = expected_uuid(self.remediation, self.facts, host);
        let asker = Asker::Remediation(self.remediation);
        Conversation::open(&self.context.bmc, asker, host, expected).await
    }

    async fn read_cleanup(&self) -> Result<Reading<Vec<String>>, ShellError> {
        let began = self.context.sources.clock.now();
        let node = self.node_name();
        let nodes = self.nodes()?;
        let on_node = ListParams::default().fields(&format!("spec.nodeName={node}"));
        let api = Api::<Pod>::all(nodes.client.clone());
        // In one page: with a limit some API servers go through every pod of the cluster for each look.
        let pods = within("listing the Node's pods", api.list(&on_node)).await?.items;
        let mut found = cleanup::pods_left(&pods);
        if !found.is_empty() {
            // Volumes are detached after their pods are gone, so there is no need to look yet.
            return Ok(Reading { began, found });
        }
        let attached = attachments::of_node(&nodes.attachments, &nodes.client, &node).await?;
        let staying = cleanup::claims_that_stay(&pods);
        for attachment in attached {
            let stays = match attachment.volume.as_deref() {
                Some(volume) if !staying.is_empty() => {
                    let claim = self.claim_of(volume).await?;
                    claim.is_some_and(|claim| staying.contains(&claim))
                }
                Some(_) | None => false,
            };
            if !stays {
                found.push(format!("VolumeAttachment {}", attachment.name));
            }
        }
        Ok(Reading { began, found })
    }

    async fn claim_of(&self, volume: &str) -> Result<Option<String>, ShellError> {
        let volumes = Api::<PersistentVolume>::all(self.nodes()?.client.clone());
        let volume = within("reading a PersistentVolume", volumes.get_opt(volume)).await?;
        Ok(volume.and_then(|volume| cleanup::claim_of(&volume)))
    }
}

/// The UUID that the system behind the BMC has to have.
pub(crate) fn expected_uuid(
    remediation: &PowerCycleRemediation,
    facts: &Facts,
    host: &ResolvedHost,
) -> Option<SystemUuid> {
    // Once something was begun, the host is the journalled one.
    let journalled = begun(remediation).and_then(Subject::uuid);
    if journalled.is_some() {
        return journalled;
    }
    let node = facts.objects.node.present();
    let of_node = node.and_then(|node| SystemUuid::parse(node.system_uuid.as_deref()?).ok());
    of_node.or_else(|| host.host.stated_uuid.clone())
}
