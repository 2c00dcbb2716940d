use serde_json::{Value, json};

use super::*;
use crate::guarded::Guarded;

fn read(spec: &Value) -> Guarded<PowerCycleRemediation> {
    let api_version = "baremetal-remediator.io/v1alpha1";
    let object = json!({
        "apiVersion": api_version, "kind": "PowerCycleRemediation", "metadata": {"name": "one"}, "spec": spec,
    });
    serde_json::from_value(object).unwrap()
}

#[test]
fn a_spec_is_read_as_it_is_written_and_a_field_that_cannot_be_read_is_named() {
    let full = json!({
        "machineName": "one", "fencingMode": "NodeDeletion", "hostControl": "Direct",
        "deadlines": {"pending": "1h", "powerOff": "1m", "fencing": "2m", "powerOn": "3m", "boot": "4m"},
        "retries": {"attempts": 2, "backoff": "5m", "maxBackoff": "1h"}, "escalation": "MachineOwner",
    });
    let spec = read(&full).0.unwrap().spec;
    let (strategy, default) = (&spec.strategy, StrategySpec::default());
    assert_eq!(spec.machine_name.as_deref(), Some("one"));
    assert_eq!(strategy.fencing_mode, FencingMode::NodeDeletion);
    assert_eq!(strategy.host_control, HostControl::Direct);
    assert_eq!(strategy.retries.attempts, 2);
    assert_eq!(strategy.escalation, Escalation::MachineOwner);
    assert_ne!(strategy.deadlines, default.deadlines);
    assert_eq!(read(&serde_json::to_value(&spec).unwrap()).0.unwrap().spec, spec);
    assert_eq!(
        read(&json!({})).0.unwrap().spec,
        PowerCycleRemediationSpec::default()
    );
    for (spec, field) in [
        (json!({"fencingMode": "Pull"}), "spec.fencingMode: "),
        (json!({"deadlines": {"boot": "soon"}}), "spec.deadlines.boot: "),
        (json!({"retries": {"attempts": "two"}}), "spec.retries.attempts: "),
        (json!({"nodeName": 7}), "spec.nodeName: "),
    ] {
        let error = read(&spec).0.unwrap_err().error;
        assert!(error.starts_with(field), "{error}");
    }
}
