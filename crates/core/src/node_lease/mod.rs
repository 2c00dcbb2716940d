//! The Lease of a Node by which the actors of medik8s agree on who works on it.
//!
//! Where [`NAMESPACE`] exists, whoever means to disrupt a Node holds its Lease there first, and deletes it when done.
//!
//! Sources: medik8s/common `pkg/lease/manager.go`; medik8s/node-healthcheck-operator
//! `internal/controller/resources/lease.go`.

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::facts::Obstacle;
use super::phase::Reason;

/// Namespace of these Leases. Source: `defaultLeaseNs` of `manager.go`.
pub const NAMESPACE: &str = "medik8s-leases";

/// By how much a clock may be ahead of ours. medik8s takes a Lease that was renewed in the future for invalid.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_secs(10);

/// Name of the Lease of a Node. Source: `generateLeaseName` of `manager.go`.
pub fn name(node: &str) -> String {
    format!("node-{}", node.to_lowercase())
}

/// The Lease of a Node as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NodeLease {
    /// There is no such namespace: nobody agrees on anything by Leases here.
    Unused,
    /// There is no Lease: nobody works on the Node.
    Free,
    /// There is one; whether it still holds is another question.
    There(Lease),
}

impl NodeLease {
    /// The Lease, if there is one.
    pub fn there(&self) -> Option<&Lease> {
        match self {
            Self::There(lease) => Some(lease),
            Self::Unused | Self::Free => None,
        }
    }
}

/// What we read of the Lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// `holderIdentity`.
    pub holder: Option<String>,
    /// `acquireTime`.
    pub acquired: Option<Timestamp>,
    /// `renewTime`.
    pub renewed: Option<Timestamp>,
    /// `leaseDurationSeconds`.
    pub duration: Option<SignedDuration>,
    /// `leaseTransitions`.
    pub transitions: i32,
    /// UID of the Node that owns it, with which it is deleted.
    pub node_uid: Option<String>,
    /// UID.
    pub uid: String,
    /// resourceVersion.
    pub resource_version: String,
}

impl Lease {
    /// When it runs out by itself; `None` when a field is missing that says so.
    pub fn end(&self) -> Option<Timestamp> {
        self.renewed?.saturating_add(self.duration?).ok()
    }

    /// Until when it holds, if it does: renewed in the past, and not run out. A missing field makes it
    /// invalid. Source: `isValidLease` of `manager.go`.
    pub fn valid_until(&self, now: Timestamp) -> Option<Timestamp> {
        let latest = now.saturating_add(CLOCK_SKEW).unwrap_or(Timestamp::MAX);
        let end = self.end()?;
        (end >= now && self.renewed? <= latest).then_some(end)
    }

    /// Whether it is deleted with the Node of this UID, also when the next one of its name is there already.
    pub fn goes_with(&self, node_uid: &str) -> bool {
        self.node_uid.as_deref() == Some(node_uid)
    }

    /// Whether somebody is named as its holder, valid or not.
    pub fn is_of(&self, holder: &str) -> bool {
        self.holder.as_deref() == Some(holder)
    }
}

/// In whose names the Lease may be held for a remediation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holders {
    /// Held: it names the remediation, so that a successor of this process knows it.
    pub own: String,
    /// The health checker that made the request. What it holds is not ours to take, renew or release.
    pub producer: Option<String>,
}

impl Holders {
    /// For the remediation with this UID.
    pub fn of(uid: &str, producer: Option<String>) -> Self {
        Self {
            own: format!("baremetal-remediator-{uid}"),
            producer,
        }
    }
}

/// What has to be done before the host of the Node may be touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acquisition {
    /// Nothing: nobody agrees by Leases, or the producer of the request holds it for us.
    NotNeeded,
    /// Nothing: it is ours for long enough.
    Held,
    /// It has to be taken, or renewed.
    Due,
}

