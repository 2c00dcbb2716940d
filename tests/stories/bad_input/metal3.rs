//! Hosts that metal3 knows: what its BareMetalHost says comes first.

use anyhow::{Context as _, Result};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::refusal::{self, Case};
use world::{World, WorldHost, events, metal3, objects};

use super::daemon;

/// Makes the BareMetalHost of a host and points the Machine at it.
async fn make(world: &World, host: &WorldHost, change: fn(&mut Value)) -> Result<()> {
    let mut object = json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": host.name, "namespace": world.namespace},
        "spec": {
            "online": true,
            "bmc": {
                "address": host.bmc_address,
                "credentialsName": format!("{}-bmc", host.name),
            },
            "consumerRef": {
                "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
                "namespace": world.namespace, "name": host.name,
            },
        },
        "status": {
            "operationalStatus": "OK", "errorMessage": "", "errorCount": 0, "poweredOn": true,
            "hardwareProfile": "", "operationHistory": {}, "goodCredentials": {}, "triedCredentials": {},
            "provisioning": {"ID": "", "state": "provisioned", "image": {"url": ""}},
        },
    });
    change(&mut object);
    let status = object["status"].take();
    object.as_object_mut().context("is an object")?.remove("status");
    let hosts = objects::bare_metal_hosts(world);
    hosts
        .create(&PostParams::default(), &serde_json::from_value(object)?)
        .await?;
    hosts
        .patch_status(
            &host.name,
            &PatchParams::default(),
            &Patch::Merge(json!({ "status": status })),
        )
        .await?;
    metal3::runs_on(world, host).await
}

/// metal3 has not let go of it yet.
async fn is_deleted(world: &World, host: &WorldHost) -> Result<()> {
    let kept = |host: &mut Value| host["metadata"]["finalizers"] = json!(["baremetalhost.metal3.io"]);
    make(world, host, kept).await?;
    let hosts = objects::bare_metal_hosts(world);
    hosts.delete(&host.name, &DeleteParams::default()).await?;
    Ok(())
}

