use super::*;
use crate::views::{Machine, MachineHealthCheck};

fn read(text: &str) -> Guarded<Machine> {
    serde_json::from_str(text).unwrap()
}

#[test]
fn what_cannot_be_read_keeps_its_name_and_names_the_field() {
    let guarded = read(r#"{"metadata": {"name": "one"}, "spec": {"providerID": 7}}"#);
    let error = guarded.0.as_ref().unwrap_err().error.clone();
    assert!(error.starts_with("spec.providerID: "), "{error}");
    assert_eq!(guarded.meta().name.as_deref(), Some("one"));
}

#[test]
fn what_can_be_read_is_read() {
    let guarded = read(r#"{"metadata": {"name": "one"}, "spec": {"providerID": "a"}}"#);
    assert_eq!(guarded.0.unwrap().spec.provider_id.as_deref(), Some("a"));
}

#[test]
fn of_what_cannot_be_read_only_a_health_check_with_the_strategy_is_kept_whole() {
    let of = |annotations: &str, template: &str| {
        let text = format!(
            r#"{{"metadata": {{"name": "one", "annotations": {annotations}}},
                "spec": {{"selector": 7, "remediationTemplate": {template}}}, "status": {{"currentHealthy": 3}}}}"#
        );
        let read: Guarded<MachineHealthCheck> = serde_json::from_str(&text).unwrap();
        read.0.unwrap_err()
    };
    let strategy = r#"{"machine.openshift.io/remediation-strategy": "external-baremetal"}"#;
    let ours = of(strategy, "null");
    assert!(ours.asks_for_power_cycles());
    assert_eq!(ours.object["status"]["currentHealthy"], 3);
    assert!(!of(strategy, r#"{"name": "x"}"#).asks_for_power_cycles());
    let other = of("{}", "null");
    assert!(!other.asks_for_power_cycles());
    assert_eq!(other.object, Value::Null);
}
