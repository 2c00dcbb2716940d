//! MachineHealthCheck.

use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde::Deserialize;
use serde_json::Value;

use crate::go_duration::DurationText;
use crate::views::machine_health_check::{
    ClusterApiHealthCheck, MachineHealthCheck, MachineHealthCheckSpec, MachineHealthCheckStatus,
    TemplateReference, UnhealthyConditionView, limit, raw,
};
use remediator_core::health::dialect::Dialect;
use remediator_core::health::rules::{RawCondition, RawRules};

/// What is read of either version.
#[derive(Debug, Deserialize)]
pub(super) struct Wire<Spec> {
    spec: Spec,
    status: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct V1Beta1 {
    cluster_name: Option<String>,
    selector: LabelSelector,
    #[serde(default)]
    unhealthy_conditions: Vec<UnhealthyConditionView>,
    #[serde(default)]
    unhealthy_machine_conditions: Vec<UnhealthyConditionView>,
    max_unhealthy: Option<Value>,
    unhealthy_range: Option<String>,
    node_startup_timeout: Option<DurationText>,
    remediation_template: Option<TemplateReference>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct V1Beta2 {
    cluster_name: Option<String>,
    selector: LabelSelector,
    #[serde(default)]
    checks: Checks,
    #[serde(default)]
    remediation: Remediation,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Checks {
    node_startup_timeout_seconds: Option<i64>,
    unhealthy_node_conditions: Vec<SecondsCondition>,
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
#[serde(rename_all = "camelCase", default)]
struct Remediation {
    trigger_if: TriggerIf,
    template_ref: Option<TemplateReference>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TriggerIf {
    unhealthy_less_than_or_equal_to: Option<Value>,
    unhealthy_in_range: Option<String>,
}

pub(super) fn read_v1beta1(metadata: ObjectMeta, wire: Wire<V1Beta1>) -> MachineHealthCheck {
    let spec = wire.spec;
    let timed =
        |conditions: &[UnhealthyConditionView]| conditions.iter().map(UnhealthyConditionView::raw).collect();
    let rules = RawRules {
        selector: raw(&spec.selector),
        cluster_name: spec.cluster_name,
        node_conditions: timed(&spec.unhealthy_conditions),
        machine_conditions: timed(&spec.unhealthy_machine_conditions),
        node_startup_timeout: spec.node_startup_timeout.as_ref().map(DurationText::read),
        max_unhealthy: spec.max_unhealthy.as_ref().map(limit),
        unhealthy_range: spec.unhealthy_range,
    };
    let check = ClusterApiHealthCheck {
        dialect: Dialect::ClusterApiV1Beta1,
        rules,
    };
    health_check(
        (metadata, wire.status),
        spec.selector,
        spec.remediation_template,
        check,
    )
}

pub(super) fn read_v1beta2(metadata: ObjectMeta, wire: Wire<V1Beta2>) -> MachineHealthCheck {
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
        cluster_name: spec.cluster_name,
        node_conditions: timed(checks.unhealthy_node_conditions),
        machine_conditions: timed(checks.unhealthy_machine_conditions),
        node_startup_timeout: startup.map(|seconds| Ok(SignedDuration::from_secs(seconds))),
        max_unhealthy: trigger.unhealthy_less_than_or_equal_to.as_ref().map(limit),
        unhealthy_range: trigger.unhealthy_in_range.filter(|range| !range.is_empty()),
    };
    let check = ClusterApiHealthCheck {
        dialect: Dialect::ClusterApiV1Beta2,
        rules,
    };
    health_check(
        (metadata, wire.status),
        spec.selector,
        spec.remediation.template_ref,
        check,
    )
}

fn health_check(
    (metadata, status): (ObjectMeta, Option<Value>),
    selector: LabelSelector,
    remediation_template: Option<TemplateReference>,
    check: ClusterApiHealthCheck,
) -> MachineHealthCheck {
    MachineHealthCheck {
        status: Some(MachineHealthCheckStatus {
            cluster_api: status,
            ..MachineHealthCheckStatus::default()
        }),
        metadata,
        spec: MachineHealthCheckSpec {
            selector,
            remediation_template,
            cluster_api: Some(check),
            ..MachineHealthCheckSpec::default()
        },
    }
}
