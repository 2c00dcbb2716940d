//! Who else may be at work on a host that metal3 manages.
//! Source: cluster-api-provider-metal3 `baremetal/metal3remediation_manager.go`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use remediator_core::decision::{HeldHost, HoldOn};
use remediator_core::facts::Lookup;
use remediator_core::metal3::HoldWrite;
use serde_json::{Value, json};

use crate::metal3::*;
use crate::test_server::served;

fn described(remediated_by: Option<&str>, annotation: Option<&str>) -> Described {
    Described {
        facts: metal3::BareMetalHost {
            namespace: "metal".to_owned(),
            name: "host-0".to_owned(),
            online: true,
            has_bmc: true,
            consumer: Some(Consumer {
                kind: "Machine".to_owned(),
                namespace: "metal".to_owned(),
                name: "worker-0".to_owned(),
            }),
            state: "provisioned".to_owned(),
            reboot_annotations: annotation.into_iter().map(ToOwned::to_owned).collect(),
            ..metal3::BareMetalHost::default()
        },
        address: "redfish://10.0.0.1/redfish/v1/Systems/1".to_owned(),
        secret: "host-0-bmc".to_owned(),
        unverified: false,
        unrivalled: unrivalled(&machine(), Ok(remediated_by.map(ToOwned::to_owned))).unwrap(),
    }
}

fn machine() -> Machine {
    serde_json::from_value(json!({"metadata": {"name": "worker-0", "namespace": "metal"}, "spec": {}}))
        .unwrap()
}

fn refused() -> ShellError {
    let status = kube::core::Status {
        code: 500,
        message: "conversion webhook failed".to_owned(),
        ..kube::core::Status::default()
    };
    ShellError::Api {
        call: "listing Metal3Remediations",
        source: std::sync::Arc::new(kube::Error::Api(Box::new(status))),
    }
}

#[test]
fn rivals_that_the_server_refuses_to_list_are_told_of_and_a_silent_server_is_asked_again() {
    let told = unrivalled(&machine(), Err(refused())).expect("an obstacle");
    let obstacle = told.expect_err("nobody knows");
    assert_eq!(obstacle.reason, Reason::HostUnreadable);
    assert!(
        obstacle.detail.contains("conversion webhook failed"),
        "{}",
        obstacle.detail
    );
    let silent = ShellError::Timeout {
        call: "listing Metal3Remediations",
    };
    assert!(unrivalled(&machine(), Err(silent)).is_err());
}

#[test]
fn a_host_is_left_to_a_metal3_remediation_and_to_whoever_holds_it_off() {
    let machine = machine();
    let reference = HostReference {
        namespace: "metal".to_owned(),
        name: HostName::Known("host-0".to_owned()),
        uid: None,
    };
    let foreign = "reboot.metal3.io/metal3-remediation-7";
    let at_work = "Metal3Remediation worker-0 is at work on Machine worker-0";
    let held = "BareMetalHost host-0 carries reboot.metal3.io/metal3-remediation-7, by which a Metal3Remediation powers it off";
    let ours = annotation_of("pcr-uid");
    for (remediation, annotation, expected) in [
        (
            Some("worker-0"),
            None,
            Some((Reason::AnotherRemediatorActive, at_work)),
        ),
        (
            Some("worker-0"),
            Some(foreign),
            Some((Reason::AnotherRemediatorActive, at_work)),
        ),
        (None, Some(foreign), Some((Reason::HostHeldBySomeoneElse, held))),
        (None, Some(ours.as_str()), None),
        (None, None, None),
    ] {
        let found = may_be_fenced(&described(remediation, annotation), &machine, &reference, &ours);
        let expected = expected.map(|(reason, detail)| Obstacle::new(reason, detail));
        assert_eq!(found.err(), expected);
    }
}

fn bare_metal_host() -> Value {
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": "host-0", "namespace": "metal", "uid": "of-host-0"},
        "spec": {
            "online": true, "bmc": {"address": "redfish://10.0.0.1/redfish/v1/Systems/1", "credentialsName": "s"},
            "consumerRef": {"kind": "Machine", "namespace": "metal", "name": "worker-0"},
        },
        "status": {"provisioning": {"state": "provisioned"}, "operationalStatus": "OK"},
    })
}

