//! A person's word that a host is off, whose BMC does not tell: what it needs to be taken, and what is then written down.

use jiff::Timestamp;

use super::pending::{IDENTITY_AGE, brake_at};
use super::powering_off::{LIVE_CHECK_AGE, LIVE_CHECK_PACE};
use super::restarting::confirm_verb;
use super::subject::{self, NotDue};
use super::{Next, RECHECK, Step, after};
use crate::admission::Reply;
use crate::confirmation::{Confirmation, VALID_FOR, Word};
use crate::decision::{Effect, Observation};
use crate::eligibility::{Eligible, contradiction};
use crate::facts::{LiveCheck, Machine, Node, Obstacle, is_of_control_plane};
use crate::identity::SystemUuid;
use crate::journal::{Basis, JournalledNode, NodeOfSubject, Subject, Verb};
use crate::machine_api::MachineApi;
use crate::node_lease::{self, Acquisition};
use crate::phase::Reason;
use crate::proof::{self, Silence};

impl<'a> Step<'a> {
    /// A word that was refused, or taken, is not looked at again.
    pub(super) fn is_settled(&self, word: &Word) -> bool {
        let taken = self.journal.confirmation.as_ref();
        self.journal.confirmation_refused == Some(word.at)
            || taken.is_some_and(|taken| taken.word.at == word.at)
    }

    pub(super) fn is_timely(&mut self, word: &Word) -> Result<(), Next> {
        let timely = word.is_timely(self.asked(), self.now);
        timely.map_err(|why| self.refuse_word(word, &why))
    }

    pub(super) fn refuse(&mut self, why: &str) {
        self.journal
            .because_of(&Obstacle::new(Reason::ConfirmationRefused, why));
    }

    fn refuse_word(&mut self, word: &Word, why: &str) -> Next {
        self.journal.confirmation_refused = Some(word.at);
        self.refuse(&format!(
            "that {} said at {:.0} that the host is off is not taken: {why}",
            word.by, word.at
        ));
        Next::Rest(None)
    }

    /// Something stands in the way of a word, which may pass before the word is too old.
    pub(super) fn not_taken_yet(&mut self, word: &Word, obstacle: &Obstacle) -> Next {
        let detail = format!(
            "{} said that the host is off; that is not taken yet: {}",
            word.by,
            obstacle.for_people()
        );
        self.journal.because(obstacle.reason, detail);
        Next::Rest(Some(self.soon(RECHECK)))
    }

    pub(super) fn examine_word(
        &mut self,
        word: &Word,
        (machine, node): (Option<&Machine>, &Node),
        silence_only: bool,
    ) -> Result<Next, Next> {
        let facts = self.facts;
        self.is_timely(word)?;
        let about = self.journal.asked.as_ref().map(|asked| word.is_about(asked));
        if let Err(why) = about.unwrap_or_else(|| Err("nobody was asked".to_owned())) {
            return Ok(self.refuse_word(word, &why));
        }
        if !facts.has_finalizer {
            return Ok(Next::perform(Effect::AddFinalizer));
        }
        if word.at > self.now {
            return Ok(Next::Rest(Some(word.at)));
        }
        if let Some(denied) = facts.admission.denied() {
            return Ok(self.not_taken_yet(word, denied));
        }
        // Before anything is done for it: where it was not guarded, anybody may have written it.
        let seen = self.live_check(word.at, VALID_FOR, LIVE_CHECK_PACE)?;
        let Some(of_word) = &seen.confirm_off else {
            return Ok(Next::observe(Observation::LiveCheck));
        };
        if let Err(why) = word.is_guarded(&of_word.guarded_since) {
            return Ok(self.refuse_word(word, &why));
        }
        self.hold_lease_for(word, machine, node)?;
        let lately = self.now.saturating_sub(IDENTITY_AGE).unwrap_or(word.at);
        if !self.bmc_was_asked_since(word.at.max(lately)) {
            return Ok(Next::observe(Observation::Power));
        }
        let failure = facts.observed.read_failure.as_ref();
        if let Some(failure) = failure.filter(|failure| !failure.obstacle.reason.leaves_power_unknown()) {
            return Ok(self.not_taken_yet(word, &failure.obstacle));
        }
        let silent = match proof::silence(&facts.observed.reports, false, word.at, word.at) {
            Silence::Silent(at) => at,
            Silence::ReadNow => return Ok(Next::observe(Observation::LiveCheck)),
            Silence::ReadAt(at) => return Ok(self.observe_at(at, Observation::LiveCheck)),
            Silence::Reporting(_) => {
                let why = format!(
                    "{}: Node {} reports",
                    Reason::NodeStillReporting.as_str(),
                    node.name
                );
                return Ok(self.refuse_word(word, &why));
            }
        };
        let live = self.live_check(word.at, LIVE_CHECK_AGE, LIVE_CHECK_PACE)?;
        let (machine, node) = self.confirm_word(word, silence_only, live)?;
        if facts.admission != Reply::Admitted {
            return Ok(Next::observe(Observation::Admission));
        }
        let (machine, node) = (machine.cloned(), node.clone());
        Ok(self.take_word(word, (machine.as_ref(), &node), silent, live.began))
    }

