//! Addresses that the cluster uses itself are no BMC's, however wide the administrator's networks are: the
//! Services', the pods', the Nodes'. A network within them says that it is meant.
#![allow(
    clippy::indexing_slicing,
    clippy::large_futures,
    reason = "a test that fails says so"
)]

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::process::ChildDaemon;
use harness::{Cluster, await_condition};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::networking::v1::ServiceCIDR;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use remediator_core::phase::Reason;
use serde_json::{Value, json};
use world::command::{bmc, by_name};
use world::pool::{self, Setting};
use world::refusal::{self, Case};
use world::{World, objects};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("cluster networks").taking(45);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

// Ranges of the cluster in which BMCs can be simulated nevertheless.
const SERVICES: &str = "127.201.0.0/24";
const PODS: &str = "127.202.0.0/24";

/// A case whose BMC is simulated at an address.
fn at(what: &'static str, address: &str, says: &[&'static str]) -> Case {
    let address = address.parse();
    Case::new(what, Reason::BmcAddressNotAllowed, says).options(|options| {
        options.simulated = Box::new(move |spec| match &address {
            Ok(address) => spec.bind(*address),
            Err(_) => spec,
        });
    })
}

/// A case whose BMC is nowhere near, and need not be.
fn pointing_to(what: &'static str, address: &'static str, says: &[&'static str]) -> Case {
    Case::new(what, Reason::BmcAddressNotAllowed, says)
        .endpoint(move |endpoint| endpoint["address"] = json!(format!("redfish+https://{address}")))
}

/// The first two are simulated where they are said to be; the next to last is only checked by hand, and of
/// the last nothing is wrong.
fn cases() -> [Case; 6] {
    let within = "List a network within it";
    [
        at(
            "among Services",
            "127.201.0.5",
            &["127.201.0.0/24", "Services of the cluster", within],
        ),
        at(
            "among pods",
            "127.202.0.5",
            &["127.202.0.0/24", "pods of the cluster", within],
        ),
        pointing_to(
            "the DNS Service",
            "10.96.0.10",
            &["10.96.0.0/16", "Services of the cluster", within],
        ),
        pointing_to(
            "a Node",
            "192.0.2.77",
            &["192.0.2.77/32", "a Node of the cluster", within],
        )
        .options(|options| {
            options.node = Box::new(|mut node| {
                "192.0.2.77".clone_into(&mut node.internal_ip);
                node
            });
        }),
        at("for the check by hand", "127.201.0.6", &[]),
        Case::new("before anything is known", Reason::ClusterNetworksUnknown, &[]),
    ]
}

fn policy(networks: &[&str]) -> Value {
    json!({"bmc": {"allowedNetworks": networks, "readiness": {"interval": "off"}}})
}

/// Another range for Services, as an administrator adds one.
async fn add_services(client: &Client) -> Result<()> {
    let document = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR",
        "metadata": {"name": "more-services"}, "spec": {"cidrs": [SERVICES]},
    });
    Api::<ServiceCIDR>::all(client.clone())
        .patch(
            "more-services",
            &PatchParams::apply("world").force(),
            &Patch::Apply(document),
        )
        .await?;
    Ok(())
}

/// The range for the pods of a Node, as the controller manager gives it one.
async fn give_pods(client: &Client, node: &str) -> Result<()> {
    let range = json!({"spec": {"podCIDR": PODS, "podCIDRs": [PODS]}});
    Api::<Node>::all(client.clone())
        .patch(node, &PatchParams::default(), &Patch::Merge(range))
        .await?;
    Ok(())
}

/// The range that the API server itself was started with stands in the object that it makes.
async fn default_services(client: &Client) -> Result<()> {
    let ranges = Api::<ServiceCIDR>::all(client.clone());
    let is_there = |range: Option<&ServiceCIDR>| range.is_some();
    tokio::time::timeout(
        Duration::from_mins(2),
        await_condition(ranges, "kubernetes", is_there),
    )
    .await
    .context("no ServiceCIDR kubernetes")??;
    Ok(())
}

/// What `bmc check` says about the last host: its reason and message.
async fn checked_by_hand(cluster: &Cluster, world: &World) -> Result<(Value, String)> {
    let host = &world.hosts[4];
    let kubeconfig = cluster.admin_kubeconfig_file()?;
    let (_, out, err) = bmc(DAEMON, world, &kubeconfig, &["check", &host.name, "-o", "json"]).await?;
    let checked: Value = serde_json::from_str(&out).context(err)?;
    let row = by_name(&checked, world, &host.name);
    Ok((
        row["reason"].clone(),
        row["message"].as_str().unwrap_or_default().to_owned(),
    ))
}

/// A daemon that may not read what the cluster uses speaks to no BMC, and says what to apply. When that is
/// applied, it goes on by itself.
async fn stops_while_nothing_is_known(world: &World, daemon: &ChildDaemon) -> Result<()> {
    let host = &world.hosts[5];
    refusal::fall_ill(world, host).await?;
    let (reason, says) = (
        Reason::ClusterNetworksUnknown,
        ["the role does not let ServiceCIDRs be read", "Apply deploy/base"],
    );
    refusal::refused(world, daemon, &host.remediation(), reason, &says).await?;
    refusal::untouched(&host.bmc)?;
    refusal::never_contacted(&host.bmc)?;
    world::allow_the_base(&world.client).await?;
    refusal::goes_on(world, host).await
}

#[tokio::test]
async fn what_the_cluster_uses_is_no_place_for_bmcs_unless_it_is_listed() -> world::Outcome {
    let cluster = &control_plane().await?;
    let client = cluster.client().await?;
    add_services(&client).await?;
    default_services(&client).await?;
    let mut cases = cases();
    let world = refusal::make(cluster, "networks", &mut cases).await?;
    // The pods of another host's Node.
    give_pods(&client, &world.hosts[4].name).await?;
    world::set_policy(&client, policy(&["0.0.0.0/0", "127.0.0.0/8"])).await?;
    world::allow_the_base_without(&client, "servicecidrs").await?;
    let daemon = world::start_daemon(cluster, Path::new(DAEMON))?;

    stops_while_nothing_is_known(&world, &daemon).await?;
    refusal::all_refused(&world, &daemon, &cases[..4]).await?;
    let (reason, message) = checked_by_hand(cluster, &world).await?;
    assert_eq!(reason, json!("BmcAddressNotAllowed"), "{message}");
    assert!(
        message.contains(SERVICES) && message.contains("Services of the cluster"),
        "{message}"
    );
    for host in &world.hosts[..5] {
        refusal::untouched(&host.bmc)?;
        refusal::never_contacted(&host.bmc)?;
    }

    world::set_policy(&client, policy(&["0.0.0.0/0", SERVICES, "127.202.0.5/32"])).await?;
    let [services, pods, ..] = &world.hosts[..] else {
        panic!("six hosts were asked for");
    };
    tokio::try_join!(refusal::goes_on(&world, services), refusal::goes_on(&world, pods))?;
    let (reason, message) = checked_by_hand(cluster, &world).await?;
    assert_eq!(reason, Value::Null, "{message}");
    for host in &world.hosts[2..4] {
        assert!(objects::is_triggered(&world, &host.name).await?);
        refusal::never_contacted(&host.bmc)?;
    }
    Ok(())
}
