//! The Lease of medik8s on the Node: taken before the first power-off, kept while we work, given back at the
//! end. Nothing that brings a host back waits for it.

use std::ops::ControlFlow;

use jiff::{SignedDuration, Timestamp};

use super::booting::FINISHING;
use super::pending::read_backoff;
use super::{RECHECK, Step, after};
use crate::decision::{Act, Decision, Effect, Observation};
use crate::facts::{Facts, Lookup, Machine, Node, Obstacle};
use crate::journal::Journal;
use crate::node_lease::{self, Acquisition, HeldNodeLease, LeaseWrite, NodeLease};
use crate::phase::{Phase, Reason};
use crate::strategy::Strategy;

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
    /// This.
    Act(Act),
    /// That could not be done, and is tried again at this time.
    Later(Timestamp),
}

/// What is still to be done before the host of a Node may be touched.
pub(super) enum Hold {
    /// Nothing.
    Enough,
    /// The Lease has to be written so.
    LeaseWrite(LeaseWrite),
}

impl Step<'_> {
    /// Whether the Lease lets the Node be worked on, by a young read of it.
    pub(super) fn examine_node_lease(
        mut self,
        strategy: &Strategy,
        machine: Option<&Machine>,
        node: &Node,
    ) -> ControlFlow<Decision, (Self, Hold)> {
        let facts = self.facts;
        if let Some(failure) = &facts.observed.node_lease_failure {
            let retry = after(failure.at, read_backoff(failure.consecutive));
            if retry > self.now {
                return ControlFlow::Break(self.obstructed(strategy, &failure.obstacle, Some(retry)));
            }
        }
        // The Machine has another Node by now: what is held of the one before goes first.
        let held = self.journal.held_node_lease();
        if held.is_some_and(|held| held.node != node.name) {
            let act = match self.owed_node_lease() {
                Owed::Act(act) => act,
                Owed::Nothing | Owed::Paid | Owed::Later(_) => {
                    self.journal.node_lease = None;
                    Act::Observe(Observation::NodeLease)
                }
            };
            return ControlFlow::Break(self.within_deadline(strategy, |step: Self| step.act(act)));
        }
        let read = facts.observed.node_lease.as_ref();
        let known = read.is_some() || facts.observed.node_lease_failure.is_some();
        if !known && facts.leases_were_unused && self.journal.held_node_lease().is_none() {
            return ControlFlow::Continue((self, Hold::Enough));
        }
        let Some(read) = read.filter(|read| self.now < after(read.began, RECHECK)) else {
            let live = |step: Self| step.observe(Observation::NodeLease);
            return ControlFlow::Break(self.within_deadline(strategy, live));
        };
        let needed = self.soon(strategy.deadlines.of_an_attempt());
        match node_lease::acquisition(&node.name, &read.lease, &facts.lease_holders, needed, self.now) {
            Err(obstacle) => {
                let end = read.lease.end().map(|end| after(end, AFTER_END));
                let until = self.soon(RECHECK);
                let until = end.map_or(until, |end| end.min(until));
                ControlFlow::Break(self.obstructed(strategy, &obstacle, Some(until)))
            }
            Ok(Acquisition::NotNeeded) => ControlFlow::Continue((self, Hold::Enough)),
            Ok(Acquisition::Held) if read.lease.goes_with(&node.uid) => {
                self.note_held(machine, &node.name);
                ControlFlow::Continue((self, Hold::Enough))
            }
            Ok(Acquisition::Held | Acquisition::Due) => {
                let claim = claim(facts, strategy, node, &read.lease, self.now);
                ControlFlow::Continue((self, Hold::LeaseWrite(claim)))
            }
        }
    }

    /// Writes down that the Lease is ours, and takes it. A crash in between leaves at most a Lease that a
    /// successor finds in the journal.
    pub(super) fn take_node_lease(mut self, machine: Option<&Machine>, claim: LeaseWrite) -> Decision {
        self.begin_story();
        self.note_held(machine, &claim.node);
        self.perform(Effect::TakeNodeLease(claim))
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

    /// Nothing was begun, and something stands in the way: meanwhile others may work on the Node.
    pub(super) fn stand_aside(mut self) -> ControlFlow<Decision, Self> {
        if self.journal.attempt > 0 {
            return ControlFlow::Continue(self);
        }
        match self.owed_node_lease() {
            Owed::Act(act) => ControlFlow::Break(self.act(act)),
            Owed::Paid => {
                self.journal.node_lease = None;
                ControlFlow::Continue(self)
            }
            Owed::Nothing | Owed::Later(_) => ControlFlow::Continue(self),
        }
    }

    /// There is nothing left to do but to give the Lease back, and to drop our finalizer when the
    /// remediation is being deleted.
    pub(super) fn let_go(mut self) -> Decision {
        let goes = self.facts.deletion_requested;
        if goes && !self.facts.has_finalizer {
            return self.rest(None);
        }
        match self.owed_node_lease() {
            Owed::Act(act) => return self.act(act),
            Owed::Later(at) if !goes || !self.gave_lease_up() => return self.rest(Some(at)),
            Owed::Paid if !goes => self.journal.node_lease = None,
            Owed::Nothing | Owed::Paid | Owed::Later(_) => {}
        }
        if goes {
            return self.perform(Effect::RemoveFinalizer);
        }
        self.rest(None)
    }

    fn gave_lease_up(&self) -> bool {
        let failure = self.facts.observed.node_lease_failure.as_ref();
        failure.is_some_and(|failure| failure.consecutive >= RELEASE_TRIES)
    }

    fn owed_node_lease(&self) -> Owed {
        let observed = &self.facts.observed;
        let Some(held) = self.journal.held_node_lease() else {
            return Owed::Nothing;
        };
        if let Some(failure) = &observed.node_lease_failure {
            let retry = after(failure.at, read_backoff(failure.consecutive));
            if retry > self.now {
                return Owed::Later(retry);
            }
        }
        match observed.node_lease.as_ref().map(|read| &read.lease) {
            None => Owed::Act(Act::Observe(Observation::NodeLease)),
            Some(NodeLease::There(lease)) if lease.is_of(&self.facts.lease_holders.own) => {
                Owed::Act(Act::Effect(Effect::ReleaseNodeLease {
                    node: held.node.clone(),
                    uid: lease.uid.clone(),
                    resource_version: lease.resource_version.clone(),
                }))
            }
            // Nothing but a write of ours makes it ours again, and after that it is read anew.
            Some(NodeLease::Unused | NodeLease::Free | NodeLease::There(_)) => Owed::Paid,
        }
    }

    fn act(self, act: Act) -> Decision {
        match act {
            Act::Observe(observation) => self.observe(observation),
            Act::Effect(effect) => self.perform(effect),
        }
    }
}