    /// Whether the BMC was asked once more since then.
    pub(super) fn bmc_was_asked_since(&self, said: Timestamp) -> bool {
        let observed = &self.facts.observed;
        let failure = observed.read_failure.as_ref();
        failure.is_some_and(|failure| failure.at >= said) || observed.last_read_since(said).is_some()
    }

    /// The Lease of medik8s on the Node, as before a power-off.
    fn hold_lease_for(&mut self, word: &Word, machine: Option<&Machine>, node: &Node) -> Result<(), Next> {
        let facts = self.facts;
        if let Some(failure) = &facts.observed.node_lease_failure {
            let obstacle = failure.obstacle.clone();
            let retry = self.retry(failure);
            let told = self.not_taken_yet(word, &obstacle);
            return Err(retry.map_or_else(
                || Next::observe(Observation::NodeLease),
                |retry| told.or_at(retry),
            ));
        }
        let read = facts.observed.node_lease.as_ref();
        if read.is_none() && facts.leases_were_unused && self.journal.held_node_lease().is_none() {
            return Ok(());
        }
        let Some(read) = read.filter(|read| self.now < after(read.began, RECHECK)) else {
            return Err(Next::observe(Observation::NodeLease));
        };
        let needed = self.soon(self.strategy.deadlines.of_an_attempt());
        match node_lease::acquisition(&node.name, &read.found, &facts.lease_holders, needed, self.now) {
            Err(obstacle) => Err(self.not_taken_yet(word, &obstacle)),
            Ok(Acquisition::NotNeeded | Acquisition::Held) => Ok(()),
            Ok(Acquisition::Due) => {
                let write = self.lease_write(node, &read.found);
                Err(self.take_node_lease(machine, write))
            }
        }
    }

