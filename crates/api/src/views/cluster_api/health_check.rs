//! MachineHealthCheck.

use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde::Deserialize;
use serde_json::Value;

use crate::go_duration::DurationText;
use crate::views::machine_health_check::{
    ClusterApiHealthCheck, MachineHealthCheck, MachineHealthCheckSpec, MachineHealthCheckStatus,
    TemplateReference, limit, raw,
};
use remediator_core::health::dialect::Dialect;
use remediator_core::health::rules::{RawCondition, RawRules};

/// What is read of v1beta1.
#[derive(Debug, Deserialize)]
pub(super) struct V1Beta1 {
    spec: V1Beta1Spec,
    #[serde(default)]
    status: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct V1Beta1Spec {
    #[serde(default)]
    cluster_name: Option<String>,
    selector: LabelSelector,
    #[serde(default)]
    unhealthy_conditions: Vec<TimedCondition>,
    #[serde(default)]
    unhealthy_machine_conditions: Vec<TimedCondition>,
    #[serde(default)]
    max_unhealthy: Option<Value>,
    #[serde(default)]
    unhealthy_range: Option<String>,
    #[serde(default)]
    node_startup_timeout: Option<DurationText>,
    #[serde(default)]
    remediation_template: Option<TemplateReference>,
}

#[derive(Debug, Deserialize)]
struct TimedCondition {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    timeout: DurationText,
}

/// What is read of v1beta2.
#[derive(Debug, Deserialize)]
pub(super) struct V1Beta2 {
    spec: V1Beta2Spec,
    #[serde(default)]
    status: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct V1Beta2Spec {
    #[serde(default)]
    cluster_name: Option<String>,
    selector: LabelSelector,
    #[serde(default)]
    checks: Checks,
    #[serde(default)]
    remediation: Remediation,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Checks {
    #[serde(default)]
    node_startup_timeout_seconds: Option<i64>,
    #[serde(default)]
    unhealthy_node_conditions: Vec<SecondsCondition>,
    #[serde(default)]
    unhealthy_machine_conditions: Vec<SecondsCondition>,
}

/// Without a time-out, it counts at once.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SecondsCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    #[serde(default)]
    timeout_seconds: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Remediation {
    #[serde(default)]
    trigger_if: TriggerIf,
    #[serde(default)]
    template_ref: Option<TemplateReference>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TriggerIf {
    #[serde(default)]
    unhealthy_less_than_or_equal_to: Option<Value>,
    #[serde(default)]
    unhealthy_in_range: Option<String>,
}

pub(super) fn read_v1beta1(metadata: ObjectMeta, wire: V1Beta1) -> MachineHealthCheck {
    let spec = wire.spec;
    let timed = |conditions: Vec<TimedCondition>| {
        let raw = conditions.into_iter().map(|condition| RawCondition {
            kind: condition.kind,
            status: condition.status,
            timeout: condition.timeout.read(),
        });
        raw.collect()
    };
    let rules = RawRules {
        selector: raw(&spec.selector),
        cluster_name: spec.cluster_name.clone(),
        node_conditions: timed(spec.unhealthy_conditions),
        machine_conditions: timed(spec.unhealthy_machine_conditions),
        node_startup_timeout: spec.node_startup_timeout.as_ref().map(DurationText::read),
        max_unhealthy: spec.max_unhealthy.as_ref().map(limit),
        unhealthy_range: spec.unhealthy_range,
    };
    check(
        (metadata, wire.status),
        spec.selector,
        Dialect::ClusterApiV1Beta1,
        rules,
        spec.remediation_template,
    )
}

pub(super) fn read_v1beta2(metadata: ObjectMeta, wire: V1Beta2) -> MachineHealthCheck {
    let spec = wire.spec;
    let timed = |conditions: Vec<SecondsCondition>| {
        let raw = conditions.into_iter().map(|condition| RawCondition {
            kind: condition.kind,
            status: condition.status,
            timeout: Ok(SignedDuration::from_secs(condition.timeout_seconds)),
        });
        raw.collect()
    };
    let (checks, trigger) = (spec.checks, spec.remediation.trigger_if);
    let startup = checks.node_startup_timeout_seconds;
    let rules = RawRules {
        selector: raw(&spec.selector),
        cluster_name: spec.cluster_name.clone(),
        node_conditions: timed(checks.unhealthy_node_conditions),
        machine_conditions: timed(checks.unhealthy_machine_conditions),
        node_startup_timeout: startup.map(|seconds| Ok(SignedDuration::from_secs(seconds))),
        max_unhealthy: trigger.unhealthy_less_than_or_equal_to.as_ref().map(limit),
        unhealthy_range: trigger.unhealthy_in_range.filter(|range| !range.is_empty()),
    };
    let template = spec.remediation.template_ref;
    check(
        (metadata, wire.status),
        spec.selector,
        Dialect::ClusterApiV1Beta2,
        rules,
        template,
    )
}

fn check(
    (metadata, status): (ObjectMeta, Option<Value>),
    selector: LabelSelector,
    dialect: Dialect,
    rules: RawRules,
    remediation_template: Option<TemplateReference>,
) -> MachineHealthCheck {
    MachineHealthCheck {
        status: Some(MachineHealthCheckStatus {
            cluster_api: status,
            ..MachineHealthCheckStatus::default()
        }),
        metadata,
        spec: MachineHealthCheckSpec {
            selector,
            unhealthy_conditions: Vec::new(),
            max_unhealthy: None,
            node_startup_timeout: None,
            remediation_template,
            cluster_api: Some(ClusterApiHealthCheck { dialect, rules }),
        },
    }
}
