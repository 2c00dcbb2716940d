use remediator_api::views::cluster_api::{FromClusterApi as _, Version};
use serde_json::json;

use super::*;

#[test]
fn a_template_of_another_remediator_with_the_same_name_is_another_template() {
    let by = Producer::Template("cycle".to_owned());
    for (kind, name, made) in [
        ("PowerCycleRemediationTemplate", "cycle", true),
        ("PowerCycleRemediationTemplate", "other", false),
        ("Metal3RemediationTemplate", "cycle", false),
    ] {
        let template = json!({"kind": kind, "name": name});
        let spec = |key: &str, value| json!({"clusterName": "blue", "selector": {}, key: value});
        let metadata = json!({"name": "workers", "namespace": "metal"});
        let v1beta1 = json!({"metadata": metadata, "spec": spec("remediationTemplate", template.clone())});
        let v1beta2 =
            json!({"metadata": metadata, "spec": spec("remediation", json!({"templateRef": template}))});
        for (version, object) in [(Version::V1Beta1, &v1beta1), (Version::V1Beta2, &v1beta2)] {
            let check = MachineHealthCheck::read(version, serde_json::from_value(object.clone()).unwrap());
            assert_eq!(may_have_made(&by, &check), made, "{object}");
        }
        let openshift: Guarded<MachineHealthCheck> = serde_json::from_value(v1beta1).unwrap();
        assert_eq!(may_have_made(&by, &openshift), made);
    }
}
