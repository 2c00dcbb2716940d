use serde_json::json;

use super::*;

/// The API server refuses it, too; but a policy may be older than its rules.
#[test]
fn triggers_that_are_not_allowed_lead_to_no_remediation() {
    let read = |spec| serde_json::from_value::<RemediationPolicySpec>(spec).unwrap();
    for (field, list, value) in [
        ("fencingMode", "fencingModes", "NodeDeletion"),
        ("hostControl", "hostControls", "Direct"),
        ("escalation", "escalations", "MachineOwner"),
    ] {
        let contradicts = read(json!({"allowed": {list: [value]}})).strategy_of_triggers();
        let refused = contradicts.expect_err(field);
        assert_eq!(refused.reason, Reason::SpecInvalid);
        let says = format!("spec.triggers contradicts the rest of the policy: {field} is ");
        assert!(refused.detail.starts_with(&says), "{}", refused.detail);
        let agrees = read(json!({"allowed": {list: [value]}, "triggers": {field: value}}));
        assert!(agrees.strategy_of_triggers().is_ok(), "{field}");
    }
}
