//! One NodeHealthCheck over all the Nodes that it selects: one pass of its operator.

use jiff::Timestamp;

use super::rivals::{Rivals, TERMINATING};
use super::rules::NodeRules;
use crate::facts::NodeCondition;
use crate::health::judgement::Findings;
use crate::health::limit::{Allowance, Counts};
use crate::health::problem::RuleError;
use crate::health::selector::Labels;
use crate::health::verdict::{UnhealthyReason, Unknown, Verdict, Wait};

/// Label that keeps requests off a Node. Source: medik8s/common `pkg/labels`, `ExcludeFromRemediation`.
pub const EXCLUDED_LABEL: &str = "remediation.medik8s.io/exclude-from-remediation";

/// The only value of [`EXCLUDED_LABEL`] that counts. Source: `isNodeRemediationExcluded`.
pub const EXCLUDED: &str = "true";

/// What is known of one Node of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTarget {
    /// Name.
    pub name: String,
    /// Labels.
    pub labels: Labels,
    /// Its conditions, or the field of it that cannot be read.
    pub conditions: Result<Vec<NodeCondition>, String>,
    /// Has a control-plane role.
    pub control_plane: bool,
    /// Annotation `machineconfiguration.openshift.io/desiredConfig` is neither empty nor what `currentConfig` is.
    pub changes_config: bool,
    /// A request for it that the check made is still there, even one that is being deleted.
    pub requested: bool,
}

/// What a pass depends on besides the check and its Nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// The MachineHealthChecks of OpenShift.
    pub rivals: Rivals,
    /// OpenShift: the ClusterVersion is Progressing.
    pub upgrading: bool,
    /// The check has `stormCooldownDuration`, and its condition `StormActive` is True, which it stays until the
    /// threshold held for so long.
    pub storm: bool,
}

/// What a check says of all its Nodes at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeAssessment {
    /// `status.observedNodes` and `status.healthyNodes`.
    pub counts: Counts,
    /// What its threshold says, or why it says nothing.
    pub allowance: Result<Allowance, RuleError>,
    /// Each Node that it selects, by name.
    pub nodes: Vec<JudgedNode>,
    /// Why nothing new is asked for.
    pub stopped: Option<NodesStopped>,
    /// The first instant at which something is different if nothing else changes.
    pub look_again: Option<Timestamp>,
}

/// One Node of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedNode {
    /// Name.
    pub name: String,
    /// What the check says of it.
    pub verdict: Verdict,
    /// Why nothing new is asked for although it is unhealthy.
    pub held: Option<Held>,
}

/// Why a check asks for nothing new, however unhealthy its Nodes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodesStopped {
    /// MachineHealthChecks disable it.
    Disabled,
    /// The cluster, or an unhealthy Node, is being upgraded.
    Upgrading,
    /// `spec.pauseRequests`.
    Paused,
    /// The threshold cannot be followed with so many Nodes.
    ThresholdUnusable(RuleError),
    /// The threshold; see [`NodeAssessment::allowance`].
    TooFewHealthy,
    /// It was a moment ago.
    Storm,
}

/// Why nothing new is asked for about an unhealthy Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// A request for it is there.
    Requested,
    /// [`EXCLUDED_LABEL`].
    Excluded,
    /// There is a request, or just was one made, for this other Node of the control plane. (Off OpenShift its
    /// operator asks nothing else; on OpenShift also the PodDisruptionBudget of etcd. This daemon refuses to
    /// power-cycle the control plane in any case.)
    ControlPlane(String),
}

impl NodesStopped {
    /// Whether the requests for Nodes that have recovered stay, too. They are deleted before the threshold is
    /// asked.
    pub fn keeps_requests(&self) -> bool {
        match self {
            Self::Disabled | Self::Upgrading | Self::Paused => true,
            Self::ThresholdUnusable(_) | Self::TooFewHealthy | Self::Storm => false,
        }
    }
}

/// Assesses the Nodes of a cluster. Their order does not matter: where one excludes another, the first by name
/// comes first.
///
/// Two things differ from upstream. A Node that cannot be read is unknown and counts as not healthy, where
/// upstream gives up the whole pass. A condition without lastTransitionTime never held long enough.
///
/// `healthyDelay` has no say: by it the operator keeps a request after its Node has recovered, and for as long
/// the Node is neither healthy nor unhealthy.
pub fn assess_nodes(
    rules: &NodeRules,
    circumstances: Circumstances,
    nodes: &[NodeTarget],
    now: Timestamp,
) -> NodeAssessment {
    let mut selected: Vec<&NodeTarget> = nodes
        .iter()
        .filter(|node| rules.selector.matches(&node.labels))
        .collect();
    selected.sort_by(|one, other| one.name.cmp(&other.name));
    let judged: Vec<(&NodeTarget, Verdict)> = selected
        .into_iter()
        .map(|node| (node, judge(rules, circumstances.rivals, node, now)))
        .collect();
    let counts = count(&judged);
    let allowance = rules.threshold.allowance(counts);
    let stopped = stopped(rules, circumstances, &judged, &allowance);
    let look_again = judged.iter().filter_map(|(_, verdict)| verdict.until()).min();
    NodeAssessment {
        counts,
        allowance,
        stopped,
        look_again,
        nodes: hold(judged),
    }
}

