//! Looks at the world for a decision and remembers what was seen.

use k8s_openapi::api::core::v1::{PersistentVolume, Pod};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams};
use remediator_api::target_ref::begun;
use remediator_core::decision::Observation;
use remediator_core::facts::LiveCheck;
use remediator_core::journal::Subject;
use remediator_core::observed::Reading;
use remediator_core::phase::Phase;

use crate::api_call::{ShellError, within};
use crate::clusters::not_ready::NotReady;
use crate::clusters::{attachments, node_of_host};
use crate::fencing::cleanup;
use crate::remediation::acting::Acting;
use crate::remediation::admission;
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
        let is_report = matches!(observation, Observation::Report);
        let Err(error) = self.look_at(observation, memory).await else {
            return Ok(());
        };
        let detail = crate::report::chain(&error);
        let noted = memory.observed.write_failure.as_ref();
        if noted.is_none_or(|noted| noted.detail != detail) {
            tracing::warn!(remediation = %self.remediation.name_any(), error = %detail, "a look failed; it is tried again");
        }
        let (now, decided_on) = (self.context.sources.clock.now(), self.facts.objects.versions());
        if is_report {
            memory.observed.report_failed = Some(now);
        }
        memory.observed.note_write_failure(now, detail, decided_on);
        Ok(())
    }

    async fn look_at(&self, observation: Observation, memory: &mut Memory) -> Result<(), ShellError> {
        match observation {
            Observation::Power => self.read_power(memory).await,
            Observation::LiveCheck => {
                self.context.bmc.hold_secret(self.remediation);
                self.look_live(memory).await
            }
            Observation::Admission => {
                if let Ok(host) = self.host {
                    let sources = &self.context.sources;
                    self.context.admitted.ask(sources, self.remediation, host);
                }
                Ok(())
            }
            Observation::BareMetalHost => self.read_bare_metal_host(memory).await,
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

    async fn look_live(&self, memory: &mut Memory) -> Result<(), ShellError> {
        let subject = begun(self.remediation);
        if subject.is_some_and(Subject::had_no_node) {
            let host = self
                .host
                .map(|resolved| resolved.host.clone())
                .map_err(Clone::clone);
            let look = live::without_node(&self.context.sources, self.remediation, &self.nodes, &host);
            let (look, not_ready) = tokio::try_join!(Box::pin(look), self.not_ready())?;
            memory.live_check = Some(self.with_fleet(look, &not_ready));
            return Ok(());
        }
        let node = self.node_name();
        let look = live::look(&self.context.sources, self.remediation, &self.nodes, &node);
        let look = Box::pin(async { tokio::try_join!(look, self.not_ready()) });
        let of = self.nodes.as_ref().ok().and_then(|nodes| nodes.of.as_ref());
        let ((look, metadata), not_ready) = self.context.live_checks.take(of, look).await?;
        memory
            .observed
            .note_live_check(&look, self.context.sources.clock.now());
        memory.node_metadata = metadata;
        memory.live_check = Some(self.with_fleet(look, &not_ready));
        Ok(())
    }

    /// The Nodes of the host's cluster that are not Ready. Where that cluster cannot be asked, nothing is known.
    async fn not_ready(&self) -> Result<NotReady, ShellError> {
        match &self.nodes {
            Ok(nodes) => admission::not_ready(&self.context.sources, nodes).await,
            Err(_) => Ok(NotReady::default()),
        }
    }

    /// A look, with what the brakes go by. Where the Node's cluster cannot be asked, nothing is known. A predecessor
    /// elsewhere may have begun with the host of this process: then another one has to take over.
    fn with_fleet(&self, look: LiveCheck, not_ready: &NotReady) -> LiveCheck {
        let Ok(nodes) = &self.nodes else { return look };
        let sources = &self.context.sources;
        let known = self
            .context
            .admitted
            .at_power_off(sources, self.remediation, nodes, not_ready);
        let begun = [Phase::PoweringOff, Phase::Restarting].contains(&self.remediation.phase());
        if known.own_node.is_err() && begun {
            sources.lead.hand_over();
        }
        LiveCheck {
            fleet: known.fleet,
            claim: known.claim,
            own_node: known.own_node,
            ..look
        }
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
        let attached = attachments::of_node(&nodes.lists.attachments, &nodes.client, &node).await?;
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
