use serde_json::{Value, json};

use super::*;

#[test]
fn a_gate_is_on_when_every_version_has_it_on() {
    let with = json!({"version": "4.20", "enabled": [{"name": "Other"}, {"name": "Wanted"}], "disabled": []});
    let without =
        json!({"version": "4.19", "enabled": [{"name": "Other"}], "disabled": [{"name": "Wanted"}]});
    for (versions, expected) in [
        (vec![], false),
        (vec![&with], true),
        (vec![&without], false),
        (vec![&with, &without], false),
        (vec![&with, &with], true),
    ] {
        let gate: FeatureGate = serde_json::from_value(json!({
            "apiVersion": "config.openshift.io/v1", "kind": "FeatureGate", "metadata": {"name": "cluster"},
            "spec": {"featureSet": "CustomNoUpgrade"}, "status": {"featureGates": versions},
        }))
        .unwrap();
        assert_eq!(gate.is_on("Wanted"), expected, "{versions:?}");
    }
    let bare = json!({"metadata": {"name": "cluster"}, "spec": {}, "status": Value::Null});
    assert!(
        !serde_json::from_value::<FeatureGate>(bare)
            .unwrap()
            .is_on("Wanted")
    );
}
