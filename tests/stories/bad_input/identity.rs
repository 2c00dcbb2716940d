//! BMCs of another host, or of a host that nothing proves.

use anyhow::{Context as _, Result};
use bmc_simulator::{DecoySpec, Fault, Host};
use futures::FutureExt as _;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt as _;
use kube::api::{Api, Patch, PatchParams, PostParams};
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::refusal::{self, Case};
use world::{HostOptions, World, objects};

use super::daemon;

const PLACEHOLDER: &str = "03000200-0400-0500-0006-000700080009";
const SOME_UUID: &str = "7d1a2f4e-6c0b-4a55-9a51-2f8a60b1c3d4";

fn without_path(endpoint: &mut serde_json::Value) {
    let address = endpoint["address"].as_str().expect("is text");
    let (base, _) = address.split_once("/redfish/").expect("has a path");
    endpoint["address"] = json!(base);
}

/// A Node of which nothing runs any more, as one that has registered by another name leaves behind.
async fn leave_behind(world: &World, node: Value) -> Result<()> {
    let nodes = Api::<Node>::all(world.nodes.clone());
    let node: Node = serde_json::from_value(node)?;
    nodes.create(&PostParams::default(), &node).await?;
    let status = Patch::Merge(json!({"status": node.status}));
    let (name, parameters) = (node.name_any(), PatchParams::default());
    nodes.patch_status(&name, &parameters, &status).await?;
    Ok(())
}

fn cases() -> Vec<Case> {
    vec![
        Case::new(
            "another UUID",
            Reason::IdentityMismatch,
            &["the BMC says system UUID", "Node {host} has"],
        )
        .broken_by(|_, host| {
            let injected = host.bmc.inject(Fault::WrongUuid);
            async move { injected.context("the fault is refused") }.boxed()
        }),
        Case::new(
            "placeholder UUID",
            Reason::IdentityUnproven,
            &["no usable system UUID", PLACEHOLDER],
        )
        .options(|options| {
            options.simulated = Box::new(|spec| spec.system_uuid(PLACEHOLDER));
        }),
        Case::new(
            "stated UUID of another host",
            Reason::IdentityMismatch,
            &["the BMC says system UUID", "spec.systemUUID is", SOME_UUID],
        )
        .endpoint(|endpoint| endpoint["systemUUID"] = json!(SOME_UUID)),
        Case::new(
            "Node without a UUID",
            Reason::IdentityUnproven,
            &["Node {host} has no usable system UUID"],
        )
        .options(|options| {
            options.node = Box::new(|mut node| {
                node.system_uuid.clear();
                node
            });
        }),
        Case::new(
            "two Nodes of one UUID",
            Reason::HostAmbiguous,
            &["Node {host}-before has the system UUID of Node {host}, too"],
        )
        .broken_by(|world, host| {
            let node = json!({
                "metadata": {"name": format!("{}-before", host.name)},
                "status": {"nodeInfo": {"systemUUID": host.bmc.system_uuid()}},
            });
            async move { leave_behind(world, node).await }.boxed()
        }),
        Case::new(
            "two systems of one UUID",
            Reason::BmcSystemAmbiguous,
            &["BMCEndpoint/{host}", "2 systems", "2 match"],
        )
        .options(|options| {
            options.simulated = Box::new(|spec| {
                spec.system_uuid(SOME_UUID)
                    .decoy(DecoySpec::new("0").uuid(SOME_UUID))
            });
        })
        .endpoint(without_path),
        Case::new(
            "a path to nothing",
            Reason::BmcProtocolError,
            &["BMCEndpoint/{host}", "/redfish/v1/Systems/none"],
        )
        .endpoint(|endpoint| {
            without_path(endpoint);
            let base = endpoint["address"].as_str().expect("is text");
            endpoint["address"] = json!(format!("{base}/redfish/v1/Systems/none"));
        }),
    ]
}

#[tokio::test]
async fn invariant_5_a_host_that_is_not_proven_right_is_not_powered() -> world::Outcome {
    let daemon = &daemon().await?;
    let mut cases = cases();
    let world = refusal::make(&daemon.cluster, "identity", &mut cases).await?;

    refusal::all_refused(&world, daemon, &cases).await?;
    Ok(())
}

