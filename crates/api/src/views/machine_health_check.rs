//! MachineHealthCheck, as far as it is read.
//! Source: openshift/api `machine/v1beta1/types_machinehealthcheck.go`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};
use kube::{CustomResource, ResourceExt as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{LabelsKept, Machine, lenient, narrow};
use crate::go_duration::DurationText;
use crate::guarded::has_strategy;
use crate::keys;
use remediator_core::facts::Lookup;
use remediator_core::health::dialect::Dialect;
use remediator_core::health::limit::IntOrText;
use remediator_core::health::rules::{Malformed, RawCondition, RawRules, Rules};
use remediator_core::health::selector::{RawRequirement, RawSelector};
use remediator_core::health::{self, HealthCheck};

/// What is read of the spec.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "machine.openshift.io",
    version = "v1beta1",
    kind = "MachineHealthCheck",
    plural = "machinehealthchecks",
    namespaced,
    status = "MachineHealthCheckStatus",
    schema = "disabled"
)]
#[serde(rename_all = "camelCase")]
pub struct MachineHealthCheckSpec {
    /// Which Machines of the namespace; an empty selector selects all of them.
    pub selector: LabelSelector,
    /// Any of these makes a Machine unhealthy.
    #[serde(default)]
    pub unhealthy_conditions: Vec<UnhealthyConditionView>,
    /// How many may be unhealthy before nothing is remediated any more.
    pub max_unhealthy: Option<Value>,
    /// How long a Machine may be without a Node, in Go's syntax.
    pub node_startup_timeout: Option<DurationText>,
    /// When set, the template wins over the strategy annotation.
    pub remediation_template: Option<TemplateReference>,
    /// What a MachineHealthCheck of Cluster API asks for; such a one is read by [`super::cluster_api`].
    #[serde(skip)]
    pub cluster_api: Option<ClusterApiHealthCheck>,
}

/// What a MachineHealthCheck of Cluster API asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterApiHealthCheck {
    /// By the rules of which version it is evaluated.
    pub dialect: Dialect,
    /// As it stands there.
    pub rules: RawRules,
}

/// One unhealthy condition, of a Machine's or of a Node's health check.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UnhealthyConditionView {
    /// Condition type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Condition status.
    pub status: String,
    /// For how long, in Go's syntax. A NodeHealthCheck calls it `duration`; the schema of neither kind has both.
    #[serde(alias = "duration")]
    pub timeout: DurationText,
}

impl UnhealthyConditionView {
    pub(super) fn raw(&self) -> RawCondition {
        RawCondition {
            kind: self.kind.clone(),
            status: self.status.clone(),
            timeout: self.timeout.read(),
        }
    }
}

/// A reference to a template, of a Machine's or of a Node's health check.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TemplateReference {
    /// `group/version`.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}

/// What is read of the status, to write it only when it says something else. Nothing is decided by it, so
/// what cannot be read of it is as if it were not there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineHealthCheckStatus {
    /// Machines that it selects.
    #[serde(default, deserialize_with = "lenient")]
    pub expected_machines: Option<i64>,
    /// Those of them that are healthy.
    #[serde(default, deserialize_with = "lenient")]
    pub current_healthy: Option<i64>,
    /// How many more may become unhealthy.
    #[serde(default, deserialize_with = "lenient")]
    pub remediations_allowed: Option<i64>,
    /// Conditions in OpenShift's shape.
    #[serde(default, deserialize_with = "lenient")]
    pub conditions: Option<Vec<OpenShiftCondition>>,
    /// The whole status as it stands on a MachineHealthCheck of Cluster API.
    #[serde(skip)]
    pub cluster_api: Option<Value>,
}

