//! Looks at the world for a decision and remembers what was seen.

use k8s_openapi::api::core::v1::{PersistentVolume, Pod};
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::ResourceExt as _;
use kube::api::{Api, ListParams};

use super::acting::Acting;
use super::api_call::{ShellError, within};
use super::bmc_conversation::Conversation;
use super::host::ResolvedHost;
use super::look;
use super::memory::Memory;
use crate::core::decision::Observation;
use crate::core::facts::{Obstacle, Seen};
use crate::core::identity::SystemUuid;
use crate::core::observed::{CleanupRead, ReportRead};
use crate::fencing::cleanup;

impl Acting<'_> {
    pub(super) async fn observe(
        &self,
        observation: Observation,
        memory: &mut Memory,
    ) -> Result<(), ShellError> {
        match observation {
            Observation::Power => self.read_power(memory).await,
            Observation::Look => {
                let node = self.node_name();
                let look = look::look(self.context, self.remediation, &node);
                let (look, metadata) = Box::pin(look).await?;
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

    pub(super) async fn read_power(&self, memory: &mut Memory) -> Result<(), ShellError> {
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
}
