//! What we read of Machines and Nodes.

use jiff::{SignedDuration, Timestamp};

use crate::after;
use crate::health::target::MachineState;
use crate::machine_api::MachineApi;

/// How far clocks of one cluster may be apart.
const CLOCKS_DIFFER: SignedDuration = SignedDuration::from_secs(10);

/// What we read of a Machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Machine {
    /// The API that it is of.
    pub api: MachineApi,
    /// Cluster API: the Cluster in whose API its Node is.
    pub cluster: Option<String>,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// `status.authoritativeAPI`, when it is set and not `MachineAPI`.
    pub authoritative_elsewhere: Option<String>,
    /// The mark of another remediator, by its key.
    pub foreign_mark: Option<String>,
    /// What else answers the trigger annotation of this Machine, if anything does.
    pub trigger_answered_by: Option<String>,
    /// What keeps remediation off it or its Cluster, to be told after the name of the Machine.
    pub pause: Option<String>,
    /// Has the control-plane role.
    pub control_plane: bool,
    /// `status.nodeRef.name`.
    pub node_name: Option<String>,
    /// `status.phase`.
    pub phase: Option<String>,
    /// What a health check judges of it: deletion, trigger, failures, conditions.
    pub state: MachineState,
    /// `spec.providerID`.
    pub provider_id: Option<String>,
    /// The controller that owns it and replaces it when it goes, as `kind/name`.
    pub controller_owner: Option<String>,
    /// Cluster API: why it is unhealthy whatever its conditions say.
    pub unhealthy_by_itself: Option<String>,
    /// resourceVersion.
    pub resource_version: String,
}

/// What we read of a Node.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Node {
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// resourceVersion.
    pub resource_version: String,
    /// Annotation `machine.openshift.io/machine`, `namespace/name`.
    pub machine_link: Option<String>,
    /// `spec.providerID`.
    pub provider_id: Option<String>,
    /// `status.nodeInfo.systemUUID`.
    pub system_uuid: Option<String>,
    /// `status.nodeInfo.bootID`.
    pub boot_id: Option<String>,
    /// Has a role label of the control plane.
    pub control_plane: bool,
    /// Conditions.
    pub conditions: Vec<NodeCondition>,
    /// The out-of-service taint.
    pub out_of_service: OutOfService,
    /// Another fencer that works on the Node, by the taint that it put there.
    pub other_fencer: Option<Box<OtherFencer>>,
    /// Newest `lastHeartbeatTime`, which only the kubelet writes. Compared for change only.
    pub heartbeat: Option<Timestamp>,
    /// Since when this process has watched its Ready stay Unknown: the node lifecycle controller gave it up, and
    /// its kubelet has not objected. No clock of the Node counts.
    pub lost_since: Option<Timestamp>,
}

impl Node {
    /// Whether the condition Ready is True.
    pub fn is_ready(&self) -> bool {
        self.ready().is_some()
    }

    /// Since when it is, by its own clock.
    pub fn ready_since(&self) -> Option<Timestamp> {
        self.ready()?.since
    }

    fn ready(&self) -> Option<&NodeCondition> {
        let mut conditions = self.conditions.iter();
        conditions.find(|condition| condition.kind == "Ready" && condition.status == "True")
    }
}

/// Another program that takes Nodes out of service and reboots their hosts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OtherFencer {
    /// What it is called.
    pub name: String,
    /// Key of its taint.
    pub taint: String,
}

/// The out-of-service taint of a Node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OutOfService {
    /// Not there.
    No,
    /// Put there by us, for the remediation with this UID.
    Ours(String),
    /// Put there by somebody else; never removed by us.
    Foreign,
}

impl OutOfService {
    /// Whether we put the taint there.
    pub fn is_ours(&self) -> bool {
        matches!(self, Self::Ours(_))
    }
}

/// One Node condition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeCondition {
    /// Type.
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// lastTransitionTime.
    pub since: Option<Timestamp>,
}

/// Signs of life of a Node: written by its kubelet and nobody else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeReport {
    /// `renewTime` of its Lease.
    pub lease_renewed: Option<Timestamp>,
    /// `leaseDurationSeconds` of its Lease.
    pub lease_duration: Option<SignedDuration>,
    /// Newest heartbeat of its conditions.
    pub heartbeat: Option<Timestamp>,
}

impl NodeReport {
    /// Whether the kubelet wrote something between the two reads. Clocks play no part.
    pub fn differs_from(&self, other: &Self) -> bool {
        self.lease_renewed != other.lease_renewed || self.heartbeat != other.heartbeat
    }

    /// How long its Lease holds: where it does not say, as long as by default.
    pub fn lease_duration(&self) -> SignedDuration {
        self.lease_duration.unwrap_or(SignedDuration::from_secs(40))
    }

    /// Whether the Lease is valid, and was not renewed in our future: a clock that is ahead would keep it valid after
    /// its Node has died.
    pub fn is_renewed(&self, now: Timestamp) -> bool {
        let is_past = |renewed| renewed <= after(now, CLOCKS_DIFFER);
        self.lease_renewed.is_some_and(is_past) && self.lease_is_fresh(now)
    }

    /// Whether the Lease is still valid by its own words.
    pub fn lease_is_fresh(&self, now: Timestamp) -> bool {
        let end = self
            .lease_renewed
            .map(|renewed| after(renewed, self.lease_duration()));
        end.is_some_and(|end| end > now)
    }
}
