//! Who works on a Node is agreed by a Lease, where medik8s' operators have made a place for such: the daemon
//! waits for others, and lets others know.

use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::{AuditEvent, Cluster};
use k8s_openapi::api::coordination::v1::Lease;
use kube::ResourceExt as _;
use kube::api::PostParams;
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::acts::patient;
use world::node_health::{NodeHealthCheck, not_ready};
use world::pool::{self, Setting};
use world::{HostOptions, World, WorldHost, node_lease, objects};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::shared("node lease").taking(90);
const LONG: Duration = Duration::from_mins(2);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// One host, and a cluster in which actors agree by Leases.
async fn world_of(name: &str) -> Result<World> {
    let cluster = &control_plane().await?;
    let world = World::new(cluster, name, vec![HostOptions::default()]).await?;
    world.health_check().await?;
    node_lease::agree_by_leases(&world.client).await?;
    world::daemon::shared(cluster, DAEMON).await?;
    Ok(world)
}

fn holder(lease: &Lease) -> Option<&str> {
    lease.spec.as_ref()?.holder_identity.as_deref()
}

/// What the daemon wrote of the Lease of a host's Node, with the verb, oldest first.
async fn written(world: &World, host: &WorldHost) -> Result<Vec<(String, Value)>> {
    let all = world
        .cluster
        .audit_of(world::DAEMON_USER, harness::Cursor::default())
        .await?;
    let name = node_lease::name(host);
    let of_lease = |event: &&AuditEvent| {
        let body = event.request_object.as_ref();
        let in_body = body.and_then(|body| body.pointer("/metadata/name"));
        let named = event.resource.name == name || in_body == Some(&json!(name));
        event.resource.resource == "leases" && event.verb != "get" && named
    };
    let written = all.iter().filter(of_lease);
    Ok(written
        .map(|event| {
            (
                event.verb.clone(),
                event.request_object.clone().unwrap_or_default(),
            )
        })
        .collect())
}

#[tokio::test]
async fn a_host_under_the_hands_of_another_is_left_alone_until_it_is_given_back() -> world::Outcome {
    let world = world_of("lease-held").await?;
    let host = &world.hosts[0];
    node_lease::hold(&world, host, "node-maintenance", 3_600).await?;
    let name = world.falls_silent_and_is_reported(host).await?;

    let waits = world
        .remediation_waits(&name, Reason::NodeLeaseHeld.as_str())
        .await?;
    let said = world::journal(&waits).message;
    let lease = node_lease::leases(&world).get(&node_lease::name(host)).await?;
    let renewed = lease.spec.and_then(|spec| spec.renew_time).context("renewed")?;
    let until = format!("{:.0}", renewed.0 + jiff::SignedDuration::from_hours(1));
    assert!(
        said.contains("node-maintenance") && said.contains(&until),
        "{said}"
    );
    assert_eq!(host.transitions(), (0, 0));
    assert_eq!(host.bmc.counters().requests, 0, "not even its BMC is asked");

    node_lease::give_back(&world, host).await?;
    let ended = world.remediation_ended(&name, LONG).await?;

    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(host.transitions(), (1, 1));
    node_lease::is_free(&world, host).await?;
    let node = objects::node(&world, &host.name).await?;
    let written = written(&world, host).await?;
    let verbs: Vec<&str> = written.iter().map(|(verb, _)| verb.as_str()).collect();
    assert_eq!(verbs, ["create", "delete"]);
    let taken = &written[0].1;
    assert_eq!(
        taken["spec"]["holderIdentity"],
        json!(format!("baremetal-remediator-{}", world::uid(&ended)))
    );
    let owner = &taken["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["uid"]),
        (&json!("Node"), &json!(world::uid(&node)))
    );
    Ok(())
}

