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

const OURS: &str = "redfish://10.0.0.7/redfish/v1/Systems/1";

fn ours() -> Guarded<BMCEndpoint> {
    endpoint(("metal", "worker-1"), OURS, Some(UUID))
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
        (OURS, Some(OTHER)),
        (OURS, None),
    ] {
        let edited = endpoint(("metal", "worker-1"), address, uuid);
        assert_eq!(judged(&[edited]), Err(Reason::Accepted), "{address} {uuid:?}");
    }
    let unreadable = endpoint(("metal", "worker-1"), OURS, Some("nonsense"));
    assert_eq!(judged(&[unreadable]), Err(Reason::HostUnreadable));
}

/// The same endpoint with the host that a check of this generation of it found.
fn found(endpoint: &Guarded<BMCEndpoint>, uuid: &str, generation: i64) -> Guarded<BMCEndpoint> {
    let mut found = serde_json::to_value(endpoint.0.as_ref().unwrap()).unwrap();
    found["metadata"]["generation"] = json!(2);
    found["status"] = json!({
        "found": {"generation": generation, "systemUUID": uuid},
        "conditions": [{
            "type": "Ready", "status": "False", "reason": "BmcUnreachable", "message": "", "observedGeneration": 2,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }],
    });
    serde_json::from_value(found).unwrap()
}

const DESCRIBING: [(&str, Option<&str>); 4] = [
    ("redfish://10.0.0.7/redfish/v1/Systems/1/", None),
    ("redfish://10.0.0.8", Some(UUID)),
    ("redfish://10.0.0.8", Some(SWAPPED)),
    (OURS, None),
];

#[test]
fn a_host_that_another_endpoint_of_its_namespace_describes_is_nobody_s() {
    for (address, uuid) in DESCRIBING {
        let twin = endpoint(("metal", "worker-2"), address, uuid);
        let judged = judged(&[ours(), twin]);
        assert_eq!(judged, Err(Reason::HostAmbiguous), "{address} {uuid:?}");
    }
}

#[test]
fn invariant_14_what_an_endpoint_of_another_namespace_says_counts_where_its_own_login_proved_it() {
    let ambiguous = Err(Reason::HostAmbiguous);
    for (address, uuid) in DESCRIBING {
        let other = endpoint(("elsewhere", "worker-1"), address, uuid);
        assert_eq!(judged(&[ours(), other.clone()]), Ok(()), "{address} {uuid:?}");
        for (generation, expected) in [(2, ambiguous), (1, Ok(()))] {
            let other = found(&other, UUID, generation);
            assert_eq!(
                judged(&[ours(), other]),
                expected,
                "{address} {uuid:?} {generation}"
            );
        }
    }
}

#[test]
fn a_host_that_an_endpoint_describes_in_which_something_else_is_wrong_is_nobody_s() {
    let unusable = Some("00000000-0000-0000-0000-000000000000");
    for (address, uuid, expected) in [
        (OURS, unusable, Reason::HostAmbiguous),
        ("redfish://10.0.0.8", unusable, Reason::HostUnreadable),
        ("no address", Some(OTHER), Reason::HostUnreadable),
    ] {
        let other = endpoint(("metal", "worker-2"), address, uuid);
        assert_eq!(judged(&[ours(), other]), Err(expected), "{address} {uuid:?}");
        let elsewhere = endpoint(("elsewhere", "worker-2"), address, uuid);
        assert_eq!(judged(&[ours(), elsewhere]), Ok(()), "{address} {uuid:?}");
    }
    let mut pinned = serde_json::to_value(
        endpoint(("metal", "worker-2"), "redfish://10.0.0.8", Some(OTHER))
            .0
            .unwrap(),
    )
    .unwrap();
    pinned["spec"]["tls"] = serde_json::json!({"fingerprints": ["no fingerprint"]});
    let wrong_elsewhere = serde_json::from_value(pinned).unwrap();
    assert_eq!(judged(&[ours(), wrong_elsewhere]), Ok(()));
}

/// By one address, spelt in any way, or by one UUID; and not by one service, behind which there may be several hosts.
#[test]
fn of_two_endpoints_of_a_namespace_that_describe_one_host_neither_is_used() {
    let service = "redfish://10.0.0.7";
    for (one, other, is_one_host) in [
        (
            (OURS, None),
            ("redfish+https://10.0.0.7:443/redfish/v1/Systems/1/", None),
            true,
        ),
        ((OURS, Some(UUID)), ("redfish://10.0.0.8", Some(SWAPPED)), true),
        (
            ("ipmi://10.0.0.7", None),
            ("ipmi://10.0.0.7:623?privilegelevel=USER", None),
            true,
        ),
        (
            (OURS, None),
            ("redfish://10.0.0.7/redfish/v1/Systems/2", None),
            false,
        ),
        ((OURS, Some(UUID)), ("redfish://10.0.0.8", Some(OTHER)), false),
        ((service, None), (service, None), false),
    ] {
        for (namespace, expected) in [("metal", is_one_host), ("elsewhere", false)] {
            let (store, mut cache) = SharedCache::new();
            let both = [
                endpoint(("metal", "worker-1"), one.0, one.1),
                endpoint((namespace, "worker-2"), other.0, other.1),
            ];
            for endpoint in &both {
                cache.apply(Event::Apply(endpoint.clone()));
            }
            for (endpoint, namespace) in both.iter().zip(["metal", namespace]) {
                let resolved = resolve_endpoint(endpoint.0.as_ref().unwrap()).unwrap();
                let found = alone(&store, namespace, &resolved).map_err(|obstacle| obstacle.reason);
                assert_eq!(
                    found == Err(Reason::HostAmbiguous),
                    expected,
                    "{one:?} {other:?} {namespace}"
                );
            }
        }
    }
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
            cache.apply(Event::Apply(endpoint));
        }
        let found = speaking_of(&store, "metal", machine, node);
        let indexed = among_endpoints(found.iter().map(AsRef::as_ref), machine, node);
        let all = store.all();
        let of_namespace = all.iter().filter(|one| one.namespace().as_deref() == Some("metal"));
        let scanned = among_endpoints(of_namespace.map(AsRef::as_ref), machine, node);
        prop_assert_eq!(indexed.map(|one| one.host), scanned.map(|one| one.host));
    }
}
