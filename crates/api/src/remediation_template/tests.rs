use kube::{CustomResourceExt as _, Resource as _};
use serde_json::{Value, json};

use super::*;
use crate::PowerCycleRemediation;

fn template(spec: &Value) -> PowerCycleRemediationTemplateSpec {
    serde_json::from_value(json!({"template": {"spec": spec}})).unwrap()
}

#[test]
fn what_no_remediation_can_be_made_from_is_named_with_its_place_in_the_template() {
    for (spec, says) in [
        (
            json!({"machineName": "one"}),
            "spec.template.spec.machineName must not be set",
        ),
        (
            json!({"nodeName": "one"}),
            "spec.template.spec.nodeName must not be set",
        ),
        (
            json!({"retries": {"attempts": 0}}),
            "spec.template.spec.retries.attempts must be",
        ),
        (
            json!({"deadlines": {"boot": "0s"}}),
            "spec.template.spec.deadlines.boot must be",
        ),
    ] {
        let refused = template(&spec).validated().unwrap_err();
        assert_eq!(refused.reason, Reason::SpecInvalid);
        assert!(refused.detail.starts_with(says), "{}", refused.detail);
    }
    let strategy = template(&json!({"retries": {"attempts": 2}}))
        .validated()
        .unwrap();
    assert_eq!(strategy.retries.attempts, 2);
}

/// What every health checker relies on. Sources: node-healthcheck-operator
/// `internal/controller/resources/manager.go`; machine-api-operator and cluster-api, `external` packages.
#[test]
fn the_kinds_are_such_that_every_health_checker_can_use_them() {
    let template = PowerCycleRemediationTemplate::crd().spec;
    let request = PowerCycleRemediation::crd().spec;
    let cut = template.names.kind.len().checked_sub("Template".len()).unwrap();
    assert_eq!(
        template.names.kind.split_at(cut),
        (request.names.kind.as_str(), "Template"),
        "the kind of the request is that of the template without its last 8 characters"
    );
    assert_eq!(
        PowerCycleRemediationTemplate::api_version(&()),
        PowerCycleRemediation::api_version(&())
    );
    for definition in [&template, &request] {
        let kind = &definition.names.kind;
        assert_eq!(definition.scope, "Namespaced", "{kind}");
        let version = definition.versions.first().unwrap();
        let subresources = version.subresources.as_ref();
        assert!(
            subresources.is_some_and(|one| one.status.is_some()),
            "{kind}: status"
        );
        let schema = serde_json::to_value(&version.schema).unwrap();
        let of_status = "/openAPIV3Schema/properties/status/properties/conditions/items";
        let condition = schema.pointer(of_status).unwrap();
        let required: Vec<&str> = condition["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        for field in ["type", "status", "lastTransitionTime"] {
            assert!(required.contains(&field), "{kind}: {field} of a condition");
        }
    }
}

#[test]
fn what_is_cloned_of_a_template_is_the_spec_of_a_request() {
    let spec = json!({"retries": {"attempts": 2}, "fencingMode": "Automatic"});
    let object = json!({"metadata": {"name": "cycle"}, "spec": {"template": {"spec": spec}}});
    let template: PowerCycleRemediationTemplate = serde_json::from_value(object).unwrap();
    let template = serde_json::to_value(&template).unwrap();
    let cloned = template.pointer("/spec/template/spec").unwrap();
    let request = json!({"metadata": {"name": "worker-0"}, "spec": cloned});
    let request: PowerCycleRemediation = serde_json::from_value(request).unwrap();
    assert_eq!(request.spec.strategy.validated().unwrap().retries.attempts, 2);
    assert_eq!((request.spec.machine_name, request.spec.node_name), (None, None));
}
