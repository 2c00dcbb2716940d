use remediator_core::strategy::FencingMode;
use serde_json::{Value, json};

use super::*;
use crate::watch::caches::Listed as ListedObjects;

fn template(name: &str, spec: &Value) -> Guarded<PowerCycleRemediationTemplate> {
    serde_json::from_value(json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediationTemplate",
        "metadata": {"name": name, "namespace": "metal"}, "spec": {"template": {"spec": spec}},
    }))
    .unwrap()
}

#[tokio::test]
async fn a_template_that_no_request_can_be_made_from_is_named_with_its_field() {
    let caches = Caches::from(ListedObjects {
        templates: vec![
            template("good", &json!({"fencingMode": "NodeDeletion"})),
            template("none", &json!({"retries": {"attempts": 0}})),
            template("text", &json!({"deadlines": {"boot": "soon"}})),
            template("one", &json!({"machineName": "worker-0"})),
        ],
        ..ListedObjects::default()
    });
    let good = usable_template(&caches, "metal", "good").unwrap();
    assert_eq!(good.spec.validated().unwrap().fencing, FencingMode::NodeDeletion);
    for (namespace, name, outcome, part) in [
        (
            "metal",
            "none",
            "TemplateInvalid",
            "spec.template.spec.retries.attempts",
        ),
        (
            "metal",
            "text",
            "TemplateInvalid",
            "spec.template.spec.deadlines.boot",
        ),
        (
            "metal",
            "one",
            "TemplateInvalid",
            "spec.template.spec.machineName",
        ),
        (
            "metal",
            "missing",
            "TemplateNotFound",
            "metal/missing does not exist",
        ),
        ("other", "good", "TemplateNotFound", "other/good does not exist"),
    ] {
        let unusable = usable_template(&caches, namespace, name).unwrap_err();
        assert_eq!(unusable.outcome, outcome, "{name}");
        for part in [part, "no request can be made from"] {
            assert!(unusable.why.contains(part), "{part}: {}", unusable.why);
        }
    }
}