    /// Whether everything, seen live, still is as it has to be for a word to be taken.
    fn confirm_word(
        &mut self,
        word: &Word,
        silence_only: bool,
        live: &'a LiveCheck,
    ) -> Result<(Option<&'a Machine>, &'a Node), Next> {
        let Some(of_word) = &live.confirm_off else {
            return Err(Next::observe(Observation::LiveCheck));
        };
        if of_word.word.present() != Some(word) {
            return Err(Next::Rest(Some(self.soon(RECHECK))));
        }
        let eligible = subject::examine(&self.journal, self.facts, &live.objects, self.now);
        let (machine, node) = match eligible {
            Ok(Eligible::Unhealthy { machine, node, .. }) => (machine, node),
            Ok(Eligible::WithoutNode { .. }) | Err(NotDue::Recovered | NotDue::Withdrawn(_)) => {
                return Err(Next::Rest(Some(self.soon(RECHECK))));
            }
            Err(NotDue::Waits(obstacle, _)) => return Err(self.not_taken_yet(word, &obstacle)),
        };
        // The caches follow, and a person is asked anew.
        if self.journal.asked.as_deref() != Some(&self.whom_to_ask_about(node)) {
            return Err(Next::Rest(Some(self.soon(RECHECK))));
        }
        let lease = live.node_lease.as_ref().map_err(Clone::clone);
        let held = lease
            .and_then(|lease| node_lease::confirm(&node.name, lease, &self.facts.lease_holders, self.now));
        let obstacle = live.host.clone().and(held).err();
        // metal3 keeps such a host on, whatever a person does.
        let obstacle = obstacle.or_else(|| confirm_verb(false, live).err());
        let obstacle =
            obstacle.or_else(|| contradiction(node, &live.report, self.now).filter(|_| silence_only));
        match obstacle.or_else(|| brake_at(live)) {
            Some(obstacle) => Err(self.not_taken_yet(word, &obstacle)),
            None => Ok((machine, node)),
        }
    }

    /// The word is taken: it is written down, and the release follows. The host is owed its power from here on.
    fn take_word(
        &mut self,
        word: &Word,
        (machine, node): (Option<&Machine>, &Node),
        silent: Timestamp,
        newest: Timestamp,
    ) -> Next {
        let (Some(uuid), Ok(host), Some(boot_id)) = (uuid_of(node), &self.facts.host, node.boot_id.clone())
        else {
            let missing = Obstacle::new(
                Reason::NodeUnreadable,
                "the Node has no usable systemUUID or bootID",
            );
            return self.not_taken_yet(word, &missing);
        };
        let there = JournalledNode {
            name: node.name.clone(),
            uid: node.uid.clone(),
            boot_id,
        };
        let earlier = self.journal.subject.take().filter(|_| self.journal.attempt > 0);
        let subject = earlier.unwrap_or_else(|| Subject {
            machine: machine.map(|machine| machine.name.clone()),
            machine_group: machine
                .filter(|machine| machine.api != MachineApi::OpenShift)
                .map(|machine| machine.api.group().to_owned()),
            cluster: machine.and_then(|machine| machine.cluster.clone()),
            control_plane: is_of_control_plane(machine, Some(node)),
            only_reset: false,
            machine_uid: machine.map(|machine| machine.uid.clone()),
            node: NodeOfSubject::There(there.clone()),
            host: host.reference.clone(),
            bmc: host.bmc.clone(),
            system: String::new(),
            protocol: None,
            system_uuid: uuid.to_string(),
            identity: "the Node says it; the BMC could not be asked".to_owned(),
            route: self.facts.observed.route.clone(),
        });
        self.journal.subject = Some(Subject {
            node: NodeOfSubject::There(there.clone()),
            ..subject
        });
        // One more attempt, in which a person has switched the host off.
        self.journal.attempt = self.journal.attempt.saturating_add(1);
        self.journal.evidence = None;
        let reported = self.facts.observed.reports.last();
        self.journal.confirmation = Some(Confirmation {
            word: word.clone(),
            accepted: self.now,
            node_silent: silent,
            node_heartbeat: reported.and_then(|read| read.found.heartbeat),
            node_version: Some(node.resource_version.clone()),
        });
        self.journal.intent = Some(self.intent(Verb::PowerOn, 1));
        let (by, why, name) = (&word.by, &word.why, &there.name);
        let story = format!("{by} says that the host is off ({why}); releasing the workloads of {name}");
        self.begin_release_on(Basis::Confirmation, &there, newest, story)
    }
}

/// The system UUID that a Node says, where it can be used.
pub(super) fn uuid_of(node: &Node) -> Option<SystemUuid> {
    node.system_uuid
        .as_deref()
        .and_then(|uuid| SystemUuid::parse(uuid).ok())
}