/// A server with one BareMetalHost, which it lets nobody write, and what it answers to a list of Metal3Remediations.
async fn server(host: Value, answer: fn() -> Response, listed: Arc<AtomicUsize>) -> Provider {
    let list = move || {
        listed.fetch_add(1, Ordering::Relaxed);
        std::future::ready(answer())
    };
    let remediations = "/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/metal/metal3remediations";
    let hosts = "/apis/metal3.io/v1alpha1/namespaces/metal/baremetalhosts/host-0";
    let router = Router::new()
        .route(hosts, get(move || std::future::ready(Json(host.clone()))))
        .route(remediations, get(list));
    Provider::new(kube::Client::try_from(served(router).await).unwrap())
}

fn a_rival() -> Response {
    let items = [json!({"metadata": {"name": "worker-0", "namespace": "metal"}})];
    let version = "infrastructure.cluster.x-k8s.io/v1beta2";
    Json(json!({
        "apiVersion": version, "kind": "Metal3RemediationList", "metadata": {}, "items": items,
    }))
    .into_response()
}

fn no_answer() -> Response {
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 500, "reason": "InternalError",
        "message": "conversion webhook failed",
    });
    (StatusCode::INTERNAL_SERVER_ERROR, Json(status)).into_response()
}

/// Before a power-off; a host that is to be brought back is read without them, whatever they are.
#[tokio::test]
async fn nothing_is_powered_off_before_the_server_has_said_who_else_remediates() {
    let reference = HostReference {
        namespace: "metal".to_owned(),
        name: HostName::Known("host-0".to_owned()),
        uid: None,
    };
    for (answer, reason) in [
        (a_rival as fn() -> Response, Reason::AnotherRemediatorActive),
        (no_answer, Reason::HostUnreadable),
    ] {
        let listed = Arc::new(AtomicUsize::new(0));
        let metal3 = server(bare_metal_host(), answer, Arc::clone(&listed)).await;
        let refused = fenceable(&metal3, &machine(), &reference, "").await;
        assert_eq!(refused.unwrap().unwrap_err().reason, reason);
        assert_eq!(listed.swap(0, Ordering::Relaxed), 1);

        let described = describe(&metal3, machine().namespace().as_ref(), &reference)
            .await
            .unwrap();
        assert_eq!(described.unwrap().secret, "s");
        assert_eq!(listed.load(Ordering::Relaxed), 0);
    }
}

#[tokio::test]
async fn a_host_that_is_serviced_or_that_another_has_detached_is_not_detached() {
    let detached = json!({"baremetalhost.metal3.io/detached": "by hand"});
    for (status, annotations, is_left) in [
        (json!({"operationalStatus": "servicing"}), Value::Null, true),
        (
            json!({"operationalStatus": "error", "errorType": "servicing error"}),
            Value::Null,
            true,
        ),
        (json!({"operationalStatus": "OK"}), detached, true),
        (json!({"operationalStatus": "OK"}), Value::Null, false),
    ] {
        let mut host = bare_metal_host();
        host["metadata"]["annotations"] = annotations;
        host["status"] = status;
        let metal3 = server(host, a_rival, Arc::default()).await;
        let written = holding::write(&metal3, "metal", &of_ours(HoldWrite::Detach)).await;
        match written {
            Ok(Lookup::Present(view)) => assert!(is_left && !view.detaching, "{view:?}"),
            Ok(other) => panic!("{other:?}"),
            Err(error) => assert!(!is_left, "it was to be left alone: {error}"),
        }
    }
}

/// One that arrives late would hold a host that was given back.
#[tokio::test]
async fn what_is_not_held_any_more_is_not_held_anew_by_a_changed_value() {
    for (annotations, is_left) in [
        (Value::Null, true),
        (json!({"reboot.metal3.io/another": "{}"}), true),
        (json!({annotation_of("pcr-uid"): "{}"}), false),
    ] {
        let mut host = bare_metal_host();
        host["metadata"]["annotations"] = annotations;
        let metal3 = server(host, a_rival, Arc::default()).await;
        let written = holding::write(&metal3, "metal", &of_ours(HoldWrite::Kick)).await;
        match written {
            Ok(Lookup::Present(view)) => assert!(is_left && !view.held, "{view:?}"),
            Ok(other) => panic!("{other:?}"),
            Err(error) => assert!(!is_left, "it was to be left alone: {error}"),
        }
    }
}

fn of_ours(write: HoldWrite) -> HoldOn {
    HoldOn {
        host: HeldHost {
            name: "host-0".to_owned(),
            uid: "of-host-0".to_owned(),
            annotation: annotation_of("pcr-uid"),
        },
        write,
        resource_version: None,
        not_after: jiff::Timestamp::MAX,
    }
}
