//! Everything a decision may be based on, as plain data.

mod allowed;
mod control_plane;
mod objects;
mod rival;
#[cfg(test)]
mod tests;

pub use allowed::{Allowed, AllowedNamespaces};
pub use control_plane::{
    ControlPlane, ControlPlaneRule, Member, MemberState, Members, Role, is_of_control_plane,
};
pub use objects::{Machine, Node, NodeCondition, NodeReport, OtherFencer, OutOfService};
pub use rival::Rival;

use std::fmt;

use jiff::Timestamp;

use super::admission::Reply;
use super::brakes::{Claim, Fleet, Limits};
use super::confirmation::{LiveWord, Word};
use super::health::HealthCheck;
use super::health::target::ClusterState;
use super::identity::SystemUuid;
use super::journal::{HostObject, SavedNode, Subject};
use super::metal3::{CycledBy, HostView};
use super::node_lease::{Holders, NodeLease};
use super::observed::Observed;
use super::phase::Reason;
use super::strategy::Strategy;

/// Something we looked for. Unreadable is never absent, and absent is never healthy.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Lookup<T> {
    /// It is there and could be read.
    Present(T),
    /// It is not there.
    Absent,
    /// It is there, but a field is not what it should be; the text names the field.
    Unreadable(String),
}

impl<T> Lookup<T> {
    /// What is there and could be read, where it makes no difference why there is nothing else.
    pub fn present(&self) -> Option<&T> {
        match self {
            Self::Present(value) => Some(value),
            Self::Absent | Self::Unreadable(_) => None,
        }
    }

    /// The same by reference.
    pub fn as_ref(&self) -> Lookup<&T> {
        match self {
            Self::Present(value) => Lookup::Present(value),
            Self::Absent => Lookup::Absent,
            Self::Unreadable(detail) => Lookup::Unreadable(detail.clone()),
        }
    }

    /// Turns what is there into something else.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Lookup<U> {
        match self {
            Self::Present(value) => Lookup::Present(convert(value)),
            Self::Absent => Lookup::Absent,
            Self::Unreadable(detail) => Lookup::Unreadable(detail),
        }
    }
}

/// Bytes of a detail that are kept: it may quote anybody's API server, and the journal has to fit into its object.
const LONGEST_DETAIL: usize = 4096;

/// Why something cannot go on, with the detail a person needs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Obstacle {
    /// The named reason.
    pub reason: Reason,
    /// What exactly, without secrets.
    pub detail: String,
}

impl Obstacle {
    /// Names an obstacle. The advice follows the detail as the next sentence, so the detail has no full stop.
    pub fn new(reason: Reason, detail: impl Into<String>) -> Self {
        let mut detail = detail.into();
        detail.truncate(detail.trim_end_matches('.').len());
        if detail.len() > LONGEST_DETAIL {
            detail.truncate(detail.floor_char_boundary(LONGEST_DETAIL));
            detail.push_str(" ...");
        }
        Self { reason, detail }
    }

    /// The detail, and what to do about it.
    pub fn for_people(&self) -> String {
        format!("{}. {}", self.detail, self.reason.advice())
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.reason.as_str(), self.detail)
    }
}

/// The facts of one remediation at one moment.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The validated spec, or what is wrong with it.
    pub strategy: Result<Strategy, Obstacle>,
    /// How the remediation came to be.
    pub origin: Origin,
    /// The namespace of the remediation, and of all that it refers to.
    pub namespace: String,
    /// When the remediation object was created.
    pub created: Timestamp,
    /// Whether the remediation object is being deleted.
    pub deletion_requested: bool,
    /// Whether NodeHealthCheck has told it to stop; the next remediator of its ladder may be at work already.
    pub told_to_stop: bool,
    /// Whether a person has said that the host may stay off: nobody tries to bring it back any more.
    pub leave_off: bool,
    /// What a person says of the host: that it is off.
    pub confirm_off: Lookup<Word>,
    /// Whether our finalizer is on the remediation object.
    pub has_finalizer: bool,
    /// The UID that the Machine must have, when the remediation was made for a certain one.
    pub expected_machine_uid: Option<String>,
    /// The Node that the request names; where there is a Machine, it has to be that of the Machine.
    pub named_node: Option<String>,
    /// This process's right to act.
    pub leadership: Leadership,
    /// Machine, Node, health checks and policy as the caches have them.
    pub objects: Objects,
    /// The same, read live, the last time that was asked for.
    pub live_check: Option<LiveCheck>,
    /// The host behind the Machine, or why it cannot be named.
    pub host: Result<Host, Obstacle>,
    /// Whether it may begin beside the others; only known while an attempt has to begin or an escalation is open.
    pub admission: Reply,
    /// In whose names the Lease of medik8s may be held on the Node.
    pub lease_holders: Holders,
    /// Whether nobody used such Leases when this process last read one. It spares a read; the live check reads anew.
    pub leases_were_unused: bool,
    /// Whether the server knows the out-of-service taint (Kubernetes 1.28 and newer).
    pub out_of_service_supported: bool,
    /// What the Node carries, to be saved before it is deleted.
    pub node_metadata: Option<SavedNode>,
    /// What this process saw and did for this remediation. Lost in a crash.
    pub observed: Observed,
}

