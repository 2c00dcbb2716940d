//! Reads the power of a host: by the way that is journalled and the one that the objects tell now, in turns.

use std::time::Duration;

use kube::Resource as _;
use remediator_api::PowerCycleRemediation;
use remediator_api::target_ref::{begun, to_bring_back};
use remediator_core::facts::{Facts, Obstacle};
use remediator_core::identity::SystemUuid;
use remediator_core::journal::{BmcLog, Subject};
use remediator_core::observed::PowerRead;
use remediator_core::phase::{Phase, Reason};
use remediator_core::power::PowerState;
use remediator_core::proof;

use crate::api_call::{CALL_DEADLINE, ShellError};
use crate::bmc_access::conversation::Conversation;
use crate::bmc_access::host::ResolvedHost;
use crate::bmc_access::journalled;
use crate::bmc_access::opening::{Asker, Opening};
use crate::remediation::acting::Acting;
use crate::remediation::memory::Memory;
use crate::snapshot::host;

/// Obstacles that are not told again: a few for each of the ways to a BMC.
const OBSTACLES_REMEMBERED: usize = 4;

/// For how long the API server may keep a BMC waiting that can be asked without it.
const SECRET_WITHIN: Duration = Duration::from_secs(2);

impl Acting<'_> {
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
            let opened = match self.open_in_place(memory).await {
                Ok(Ok(opening)) => {
                    memory.end_conversation().await;
                    Some(Conversation::of(&self.context.bmc, opening).await)
                }
                Ok(Err(obstacle)) => Some(Err(obstacle)),
                Err(error) if memory.conversation.is_none() => return Err(error),
                // With the Secret that was read before the API server went away.
                Err(_) => {
                    memory.by_object = !memory.by_object;
                    None
                }
            };
            match opened {
                Some(Ok(conversation)) => memory.conversation = Some(conversation),
                Some(Err(obstacle)) => {
                    self.tell_of_host_left_off(&obstacle, memory);
                    memory.observed.note_own_failure(clock.now(), obstacle);
                    memory.turn_around().await;
                    return Ok(());
                }
                None => {}
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
                if is_rejected || to_bring_back(self.remediation).is_none() {
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

    /// Opens a conversation. The BMC does not wait long for the API server where there is another one still; the longer,
    /// the more often that has failed.
    async fn open_in_place(&self, memory: &mut Memory) -> Result<Result<Opening, Obstacle>, ShellError> {
        let has_another = memory.conversation.is_some();
        let failure = memory.observed.read_failure.as_ref();
        let patience = SECRET_WITHIN.saturating_mul(failure.map_or(1, |failure| failure.consecutive));
        let opened = self.open_conversation(memory);
        if !has_another {
            return opened.await;
        }
        let opened = tokio::time::timeout(patience.min(CALL_DEADLINE), opened).await;
        let call = "reading the BMC's Secret";
        opened.unwrap_or(Err(ShellError::Unanswered { call }))
    }

    async fn open_conversation(&self, memory: &mut Memory) -> Result<Result<Opening, Obstacle>, ShellError> {
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
        Opening::of(&self.context.bmc, asker, host, expected).await
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
