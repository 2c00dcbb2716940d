//! Reads the fields of a MachineHealthCheck; every problem is noted, so that one look at the status tells
//! all.

use jiff::SignedDuration;

use super::UnhealthyCondition;
use super::dialect::{Dialect, Field};
use super::limit::Limit;
use super::problem::{Problem, RuleError};
use super::rules::{
    CLUSTER_NAME_LABEL, DEFAULT_NODE_STARTUP_TIMEOUT, RawCondition, RawRules, RawTimeout, Scope,
};
use super::selector::Selector;

/// The shortest that Cluster API accepts. Source: cluster-api
/// `core/webhooks/admission/machinehealthcheck.go`.
const MINIMUM_NODE_STARTUP_TIMEOUT: SignedDuration = SignedDuration::from_secs(30);

/// Most entries of a list of conditions in Cluster API. Source: its definitions (`MaxItems`).
const MOST_CONDITIONS: usize = 100;

/// Machine conditions that sum others up or are written because of health checks.
/// Source: cluster-api `api/core/v1beta2/machinehealthcheck_types.go`, `UnhealthyMachineCondition.type`.
const FORBIDDEN_MACHINE_CONDITIONS: [&str; 5] = [
    "Ready",
    "Available",
    "HealthCheckSucceeded",
    "OwnerRemediated",
    "ExternallyRemediated",
];

/// Statuses of a Machine condition. Source: as above, `UnhealthyMachineCondition.status`.
const STATUSES: [&str; 3] = ["True", "False", "Unknown"];

/// The selector, and which Machines it was meant for if anything is wrong.
///
/// An empty selector selects all Machines in OpenShift; Cluster API's webhook refuses it, and adds the
/// Cluster.
pub(super) fn selector(dialect: Dialect, raw: &RawRules, errors: &mut Vec<RuleError>) -> (Selector, Scope) {
    let path = dialect.path(Field::Selector);
    let (own, mut problems) = Selector::read(&raw.selector);
    if dialect.is_cluster_api() && problems.is_empty() && own.is_empty() {
        problems.push(Problem::SelectorEmpty);
    }
    let says_something = problems.is_empty() || !own.is_empty();
    let note = |problem| RuleError::new(path.clone(), problem);
    errors.extend(problems.into_iter().map(note));
    let selector = if dialect.is_cluster_api() {
        of_cluster(own, dialect, raw, errors)
    } else {
        own
    };
    let scope = if says_something {
        Scope::Within(selector.clone())
    } else {
        Scope::Unknown
    };
    (selector, scope)
}

fn of_cluster(own: Selector, dialect: Dialect, raw: &RawRules, errors: &mut Vec<RuleError>) -> Selector {
    let Some(cluster) = raw.cluster_name.as_deref().filter(|name| !name.is_empty()) else {
        let path = dialect.path(Field::ClusterName);
        errors.push(RuleError::new(path, Problem::ClusterNameMissing));
        return own;
    };
    let asked = raw.selector.match_labels.get(CLUSTER_NAME_LABEL);
    if let Some(other) = asked.filter(|asked| *asked != cluster) {
        let problem = Problem::ClusterForeign(other.clone());
        errors.push(RuleError::new(dialect.path(Field::Selector), problem));
    }
    own.and(CLUSTER_NAME_LABEL, cluster)
}

/// How long a Machine may be without a Node; `None`: as long as it likes.
pub(super) fn node_startup_timeout(
    dialect: Dialect,
    raw: &RawRules,
    errors: &mut Vec<RuleError>,
) -> Option<SignedDuration> {
    let read = match &raw.node_startup_timeout {
        None => Ok(DEFAULT_NODE_STARTUP_TIMEOUT),
        Some(raw) => timeout(raw),
    };
    let long_enough = read.and_then(|timeout| {
        let too_short = !timeout.is_zero() && timeout < MINIMUM_NODE_STARTUP_TIMEOUT;
        if dialect.is_cluster_api() && too_short {
            Err(Problem::TimeoutTooShort)
        } else {
            Ok(timeout)
        }
    });
    match long_enough {
        Ok(timeout) => (!timeout.is_zero()).then_some(timeout),
        Err(problem) => {
            errors.push(RuleError::new(dialect.path(Field::NodeStartupTimeout), problem));
            None
        }
    }
}

