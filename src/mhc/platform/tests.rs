use serde_json::json;

use super::*;

fn lease(uid: &str, renewed: &str) -> Guarded<Lease> {
    serde_json::from_value(json!({
        "metadata": {"name": MANAGER_LEASE_NAME, "uid": uid},
        "spec": {"renewTime": renewed, "leaseDurationSeconds": 15},
    }))
    .unwrap()
}

#[test]
fn a_manager_beside_the_lease_of_one_that_is_gone_is_seen_to_renew_its_own() {
    let gone = || lease("gone", "2099-01-01T00:00:00.000000Z");
    let first = as_one(vec![gone(), lease("runs", "2026-01-01T00:00:00.000000Z")]);
    let listed_otherwise = as_one(vec![lease("runs", "2026-01-01T00:00:00.000000Z"), gone()]);
    assert_eq!(first, listed_otherwise);
    let renewed = as_one(vec![gone(), lease("runs", "2026-01-01T00:00:10.000000Z")]);
    assert_ne!(first, renewed);
    assert_eq!(as_one(Vec::new()), Lookup::Absent);
    let broken: Guarded<Lease> =
        serde_json::from_value(json!({"metadata": {"namespace": "capi-system"}, "spec": 7})).unwrap();
    assert!(matches!(as_one(vec![gone(), broken]), Lookup::Unreadable(why) if why.contains("capi-system")));
}
