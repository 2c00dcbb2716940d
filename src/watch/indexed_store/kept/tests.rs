use kube::ResourceExt as _;
use proptest::prelude::*;
use remediator_api::BMCEndpoint;
use remediator_api::views::{Machine, Node};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::*;

/// How an object is kept after this sample, and that it comes back as it is.
fn kept<K: Indexed + DeserializeOwned + PartialEq>(packer: &mut Packer, object: &Value) -> Kept<K> {
    let object: Object<K> = Arc::new(serde_json::from_value(object.clone()).unwrap());
    let kept = packer.keep(&object);
    let again = kept.object();
    match (&again.0, &object.0) {
        (Ok(again), Ok(object)) => assert!(again == object, "{again:?} is not {object:?}"),
        (Err(again), Err(object)) => assert_eq!(again, object),
        (Ok(_), Err(_)) | (Err(_), Ok(_)) => panic!("{again:?} is not {object:?}"),
    }
    kept
}

fn length<K: Indexed>(kept: &Kept<K>) -> Option<usize> {
    match kept {
        Kept::Whole(_) => None,
        Kept::Packed(packed) => Some(packed.text.len()),
    }
}

fn node(number: usize) -> Value {
    json!({
        "metadata": {"name": format!("worker-{number}.example.org"), "uid": format!("{number:08x}-0000-4000-8000-000000000001"),
            "resourceVersion": (100_000 + number).to_string(), "creationTimestamp": "2026-01-02T03:04:05Z",
            "annotations": {"machine.openshift.io/machine": format!("openshift-machine-api/worker-{number}")},
            "labels": {"topology.kubernetes.io/zone": "room-1"}},
        "spec": {"providerID": format!("baremetalhost:///openshift-machine-api/host-{number}/{number:08x}-0000-4000-8000-000000000002"),
            "podCIDRs": ["10.128.0.0/24", "fd00::/64"], "unschedulable": true,
            "taints": [{"key": "a", "effect": "NoExecute", "timeAdded": "2026-01-02T03:04:06Z"}]},
        "status": {"nodeInfo": {"bootID": format!("{number:08x}-0000-4000-8000-000000000003"),
                "systemUUID": format!("{number:08x}-0000-4000-8000-000000000004")},
            "addresses": [{"type": "InternalIP", "address": "10.0.0.7"}, {"type": "Hostname", "address": "h"},
                {"type": "InternalIP", "address": "fd00::7"}],
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-02T03:04:07Z",
                "lastTransitionTime": "2026-01-02T03:04:08Z"}, {"type": "Strange", "status": "Maybe"}]},
    })
}

fn machine(number: usize, of_cluster_api: bool) -> Value {
    json!({
        "metadata": {"name": format!("worker-{number}"), "namespace": "ns", "labels": {"any": "label"}},
        "spec": {"clusterName": of_cluster_api.then_some("edge"), "providerID": "metal3://ns/h/m",
            "providerSpec": {"value": {"kind": "BareMetalMachineProviderSpec"}},
            "infrastructureRef": {"kind": "Metal3Machine", "name": "m"}},
        "status": {"phase": "Running", "nodeRef": {"name": format!("worker-{number}")},
            "lastUpdated": "2026-01-02T03:04:05Z", "authoritativeAPI": "MachineAPI"},
    })
}

#[test]
fn what_is_one_among_many_comes_back_as_it_is_and_is_short() {
    let mut packer = Packer::default();
    let first = length::<Node>(&kept(&mut packer, &node(1)));
    assert!(first.is_some(), "a Node is packed");
    let next = length::<Node>(&kept(&mut packer, &node(65_537))).unwrap();
    let whole = node(65_537).to_string().len();
    assert!(next < whole / 3, "{next} bytes of {whole}");

    let mut packer = Packer::default();
    for number in [1, 2] {
        assert!(length::<Machine>(&kept(&mut packer, &machine(number, false))).is_some());
    }
}

