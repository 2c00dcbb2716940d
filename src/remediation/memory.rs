//! What the process remembers of one remediation between two steps. A crash loses all of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use remediator_api::PowerCycleRemediation;
use remediator_api::remediation_policy::BmcRules;
use remediator_api::views::Node;
use remediator_core::facts::{LiveCheck, Obstacle};
use remediator_core::journal::{Journal, SavedNode};
use remediator_core::observed::{IntentKey, Observed};

use crate::bmc_access::conversation::Conversation;
use crate::bmc_access::host::ResolvedHost;
use crate::metal3;
use crate::snapshot::producers::ProducerRead;

/// A journal that may have been written.
#[derive(Debug)]
pub(crate) struct Unanswered {
    /// What stood there until then.
    pub(crate) before: Journal,
    pub(crate) journal: Journal,
    /// The intent that it would have begun with.
    pub(crate) intent: Option<IntentKey>,
}

#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) observed: Observed,
    pub(crate) live_check: Option<LiveCheck>,
    /// The remediation as our last write left it, until the cache has caught up.
    pub(crate) written: Option<PowerCycleRemediation>,
    /// The last write of the journal, where it failed, until it was looked what stands there.
    pub(crate) unanswered: Option<Unanswered>,
    /// The Node as our last write left it, until the cache has caught up.
    pub(crate) written_node: Option<Node>,
    /// What the Node carries, read live.
    pub(crate) node_metadata: Option<SavedNode>,
    /// The host that was asked last, before anything was done to it, and under which rules.
    pub(crate) asked: Option<(ResolvedHost, Option<BmcRules>)>,
    pub(crate) asked_by: Option<ProducerRead>,
    pub(crate) conversation: Option<Conversation>,
    /// Whether a read of that failed, so that another one is to take its place.
    pub(crate) is_doubted: bool,
    /// Whether the next conversation about a host that has to be brought back goes by what the objects say now, and
    /// not by the journal. In turns, with each that failed.
    pub(crate) by_object: bool,
    /// The BareMetalHost as it was read, when, and what led to it.
    pub(crate) bare_metal_host: Option<metal3::LastRead>,
    /// When an act was last put off until everything is listed.
    pub(crate) waits_for_lists: Option<Timestamp>,
    /// How often the clock had jumped when something was seen last.
    pub(crate) clock_jumps: u64,
    /// Whether this process has looked after the session that a predecessor may have left.
    pub(crate) took_over: bool,
    pub(crate) failures: u32,
    /// What keeps us from asking the BMC, as people were told since it was read last.
    pub(crate) told: Vec<Obstacle>,
    /// Whether it was seen to that the Secret of the BMC is held no more.
    pub(crate) secret_let_go: bool,
    /// Whether this process has seen it under way.
    pub(crate) was_under_way: bool,
    /// Whether we took our finalizer off the remediation ourselves.
    pub(crate) let_go: bool,
}

impl Memory {
    /// Notes that an intent was journalled by this process, and not sent yet.
    pub(crate) fn note_own_intent(&mut self, intent: Option<IntentKey>) {
        if let Some(key) = intent {
            self.observed.own_intent = Some(key);
            // One that is journalled anew under the same number was not sent.
            self.observed.sent.take_if(|sent| sent.intent == key);
        }
    }

    /// Forgets everything that was dated before the clock jumped, as a crash would: it seems to have lasted longer than it
    /// did, or to be yet to come. What was sent is read then, as by a successor, and not replayed.
    pub(crate) fn notice_jumps(&mut self, jumps: u64) {
        if self.clock_jumps == jumps {
            return;
        }
        self.clock_jumps = jumps;
        self.observed = Observed {
            // How the BMC is reached has no date.
            route: self.observed.route.take(),
            ..Observed::default()
        };
        self.live_check = None;
        self.node_metadata = None;
        self.asked_by = None;
        self.bare_metal_host = None;
    }

