use remediator_api::views::Node;
use remediator_core::metal3::CycledBy;
use serde_json::{Value, json};

use super::*;
use crate::watch::caches::Caches;
use crate::watch::caches::testing::{apply, caches};

const UUID: &str = "4c4c4544-0042-3510-8052-b4c04f4e3732";
const SWAPPED: &str = "44454c4c-4200-1035-8052-b4c04f4e3732";
const OTHER: &str = "4c4c4544-0042-3510-8052-b4c04f4e3733";
const PLACEHOLDER: &str = "03000200-0400-0500-0006-000700080009";

fn endpoint((namespace, name): (&str, &str), stated: Option<&str>, found: Option<&str>) -> Value {
    let mut endpoint = json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1",
        "kind": "BMCEndpoint",
        "metadata": {"namespace": namespace, "name": name, "generation": 2},
        "spec": {
            "nodeName": "worker-1", "address": "redfish+https://10.0.0.7", "systemUUID": stated,
            "credentialsSecret": {"name": "bmc"},
        },
    });
    if let Some(uuid) = found {
        endpoint["status"] = json!({"found": {"generation": 2, "systemUUID": uuid}});
    }
    endpoint
}

fn cached(endpoints: &[Value]) -> Caches {
    let (caches, mut writers) = caches();
    for endpoint in endpoints {
        apply(&mut writers.endpoints, endpoint.clone());
    }
    caches
}

fn node(uuid: &str) -> facts::Node {
    let node = json!({"metadata": {"name": "worker-1"}, "status": {"nodeInfo": {"systemUUID": uuid}}});
    serde_json::from_value::<Node>(node).unwrap().facts()
}

/// Who is told beside each of these endpoints, as `namespace/name`.
fn told(endpoints: &[Value]) -> Vec<Option<String>> {
    let caches = cached(endpoints);
    let told = endpoints.iter().map(|endpoint| {
        let endpoint = serde_json::from_value(endpoint.clone()).unwrap();
        let obstacle = sole(&caches.endpoints, &endpoint).err()?;
        let other = obstacle.detail.split("BMCEndpoint ").nth(1)?;
        let (name, rest) = other.split_once(" in namespace ")?;
        Some(format!("{}/{name}", rest.split(',').next()?))
    });
    told.collect()
}

#[test]
fn of_two_that_have_reached_one_host_both_are_told_in_either_byte_order() {
    for uuid in [UUID, SWAPPED] {
        let ours = endpoint(("metal", "worker-1"), None, Some(UUID));
        let theirs = endpoint(("other", "worker-1"), None, Some(uuid));
        let both = [
            Some("other/worker-1".to_owned()),
            Some("metal/worker-1".to_owned()),
        ];
        assert_eq!(told(&[ours, theirs]), both, "{uuid}");
    }
}

#[test]
fn a_claim_alone_holds_up_whoever_makes_it_and_nobody_else() {
    let ours = endpoint(("metal", "worker-1"), Some(UUID), Some(UUID));
    let claim = endpoint(("other", "worker-1"), Some(UUID), None);
    assert_eq!(told(&[ours, claim]), [None, Some("metal/worker-1".to_owned())]);
}

#[test]
fn what_was_found_before_a_change_or_is_a_placeholder_is_no_proof() {
    let ours = endpoint(("metal", "worker-1"), Some(UUID), Some(UUID));
    let mut changed = endpoint(("other", "worker-1"), None, Some(UUID));
    changed["metadata"]["generation"] = json!(3);
    assert_eq!(told(&[ours.clone(), changed]), [None, None]);
    let another = endpoint(("other", "worker-1"), None, Some(OTHER));
    assert_eq!(told(&[ours, another]), [None, None]);
    let same = ["metal", "other"].map(|namespace| endpoint((namespace, "w"), None, Some(PLACEHOLDER)));
    assert_eq!(told(&same), [None, None]);
}

#[test]
fn the_node_tells_which_host_it_is_before_its_bmc_was_checked() {
    let caches = cached(&[
        endpoint(("metal", "worker-1"), None, None),
        endpoint(("other", "worker-1"), None, Some(UUID)),
    ]);
    let rival = |uuid: &str| Described::of("metal", None, Some(&node(uuid))).rival(&caches.endpoints);
    assert_eq!(
        rival(SWAPPED).map(|rival| rival.namespace).as_deref(),
        Some("other")
    );
    assert_eq!(rival(OTHER), None);
    assert_eq!(rival(""), None);
}

#[test]
fn an_endpoint_beside_a_bare_metal_host_of_its_namespace_is_none() {
    let found = |namespace| cached(&[endpoint((namespace, "worker-1"), None, Some(UUID))]);
    let host = Host {
        reference: HostObject::BareMetalHost("worker-1".to_owned()),
        bmc: String::new(),
        stated_uuid: None,
        cycled: CycledBy::Us,
        found_uuid: None,
    };
    let rival =
        |caches: &Caches| Described::of("metal", Some(&host), Some(&node(UUID))).rival(&caches.endpoints);
    assert_eq!(rival(&found("metal")), None);
    assert!(rival(&found("other")).is_some());
}
