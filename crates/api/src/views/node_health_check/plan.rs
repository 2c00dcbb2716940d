//! What of a NodeHealthCheck only `plan` reads: what its operator is about to do. What of it cannot be read does not
//! keep the rest from being read.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt as _;
use serde::Deserialize as _;
use serde_json::Value;

use super::{EscalatingRemediation, NodeHealthCheck, NodeHealthCheckCondition, TemplateReference};
use crate::views::machine_health_check::{limit, raw};
use remediator_core::health::node_health_check::rules::{NodeRules, RawNodeRules};
use remediator_core::health::problem::{Problem, RuleError};
use remediator_core::health::rules::{Malformed, RawCondition, Scope};

impl NodeHealthCheck {
    /// What it makes requests from, in the order in which it does.
    /// Source: medik8s/node-healthcheck-operator `internal/controller/resources/templates.go`,
    /// `GetCurrentTemplateWithTimeout`.
    pub fn templates(&self) -> Vec<&TemplateReference> {
        let mut ladder: Vec<&EscalatingRemediation> = self.spec.escalating_remediations.iter().collect();
        ladder.sort_by_key(|rung| rung.order);
        let ladder = ladder
            .into_iter()
            .filter_map(|rung| rung.remediation_template.as_ref());
        self.spec.remediation_template.iter().chain(ladder).collect()
    }

    /// Why its operator has disabled it, if it has: the reason of its condition `Disabled`.
    pub fn disabled(&self) -> Option<&str> {
        let mut conditions = self.conditions();
        let disabled = conditions.find(|one| one.kind == "Disabled" && one.status == "True");
        disabled.map(|condition| condition.reason.as_str())
    }

    /// Whether it asks for nothing new because a storm of failures is not over.
    pub fn is_in_a_storm(&self) -> bool {
        let mut conditions = self.conditions();
        let is_active = conditions.any(|one| one.kind == "StormActive" && one.status == "True");
        is_active && !self.spec.storm_cooldown_duration.is_null()
    }

    /// Whether its operator has ever looked at it: each look leaves the condition `Disabled`.
    pub fn is_known_to_its_operator(&self) -> bool {
        self.conditions().any(|one| one.kind == "Disabled")
    }

    fn conditions(&self) -> impl Iterator<Item = &NodeHealthCheckCondition> {
        let status = self.status.iter();
        status.flat_map(|status| status.conditions.iter().flatten())
    }

    /// What it asks for.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn rules(&self) -> Result<NodeRules, Malformed> {
        let spec = &self.spec;
        let selector = Option::<LabelSelector>::deserialize(&spec.selector);
        let selector = selector.map_err(|error| Malformed {
            errors: vec![RuleError::new(
                format!("spec.selector of NodeHealthCheck {}", self.name_any()),
                Problem::Unreadable(error.to_string()),
            )],
            scope: Scope::Unknown,
        })?;
        let conditions = spec.unhealthy_conditions.iter().map(|condition| RawCondition {
            kind: condition.kind.clone(),
            status: condition.status.clone(),
            timeout: condition.duration.read(),
        });
        let amount = |value: &Value| (!value.is_null()).then(|| limit(value));
        NodeRules::read(&RawNodeRules {
            selector: raw(&selector.unwrap_or_default()),
            // The API server fills in its default where there are none.
            unhealthy_conditions: Some(conditions.collect()),
            min_healthy: amount(&spec.min_healthy),
            max_unhealthy: amount(&spec.max_unhealthy),
            paused: !spec.pause_requests.is_empty(),
        })
    }
}

impl TemplateReference {
    /// Whether it is one of ours.
    pub fn is_ours(&self) -> bool {
        use kube::Resource as _;
        let group = self.api_version.split('/').next().unwrap_or_default();
        let kind = crate::PowerCycleRemediationTemplate::kind(&());
        group == crate::GROUP && self.kind == kind
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(spec: &Value, conditions: &Value) -> NodeHealthCheck {
        serde_json::from_value(json!({
            "apiVersion": "remediation.medik8s.io/v1alpha1", "kind": "NodeHealthCheck",
            "metadata": {"name": "workers"}, "spec": spec, "status": {"conditions": conditions},
        }))
        .unwrap()
    }

    #[test]
    fn the_rungs_of_a_ladder_come_in_their_order() {
        let rung = |name: &str, order: i64| {
            let template =
                json!({"apiVersion": "a/v1", "kind": "ATemplate", "name": name, "namespace": "metal"});
            json!({"remediationTemplate": template, "order": order, "timeout": "60s"})
        };
        let ladder = json!([rung("third", 7), rung("first", -1), rung("second", 2)]);
        let check = read(&json!({"escalatingRemediations": ladder}), &json!([]));
        let names: Vec<&str> = check.templates().iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["first", "second", "third"]);
    }

    #[test]
    fn its_conditions_tell_whether_its_operator_serves_it() {
        let condition =
            |kind: &str, status: &str| json!({"type": kind, "status": status, "reason": "Because"});
        let storm = json!({"stormCooldownDuration": "5m"});
        let table = [
            (json!({}), json!([]), (None, false, false)),
            (
                json!({}),
                json!([condition("Disabled", "False")]),
                (None, true, false),
            ),
            (
                json!({}),
                json!([condition("Disabled", "True")]),
                (Some("Because"), true, false),
            ),
            (
                storm.clone(),
                json!([condition("StormActive", "True")]),
                (None, false, true),
            ),
            (
                storm,
                json!([condition("StormActive", "False")]),
                (None, false, false),
            ),
            // It has none any more.
            (
                json!({}),
                json!([condition("StormActive", "True")]),
                (None, false, false),
            ),
        ];
        for (spec, conditions, expected) in table {
            let check = read(&spec, &conditions);
            let found = (
                check.disabled(),
                check.is_known_to_its_operator(),
                check.is_in_a_storm(),
            );
            assert_eq!(found, expected, "{spec} {conditions}");
        }
    }

    #[test]
    fn what_is_wrong_with_it_is_named_and_keeps_nothing_else_from_being_read() {
        for (spec, says) in [
            (json!({"minHealthy": "51%"}), ""),
            (json!({"selector": 7, "minHealthy": 1}), "spec.selector"),
            (
                json!({"selector": {"matchLabels": {"a b": ""}}, "minHealthy": 1}),
                "spec.selector",
            ),
            (json!({"minHealthy": {}}), "spec.minHealthy"),
            (json!({"minHealthy": 1, "maxUnhealthy": 1}), "spec.minHealthy"),
            (
                json!({"maxUnhealthy": 1, "unhealthyConditions": [{"type": "Ready", "status": "False", "duration": "soon"}]}),
                "spec.unhealthyConditions[0].duration",
            ),
        ] {
            let said = read(&spec, &json!([]))
                .rules()
                .err()
                .map(|wrong| wrong.to_string());
            let said = said.unwrap_or_default();
            assert!(
                said.starts_with(says) && said.is_empty() == says.is_empty(),
                "{spec}: {said}"
            );
        }
    }
}
