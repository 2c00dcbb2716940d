//! What one MachineHealthCheck asks for, and what is wrong with it when it cannot be followed.

use jiff::SignedDuration;
use thiserror::Error;

use super::dialect::Dialect;
use super::limit::{IntOrText, Limit};
use super::problem::{Problem, RuleError};
use super::reading::Reader;
use super::selector::{Labels, RawSelector, Selector};

/// Label of everything that belongs to a Cluster. Source: cluster-api `api/core/v1beta2/cluster_types.go`.
pub const CLUSTER_NAME_LABEL: &str = "cluster.x-k8s.io/cluster-name";

/// How long a Machine may be without a Node when nothing is said. Source: `defaultNodeStartupTimeout` of
/// machine-api-operator, `DefaultNodeStartupTimeoutSeconds` of cluster-api.
pub(super) const DEFAULT_NODE_STARTUP_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);

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

/// The spec of a MachineHealthCheck as it stands there; what a dialect does not have is not looked at.
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

/// One entry of a health check's list of unhealthy conditions, of Nodes or of Machines.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UnhealthyCondition {
    /// Condition type.
    pub kind: String,
    /// Condition status that is unhealthy.
    pub status: String,
    /// For how long it has to hold; never negative.
    pub timeout: SignedDuration,
}

/// What one MachineHealthCheck asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
    pub(crate) errors: Vec<RuleError>,
    /// Which Machines it was meant for, at the most; they are not remediated on account of other checks, for its limit
    /// might have forbidden it. All requirements of a selector have to be met, so those that can be understood bound
    /// it. `None`: none can be understood. It holds no Machine then, as upstream, for one typo would stop all
    /// remediation of the namespace; the status of the object says so.
    pub(crate) scope: Option<Selector>,
}

impl Malformed {
    /// Of a check that cannot be read at all.
    pub fn unreadable(name: &str, error: String) -> Self {
        let error = RuleError::new(format!("MachineHealthCheck {name}"), Problem::Unreadable(error));
        Self {
            errors: vec![error],
            scope: None,
        }
    }

    /// Whether it was meant for a Machine with these labels, as far as that can be told.
    pub(crate) fn concerns(&self, labels: &Labels) -> bool {
        self.scope.as_ref().is_some_and(|scope| scope.matches(labels))
    }
}

impl Rules {
    /// Reads what a MachineHealthCheck asks for, or everything that is wrong with it. API servers and webhooks refuse most
    /// of that; an object that is older than they are, or was written around them, is not followed either.
    pub fn read(dialect: Dialect, raw: &RawRules) -> Result<Self, Malformed> {
        let mut reader = Reader::new(dialect, raw);
        let (selector, scope) = reader.selector();
        let rules = Self {
            dialect,
            selector,
            node_conditions: reader.node_conditions(),
            machine_conditions: reader.machine_conditions(),
            node_startup_timeout: reader.node_startup_timeout(),
            limit: reader.limit(),
        };
        let errors = reader.errors;
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