/// A condition of OpenShift's machine API. Source: openshift/api `machine/v1beta1/types_machine.go`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenShiftCondition {
    /// Type.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// `Error`, `Warning` or `Info`, only where the status is False.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// When the status changed.
    pub last_transition_time: Time,
    /// Why, in CamelCase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl MachineHealthCheck {
    /// Drops what no decision reads.
    pub fn narrow(&mut self) {
        let annotations = [keys::STRATEGY_ANNOTATION, keys::PAUSED_ANNOTATION];
        narrow(&mut self.metadata, &annotations, LabelsKept::Only(&[]));
        // Names thousands of Machines; read only where it is ours to write.
        if let (false, Some(status)) = (self.asks_for_power_cycles(), &mut self.status) {
            status.cluster_api = None;
        }
    }

    /// Whether it asks for a power cycle by the trigger annotation: the strategy, and no template, which would win.
    pub fn asks_for_power_cycles(&self) -> bool {
        has_strategy(&self.metadata) && self.spec.remediation_template.is_none()
    }

    /// Whether it asks for power cycles by a template of ours.
    pub fn asks_by_template(&self) -> bool {
        let template = self.spec.remediation_template.as_ref();
        template.is_some_and(|template| template.kind == "PowerCycleRemediationTemplate")
    }

    /// Cluster API: the Cluster that it is for.
    pub fn cluster(&self) -> Option<&str> {
        self.spec.cluster_api.as_ref()?.rules.cluster_name.as_deref()
    }

    /// Whether it is paused; the annotation counts whatever its value.
    pub fn is_paused(&self) -> bool {
        self.annotations().contains_key(keys::PAUSED_ANNOTATION)
    }

    /// What it asks for.
    pub fn rules(&self) -> Result<Rules, Malformed> {
        let spec = &self.spec;
        if let Some(check) = &spec.cluster_api {
            return Rules::read(check.dialect, &check.rules);
        }
        Rules::read(
            Dialect::OpenShift,
            &RawRules {
                selector: raw(&spec.selector),
                node_conditions: spec
                    .unhealthy_conditions
                    .iter()
                    .map(UnhealthyConditionView::raw)
                    .collect(),
                node_startup_timeout: spec.node_startup_timeout.as_ref().map(DurationText::read),
                max_unhealthy: spec.max_unhealthy.as_ref().map(limit),
                ..RawRules::default()
            },
        )
    }

    /// What decisions about a Machine are based on; `Absent` when the check has nothing to do with it.
    pub fn facts_for(&self, machine: &Machine) -> Lookup<HealthCheck> {
        let rules = health::rules_for(&self.name_any(), self.rules(), machine.labels());
        rules.map(|rules| self.facts_with(rules))
    }

    fn facts_with(&self, rules: Result<Rules, String>) -> HealthCheck {
        let (rules, malformed) = rules.map_or_else(|wrong| (None, Some(wrong)), |rules| (Some(rules), None));
        let conditions = rules.clone();
        let conditions = conditions.map(|rules| (rules.node_conditions, rules.machine_conditions));
        let (conditions, machine_conditions) = conditions.unwrap_or_default();
        HealthCheck {
            name: self.name_any(),
            external_baremetal: has_strategy(&self.metadata),
            paused: self.is_paused(),
            has_template: self.spec.remediation_template.is_some(),
            conditions,
            machine_conditions,
            rules,
            malformed,
        }
    }
}

/// A limit as the core reads it; what is neither a number nor a text is a text that is no percentage.
pub(super) fn limit(limit: &Value) -> IntOrText {
    let text = || {
        limit
            .as_str()
            .map_or_else(|| limit.to_string(), ToOwned::to_owned)
    };
    limit
        .as_i64()
        .map_or_else(|| IntOrText::Text(text()), IntOrText::Integer)
}

/// The selector as the core reads it: strictly, for one that is only half understood may select anything.
pub(super) fn raw(selector: &LabelSelector) -> RawSelector {
    let requirements = selector.match_expressions.iter().flatten();
    let requirements = requirements.map(|requirement| RawRequirement {
        key: requirement.key.clone(),
        operator: requirement.operator.clone(),
        values: requirement.values.clone().unwrap_or_default(),
    });
    RawSelector {
        match_labels: selector.match_labels.clone().unwrap_or_default(),
        match_expressions: requirements.collect(),
    }
}
