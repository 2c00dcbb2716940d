//! Reads the power of a host that may be off because of us while something else is awaited: whatever the API server
//! refuses or delays, the watch goes on.

use std::time::Duration;

use jiff::Timestamp;
use remediator_core::decision::{Act, Effect, Observation};
use remediator_core::facts::Obstacle;
use remediator_core::journal::Journal;
use remediator_core::observed::{Observed, PowerRead};
use remediator_core::phase::Reason;
use remediator_core::power::PowerState;
use remediator_core::step::watch_due;

use crate::bmc_access::conversation::Conversation;
use crate::remediation::Remediator;
use crate::remediation::memory::Memory;

/// Holds the conversation with the BMC until [`Self::end`], by which the next step knows what was read.
///
/// What was decided before is carried out as it was decided. No release can follow on what a read here has overtaken: the
/// first is due when the newest read of the decision is 5 s old, and with that the time of the release has passed.
pub(crate) struct Watching<'a> {
    context: &'a Remediator,
    /// None where nothing is watched.
    journal: Option<Journal>,
    /// What was read before, and since.
    observed: Observed,
    conversation: Option<Conversation>,
    seen: Vec<Result<PowerRead, (Timestamp, Obstacle)>>,
}

impl<'a> Watching<'a> {
    /// Begins where a command is journalled by which the host may be off.
    pub(crate) fn begin(context: &'a Remediator, journal: Option<&Journal>, memory: &mut Memory) -> Self {
        let journal = journal.filter(|journal| journal.intent.is_some());
        let conversation = journal.and_then(|_| memory.conversation.take());
        let journal = journal.filter(|_| conversation.is_some());
        Self {
            context,
            journal: journal.cloned(),
            observed: journal.map_or_else(Observed::default, |_| memory.observed.clone()),
            conversation,
            seen: Vec::new(),
        }
    }

    /// Awaits something that has nothing to do with the BMC.
    pub(crate) async fn beside<T>(&mut self, awaited: impl Future<Output = T>) -> T {
        let mut awaited = std::pin::pin!(awaited);
        while let Some(pause) = self.pause() {
            tokio::select! {
                biased;
                outcome = &mut awaited => return outcome,
                () = tokio::time::sleep(pause) => {}
            }
            let mut read = Box::pin(self.read());
            tokio::select! {
                biased;
                outcome = &mut awaited => {
                    // Whatever comes next would wait for it at the BMC.
                    read.await;
                    return outcome;
                }
                () = &mut read => {}
            }
        }
        awaited.await
    }

    /// Reads where that is due.
    pub(crate) async fn read_if_due(&mut self) {
        if self.pause() == Some(Duration::ZERO) {
            self.read().await;
        }
    }

    /// Gives the conversation back, and tells what was read.
    pub(crate) fn end(self, memory: &mut Memory) {
        for seen in self.seen {
            match seen {
                Ok(read) => memory.observed.note_read(read),
                Err((at, obstacle)) => memory.observed.note_read_failure(at, obstacle),
            }
        }
        if self.journal.is_some() {
            memory.conversation = self.conversation;
        }
    }

    fn pause(&self) -> Option<Duration> {
        let journal = self.journal.as_ref().filter(|_| self.conversation.is_some())?;
        // The next step judges the newest read, which no later one may hide.
        if let Some(Ok(read)) = self.seen.last()
            && matches!(read.power, PowerState::On | PowerState::PoweringOn)
        {
            return None;
        }
        let now = self.context.sources.clock.now();
        let due = watch_due(journal, &self.observed, now)?;
        Some(Duration::try_from(due.duration_since(now)).unwrap_or_default())
    }

    async fn read(&mut self) {
        let Some(conversation) = &mut self.conversation else {
            return;
        };
        match conversation.read(&self.context.bmc).await {
            Ok(read) => {
                self.observed.note_read(read.clone());
                self.seen.push(Ok(read));
            }
            Err(obstacle) => {
                let at = self.context.sources.clock.now();
                // A login that was rejected is not offered again. Else the line is kept: for a new one the Secret would
                // have to be read, at the API server that is waited for.
                let rejected = obstacle.reason == Reason::BmcCredentialsRejected;
                self.observed.note_read_failure(at, obstacle.clone());
                self.seen.push(Err((at, obstacle)));
                if rejected && let Some(conversation) = self.conversation.take() {
                    conversation.close().await;
                }
            }
        }
    }
}

/// Whether an act speaks to the BMC itself.
pub(crate) fn needs_the_bmc(act: &Act) -> bool {
    match act {
        Act::Observe(observation) => match observation {
            Observation::Power => true,
            Observation::LiveCheck
            | Observation::Admission
            | Observation::NodeLease
            | Observation::BareMetalHost
            | Observation::Report
            | Observation::Cleanup => false,
        },
        Act::Effect(effect) => match effect {
            Effect::PowerOff { .. } | Effect::PowerOn { .. } | Effect::Restart { .. } => true,
            Effect::AddFinalizer
            | Effect::RemoveFinalizer
            | Effect::WriteHold(_)
            | Effect::ReleaseHost(_)
            | Effect::TakeNodeLease(_)
            | Effect::ReleaseNodeLease { .. }
            | Effect::TaintNode { .. }
            | Effect::DeleteNode { .. }
            | Effect::RestoreNode { .. }
            | Effect::UntaintNode { .. }
            | Effect::ClearTrigger { .. }
            | Effect::AskOwner(_)
            | Effect::DeleteMachine(_) => false,
        },
    }
}
