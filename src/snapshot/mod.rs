//! The state of everything that a decision depends on: from the caches, read live, or listed by a command.

pub(crate) mod cached;
pub(crate) mod confirm_off;
pub(crate) mod control_plane;
pub(crate) mod host;
pub(crate) mod known_hosts;
pub(crate) mod listed;
pub(crate) mod live;
pub(crate) mod machines;
pub(crate) mod node_lease;
pub(crate) mod producers;
pub(crate) mod remediation_history;
pub(crate) mod rivals;
pub(crate) mod sources;

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_api::guarded::Guarded;
use remediator_api::target_ref::is_under_way;
use remediator_api::views::cluster_api::Cluster;
use remediator_api::views::{Machine, Node};
use remediator_api::{PowerCycleRemediation, RemediationPolicy};
use remediator_core::facts::{self, ControlPlane, Lookup, Objects, Obstacle, OutOfService, Rival};
use remediator_core::health::HealthCheck;
use remediator_core::health::target::ClusterState;
pub(crate) use sources::Sources;

use crate::watch::lookup;

/// What one source says of everything that a remediation depends on: the caches, which watches fill or the lists of a
/// command, or a live read.
pub(crate) struct Snapshot<'a> {
    pub(crate) policy: Option<&'a Guarded<RemediationPolicy>>,
    pub(crate) machine: Lookup<&'a Machine>,
    /// None where the Machine is of no Cluster.
    pub(crate) cluster: Option<&'a Lookup<Cluster>>,
    pub(crate) node: Lookup<facts::Node>,
    pub(crate) node_of_host: Lookup<facts::Node>,
    /// Who else describes the host, and has reached it.
    pub(crate) rival: Option<Rival>,
    /// Why the cluster of the Node cannot be asked, where it cannot.
    pub(crate) node_cluster: Option<Obstacle>,
    /// The control plane, if the host is of one.
    pub(crate) control_plane: ControlPlane,
    pub(crate) health_checks: Vec<Lookup<HealthCheck>>,
}

impl Snapshot<'_> {
    /// What the core decides on.
    pub(crate) fn objects(self) -> Objects {
        Objects {
            policy: lookup::policy(self.policy),
            machine: self.machine.map(|machine| machine_facts(machine, self.cluster)),
            node: self.node,
            node_of_host: self.node_of_host,
            rival: self.rival.map(Box::new),
            node_cluster: self.node_cluster,
            cluster: cluster_state(self.cluster),
            control_plane: self.control_plane,
            health_checks: self.health_checks,
        }
    }
}

/// For a host whose Machine has a Node, and of which no other is known.
pub(crate) fn not_looked_for() -> Lookup<facts::Node> {
    Lookup::Unreadable("whether another Node has the system UUID of the host was not asked".to_owned())
}

fn cluster_state(cluster: Option<&Lookup<Cluster>>) -> Lookup<ClusterState> {
    cluster.map_or(Lookup::Absent, |cluster| {
        cluster.as_ref().map(|cluster| cluster.state.clone())
    })
}

/// What decisions about a Machine are based on; a Cluster that is paused or cannot be read stops what is
/// new, as its own controllers stop.
fn machine_facts(machine: &Machine, cluster: Option<&Lookup<Cluster>>) -> facts::Machine {
    let facts = machine.facts();
    let name = machine.cluster().unwrap_or_default();
    let of_cluster = match cluster {
        None => None,
        Some(Lookup::Present(cluster)) => {
            let paused = cluster.state.paused;
            paused.then(|| format!("is of Cluster {name}, whose spec.paused is true"))
        }
        Some(Lookup::Absent) => Some(format!("is of Cluster {name}, which does not exist")),
        Some(Lookup::Unreadable(detail)) => Some(format!("is of a Cluster that stops it: {detail}")),
    };
    facts::Machine {
        pause: of_cluster.or(facts.pause.clone()),
        ..facts
    }
}

/// What decisions about a Node are based on. `machine_link`: the Machine of the right API that it speaks of.
/// `own`: the UID of the remediation that asks. The taint of another one that is still at work is not its to remove.
pub(crate) fn node_facts(
    node: &Node,
    (machine_link, lost_since): (Option<String>, Option<Timestamp>),
    own: Option<&str>,
    is_at_work: impl Fn(&str) -> bool,
) -> facts::Node {
    let mut node = facts::Node {
        machine_link,
        lost_since,
        ..node.facts()
    };
    if let OutOfService::Ours(uid) = &node.out_of_service
        && own != Some(uid)
        && is_at_work(uid)
    {
        node.out_of_service = OutOfService::Foreign;
    }
    node
}

pub(crate) fn is_at_work(remediation: &PowerCycleRemediation, uid: &str) -> bool {
    remediation.uid().as_deref() == Some(uid) && is_under_way(remediation)
}
