//! The order of checks of `cluster.x-k8s.io`.
//! Sources: cluster-api v1.10.4 `internal/controllers/machinehealthcheck/machinehealthcheck_targets.go` for
//! v1beta1; ae7ff047db `core/reconcilers/machinehealthcheck/machinehealthcheck_targets.go` for v1beta2.

use jiff::Timestamp;

use super::dialect::Dialect;
use super::judgement::Judgement;
use super::target::{ClusterState, NodeState, Readiness};
use super::verdict::{Skip, UnhealthyReason, Unknown, Verdict, Wait};
use crate::facts::Lookup;

impl Judgement<'_> {
    /// Judges by the annotations of the Machine, then what v1beta1 judges early, then, if the Cluster is far
    /// enough, by conditions and Node.
    pub(super) fn by_cluster_api(mut self, cluster: &Lookup<ClusterState>) -> Result<Verdict, Unknown> {
        let (target, machine) = (self.target, self.machine);
        if machine.paused {
            return Ok(Verdict::Skipped(Skip::Paused));
        }
        if machine.skip_remediation {
            return Ok(Verdict::Skipped(Skip::SkipRemediation));
        }
        let cluster = match cluster {
            Lookup::Present(cluster) => cluster,
            Lookup::Absent => return Err(Unknown::Cluster("the Cluster does not exist".to_owned())),
            Lookup::Unreadable(detail) => return Err(Unknown::Cluster(detail.clone())),
        };
        let node = match cluster.control_plane {
            // Before the control plane is initialized there is nothing to ask.
            Readiness::No => &NodeState::Unset,
            Readiness::Yes { .. } => target.node.as_ref().map_err(Unknown::clone)?,
        };
        let name = &target.name;
        if machine.remediate {
            let message = format!("Machine {name} carries cluster.x-k8s.io/remediate-machine");
            self.wrong(UnhealthyReason::RemediateAnnotation, message);
        }
        let is_v1beta2 = self.rules.dialect == Dialect::ClusterApiV1Beta2;
        if !is_v1beta2 {
            self.early(node);
        }
        if !self.wrong.is_empty() {
            return Ok(self.verdict());
        }
        if let Some(why) = self.not_yet(cluster, node) {
            return Ok(Verdict::Waiting { why, until: None });
        }
        let kind = (UnhealthyReason::UnhealthyMachine, format!("Machine {name}"));
        self.conditions(kind, &self.rules.machine_conditions, &machine.conditions);
        self.node(node, Some(self.start(cluster)));
        if is_v1beta2 {
            self.merge();
        }
        Ok(self.verdict())
    }

    /// What v1beta1 judges before it asks how far the Cluster is.
    fn early(&mut self, node: &NodeState) {
        let fields = [
            ("failureReason", &self.machine.failure_reason),
            ("failureMessage", &self.machine.failure_message),
        ];
        for (field, text) in fields {
            if let Some(text) = text {
                let message = format!("status.{field} of Machine {} is {text:?}", self.target.name);
                self.wrong(UnhealthyReason::MachineHasFailure, message);
            }
        }
        if let NodeState::Gone(name) = node {
            self.node_gone(name);
        }
    }

    /// No Machine is to blame while its Cluster is not far enough; the first control-plane Machines have to be
    /// judged, for without them it never will be.
    fn not_yet(&self, cluster: &ClusterState, node: &NodeState) -> Option<Wait> {
        if cluster.control_plane == Readiness::No && !self.machine.control_plane {
            return Some(Wait::ControlPlaneNotInitialized);
        }
        let has_node = matches!(node, NodeState::Present { .. });
        (cluster.infrastructure == Readiness::No).then(|| Wait::InfrastructureNotReady {
            counts_as_healthy: has_node && self.nothing_wrong() == Verdict::Healthy,
        })
    }

    /// From when on a Machine should be getting a Node: the latest of four times.
    fn start(&self, cluster: &ClusterState) -> Timestamp {
        let ready = [
            cluster.control_plane,
            cluster.infrastructure,
            self.machine.infrastructure,
        ];
        let since = ready.into_iter().filter_map(|ready| match ready {
            Readiness::No => None,
            Readiness::Yes { since } => since,
        });
        since.fold(self.machine.created, Timestamp::max)
    }

    /// v1beta2 tells everything that is wrong; what is wrong with the Machine itself comes first and names the
    /// reason.
    fn merge(&mut self) {
        let messages = self.wrong.iter().map(|(_, message, _)| message.as_str());
        let all = messages.collect::<Vec<_>>().join("; ");
        if let Some((_, message, _)) = self.wrong.first_mut() {
            *message = all;
        }
    }
}