#[test]
fn a_machine_of_cluster_api_comes_back_with_all_that_its_own_form_has_not() {
    let mut packer = Packer::default();
    let Guarded(Ok(mut machine)) = serde_json::from_value::<Guarded<Machine>>(machine(1, true)).unwrap()
    else {
        panic!("it can be read");
    };
    machine.spec.cluster_api = Some(remediator_api::views::machine::ClusterApiMachine {
        version: remediator_api::views::cluster_api::Version::V1Beta2,
        cluster: "edge".to_owned(),
        infrastructure: None,
        infrastructure_ready: remediator_core::health::target::Readiness::default(),
        conditions: vec![remediator_core::facts::NodeCondition {
            kind: "InfrastructureReady".to_owned(),
            status: "True".to_owned(),
            since: Some("2026-01-02T03:04:05.123456789Z".parse().unwrap()),
        }],
        health_check: Some(remediator_api::views::machine::SaidOfHealth::default()),
        waits_for_external_remediation: true,
        failure_reason: Some("Broken".to_owned()),
        failure_message: None,
    });
    let object = Arc::new(Guarded(Ok(machine)));
    let kept = packer.keep(&object);
    assert!(length(&kept).is_some());
    assert!(kept.object().0.as_ref().ok() == object.0.as_ref().ok());
}

/// The API server takes it for no field of a Machine, so nobody else may say what a Cluster API has of it.
#[test]
fn no_machine_says_of_itself_what_only_its_cluster_api_says() {
    let mut machine = machine(1, false);
    machine["spec"]["clusterApi"] = json!({"cluster": "x"});
    machine["spec"]["cluster_api"] = json!({"cluster": "x"});
    let kept = kept::<Machine>(&mut Packer::default(), &machine);
    assert!(kept.object().0.as_ref().unwrap().spec.cluster_api.is_none());
}

#[test]
fn what_cannot_be_read_is_kept_whole() {
    let mut packer = Packer::default();
    let mut broken = node(1);
    broken["spec"]["taints"] = json!("none");
    assert!(length::<Node>(&kept(&mut packer, &broken)).is_none());
    assert!(packer.sample.is_none());
}

#[test]
fn what_cannot_be_unpacked_is_unreadable() {
    let mut packer = Packer::default();
    let Kept::Packed(mut packed) = kept::<Node>(&mut packer, &node(1)) else {
        panic!("a Node is packed");
    };
    packed.text = packed.text.iter().map(|byte| byte ^ 0x55).collect();
    let object = Kept::<Node>::Packed(packed).object();
    assert!(
        object
            .0
            .as_ref()
            .unwrap_err()
            .error
            .contains("restart the daemon")
    );
    assert_eq!(object.name_any(), "");
}

proptest! {
    #[test]
    fn any_endpoint_comes_back_as_it_is(
        (name, address) in (".{0,20}", ".{0,300}"),
        (uuid, bundle) in (proptest::option::of(".{0,36}"), proptest::option::of(".{0,2000}")),
        (conditions, generation) in (proptest::collection::vec(".{0,99}", 0..4), any::<Option<i64>>()),
    ) {
        let conditions: Vec<_> = conditions.iter().map(|text| json!({"type": text, "status": "True", "reason": "R",
            "message": text, "lastTransitionTime": "2026-01-02T03:04:05Z"})).collect();
        let endpoint = json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "BMCEndpoint",
            "metadata": {"name": name, "namespace": "ns", "generation": generation},
            "spec": {"machineName": name, "address": address, "credentialsSecret": {"name": "s"},
                "systemUUID": uuid, "tls": bundle.map(|text| json!({"caBundle": text}))},
            "status": {"observedGeneration": generation, "conditions": conditions},
        });
        let mut packer = Packer::default();
        for _ in 0..2 {
            prop_assert!(length::<BMCEndpoint>(&kept(&mut packer, &endpoint)).is_some());
        }
    }
}
