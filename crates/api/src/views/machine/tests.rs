use serde_json::json;

use super::*;

/// Two actors on one trigger fight, so the other one has to be recognised.
#[test]
fn the_provider_that_answers_the_trigger_itself_is_known_by_its_kind() {
    let machine = |kind: &str| {
        let machine = json!({
            "metadata": {"name": "worker-7", "namespace": "machines"},
            "spec": {"providerSpec": {"value": {"apiVersion": "a/v1", "kind": kind}}},
        });
        serde_json::from_value::<Machine>(machine).unwrap()
    };
    let answered_by = machine("BareMetalMachineProviderSpec")
        .facts()
        .trigger_answered_by;
    assert_eq!(answered_by.as_deref(), Some("cluster-api-provider-baremetal"));
    assert_eq!(machine("Other").facts().trigger_answered_by, None);
}
