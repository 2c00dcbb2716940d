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

/// A request is made whatever the Machine is, but for what its evaluator itself leaves alone.
#[test]
fn a_machine_is_left_alone_as_its_evaluator_would() {
    let heeds = |asks, evaluator, exempt| {
        let evaluated_by = EvaluatedBy {
            who: "Nobody",
            why: String::new(),
        };
        let key = CheckKey {
            api: MachineApi::OpenShift,
            namespace: "metal".to_owned(),
            name: "check".to_owned(),
        };
        let listed = Listed {
            key,
            asks,
            template: None,
            evaluator,
            evaluated_by,
        };
        listed.heeds(exempt)
    };
    let request = || Asks::Request(Err(Remediation::new("TemplateNotFound", "")));
    let (platform, operator) = (Evaluator::Platform, Evaluator::NodeHealthCheckOperator);

    for exempt in [
        Exempt::Deleting,
        Exempt::PhaseFailed,
        Exempt::UnderRemediation,
        Exempt::Triggered,
    ] {
        assert!(
            heeds(Asks::Trigger, platform.clone(), exempt).is_some(),
            "{exempt:?}"
        );
        let is_heeded = heeds(request(), platform.clone(), exempt).is_some();
        assert_eq!(is_heeded, exempt == Exempt::UnderRemediation, "{exempt:?}");
        let is_heeded = heeds(request(), operator.clone(), exempt).is_some();
        let by_operator = [Exempt::Deleting, Exempt::UnderRemediation];
        assert_eq!(is_heeded, by_operator.contains(&exempt), "{exempt:?}");
    }
}