impl NodeAssessment {
    /// The Nodes for which the check asks for something new, in the order in which it does.
    pub fn remediate(&self) -> Vec<&JudgedNode> {
        if self.stopped.is_some() {
            return Vec::new();
        }
        let is_wanted = |one: &&JudgedNode| one.held.is_none() && one.verdict.is_unhealthy();
        self.nodes.iter().filter(is_wanted).collect()
    }
}

/// What a check says of one Node that it selects.
fn judge(rules: &NodeRules, rivals: Rivals, node: &NodeTarget, now: Timestamp) -> Verdict {
    let listed = match &node.conditions {
        Ok(listed) => listed,
        Err(detail) => return Verdict::Unknown(Unknown::Node(detail.clone())),
    };
    let well = || {
        if node.requested {
            Verdict::Waiting {
                why: Wait::UnderRemediation,
                until: None,
            }
        } else {
            Verdict::Healthy
        }
    };
    let mut found = Findings::default();
    let object = format!("Node {}", node.name);
    let kind = (UnhealthyReason::UnhealthyNode, object.as_str());
    found.conditions(kind, &rules.conditions, listed, now);
    let terminates = listed.iter().any(|condition| condition.kind == TERMINATING);
    // Only one that would be unhealthy is left to the other: one in its grace waits for it.
    let is_anothers = rivals != Rivals::None && terminates && !found.wrong.is_empty();
    if is_anothers { well() } else { found.verdict(well) }
}

fn count(judged: &[(&NodeTarget, Verdict)]) -> Counts {
    let number = |counts: fn(&Verdict) -> bool| {
        let counted = judged.iter().filter(|(_, verdict)| counts(verdict)).count();
        u32::try_from(counted).unwrap_or(u32::MAX)
    };
    Counts {
        expected: number(Verdict::is_expected),
        healthy: number(Verdict::counts_as_healthy),
        unknown: number(Verdict::is_unknown),
    }
}

/// In the order in which upstream asks.
fn stopped(
    rules: &NodeRules,
    circumstances: Circumstances,
    judged: &[(&NodeTarget, Verdict)],
    allowance: &Result<Allowance, RuleError>,
) -> Option<NodesStopped> {
    let changes_config =
        |(node, verdict): &(&NodeTarget, Verdict)| node.changes_config && verdict.is_unhealthy();
    if circumstances.rivals == Rivals::Others {
        return Some(NodesStopped::Disabled);
    }
    if circumstances.upgrading || judged.iter().any(changes_config) {
        return Some(NodesStopped::Upgrading);
    }
    if rules.paused {
        return Some(NodesStopped::Paused);
    }
    match allowance {
        Err(error) => Some(NodesStopped::ThresholdUnusable(error.clone())),
        Ok(allowance) if !allowance.allowed => Some(NodesStopped::TooFewHealthy),
        Ok(_) => circumstances.storm.then_some(NodesStopped::Storm),
    }
}

/// Holds what has a request, is excluded, or is of the control plane while another of it has or gets one.
fn hold(judged: Vec<(&NodeTarget, Verdict)>) -> Vec<JudgedNode> {
    let has_request = |(node, _): &&(&NodeTarget, Verdict)| node.control_plane && node.requested;
    let mut control_plane = judged.iter().find(has_request).map(|(node, _)| node.name.clone());
    let mut held = Vec::new();
    for (node, verdict) in judged {
        let why = if !verdict.is_unhealthy() {
            None
        } else if is_excluded(node) {
            Some(Held::Excluded)
        } else if node.requested {
            Some(Held::Requested)
        } else if !node.control_plane {
            None
        } else if let Some(other) = &control_plane {
            Some(Held::ControlPlane(other.clone()))
        } else {
            control_plane = Some(node.name.clone());
            None
        };
        held.push(JudgedNode {
            name: node.name.clone(),
            verdict,
            held: why,
        });
    }
    held
}

fn is_excluded(node: &NodeTarget) -> bool {
    node.labels
        .get(EXCLUDED_LABEL)
        .is_some_and(|value| value == EXCLUDED)
}
