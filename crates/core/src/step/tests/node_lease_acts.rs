//! How the shell of the tests reads and writes the Lease of medik8s on the Node, and who else does.

use jiff::SignedDuration;

use super::shell::{API_LATENCY, Fault, Sim, unreachable};
use super::world::at;
use crate::decision::Effect;
use crate::facts::Obstacle;
use crate::node_lease::{Lease, NodeLease};
use crate::observed::Reading;
use crate::phase::Reason;

pub(super) const ANOTHER: &str = "node-maintenance";

/// For how long others hold it.
pub(super) const MINUTES: i64 = 3;

impl Sim {
    /// Where medik8s' actors agree by Leases, and nobody works on the Node.
    pub(super) fn among_others() -> Self {
        let mut sim = Self::new();
        sim.world.node_lease = NodeLease::Free;
        sim.leases_were_unused = false;
        sim
    }

    pub(super) fn read_node_lease(&mut self, fault: Fault) {
        self.counts.lease_reads += 1;
        let (began, seen) = (at(self.world.now), self.seen_of_lease());
        self.pass(API_LATENCY);
        match seen.and_then(|lease| {
            if fault == Fault::Refused {
                Err(unread())
            } else {
                Ok(lease)
            }
        }) {
            Ok(lease) => {
                self.leases_were_unused = lease == NodeLease::Unused;
                self.observed.note_node_lease(Reading { began, found: lease });
            }
            Err(obstacle) => self
                .observed
                .note_node_lease_failure(at(self.world.now), obstacle),
        }
    }

    /// The Lease as the API server shows it.
    pub(super) fn seen_of_lease(&self) -> Result<NodeLease, Obstacle> {
        if self.lease_is_hidden {
            Err(unread())
        } else {
            Ok(self.world.node_lease.clone())
        }
    }

    pub(super) fn write_node_lease(&mut self, effect: &Effect, fault: Fault) {
        self.counts.lease_writes += 1;
        self.pass(API_LATENCY);
        let refused = fault == Fault::Refused || (self.refuses)(effect);
        if !refused {
            self.carry_out_on_the_lease(effect);
        }
        if refused || fault == Fault::AnswerLost {
            let obstacle = Obstacle::new(Reason::NodeLeaseNotTaken, "the server said no");
            return self
                .observed
                .note_node_lease_failure(at(self.world.now), obstacle);
        }
        self.observed.note_node_lease_written();
    }

    /// As the API server does it: only where the Lease is what the writer had read.
    fn carry_out_on_the_lease(&mut self, effect: &Effect) {
        let version = match &self.world.node_lease {
            NodeLease::There(lease) => Some(lease.resource_version.clone()),
            NodeLease::Free | NodeLease::Unused => None,
        };
        match effect {
            Effect::TakeNodeLease(claim) if claim.replaces == version => {
                assert_eq!(Some(&claim.node_uid), self.world.node().map(|node| &node.uid));
                self.lease_becomes(&claim.holder, claim.duration);
                if let NodeLease::There(lease) = &mut self.world.node_lease {
                    lease.acquired = Some(claim.acquired);
                    lease.renewed = Some(claim.renewed);
                    lease.transitions = claim.transitions;
                }
            }
            Effect::ReleaseNodeLease { resource_version, .. }
                if version.as_ref() == Some(resource_version) =>
            {
                assert!(self.lease_is_ours(), "another's Lease was deleted");
                self.world.node_lease = NodeLease::Free;
            }
            Effect::TakeNodeLease(_)
            | Effect::ReleaseNodeLease { .. }
            | Effect::AddFinalizer
            | Effect::RemoveFinalizer
            | Effect::PowerOff { .. }
            | Effect::PowerOn { .. }
            | Effect::Restart { .. }
            | Effect::WriteHold(_)
            | Effect::ReleaseHost(_)
            | Effect::TaintNode { .. }
            | Effect::DeleteNode { .. }
            | Effect::RestoreNode { .. }
            | Effect::UntaintNode { .. }
            | Effect::ClearTrigger { .. }
            | Effect::AskOwner(_)
            | Effect::DeleteMachine(_) => {}
        }
    }

    pub(super) fn lease_becomes(&mut self, holder: &str, duration: SignedDuration) {
        self.world.version += 1;
        let now = Some(at(self.world.now));
        self.world.node_lease = NodeLease::There(Lease {
            holder: Some(holder.to_owned()),
            acquired: now,
            renewed: now,
            duration: Some(duration),
            transitions: 0,
            node_uid: self.world.node().map(|node| node.uid.clone()),
            uid: "lease-uid".to_owned(),
            resource_version: self.world.version.to_string(),
        });
    }

    /// What the garbage collector does to what a deleted Node owned.
    pub(super) fn lease_goes_with_its_node(&mut self) {
        let node = self.world.node().map(|node| node.uid.clone());
        if node.is_some_and(|uid| {
            self.world
                .node_lease
                .there()
                .is_some_and(|lease| lease.goes_with(&uid))
        }) {
            self.world.version += 1;
            self.world.node_lease = NodeLease::Free;
        }
    }

    pub(super) fn another_takes_the_lease(&mut self) {
        self.lease_becomes(ANOTHER, SignedDuration::from_mins(MINUTES));
    }

    pub(super) fn lease_is_of_another(&self) -> bool {
        matches!(&self.world.node_lease, NodeLease::There(lease) if lease.is_of(ANOTHER))
    }

    pub(super) fn lease_is_ours(&self) -> bool {
        let own = &self.lease_holders.own;
        matches!(&self.world.node_lease, NodeLease::There(lease) if lease.is_of(own))
    }

    /// Whether the look that a power-off is sent on found the Lease held for us, or no use for one.
    pub(super) fn holds_at_live_check(&self) -> bool {
        let looked = self
            .live_check
            .as_ref()
            .map(|look| (look.began, &look.node_lease));
        match looked {
            Some((_, Ok(NodeLease::Unused))) => true,
            Some((_, Ok(NodeLease::There(lease)))) => {
                let holders = &self.lease_holders;
                let producer = holders.producer.as_deref();
                let held = lease.is_of(&holders.own) || producer.is_some_and(|name| lease.is_of(name));
                let (renewed, duration) = (lease.renewed.unwrap(), lease.duration.unwrap());
                held && renewed + duration >= at(self.world.now)
            }
            Some((_, Ok(NodeLease::Free) | Err(_))) | None => false,
        }
    }
}

fn unread() -> Obstacle {
    Obstacle::new(Reason::NodeLeaseUnreadable, unreachable().detail)
}
