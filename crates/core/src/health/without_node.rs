//! Whether a Machine has been without a Node for longer than its health checks allow.

use jiff::Timestamp;

use super::HealthCheck;
use super::judgement::judge_machine;
use super::selector::Labels;
use super::target::{ClusterState, MachineState, NodeState, Target};
use super::verdict::{Unknown, Verdict, Wait};
use crate::facts::Lookup;

/// What health checks say of a Machine that has no Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WithoutNode {
    /// For too long, by at least one of them; why.
    TooLong(String),
    /// Not for too long yet.
    Waits {
        /// When it will have been, if nothing changes and that is known.
        until: Option<Timestamp>,
    },
    /// All that judge it let it be without a Node for as long as it likes.
    Unlimited,
    /// None can tell; why.
    Unknown(String),
}

/// Judges a Machine by the absence of its Node and by nothing else: whatever is wrong with the Machine besides
/// is no reason to power-cycle a host that may still be on its way into the cluster. `node` is
/// [`NodeState::Unset`] or [`NodeState::Gone`].
pub fn judge_without_node(
    checks: &[&HealthCheck],
    cluster: &Lookup<ClusterState>,
    (name, machine): (&str, &MachineState),
    node: NodeState,
    now: Timestamp,
) -> WithoutNode {
    let target = Target {
        name: name.to_owned(),
        labels: Labels::default(),
        machine: Ok(only_without_node(machine)),
        node,
        under_remediation: false,
    };
    let rules = checks.iter().filter_map(|check| check.rules.as_ref());
    let verdicts = rules.map(|rules| judge_machine(rules, cluster, &target, now));
    together(verdicts.collect())
}

/// The Machine without whatever makes it unhealthy apart from its Node.
fn only_without_node(state: &MachineState) -> MachineState {
    let MachineState {
        created,
        deleting,
        triggered: _,
        failed: _,
        last_updated,
        control_plane,
        paused,
        skip_remediation,
        remediate: _,
        failure_reason: _,
        failure_message: _,
        infrastructure,
        conditions: _,
    } = state;
    MachineState {
        created: *created,
        deleting: *deleting,
        last_updated: *last_updated,
        control_plane: *control_plane,
        paused: *paused,
        skip_remediation: *skip_remediation,
        infrastructure: *infrastructure,
        ..MachineState::default()
    }
}

/// One that says too long is enough, as where each looks after the Machine by itself.
fn together(verdicts: Vec<Verdict>) -> WithoutNode {
    let (mut waits, mut first, mut otherwise) = (false, None::<Timestamp>, None);
    for verdict in verdicts {
        match verdict {
            Verdict::Unhealthy { message, .. } => return WithoutNode::TooLong(message),
            Verdict::Waiting {
                why: Wait::NodeStartupUnlimited,
                ..
            } => {
                otherwise.get_or_insert(WithoutNode::Unlimited);
            }
            Verdict::Waiting { until, .. } => {
                waits = true;
                first = [first, until].into_iter().flatten().min();
            }
            Verdict::Unknown(
                Unknown::Machine(why)
                | Unknown::Node(why)
                | Unknown::NodeUnreachable(why)
                | Unknown::Cluster(why),
            ) => otherwise = Some(WithoutNode::Unknown(why)),
            Verdict::Skipped(skip) => {
                otherwise = Some(WithoutNode::Unknown(format!("it is skipped ({skip:?})")));
            }
            Verdict::Healthy => {
                otherwise = Some(WithoutNode::Unknown("its Node is there after all".to_owned()));
            }
        }
    }
    let nobody = || WithoutNode::Unknown("no health check judges Machines without a Node".to_owned());
    match (waits, otherwise) {
        (true, _) => WithoutNode::Waits { until: first },
        (false, Some(other)) => other,
        (false, None) => nobody(),
    }
}