    /// Forgets what another host said, or the same one under another address, Secret, trust or policy:
    /// it proves nothing about this one, and this one need not wait for it.
    pub(crate) async fn turn_to(&mut self, host: &ResolvedHost, rules: Option<BmcRules>) {
        let now = Some((host.clone(), rules));
        if self.asked == now {
            return;
        }
        self.asked = now;
        self.observed.reads.clear();
        self.observed.route = None;
        self.observed.read_failure = None;
        self.end_conversation().await;
    }

    /// The conversation in which a command may be sent: none whose last read failed.
    pub(crate) fn trusted_conversation(&mut self) -> Option<&mut Conversation> {
        self.conversation.as_mut().filter(|_| !self.is_doubted)
    }

    /// Ends the conversation with the BMC, if there is one.
    pub(crate) async fn end_conversation(&mut self) {
        self.is_doubted = false;
        if let Some(conversation) = self.conversation.take() {
            conversation.close().await;
        }
    }

    /// A read failed: the next conversation goes the other way. Until the API server tells its Secret, this one is all
    /// there is.
    pub(crate) fn doubt(&mut self) {
        self.by_object = !self.by_object;
        self.is_doubted = true;
    }

    /// The conversation came to nothing: the next one goes the other way.
    pub(crate) async fn turn_around(&mut self) {
        self.by_object = !self.by_object;
        self.end_conversation().await;
    }
}

#[derive(Debug, Default)]
pub(crate) struct Memories {
    by_uid: Mutex<BTreeMap<String, SharedMemory>>,
}

type SharedMemory = Arc<tokio::sync::Mutex<Memory>>;

impl Memories {
    /// The memory of a remediation; empty when there was none.
    pub(crate) fn of(&self, uid: &str) -> SharedMemory {
        Arc::clone(self.by_uid().entry(uid.to_owned()).or_default())
    }

    pub(crate) fn known(&self, uid: &str) -> Option<SharedMemory> {
        self.by_uid().get(uid).map(Arc::clone)
    }

    pub(crate) fn all(&self) -> Vec<SharedMemory> {
        self.by_uid().values().map(Arc::clone).collect()
    }

    pub(crate) fn forget(&self, uid: &str) {
        self.by_uid().remove(uid);
    }

    fn by_uid(&self) -> MutexGuard<'_, BTreeMap<String, SharedMemory>> {
        self.by_uid.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use remediator_core::facts::Lookup;
    use remediator_core::journal::Route;
    use remediator_core::observed::{IntentKey, Reading};
    use remediator_core::phase::Reason;
    use remediator_core::{facts, journal};

    use super::*;

    /// What was seen at a time, of everything that is dated.
    fn seen(at: Timestamp) -> Memory {
        let mut memory = Memory {
            asked_by: Some((at, Lookup::Absent)),
            failures: 3,
            took_over: true,
            ..Memory::default()
        };
        let obstacle = facts::Obstacle::new(Reason::BmcUnreachable, "it is silent");
        memory.observed.note_own_failure(at, obstacle);
        memory.observed.note_cleanup(Reading {
            began: at,
            found: Vec::new(),
        });
        memory.observed.route = Some(Route::default());
        memory.observed.own_intent = Some(IntentKey {
            verb: journal::Verb::PowerOff,
            attempt: 1,
            sends: 1,
            epoch: 1,
            process: 1,
        });
        memory
    }

    #[test]
    fn a_clock_that_jumps_leaves_what_a_crash_leaves_and_no_jump_leaves_everything() {
        let mut memory = seen(Timestamp::UNIX_EPOCH);
        memory.notice_jumps(0);
        assert!(memory.observed.read_failure.is_some() && memory.asked_by.is_some());
        for jumps in [1, 2] {
            memory.notice_jumps(jumps);
            let observed = &memory.observed;
            assert!(observed.read_failure.is_none() && observed.cleanups.is_empty());
            assert!(observed.route.is_some(), "it has no date");
            assert_eq!(observed.own_intent, None, "what was sent is not known any more");
            assert!(memory.asked_by.is_none() && memory.live_check.is_none());
            assert!(memory.bare_metal_host.is_none());
            assert_eq!((memory.failures, memory.took_over), (3, true));
            memory = Memory {
                clock_jumps: jumps,
                ..seen(Timestamp::UNIX_EPOCH)
            };
        }
    }
}