#[tokio::test]
async fn a_wrong_address_hits_no_other_host_and_a_corrected_one_is_used() -> world::Outcome {
    let daemon = &daemon().await?;
    let mut cases = [Case::new(
        "the neighbour's address",
        Reason::IdentityMismatch,
        &["the BMC says system UUID", "Node {host} has"],
    )];
    let world = refusal::make(&daemon.cluster, "neighbour", &mut cases).await?;
    let neighbour = World::new(&world.cluster, "neighbour", vec![HostOptions::default()]).await?;
    let (host, other) = (&world.hosts[0], &neighbour.hosts[0].bmc);
    let address =
        |bmc: &Host| json!({"address": format!("redfish+{}{}", bmc.redfish_url(), bmc.system_path())});
    objects::patch_endpoint(&world, &host.name, address(other)).await?;
    objects::patch_secret(&world, &host.name, json!({"ca.crt": other.ca_pem()})).await?;

    refusal::all_refused(&world, daemon, &cases).await?;
    refusal::untouched(other)?;
    refusal::never_contacted(&host.bmc)?;

    objects::patch_secret(&world, &host.name, json!({"ca.crt": host.bmc.ca_pem()})).await?;
    objects::patch_endpoint(&world, &host.name, address(&host.bmc)).await?;
    refusal::goes_on(&world, host).await?;
    Ok(refusal::untouched(other)?)
}

/// An endpoint of one namespace that names the BMC of another's host.
#[tokio::test]
async fn invariant_14_what_another_namespace_says_of_a_bmc_holds_up_nobody() -> world::Outcome {
    let daemon = &daemon().await?;
    let mut cases = [Case::new("somebody else's BMC", Reason::IdentityMismatch, &[])];
    let world = refusal::make(&daemon.cluster, "covets", &mut cases).await?;
    let owner = World::new(&world.cluster, "owns", vec![HostOptions::default()]).await?;
    owner.health_check().await?;
    let (host, other) = (&world.hosts[0], &owner.hosts[0]);
    let bmc = &other.bmc;
    let address = json!({"address": format!("redfish+{}{}", bmc.redfish_url(), bmc.system_path())});
    objects::patch_endpoint(&world, &host.name, address).await?;
    objects::patch_secret(&world, &host.name, json!({"ca.crt": bmc.ca_pem()})).await?;
    refusal::all_refused(&world, daemon, &cases).await?;

    let remediation = owner.falls_silent_and_is_reported(other).await?;
    let ended = owner.remediation_ended(&remediation, refusal::PATIENCE).await?;

    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(other.transitions(), (1, 1));
    // While that was at work, nobody else could be at the same BMC.
    world
        .remediation_waits(&host.remediation(), Reason::IdentityMismatch.as_str())
        .await?;
    Ok(refusal::untouched(&host.bmc)?)
}

#[tokio::test]
async fn among_several_systems_the_one_with_the_nodes_uuid_is_power_cycled() -> world::Outcome {
    let _daemon = daemon().await?;
    let options = HostOptions {
        simulated: Box::new(|spec| spec.decoy(DecoySpec::new("0")).decoy(DecoySpec::new("2"))),
        endpoint: Box::new(|mut endpoint| {
            without_path(&mut endpoint);
            endpoint
        }),
        ..HostOptions::default()
    };
    let cluster = &super::control_plane().await?;
    let world = World::new(cluster, "decoys", vec![options]).await?;
    world.health_check().await?;
    let host = &world.hosts[0];
    host.kubelet
        .as_ref()
        .context("has a Node")?
        .stop_reporting()
        .await?;
    objects::node_becomes(&world, &host.name, "Unknown").await?;

    objects::trigger(&world, &host.name).await?;

    let ended = world
        .remediation_ended(&host.remediation(), refusal::PATIENCE)
        .await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(host.transitions(), (1, 1));
    let subject = world::journal(&ended).subject.context("has a subject")?;
    assert_eq!(subject.system, host.bmc.system_path());
    Ok(())
}
