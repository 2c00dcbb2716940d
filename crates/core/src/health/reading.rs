//! Reads the fields of a MachineHealthCheck; every problem is noted, so that one look at the status tells all.

use jiff::SignedDuration;

use super::dialect::{Dialect, Field};
use super::limit::Limit;
use super::problem::{Problem, RuleError};
use super::rules::{
    CLUSTER_NAME_LABEL, DEFAULT_NODE_STARTUP_TIMEOUT, RawCondition, RawRules, RawTimeout, UnhealthyCondition,
};
use super::selector::Selector;

/// The shortest in Cluster API. Source: cluster-api `core/webhooks/admission/machinehealthcheck.go`.
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

pub(super) struct Reader<'a> {
    dialect: Dialect,
    raw: &'a RawRules,
    pub(super) errors: Vec<RuleError>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(dialect: Dialect, raw: &'a RawRules) -> Self {
        Self {
            dialect,
            raw,
            errors: Vec::new(),
        }
    }

    fn note(&mut self, field: Field, problem: Problem) {
        self.errors
            .push(RuleError::new(self.dialect.path(field), problem));
    }

    /// The selector, and what of it can be understood if it says something. An empty one selects all Machines in
    /// OpenShift; Cluster API's webhook refuses it, and adds the Cluster.
    pub(super) fn selector(&mut self) -> (Selector, Option<Selector>) {
        let (mut selector, mut problems) = Selector::read(&self.raw.selector);
        if self.dialect.is_cluster_api() && problems.is_empty() && selector.is_empty() {
            problems.push(Problem::SelectorEmpty);
        }
        let says_something = problems.is_empty() || !selector.is_empty();
        for problem in problems {
            self.note(Field::Selector, problem);
        }
        if self.dialect.is_cluster_api()
            && let Some(cluster) = self.cluster_name()
        {
            selector = selector.and(CLUSTER_NAME_LABEL, cluster);
        }
        let scope = says_something.then(|| selector.clone());
        (selector, scope)
    }

    fn cluster_name(&mut self) -> Option<&'a str> {
        let Some(cluster) = self.raw.cluster_name.as_deref().filter(|name| !name.is_empty()) else {
            self.note(Field::ClusterName, Problem::ClusterNameMissing);
            return None;
        };
        let asked = self.raw.selector.match_labels.get(CLUSTER_NAME_LABEL);
        if let Some(other) = asked.filter(|asked| *asked != cluster) {
            self.note(Field::Selector, Problem::ClusterForeign(other.clone()));
        }
        Some(cluster)
    }

    /// How long a Machine may be without a Node; `None`: as long as it likes.
    pub(super) fn node_startup_timeout(&mut self) -> Option<SignedDuration> {
        let read = match &self.raw.node_startup_timeout {
            None => Ok(DEFAULT_NODE_STARTUP_TIMEOUT),
            Some(raw) => timeout(raw),
        };
        match read {
            Ok(timeout) if timeout.is_zero() => None,
            Ok(timeout) if self.dialect.is_cluster_api() && timeout < MINIMUM_NODE_STARTUP_TIMEOUT => {
                self.note(Field::NodeStartupTimeout, Problem::TimeoutTooShort);
                None
            }
            Ok(timeout) => Some(timeout),
            Err(problem) => {
                self.note(Field::NodeStartupTimeout, problem);
                None
            }
        }
    }

    /// At least one in OpenShift, at most 100 in Cluster API, as the definitions have it.
    pub(super) fn node_conditions(&mut self) -> Vec<UnhealthyCondition> {
        if !self.dialect.is_cluster_api() && self.raw.node_conditions.is_empty() {
            self.note(Field::NodeConditions, Problem::NoConditions);
        }
        self.conditions(Field::NodeConditions, &self.raw.node_conditions, condition)
    }

    /// Only Cluster API has them, as of 1.12.
    pub(super) fn machine_conditions(&mut self) -> Vec<UnhealthyCondition> {
        match self.dialect {
            Dialect::OpenShift | Dialect::ClusterApiV1Beta1 => Vec::new(),
            Dialect::ClusterApiV1Beta2 => {
                let raw = &self.raw.machine_conditions;
                self.conditions(Field::MachineConditions, raw, machine_condition)
            }
        }
    }

    pub(super) fn limit(&mut self) -> Limit {
        let range = self.raw.unhealthy_range.as_deref();
        Limit::read(self.dialect, self.raw.max_unhealthy.as_ref(), range).unwrap_or_else(|error| {
            self.errors.push(error);
            Limit::default()
        })
    }

    fn conditions(
        &mut self,
        field: Field,
        raw: &[RawCondition],
        read: fn(&RawCondition) -> Result<UnhealthyCondition, Fault>,
    ) -> Vec<UnhealthyCondition> {
        if self.dialect.is_cluster_api() && raw.len() > MOST_CONDITIONS {
            self.note(field, Problem::TooManyConditions(raw.len()));
        }
        let mut conditions = Vec::new();
        for (index, one) in raw.iter().enumerate() {
            match read(one) {
                Ok(condition) => conditions.push(condition),
                Err((part, problem)) => {
                    let is_in_seconds = part == TIMEOUT && self.dialect == Dialect::ClusterApiV1Beta2;
                    let unit = if is_in_seconds { "Seconds" } else { "" };
                    let path = format!("{}[{index}]{part}{unit}", self.dialect.path(field));
                    self.errors.push(RuleError::new(path, problem));
                }
            }
        }
        conditions
    }
}

/// The path of a field below that of its condition, and what is wrong with it.
type Fault = (&'static str, Problem);

/// In Cluster API v1beta2 it is `.timeoutSeconds`.
const TIMEOUT: &str = ".timeout";

fn condition(raw: &RawCondition) -> Result<UnhealthyCondition, Fault> {
    if raw.kind.is_empty() || raw.status.is_empty() {
        return Err(("", Problem::ConditionIncomplete));
    }
    Ok(UnhealthyCondition {
        kind: raw.kind.clone(),
        status: raw.status.clone(),
        timeout: timeout(&raw.timeout).map_err(|problem| (TIMEOUT, problem))?,
    })
}

fn machine_condition(raw: &RawCondition) -> Result<UnhealthyCondition, Fault> {
    let read = condition(raw)?;
    if FORBIDDEN_MACHINE_CONDITIONS.contains(&raw.kind.as_str()) {
        return Err((".type", Problem::ConditionForbidden(raw.kind.clone())));
    }
    if !STATUSES.contains(&raw.status.as_str()) {
        return Err((".status", Problem::StatusUnknown(raw.status.clone())));
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