fn managed(what: &'static str, reason: Reason, says: &[&'static str], change: fn(&mut Value)) -> Case {
    Case::new(what, reason, says)
        .endpoint(|endpoint| *endpoint = Value::Null)
        .broken_by(move |world, host| -> BoxFuture<'_, Result<()>> { make(world, host, change).boxed() })
}

fn cases() -> Vec<Case> {
    let named = "BareMetalHost {host}";
    vec![
        Case::new(
            "missing",
            Reason::HostNotFound,
            &["BareMetalHost", "/{host} does not exist"],
        )
        .endpoint(|endpoint| *endpoint = Value::Null)
        .broken_by(|world, host| metal3::runs_on(world, host).boxed()),
        managed(
            "of another Machine",
            Reason::HostConsumerMismatch,
            &["spec.consumerRef of BareMetalHost {host}", "Machine {host}"],
            |host| host["spec"]["consumerRef"]["name"] = json!("another"),
        ),
        managed(
            "of nobody",
            Reason::HostConsumerMismatch,
            &["spec.consumerRef of BareMetalHost {host}"],
            |host| host["spec"]["consumerRef"] = Value::Null,
        ),
        managed(
            "not online",
            Reason::HostOffline,
            &[named, "spec.online: false"],
            |host| host["spec"]["online"] = json!(false),
        ),
        managed(
            "without a BMC",
            Reason::HostUnmanaged,
            &[named, "no spec.bmc.address"],
            |host| host["spec"]["bmc"] = json!({"address": "", "credentialsName": ""}),
        ),
        managed(
            "being provisioned",
            Reason::HostNotProvisioned,
            &[named, "provisioning state \"provisioning\""],
            |host| host["status"]["provisioning"]["state"] = json!("provisioning"),
        ),
        managed(
            "given to somebody else",
            Reason::HostNotProvisioned,
            &[named, "provisioning state \"deprovisioning\""],
            |host| host["status"]["provisioning"]["state"] = json!("deprovisioning"),
        ),
        Case::new(
            "being deleted",
            Reason::HostDeleting,
            &[named, "is being deleted"],
        )
        .endpoint(|endpoint| *endpoint = Value::Null)
        .broken_by(|world, host| is_deleted(world, host).boxed()),
        managed(
            "paused",
            Reason::HostPaused,
            &[named, "baremetalhost.metal3.io/paused"],
            |host| host["metadata"]["annotations"] = json!({"baremetalhost.metal3.io/paused": ""}),
        ),
        managed(
            "detached by somebody else",
            Reason::HostDetached,
            &[named, "baremetalhost.metal3.io/detached"],
            |host| host["metadata"]["annotations"] = json!({"baremetalhost.metal3.io/detached": "by hand"}),
        ),
        managed(
            "being serviced",
            Reason::HostServicing,
            &[named, "serviced"],
            |host| host["status"]["operationalStatus"] = json!("servicing"),
        ),
        managed(
            "given up",
            Reason::AnotherRemediatorActive,
            &[named, "capm3.metal3.io/unhealthy"],
            |host| {
                host["metadata"]["annotations"] = json!({"capm3.metal3.io/unhealthy": "capm3/UnhealthyNode"});
            },
        ),
        managed(
            "held by somebody else",
            Reason::HostHeldBySomeoneElse,
            &[named, "reboot.metal3.io/somebody"],
            |host| host["metadata"]["annotations"] = json!({"reboot.metal3.io/somebody": ""}),
        ),
        managed(
            "held by OpenShift's provider",
            Reason::HostHeldBySomeoneElse,
            &[named, "cluster-api-provider-baremetal powers it off"],
            |host| {
                let hard = r#"{"mode":"hard","force":false}"#;
                host["metadata"]["annotations"] = json!({"reboot.metal3.io/capbm-requested-power-off": hard});
            },
        ),
    ]
}

/// What metal3 or its provider for Cluster API say in other words.
fn further_cases() -> Vec<Case> {
    let named = "BareMetalHost {host}";
    vec![
        managed(
            "at whose firmware metal3 failed",
            Reason::HostServicing,
            &[named, "its servicing has failed"],
            |host| {
                host["status"]["operationalStatus"] = json!("error");
                host["status"]["errorType"] = json!("servicing error");
            },
        ),
        managed(
            "of a Cluster that is moved",
            Reason::HostPaused,
            &[named, "cluster-api-provider-metal3"],
            |host| {
                host["metadata"]["annotations"] =
                    json!({"baremetalhost.metal3.io/paused": "metal3.io/capm3"});
            },
        ),
        managed(
            "given up long ago",
            Reason::AnotherRemediatorActive,
            &[named, "capi.metal3.io/unhealthy"],
            |host| {
                host["metadata"]["annotations"] = json!({"capi.metal3.io/unhealthy": "capm3/UnhealthyNode"});
            },
        ),
    ]
}

#[tokio::test]
async fn invariant_10_a_host_that_metal3_has_in_hand_is_refused_by_name() -> world::Outcome {
    let daemon = &daemon().await?;
    let mut cases: Vec<Case> = cases().into_iter().chain(further_cases()).collect();
    let world = refusal::make(&daemon.cluster, "metal3", &mut cases).await?;

    let refused = refusal::all_refused(&world, daemon, &cases).await?;

    for one in &refused {
        refusal::never_contacted(&one.host.bmc).context(one.what)?;
        if one.reason.is_of_bare_metal_host() {
            let says = ["does not power-cycle the host".to_owned()];
            events::event_that_says(&world, &one.host.name, one.reason.as_str(), &says)
                .await
                .context(one.what)?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_host_that_metal3_manages_is_power_cycled_under_direct_control() -> world::Outcome {
    let daemon = &daemon().await?;
    let mut cases = [managed("direct", Reason::Accepted, &[], |_| {})];
    let world = refusal::make(&daemon.cluster, "direct", &mut cases).await?;
    let host = &world.hosts[0];
    let kubelet = host.kubelet.as_ref().context("has a Node")?;
    kubelet.stop_reporting().await?;
    objects::node_becomes(&world, &host.name, "Unknown").await?;

    let by_hand = format!("{}-hand", host.name);
    let spec = json!({"machineName": host.name, "hostControl": "Direct"});
    objects::create_remediation(&world, &by_hand, spec).await?;

    let ended = world.remediation_ended(&by_hand, refusal::PATIENCE).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(host.transitions(), (1, 1));
    let subject = world::journal(&ended).subject.context("has a subject")?;
    assert_eq!(subject.host.to_string(), format!("BareMetalHost/{}", host.name));
    Ok(())
}

#[tokio::test]
async fn a_bare_metal_host_that_is_corrected_is_taken_up_again() -> world::Outcome {
    let daemon = &daemon().await?;
    let mut cases = [managed(
        "off by wish",
        Reason::HostOffline,
        &["spec.online: false"],
        |host| {
            host["spec"]["online"] = json!(false);
        },
    )];
    let world = refusal::make(&daemon.cluster, "corrected", &mut cases).await?;
    let host = &world.hosts[0];
    refusal::all_refused(&world, daemon, &cases).await?;

    let hosts = objects::bare_metal_hosts(&world);
    let online = Patch::Merge(json!({"spec": {"online": true}}));
    hosts.patch(&host.name, &PatchParams::default(), &online).await?;

    let is_held = |journal: &remediator_core::journal::Journal| journal.hold.is_some();
    world
        .remediation_until(&host.remediation(), refusal::PATIENCE, is_held)
        .await?;
    Ok(())
}