/// What whoever needs the Lease until `needed` has to do; an error while somebody else holds it.
pub fn acquisition(
    node: &str,
    lease: &NodeLease,
    holders: &Holders,
    needed: Timestamp,
    now: Timestamp,
) -> Result<Acquisition, Obstacle> {
    let lease = match lease {
        NodeLease::Unused => return Ok(Acquisition::NotNeeded),
        NodeLease::Free => return Ok(Acquisition::Due),
        NodeLease::There(lease) => lease,
    };
    let is_of_producer = || {
        holders
            .producer
            .as_deref()
            .is_some_and(|producer| lease.is_of(producer))
    };
    match lease.valid_until(now) {
        None => Ok(Acquisition::Due),
        Some(until) if lease.is_of(&holders.own) && until >= needed => Ok(Acquisition::Held),
        Some(_) if lease.is_of(&holders.own) => Ok(Acquisition::Due),
        Some(_) if is_of_producer() => Ok(Acquisition::NotNeeded),
        Some(until) => {
            let holder = lease.holder.as_deref().unwrap_or("somebody without a name");
            let detail = format!(
                "{holder} works on Node {node}: it holds the Lease {} in namespace {NAMESPACE} until {until:.0}",
                name(node)
            );
            Err(Obstacle::new(Reason::NodeLeaseHeld, detail))
        }
    }
}

/// Whether the Lease, read live, lets the host be powered off now: not if it is gone, has run out or is another's.
pub fn confirm(node: &str, lease: &NodeLease, holders: &Holders, now: Timestamp) -> Result<(), Obstacle> {
    let lost = match acquisition(node, lease, holders, now, now)? {
        Acquisition::NotNeeded | Acquisition::Held => return Ok(()),
        Acquisition::Due if lease.there().is_none() => "is not there",
        Acquisition::Due => "has run out",
    };
    let detail = format!("the Lease {} in namespace {NAMESPACE} {lost}", name(node));
    Err(Obstacle::new(Reason::Accepted, detail))
}

/// A Lease as it has to be written to be ours.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeaseWrite {
    /// Name of the Node.
    pub node: String,
    /// Its UID: the Lease goes with the Node.
    pub node_uid: String,
    /// `holderIdentity`.
    pub holder: String,
    /// `acquireTime`.
    pub acquired: Timestamp,
    /// `renewTime`.
    pub renewed: Timestamp,
    /// `leaseDurationSeconds`.
    pub duration: SignedDuration,
    /// `leaseTransitions`.
    pub transitions: i32,
    /// resourceVersion of the Lease that is there and must not have changed since; `None` where none is.
    pub replaces: Option<String>,
}

impl LeaseWrite {
    /// Takes a Lease that is free or has run out, or renews ours. Another holder's is acquired anew, and that
    /// is counted, as by `requestLease` of `manager.go`.
    pub fn of(
        (node, node_uid): (&str, &str),
        lease: &NodeLease,
        holders: &Holders,
        duration: SignedDuration,
        now: Timestamp,
    ) -> Self {
        let there = lease.there();
        let ours = there.filter(|lease| lease.is_of(&holders.own));
        let kept = ours.and_then(|lease| lease.acquired);
        let transitions = there.map_or(0, |lease| {
            let change = i32::from(kept.is_none());
            lease.transitions.saturating_add(change)
        });
        Self {
            node: node.to_owned(),
            node_uid: node_uid.to_owned(),
            holder: holders.own.clone(),
            acquired: kept.unwrap_or(now),
            renewed: now,
            duration,
            transitions,
            replaces: there.map(|lease| lease.resource_version.clone()),
        }
    }
}

/// A Lease in namespace `medik8s-leases`, by which other remediators know that we work on the Node. It is
/// deleted when we are done, and runs out by itself where that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(rename_all = "camelCase")]
pub struct HeldNodeLease {
    /// Name of the Node.
    pub node: String,
    /// The Cluster that the Node is in, where that is a workload cluster of Cluster API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// Since when it was to be ours.
    pub since: Timestamp,
    /// Who was found to hold it after the power-off; it is not ours any more then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_to: Option<String>,
}

#[cfg(test)]
mod tests;