/// The Lease as it has to be written for a whole attempt from now on.
fn claim(facts: &Facts, strategy: &Strategy, node: &Node, lease: &NodeLease, now: Timestamp) -> LeaseWrite {
    let duration = strategy.deadlines.of_an_attempt().saturating_add(FINISHING);
    let node = (node.name.as_str(), node.uid.as_str());
    LeaseWrite::of(node, lease, &facts.lease_holders, duration, now)
}

/// Sees to the Lease while the host boots and there is nothing else to do: it is renewed at half of its time.
/// Who lost it goes on, for what was begun has to be brought to its end, and says so.
pub(super) fn keep(mut decision: Decision, facts: &Facts, strategy: &Strategy, now: Timestamp) -> Decision {
    // It was taken for the longest that an attempt may last. While the host is off no call is made that
    // could keep the next one waiting.
    let at_work = match decision.journal.phase {
        Phase::Booting => true,
        Phase::Pending
        | Phase::Holding
        | Phase::PoweringOff
        | Phase::Fencing
        | Phase::PoweringOn
        | Phase::Succeeded
        | Phase::Cancelled
        | Phase::Failed => false,
    };
    let leads = facts.leadership.leads(now);
    if decision.act.is_some() || !at_work || !leads || decision.journal.held_node_lease().is_none() {
        return decision;
    }
    match care(facts, strategy, now) {
        Care::None => {}
        Care::Act(act) => decision.act = Some(act),
        Care::At(time) => {
            let sooner = |live: Timestamp| live.min(time);
            decision.look_again = decision.look_again.map(sooner).or(Some(time));
        }
        Care::LostTo(holder, obstacle) => lose(&mut decision.journal, holder, &obstacle),
    }
    decision
}

/// What keeping the Lease asks for.
enum Care {
    None,
    Act(Act),
    At(Timestamp),
    LostTo(String, Obstacle),
}

fn care(facts: &Facts, strategy: &Strategy, now: Timestamp) -> Care {
    let observed = &facts.observed;
    if let Some(failure) = &observed.node_lease_failure {
        let retry = after(failure.at, read_backoff(failure.consecutive).max(RECHECK));
        if retry > now {
            return Care::At(retry);
        }
    }
    let Some(read) = &observed.node_lease else {
        return Care::Act(Act::Observe(Observation::NodeLease));
    };
    let node = match &facts.world.node {
        Lookup::Present(node) => node,
        // The Lease goes with the Node, and is taken again with the next one.
        Lookup::Absent | Lookup::Unreadable(_) => return Care::None,
    };
    // That of the Node before goes with it, and has to be taken for the one that has registered since.
    let renewal = renewal(&read.lease, &facts.lease_holders.own);
    let due = renewal.filter(|_| read.lease.goes_with(&node.uid));
    if let Some(due) = due.filter(|due| *due > now) {
        return Care::At(due);
    }
    match node_lease::acquisition(&node.name, &read.lease, &facts.lease_holders, Timestamp::MAX, now) {
        Ok(Acquisition::Due) => {
            let claim = claim(facts, strategy, node, &read.lease, now);
            Care::Act(Act::Effect(Effect::TakeNodeLease(claim)))
        }
        Ok(Acquisition::NotNeeded | Acquisition::Held) => Care::None,
        Err(obstacle) => {
            let holder = match &read.lease {
                NodeLease::There(lease) => lease.holder.clone(),
                NodeLease::Unused | NodeLease::Free => None,
            };
            Care::LostTo(holder.unwrap_or_default(), obstacle)
        }
    }
}

/// When half of the time of our own Lease is over.
fn renewal(lease: &NodeLease, own: &str) -> Option<Timestamp> {
    match lease {
        NodeLease::There(lease) if lease.is_of(own) => {
            let half = lease.duration?.checked_div(2).unwrap_or(SignedDuration::ZERO);
            Some(after(lease.renewed?, half))
        }
        NodeLease::There(_) | NodeLease::Unused | NodeLease::Free => None,
    }
}

fn lose(journal: &mut Journal, holder: String, obstacle: &Obstacle) {
    if let Some(held) = &mut journal.node_lease {
        held.lost_to = Some(holder);
    }
    let said = journal.message.trim_end_matches('.');
    journal.message = format!(
        "{said}. {}: {}; the host is brought back all the same",
        Reason::NodeLeaseHeld.as_str(),
        obstacle.detail
    );
}
