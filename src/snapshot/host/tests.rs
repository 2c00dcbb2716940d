use kube::runtime::watcher::Event;
use proptest::prelude::*;
use serde_json::json;

use crate::snapshot::host::sole::SearchedHost;
use crate::snapshot::host::*;
use crate::watch::shared_cache::SharedCache;

const UUID: &str = "4c4c4544-0042-3510-8052-b4c04f4e3732";
const SWAPPED: &str = "44454C4C-4200-1035-8052-B4C04F4E3732";
const OTHER: &str = "4c4c4544-0042-3510-8052-b4c04f4e3733";

fn endpoint((namespace, name): (&str, &str), address: &str, uuid: Option<&str>) -> Guarded<BMCEndpoint> {
    let endpoint = json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1",
        "kind": "BMCEndpoint",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "machineName": name, "address": address,
            "credentialsSecret": {"name": "bmc"}, "systemUUID": uuid,
        },
    });
    serde_json::from_value(endpoint).unwrap()
}

fn ours() -> Guarded<BMCEndpoint> {
    endpoint(("metal", "worker-1"), "redfish://10.0.0.7", Some(UUID))
}

fn judged(endpoints: &[Guarded<BMCEndpoint>]) -> Result<(), Reason> {
    let known = resolve_endpoint(ours().0.as_ref().unwrap()).unwrap().host;
    let by_the_bmc = Host {
        stated_uuid: SystemUuid::parse(SWAPPED).ok(),
        ..known.clone()
    };
    let judged = judged_against(known, endpoints);
    assert_eq!(
        judged_against(by_the_bmc, endpoints),
        judged,
        "as a journal has it"
    );
    judged
}

fn judged_against(known: Host, endpoints: &[Guarded<BMCEndpoint>]) -> Result<(), Reason> {
    let searched = SearchedHost {
        namespace: "metal".to_owned(),
        machine: "worker-1".to_owned(),
        node: None,
        known,
    };
    let said =
        |endpoints: &[Guarded<BMCEndpoint>]| searched.is_sole(endpoints).map_err(|obstacle| obstacle.reason);
    let of_interest: Vec<_> = endpoints
        .iter()
        .filter(|endpoint| searched.is_concerned_by(endpoint))
        .cloned()
        .collect();
    assert_eq!(
        said(endpoints),
        said(&of_interest),
        "the others have no part in it"
    );
    said(endpoints)
}

#[test]
fn an_endpoint_that_is_as_it_was_known_and_alone_describes_the_host() {
    let stranger = endpoint(("metal", "worker-2"), "redfish://10.0.0.8", Some(OTHER));
    let namesake = endpoint(("elsewhere", "worker-1"), "redfish://10.0.0.9", None);

    assert_eq!(judged(&[stranger, ours(), namesake]), Ok(()));
}

#[test]
fn an_endpoint_that_was_deleted_or_edited_since_it_was_watched_stops() {
    assert_eq!(judged(&[]), Err(Reason::HostNotFound));
    for (address, uuid) in [
        ("redfish://10.0.0.8", Some(UUID)),
        ("redfish://10.0.0.7", Some(OTHER)),
        ("redfish://10.0.0.7", None),
    ] {
        let edited = endpoint(("metal", "worker-1"), address, uuid);
        assert_eq!(judged(&[edited]), Err(Reason::Accepted), "{address} {uuid:?}");
    }
    let unreadable = endpoint(("metal", "worker-1"), "redfish://10.0.0.7", Some("nonsense"));
    assert_eq!(judged(&[unreadable]), Err(Reason::HostUnreadable));
}

#[test]
fn a_host_that_another_endpoint_describes_is_nobody_s() {
    for (address, uuid) in [
        ("redfish://10.0.0.8", Some(UUID)),
        ("redfish://10.0.0.8", Some(SWAPPED)),
        ("redfish://10.0.0.7", None),
    ] {
        for place in [("metal", "worker-2"), ("elsewhere", "worker-1")] {
            let twin = endpoint(place, address, uuid);
            assert_eq!(
                judged(&[ours(), twin]),
                Err(Reason::HostAmbiguous),
                "{address} {uuid:?}"
            );
        }
    }
}

#[test]
fn a_host_that_an_endpoint_describes_in_which_something_else_is_wrong_is_nobody_s() {
    let unusable = Some("00000000-0000-0000-0000-000000000000");
    for (address, uuid, expected) in [
        ("redfish://10.0.0.7", unusable, Err(Reason::HostAmbiguous)),
        ("redfish://10.0.0.8", unusable, Err(Reason::HostUnreadable)),
        ("no address", Some(OTHER), Err(Reason::HostUnreadable)),
    ] {
        let other = endpoint(("elsewhere", "worker-2"), address, uuid);
        assert_eq!(judged(&[ours(), other]), expected, "{address} {uuid:?}");
    }
    let mut pinned = serde_json::to_value(
        endpoint(("elsewhere", "worker-2"), "redfish://10.0.0.8", Some(OTHER))
            .0
            .unwrap(),
    )
    .unwrap();
    pinned["spec"]["tls"] = serde_json::json!({"fingerprints": ["no fingerprint"]});
    let wrong_elsewhere = serde_json::from_value(pinned).unwrap();
    assert_eq!(judged(&[ours(), wrong_elsewhere]), Ok(()));
}

fn any_endpoint() -> impl Strategy<Value = Guarded<BMCEndpoint>> {
    let namespace = proptest::sample::select(&["metal", "other"][..]);
    let name = proptest::sample::select(&["e0", "e1", "e2"][..]);
    let whose = proptest::sample::select(
        &[
            ("machineName", "m0"),
            ("machineName", "m1"),
            ("nodeName", "n0"),
            ("nodeName", "m0"),
        ][..],
    );
    let is_unreadable = proptest::bool::weighted(0.15);
    (namespace, name, whose, is_unreadable).prop_map(|(namespace, name, (field, whose), is_unreadable)| {
        let mut endpoint = json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "BMCEndpoint",
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"address": "redfish://10.0.0.7", "credentialsSecret": {"name": "bmc"}},
        });
        endpoint["spec"][field] = json!(whose);
        if is_unreadable {
            endpoint["spec"]["address"] = json!(7);
        }
        serde_json::from_value(endpoint).unwrap()
    })
}

proptest! {
    /// No index hides an endpoint that makes a host ambiguous, or that cannot be read.
    #[test]
    fn by_key_the_same_host_is_found_as_among_all_endpoints(
        endpoints in proptest::collection::vec(any_endpoint(), 0..6),
        machine in proptest::option::of(proptest::sample::select(&["m0", "m1"][..])),
        node in proptest::option::of(proptest::sample::select(&["n0", "m0"][..])),
    ) {
        let (store, mut cache) = SharedCache::new();
        for endpoint in endpoints {
            cache.apply(&Event::Apply(endpoint));
        }
        let found = speaking_of(&store, "metal", machine, node);
        let indexed = among_endpoints(found.iter().map(AsRef::as_ref), machine, node);
        let all = store.all();
        let of_namespace = all.iter().filter(|one| one.namespace().as_deref() == Some("metal"));
        let scanned = among_endpoints(of_namespace.map(AsRef::as_ref), machine, node);
        prop_assert_eq!(indexed.map(|one| one.host), scanned.map(|one| one.host));
    }
}