#[tokio::test]
async fn a_lease_that_ran_out_is_taken_over_and_a_request_taken_back_leaves_none() -> world::Outcome {
    let world = world_of("lease-old").await?;
    let host = &world.hosts[0];
    node_lease::hold(&world, host, "node-maintenance", 3_600).await?;
    node_lease::runs_out(&world, host).await?;
    world.create_clinging_pod("clings", &host.name).await?;
    world.falls_silent(host).await?;
    let name = world.request(host, patient()).await?;

    world.is_tainted(host, LONG).await?;
    let lease = node_lease::leases(&world).get(&node_lease::name(host)).await?;
    assert!(
        holder(&lease).is_some_and(|holder| holder.starts_with("baremetal-remediator-")),
        "{lease:?}"
    );
    let spec = lease.spec.context("it has a spec")?;
    assert_eq!(spec.lease_transitions, Some(1));
    // What one attempt of this request may take, and five minutes to undo it.
    assert_eq!(spec.lease_duration_seconds, Some(120 + 300 + 120 + 300 + 300));
    assert_eq!(spec.acquire_time, spec.renew_time);

    world.take_back(&name).await?;
    world.release_pod("clings").await?;
    world.remediation_gone(&name, LONG).await?;

    assert_eq!(host.transitions(), (1, 1));
    Ok(node_lease::is_free(&world, host).await?)
}

#[tokio::test]
async fn what_the_node_health_check_behind_a_request_holds_is_left_to_it() -> world::Outcome {
    let world = world_of("lease-nhc").await?;
    let host = &world.hosts[0];
    world.falls_silent(host).await?;
    let check = NodeHealthCheck::create(&world, not_ready()).await?;
    let holder = format!("NodeHealthCheck-{}", check.name());
    let held = node_lease::hold(&world, host, &holder, 660).await?;
    check.asks_for(&world, host, &host.name).await?;

    let ended = world.remediation_ended(&host.name, LONG).await?;

    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(host.transitions(), (1, 1));
    let now = node_lease::leases(&world).get(&node_lease::name(host)).await?;
    assert_eq!(now.resource_version(), held.resource_version());
    assert_eq!(world::journal(&ended).node_lease, None);
    Ok(())
}

/// Where the FeatureGate has switched off machine-api-operator's controller, node-healthcheck-operator evaluates
/// MachineHealthChecks, and holds the Lease for the one that asks.
/// Source: node-healthcheck-operator `internal/controller/machinehealthcheck_controller.go`,
/// `internal/controller/resources/manager.go`.
#[tokio::test]
async fn what_the_machine_health_check_behind_a_request_of_the_operator_holds_is_left_to_it() -> world::Outcome
{
    let cluster = &control_plane().await?;
    let world = World::new(cluster, "lease-mhc", vec![HostOptions::default()]).await?;
    node_lease::agree_by_leases(&world.client).await?;
    world::daemon::shared(cluster, DAEMON).await?;
    objects::create_health_check(&world, "disks", |check| {
        check["metadata"]["annotations"] = Value::Null;
        check["spec"]["unhealthyConditions"] =
            json!([{"type": "DiskCorrupt", "status": "True", "timeout": "2s"}]);
        check["spec"]["remediationTemplate"] = json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediationTemplate", "name": "reboot",
        });
    })
    .await?;
    let host = &world.hosts[0];
    let kubelet = host.kubelet.as_ref().context("the host has a Node")?;
    kubelet
        .report_condition("DiskCorrupt", "True", "BadBlocks")
        .await?;
    let held = node_lease::hold(&world, host, "MachineHealthCheck-disks", 660).await?;
    let check = objects::dynamic(&world, "machine.openshift.io", "v1beta1", "MachineHealthCheck");
    let check = check.get("disks").await?;
    let machine = objects::machines(&world).get(&host.name).await?;
    let owner = |kind: &str, name: &str, uid: Option<String>| {
        json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": kind, "name": name, "uid": uid,
            "controller": false, "blockOwnerDeletion": false,
        })
    };
    let request = serde_json::from_value(json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
        "metadata": {
            "name": host.name, "labels": {"app.kubernetes.io/part-of": "node-healthcheck-controller"},
            "annotations": {
                "remediation.medik8s.io/node-name": host.name, "remediation.medik8s.io/template-name": "reboot",
            },
            "ownerReferences": [
                owner("MachineHealthCheck", "disks", check.uid()), owner("Machine", &host.name, machine.uid()),
            ],
        },
        "spec": patient(),
    }))?;
    world
        .remediations()
        .create(&PostParams::default(), &request)
        .await?;

    let ended = world.remediation_ended(&host.name, LONG).await?;

    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(host.transitions(), (1, 1));
    let now = node_lease::leases(&world).get(&node_lease::name(host)).await?;
    assert_eq!(now.resource_version(), held.resource_version());
    Ok(())
}
