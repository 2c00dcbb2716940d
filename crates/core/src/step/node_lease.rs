//! The Lease of medik8s on the Node: taken before the first power-off, kept while we work, given back at the
//! end. Nothing that brings a host back waits for it.

use jiff::{SignedDuration, Timestamp};

use super::booting::FINISHING;
use super::pending::read_backoff;
use super::{Next, RECHECK, Step, after};
use crate::decision::{Effect, Observation};
use crate::facts::{Machine, Node};
use crate::node_lease::{self, Acquisition, HeldNodeLease, Lease, LeaseWrite, NodeLease};
use crate::phase::Phase;

/// Failures in a row after which a remediation that is being deleted goes without having given the Lease
/// back, which runs out by itself: 75 s with the pauses between them.
const RELEASE_TRIES: u32 = 4;

/// A Lease is valid to its very end.
const AFTER_END: SignedDuration = SignedDuration::from_millis(1);

/// What is still owed for the Lease.
enum Owed {
    /// We never took one.
    Nothing,
    /// It is not ours any more.
    Paid,
    /// This has to be done.
    Due(Next),
    /// That could not be done, and is tried again at this time.
    Later(Timestamp),
}

impl Step<'_> {
    /// Whether the Lease lets the Node be worked on, by a young read of it; and how it has to be written first.
    pub(super) fn examine_node_lease(
        &mut self,
        machine: Option<&Machine>,
        node: &Node,
    ) -> Result<Option<LeaseWrite>, Next> {
        let facts = self.facts;
        let failure = facts.observed.node_lease_failure.as_ref();
        if let Some(failure) = failure
            && let Some(retry) = self.retry(failure)
        {
            return Err(self.settle_and_wait(&failure.obstacle, Some(retry)));
        }
        let held = self.journal.held_node_lease();
        // The Machine has another Node by now: what is held of the one before goes first.
        if held.is_some_and(|held| held.node != node.name) {
            let next = match self.owed_node_lease() {
                Owed::Due(next) => next,
                Owed::Nothing | Owed::Paid | Owed::Later(_) => {
                    self.journal.node_lease = None;
                    Next::observe(Observation::NodeLease)
                }
            };
            self.within_deadline()?;
            return Err(next);
        }
        let read = facts.observed.node_lease.as_ref();
        let known = read.is_some() || failure.is_some();
        if !known && facts.leases_were_unused && held.is_none() {
            return Ok(None);
        }
        let Some(read) = read.filter(|read| self.now < after(read.began, RECHECK)) else {
            self.within_deadline()?;
            return Err(Next::observe(Observation::NodeLease));
        };
        let needed = self.soon(self.strategy.deadlines.of_an_attempt());
        match node_lease::acquisition(&node.name, &read.found, &facts.lease_holders, needed, self.now) {
            Err(obstacle) => {
                let recheck = self.soon(RECHECK);
                let end = read.found.there().and_then(Lease::end);
                let until = end.map_or(recheck, |end| after(end, AFTER_END).min(recheck));
                Err(self.settle_and_wait(&obstacle, Some(until)))
            }
            Ok(Acquisition::NotNeeded) => Ok(None),
            Ok(Acquisition::Held) if read.found.there().is_some_and(|lease| lease.goes_with(&node.uid)) => {
                self.note_held(machine, &node.name);
                Ok(None)
            }
            Ok(Acquisition::Held | Acquisition::Due) => Ok(Some(self.lease_write(node, &read.found))),
        }
    }

    /// Writes down that the Lease is ours, and takes it. A crash in between leaves at most a Lease that a
    /// successor finds in the journal.
    pub(super) fn take_node_lease(&mut self, machine: Option<&Machine>, write: LeaseWrite) -> Next {
        self.begin_story();
        self.note_held(machine, &write.node);
        Next::perform(Effect::TakeNodeLease(write))
    }

    fn note_held(&mut self, machine: Option<&Machine>, node: &str) {
        if self.journal.held_node_lease().is_none() {
            self.journal.node_lease = Some(HeldNodeLease {
                node: node.to_owned(),
                cluster: machine.and_then(|machine| machine.cluster.clone()),
                since: self.now,
                lost_to: None,
            });
        }
    }

    /// Nothing was begun, and something forbids to: meanwhile others may work on the Node.
    pub(super) fn give_lease_back(&mut self) -> Result<(), Next> {
        if self.journal.attempt > 0 {
            return Ok(());
        }
        match self.owed_node_lease() {
            Owed::Due(next) => return Err(next),
            Owed::Paid => self.journal.node_lease = None,
            Owed::Nothing | Owed::Later(_) => {}
        }
        Ok(())
    }

    /// There is nothing left to do but to give the Lease back, and to drop our finalizer when the
    /// remediation is being deleted.
    pub(super) fn let_go(&mut self) -> Next {
        let goes = self.facts.deletion_requested;
        if goes && !self.facts.has_finalizer || self.has_to_bring_back() {
            return Next::Rest(None);
        }
        let failure = self.facts.observed.node_lease_failure.as_ref();
        let failures = failure.map_or(0, |failure| failure.consecutive);
        match self.owed_node_lease() {
            Owed::Due(next) => return next,
            Owed::Later(at) if !goes || failures < RELEASE_TRIES => return Next::Rest(Some(at)),
            Owed::Paid if !goes => self.journal.node_lease = None,
            Owed::Nothing | Owed::Paid | Owed::Later(_) => {}
        }
        if goes {
            return Next::perform(Effect::RemoveFinalizer);
        }
        Next::Rest(None)
    }

    fn owed_node_lease(&self) -> Owed {
        let observed = &self.facts.observed;
        let Some(held) = self.journal.held_node_lease() else {
            return Owed::Nothing;
        };
        let failure = observed.node_lease_failure.as_ref();
        if let Some(retry) = failure.and_then(|failure| self.retry(failure)) {
            return Owed::Later(retry);
        }
        match observed.node_lease.as_ref().map(|read| &read.found) {
            None => Owed::Due(Next::observe(Observation::NodeLease)),
            Some(NodeLease::There(lease)) if lease.is_of(&self.facts.lease_holders.own) => {
                Owed::Due(Next::perform(Effect::ReleaseNodeLease {
                    node: held.node.clone(),
                    uid: lease.uid.clone(),
                    resource_version: lease.resource_version.clone(),
                }))
            }
            // Nothing but a write of ours makes it ours again, and after that it is read anew.
            Some(NodeLease::Unused | NodeLease::Free | NodeLease::There(_)) => Owed::Paid,
        }
    }

    /// The Lease as it has to be written for a whole attempt from now on.
    pub(super) fn lease_write(&self, node: &Node, lease: &NodeLease) -> LeaseWrite {
        let attempt = self.strategy.deadlines.of_an_attempt();
        let duration = attempt.saturating_add(FINISHING);
        LeaseWrite::of(
            (&node.name, &node.uid),
            lease,
            &self.facts.lease_holders,
            duration,
            self.now,
        )
    }

    /// Sees to the Lease while the host boots, or is to be brought back after a failure, and there is nothing else to
    /// do: it is renewed at half of its time.
    /// It was taken for the longest that an attempt may last, and while the host is off no call is made that could
    /// keep the next one waiting. Who lost it goes on, for what was begun has to be brought to its end, and says so.
    pub(super) fn keep_node_lease(&mut self, next: Next) -> Next {
        let (facts, now) = (self.facts, self.now);
        let goes_on = self.journal.phase == Phase::Booting || self.has_to_bring_back();
        let is_kept = goes_on && self.journal.held_node_lease().is_some();
        if matches!(next, Next::Act(_)) || !is_kept || !self.leads() {
            return next;
        }
        let failure = facts.observed.node_lease_failure.as_ref();
        let retry = failure.map(|failure| after(failure.at, read_backoff(failure.consecutive).max(RECHECK)));
        if let Some(retry) = retry.filter(|retry| *retry > now) {
            return next.or_at(retry);
        }
        let Some(read) = &facts.observed.node_lease else {
            return Next::observe(Observation::NodeLease);
        };
        // The Lease goes with the Node, and is taken again with the next one.
        let Some(node) = facts.objects.node.present() else {
            return next;
        };
        // That of the Node before goes with it, and has to be taken for the one that has registered since.
        let own = read
            .found
            .there()
            .filter(|lease| lease.is_of(&facts.lease_holders.own) && lease.goes_with(&node.uid))
            // Renewed in the future, before the clock was set back: nobody believes that.
            .filter(|lease| lease.valid_until(now).is_some());
        if let Some(due) = own.and_then(renewal).filter(|due| *due > now) {
            return next.or_at(due);
        }
        match node_lease::acquisition(&node.name, &read.found, &facts.lease_holders, Timestamp::MAX, now) {
            Ok(Acquisition::Due) => {
                return Next::perform(Effect::TakeNodeLease(self.lease_write(node, &read.found)));
            }
            Ok(Acquisition::NotNeeded | Acquisition::Held) => {}
            Err(obstacle) => {
                let holder = read.found.there().and_then(|lease| lease.holder.clone());
                if let Some(held) = &mut self.journal.node_lease {
                    held.lost_to = Some(holder.unwrap_or_default());
                }
                let message = self.journal.message.trim_end_matches('.');
                self.journal.message =
                    format!("{message}. {obstacle}; the host is brought back all the same");
            }
        }
        next
    }
}

/// When half of the time of a Lease is over.
fn renewal(lease: &Lease) -> Option<Timestamp> {
    let half = lease.duration?.checked_div(2).unwrap_or(SignedDuration::ZERO);
    Some(after(lease.renewed?, half))
}
