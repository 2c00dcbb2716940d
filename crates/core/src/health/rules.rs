//! What one MachineHealthCheck asks for, and what is wrong with it when it cannot be followed.

use jiff::SignedDuration;
use thiserror::Error;

use super::UnhealthyCondition;
use super::dialect::Dialect;
use super::limit::{IntOrText, Limit};
use super::problem::RuleError;
use super::reading;
use super::selector::{Labels, RawSelector, Selector};

/// Label of everything that belongs to a Cluster. Source: cluster-api `api/core/v1beta2/cluster_types.go`.
pub const CLUSTER_NAME_LABEL: &str = "cluster.x-k8s.io/cluster-name";

/// How long a Machine may be without a Node when nothing is said. Source: `defaultNodeStartupTimeout` of
/// machine-api-operator, `DefaultNodeStartupTimeoutSeconds` of cluster-api.
pub const DEFAULT_NODE_STARTUP_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);

/// A duration, or the text that is none.
pub type RawTimeout = Result<SignedDuration, String>;

/// One entry of a list of conditions as it stands in an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawCondition {
    /// Condition type.
    pub kind: String,
    /// Condition status.
    pub status: String,
    /// For how long.
    pub timeout: RawTimeout,
}

/// The spec of a MachineHealthCheck as it stands there. Fields that a dialect does not have are not looked
/// at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawRules {
    /// Which Machines.
    pub selector: RawSelector,
    /// Cluster API: of which Cluster.
    pub cluster_name: Option<String>,
    /// Conditions of Nodes.
    pub node_conditions: Vec<RawCondition>,
    /// Cluster API as of 1.12: conditions of Machines.
    pub machine_conditions: Vec<RawCondition>,
    /// How long a Machine may be without a Node.
    pub node_startup_timeout: Option<RawTimeout>,
    /// How many may be unhealthy.
    pub max_unhealthy: Option<IntOrText>,
    /// Cluster API: from how many to how many have to be unhealthy.
    pub unhealthy_range: Option<String>,
}

/// What one MachineHealthCheck asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Whose rules they are.
    pub dialect: Dialect,
    /// Which Machines of the namespace; Cluster API: of the Cluster.
    pub selector: Selector,
    /// Any of these makes a Machine unhealthy.
    pub node_conditions: Vec<UnhealthyCondition>,
    /// Any of these makes a Machine unhealthy.
    pub machine_conditions: Vec<UnhealthyCondition>,
    /// How long a Machine may be without a Node; `None`: as long as it likes.
    pub node_startup_timeout: Option<SignedDuration>,
    /// When nothing is remediated any more.
    pub limit: Limit,
}

/// A MachineHealthCheck that cannot be followed. It selects nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", joined(errors))]
pub struct Malformed {
    /// What is wrong, for the status of the object; at least one.
    pub errors: Vec<RuleError>,
    /// Which Machines it was meant for.
    pub scope: Scope,
}

/// Which Machines a malformed check was meant for: they are not remediated on account of other checks, for
/// its limit might have forbidden it.
///
/// The requirements of a selector all have to be met, so those that can be understood bound it, whatever the
/// others meant. When not one of them can be understood, nothing tells its Machines from any others. Holding
/// every Machine of the namespace would let one typo stop all remediation for as long as nobody looks, so it
/// holds none, as upstream, for which such a selector matches nothing; the status of the object says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Not more than what this selects.
    Within(Selector),
    /// Nothing can be said.
    Unknown,
}

impl Scope {
    /// Whether a Machine with these labels is held.
    pub fn holds(&self, labels: &Labels) -> bool {
        match self {
            Self::Within(selector) => selector.matches(labels),
            Self::Unknown => false,
        }
    }
}

impl Rules {
    /// Reads what a MachineHealthCheck asks for.
    ///
    /// # Errors Everything that is wrong with it, when anything is. API servers and webhooks refuse most of
    /// it; an object that is older than they are, or was written around them, is not followed either.
    pub fn read(dialect: Dialect, raw: &RawRules) -> Result<Self, Malformed> {
        let mut errors = Vec::new();
        let (selector, scope) = reading::selector(dialect, raw, &mut errors);
        let rules = Self {
            dialect,
            selector,
            node_conditions: reading::node_conditions(dialect, raw, &mut errors),
            machine_conditions: reading::machine_conditions(dialect, raw, &mut errors),
            node_startup_timeout: reading::node_startup_timeout(dialect, raw, &mut errors),
            limit: reading::limit(dialect, raw, &mut errors),
        };
        if errors.is_empty() {
            Ok(rules)
        } else {
            Err(Malformed { errors, scope })
        }
    }
}

fn joined(errors: &[RuleError]) -> String {
    let sentences: Vec<String> = errors.iter().map(|error| format!("{error}.")).collect();
    sentences.join(" ")
}