/// The conditions of Nodes: at least one in OpenShift, at most 100 in Cluster API, as the definitions have
/// it.
pub(super) fn node_conditions(
    dialect: Dialect,
    raw: &RawRules,
    errors: &mut Vec<RuleError>,
) -> Vec<UnhealthyCondition> {
    if !dialect.is_cluster_api() && raw.node_conditions.is_empty() {
        let path = dialect.path(Field::NodeConditions(None));
        errors.push(RuleError::new(path, Problem::NoConditions));
    }
    list(
        dialect,
        &raw.node_conditions,
        Field::NodeConditions,
        condition,
        errors,
    )
}

/// The conditions of Machines, which only Cluster API has, as of 1.12.
pub(super) fn machine_conditions(
    dialect: Dialect,
    raw: &RawRules,
    errors: &mut Vec<RuleError>,
) -> Vec<UnhealthyCondition> {
    match dialect {
        Dialect::OpenShift | Dialect::ClusterApiV1Beta1 => Vec::new(),
        Dialect::ClusterApiV1Beta2 => list(
            dialect,
            &raw.machine_conditions,
            Field::MachineConditions,
            machine_condition,
            errors,
        ),
    }
}

/// The limit.
pub(super) fn limit(dialect: Dialect, raw: &RawRules, errors: &mut Vec<RuleError>) -> Limit {
    let range = raw.unhealthy_range.as_deref();
    Limit::read(dialect, raw.max_unhealthy.as_ref(), range).unwrap_or_else(|error| {
        errors.push(error);
        Limit::default()
    })
}

/// A field of a condition, and what is wrong with it.
pub(super) type Fault = (Part, Problem);

/// The fields of a condition.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Whole,
    Kind,
    Status,
    Timeout,
}

impl Part {
    fn suffix(self, dialect: Dialect) -> &'static str {
        match (self, dialect) {
            (Self::Whole, _) => "",
            (Self::Kind, _) => ".type",
            (Self::Status, _) => ".status",
            (Self::Timeout, Dialect::OpenShift | Dialect::ClusterApiV1Beta1) => ".timeout",
            (Self::Timeout, Dialect::ClusterApiV1Beta2) => ".timeoutSeconds",
        }
    }
}

fn list(
    dialect: Dialect,
    raw: &[RawCondition],
    field: fn(Option<usize>) -> Field,
    read: fn(&RawCondition) -> Result<UnhealthyCondition, Fault>,
    errors: &mut Vec<RuleError>,
) -> Vec<UnhealthyCondition> {
    if dialect.is_cluster_api() && raw.len() > MOST_CONDITIONS {
        let problem = Problem::TooManyConditions(raw.len());
        errors.push(RuleError::new(dialect.path(field(None)), problem));
    }
    let mut conditions = Vec::new();
    for (index, one) in raw.iter().enumerate() {
        match read(one) {
            Ok(condition) => conditions.push(condition),
            Err((part, problem)) => {
                let path = dialect.path(field(Some(index)));
                errors.push(RuleError::new(format!("{path}{}", part.suffix(dialect)), problem));
            }
        }
    }
    conditions
}

pub(super) fn condition(raw: &RawCondition) -> Result<UnhealthyCondition, Fault> {
    if raw.kind.is_empty() || raw.status.is_empty() {
        return Err((Part::Whole, Problem::ConditionIncomplete));
    }
    Ok(UnhealthyCondition {
        kind: raw.kind.clone(),
        status: raw.status.clone(),
        timeout: timeout(&raw.timeout).map_err(|problem| (Part::Timeout, problem))?,
    })
}

fn machine_condition(raw: &RawCondition) -> Result<UnhealthyCondition, Fault> {
    let read = condition(raw)?;
    if FORBIDDEN_MACHINE_CONDITIONS.contains(&raw.kind.as_str()) {
        return Err((Part::Kind, Problem::ConditionForbidden(raw.kind.clone())));
    }
    if !STATUSES.contains(&raw.status.as_str()) {
        return Err((Part::Status, Problem::StatusUnknown(raw.status.clone())));
    }
    Ok(read)
}

fn timeout(raw: &RawTimeout) -> Result<SignedDuration, Problem> {
    match raw {
        Ok(timeout) if timeout.is_negative() => Err(Problem::TimeoutNegative),
        Ok(timeout) => Ok(*timeout),
        Err(text) => Err(Problem::TimeoutMalformed(text.clone())),
    }
}