/// How a remediation came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From the annotation `host.metal3.io/external-remediation` on a Machine: the trigger has to
    /// stay, an unpaused MachineHealthCheck has to vouch for it, and we remove it when done.
    Annotation,
    /// Made by a person or a producer that clones our template: the object itself is the request.
    Request,
}

/// This process's right to act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leadership {
    /// Term of the leader, for the journal.
    pub epoch: i64,
    /// Random number of this process, for the journal.
    pub process: u32,
    /// No effect is begun after this time. `None`: this process does not lead.
    pub act_until: Option<Timestamp>,
}

impl Leadership {
    /// Whether this process may act now.
    pub fn leads(&self, now: Timestamp) -> bool {
        self.act_until.is_some_and(|until| until > now)
    }
}

/// Machine, Node, health checks and policy.
#[derive(Clone, Debug, Hash)]
pub struct Objects {
    /// The administrator's limits.
    pub policy: Lookup<Policy>,
    /// The Machine.
    pub machine: Lookup<Machine>,
    /// Its Node.
    pub node: Lookup<Node>,
    /// The Node that has the system UUID of the host, or otherwise is the Machine's, whatever `status.nodeRef`
    /// says. Only known where the Machine has no Node, or had none when the attempt began. Else another Node with the
    /// system UUID of [`Self::node`], where there is one.
    pub node_of_host: Lookup<Node>,
    /// Who else describes the host, and has reached it.
    pub rival: Option<Box<Rival>>,
    /// Why the cluster of the Node cannot be asked, where it cannot; then [`Self::node`] cannot be read.
    pub node_cluster: Option<Obstacle>,
    /// Cluster API: what decides about the Machines of its Cluster. Absent: it is of none.
    pub cluster: Lookup<ClusterState>,
    /// The control plane, if the host is of one.
    pub control_plane: ControlPlane,
    /// Of a trigger, the MachineHealthChecks of the Machine's namespace that select it or cannot be read. Of a
    /// request, the health checks that made it: none where a person did.
    pub health_checks: Vec<Lookup<HealthCheck>>,
}

impl Objects {
    /// The Node that reports if the host is not off: where there was none, the one that has joined since.
    pub fn may_report(&self, subject: &Subject) -> Option<&Node> {
        let node = if subject.had_no_node() {
            &self.node_of_host
        } else {
            &self.node
        };
        node.present()
    }

    /// The versions of what can be read.
    pub fn versions(&self) -> Versions {
        let (machine, node) = (self.machine.present(), self.node.present());
        (
            machine.map(|machine| machine.resource_version.clone()),
            node.map(|node| node.resource_version.clone()),
        )
    }
}

/// resourceVersions of Machine and Node.
pub type Versions = (Option<String>, Option<String>);

/// A live read of everything that a power-off depends on.
#[derive(Clone, Debug, Hash)]
pub struct LiveCheck {
    /// When it was begun; everything in it is at least as new.
    pub began: Timestamp,
    /// What was read.
    pub objects: Objects,
    /// What the Node last reported.
    pub report: NodeReport,
    /// Whether the host behind the Machine may still be powered, as far as metal3 has a say.
    pub host: Result<(), Obstacle>,
    /// The BareMetalHost that manages the host, where there is one.
    pub bare_metal_host: Option<HostView>,
    /// By whom the Lease of medik8s on the Node is held, or why that is not known.
    pub node_lease: Result<NodeLease, Obstacle>,
    /// What the brakes go by.
    pub fleet: Fleet,
    /// What the power-off uses of the limits.
    pub claim: Claim,
    /// Whether this replica is one to carry it out.
    pub own_node: Result<(), Obstacle>,
    /// While a person's word is awaited: that word.
    pub confirm_off: Option<LiveWord>,
}

/// The administrator's limits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Policy {
    /// Nothing new is begun. Recovery of hosts that are off goes on.
    pub paused: bool,
    /// How many hosts may be powered off, and when none may.
    pub limits: Limits,
    /// What may be in which namespace, and what requests may choose.
    pub allowed: Allowed,
    /// What a remediation does that is made for a trigger; none where the policy says nothing that can be followed.
    pub triggers: Option<Strategy>,
}

#[cfg(test)]
impl Policy {
    /// Only more than two unhealthy Nodes hold anything up.
    pub(crate) fn in_tests(paused: bool) -> Self {
        let limits = Limits {
            unhealthy: crate::brakes::Share::Count(2),
            ..Limits::none()
        };
        Self {
            paused,
            limits,
            allowed: Allowed::default(),
            triggers: None,
        }
    }
}

/// A host whose power may be asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Host {
    /// What describes it.
    pub reference: HostObject,
    /// Address of its BMC, without credentials.
    pub bmc: String,
    /// The system UUID an administrator stated for it.
    pub stated_uuid: Option<SystemUuid>,
    /// By what it may be power-cycled.
    pub cycled: CycledBy,
    /// The system UUID that the BMC has said to a check since it was described so.
    pub found_uuid: Option<SystemUuid>,
}
