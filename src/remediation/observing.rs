//! Looks at the world for a decision and remembers what was seen.

use std::time::Duration;

use k8s_openapi::api::core::v1::{PersistentVolume, Pod};
use kube::api::{Api, ListParams};
use kube::{Resource as _, ResourceExt as _};
use remediator_api::PowerCycleRemediation;
use remediator_api::target_ref::{begun, to_bring_back};
use remediator_core::decision::Observation;
use remediator_core::facts::{Facts, LiveCheck, Obstacle};
use remediator_core::identity::SystemUuid;
use remediator_core::journal::{BmcLog, Subject};
use remediator_core::observed::{PowerRead, Reading};
use remediator_core::phase::{Phase, Reason};
use remediator_core::power::PowerState;
use remediator_core::proof;

use crate::api_call::{ShellError, within};
use crate::bmc_access::conversation::{Asker, Conversation};
use crate::bmc_access::host::ResolvedHost;
use crate::bmc_access::journalled;
use crate::clusters::not_ready::NotReady;
use crate::clusters::{attachments, node_of_host};
use crate::fencing::cleanup;
use crate::remediation::acting::Acting;
use crate::remediation::admission;
use crate::remediation::memory::Memory;
use crate::snapshot::{host, live};

/// Obstacles that are not told again: a few for each of the ways to a BMC.
const OBSTACLES_REMEMBERED: usize = 4;

/// For how long the API server may keep a BMC waiting that can be asked without it.
const SECRET_WITHIN: Duration = Duration::from_secs(2);

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
        if known.own_node.is_err() && self.remediation.phase() == Phase::PoweringOff {
            sources.lead.hand_over();
        }
        LiveCheck {
            fleet: known.fleet,
            claim: known.claim,
            own_node: known.own_node,
            ..look
        }
    }

    pub(crate) async fn read_power(&self, memory: &mut Memory) -> Result<(), ShellError> {
        let was_by_object = memory.by_object;
        self.read_one_way(memory).await?;
        // The way of the journal was proven: it does not wait for a pause after another that failed.
        if was_by_object && !memory.by_object && memory.observed.read_failure.is_some() {
            self.read_one_way(memory).await?;
        }
        Ok(())
    }

    async fn read_one_way(&self, memory: &mut Memory) -> Result<(), ShellError> {
        let clock = &self.context.sources.clock;
        if memory.conversation.is_none() || memory.is_doubted {
            // A person may say that its host is off before the BMC was ever asked: without its Secret it cannot be.
            if let (None, Ok(host)) = (&memory.observed.route, self.host) {
                memory.observed.route = self.context.bmc.route(host);
            }
            match self.open_in_place(memory).await {
                Ok(Ok(conversation)) => {
                    memory.end_conversation().await;
                    memory.conversation = Some(conversation);
                }
                Ok(Err(obstacle)) => {
                    self.tell_of_host_left_off(&obstacle, memory);
                    memory.observed.note_own_failure(clock.now(), obstacle);
                    memory.turn_around().await;
                    return Ok(());
                }
                Err(error) if memory.conversation.is_none() => return Err(error),
                // With the Secret that was read before the API server went away.
                Err(_) => memory.by_object = !memory.by_object,
            }
        }
        let Some(conversation) = &mut memory.conversation else {
            return Ok(());
        };
        let read = conversation.read(&self.context.bmc).await;
        let route = read.as_ref().ok().map(|read| conversation.route(read));
        let is_wrong = read.as_ref().ok().and_then(|read| self.another_host(read));
        match (read, is_wrong) {
            (Ok(_), Some(detail)) if memory.by_object => {
                // The objects lead elsewhere: that says nothing about the host.
                let obstacle = Obstacle::new(Reason::IdentityMismatch, detail);
                memory.observed.note_read_failure(clock.now(), obstacle);
                memory.turn_around().await;
            }
            (Ok(read), is_wrong) => {
                memory.told.clear();
                memory.is_doubted = false;
                let is_on = read.power == PowerState::On;
                memory.observed.note_read(read);
                memory.observed.route = route;
                if is_wrong.is_some() {
                    memory.turn_around().await;
                } else if is_on {
                    self.read_log(memory).await;
                }
            }
            // The next read begins with the Secret, which may have been corrected by then.
            (Err(obstacle), _) => {
                let is_rejected = obstacle.reason == Reason::BmcCredentialsRejected;
                memory.observed.note_read_failure(clock.now(), obstacle);
                if is_rejected {
                    memory.turn_around().await;
                } else {
                    memory.doubt();
                }
            }
        }
        Ok(())
    }

    /// Reads the BMC's log once, when the host is on again. Before that, nothing waits for it.
    async fn read_log(&self, memory: &mut Memory) {
        let journal = self.remediation.journal();
        let is_back = journal.is_some_and(|journal| journal.phase == Phase::PoweringOn);
        let Some(conversation) = memory.conversation.as_ref().filter(|_| is_back) else {
            return;
        };
        // That of an earlier attempt says nothing of this one.
        let began = journal.and_then(|journal| Some(journal.before_power_off.as_ref()?.read));
        if memory
            .observed
            .bmc_log
            .as_ref()
            .is_none_or(|log| Some(log.read) < began)
        {
            let entries = conversation.newest_log().await;
            let read = self.context.sources.clock.now();
            memory.observed.bmc_log = Some(BmcLog { read, entries });
        }
    }

    /// Tells people, once, what keeps us from asking the BMC of a host that has to be brought back: they can change that.
    fn tell_of_host_left_off(&self, obstacle: &Obstacle, memory: &mut Memory) {
        if to_bring_back(self.remediation).is_none() || memory.told.contains(obstacle) {
            return;
        }
        if memory.told.len() >= OBSTACLES_REMEMBERED {
            memory.told.clear();
        }
        memory.told.push(obstacle.clone());
        let (reporter, obstacle) = (self.context.reporter.clone(), obstacle.clone());
        let regarding = self.remediation.object_ref(&());
        tokio::spawn(async move { reporter.warn(&regarding, &obstacle).await });
    }

    /// Why what was read is not of the host that has to be brought back.
    pub(crate) fn another_host(&self, read: &PowerRead) -> Option<String> {
        let subject = to_bring_back(self.remediation)?.subject.as_ref()?;
        proof::another_host(read, subject.at_bmc())
    }

    /// Opens a conversation. The BMC does not wait long for an API server where there is another one still.
    async fn open_in_place(&self, memory: &mut Memory) -> Result<Result<Conversation, Obstacle>, ShellError> {
        let has_another = memory.conversation.is_some();
        let opened = self.open_conversation(memory);
        if !has_another {
            return opened.await;
        }
        let opened = tokio::time::timeout(SECRET_WITHIN, opened).await;
        let call = "reading the BMC's Secret";
        opened.unwrap_or(Err(ShellError::Unanswered { call }))
    }

    async fn open_conversation(
        &self,
        memory: &mut Memory,
    ) -> Result<Result<Conversation, Obstacle>, ShellError> {
        let by_journal = journalled::host(self.remediation).is_some();
        let mut other = None;
        if by_journal {
            // Before anything new is begun, the objects have their say again.
            memory.asked = None;
            if memory.by_object {
                other = host::other_way(&self.context.sources, self.remediation).await;
            }
        } else {
            memory.by_object = false;
        }
        let host = match (&other, self.host) {
            (Some(host), _) => host,
            (None, Ok(host)) => host,
            (None, Err(obstacle)) => return Ok(Err(obstacle.clone())),
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
