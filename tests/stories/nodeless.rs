//! Hosts whose Machine has no Node: none ever joined, or it was deleted. They are power-cycled where a person has
//! stated which host it is, and no Node says that it is its own.
#![allow(clippy::indexing_slicing, reason = "a test that fails says so")]

use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::Cluster;
use harness::kubelet::{NodeTemplate, ScriptedKubelet};
use harness::process::ChildDaemon;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams};
use remediator_core::journal::{NoNode, NodeOfSubject};
use remediator_core::phase::Phase;
use serde_json::{Value, json};
use world::daemon::Leased;
use world::nodeless::{self, never_joined};
use world::pool::{self, Setting};
use world::{HostOptions, World, command, objects, truth};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::shared("nodeless");
const LONG: Duration = Duration::from_mins(2);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// The daemon of these stories. It evaluates the health checks itself.
async fn daemon() -> Result<Leased<ChildDaemon>> {
    let cluster = &control_plane().await?;
    let mut policy = world::daemon::permissive_policy();
    policy["healthChecker"] = json!("Always");
    world::daemon::shared_with(cluster, DAEMON, policy, "info").await
}

async fn world_of(name: &str, options: HostOptions) -> Result<World> {
    let cluster = &control_plane().await?;
    let world = World::new(cluster, name, vec![options]).await?;
    let _daemon = daemon().await?;
    nodeless::provisioned_an_hour_ago(&world).await?;
    Ok(world)
}

/// Merges into the status of the Machine.
async fn status(world: &World, change: Value) -> Result<()> {
    nodeless::status(world, &world.hosts[0], change).await
}

/// What `plan` says of the Machine.
async fn planned(world: &World) -> Result<Value> {
    let kubeconfig = world.cluster.admin_kubeconfig_file()?;
    let arguments = ["plan", "-n", &world.namespace, &world.hosts[0].name, "-o", "json"];
    let (status, out, err) = command::run(DAEMON, &kubeconfig, &arguments).await?;
    assert_eq!(status, Some(0), "{err}");
    Ok(serde_json::from_str(&out)?)
}

/// The cell of a column, as `kubectl get` shows it of the only remediation.
async fn cell(world: &World, column: &str) -> Result<String> {
    let path = format!(
        "/apis/baremetal-remediator.io/v1alpha1/namespaces/{}/powercycleremediations",
        world.namespace
    );
    let table = world.cluster.get_table(&path).await?;
    let mut cells = table.column(column).context("no such column")?.into_iter();
    cells.next().context("no remediation")
}

#[tokio::test]
async fn a_host_that_never_joined_is_power_cycled_once_and_joins() -> world::Outcome {
    let world = world_of("never-joined", never_joined()).await?;
    let host = &world.hosts[0];
    nodeless::state_uuid(&world, host).await?;
    let cursor = world.cluster.audit_cursor()?;
    let joining = host.joins_at_its_next_boot(&world);

    nodeless::check(&world).await?;
    let joins = async {
        let kubelet = joining.await?;
        // What nodelink does.
        status(
            &world,
            json!({"phase": "Running", "nodeRef": {"kind": "Node", "name": host.name}}),
        )
        .await?;
        anyhow::Ok(kubelet)
    };
    let remediation = host.remediation();
    let (_kubelet, ended) = tokio::try_join!(joins, world.remediation_ended(&remediation, LONG))?;

    let journal = world::journal(&ended);
    assert_eq!(journal.phase, Phase::Succeeded, "{}", journal.message);
    assert_eq!(host.transitions(), (1, 1));
    let subject = journal.subject.context("it is journalled")?;
    let never_joined = NodeOfSubject::None {
        why: NoNode::NeverJoined,
        earlier_boot: None,
    };
    assert_eq!(subject.node, never_joined);
    assert_eq!(
        subject.system_uuid.to_lowercase(),
        host.bmc.system_uuid().to_lowercase()
    );
    assert_eq!(cell(&world, "NODE").await?, "NeverJoined");
    assert!(!objects::is_triggered(&world, &host.name).await?);
    assert_eq!(truth::releases(&world, cursor, host).await?, 0);
    let note = objects::event(&world, &host.name, "PowerOffRequested").await?;
    assert!(note.contains("without a Node"), "{note}");
    Ok(())
}

#[tokio::test]
async fn a_host_whose_node_was_deleted_is_power_cycled_and_registers_again() -> world::Outcome {
    let world = world_of("node-deleted", HostOptions::default()).await?;
    let host = &world.hosts[0];
    nodeless::state_uuid(&world, host).await?;
    let nodes = Api::<Node>::all(world.nodes.clone());
    nodes.delete(&host.name, &DeleteParams::default()).await?;
    let deleted = harness::await_condition(nodes, &host.name, |node: Option<&Node>| node.is_none());
    tokio::time::timeout(LONG, deleted).await??;
    let plan = planned(&world).await?;
    assert_eq!(plan["noNode"], "Deleted", "{plan}");

    nodeless::check(&world).await?;
    let ended = world.remediation_ended(&host.remediation(), LONG).await?;

    let journal = world::journal(&ended);
    assert_eq!(journal.phase, Phase::Succeeded, "{}", journal.message);
    assert_eq!(host.transitions(), (1, 1));
    let node = journal.subject.context("it is journalled")?.node;
    let expected = NodeOfSubject::None {
        why: NoNode::Deleted(host.name.clone()),
        earlier_boot: None,
    };
    assert_eq!(node, expected);
    assert!(!objects::is_triggered(&world, &host.name).await?);
    Ok(())
}

#[tokio::test]
async fn a_host_of_which_nobody_stated_the_uuid_is_left_alone() -> world::Outcome {
    let world = world_of("not-stated", never_joined()).await?;
    let host = &world.hosts[0];
    nodeless::check(&world).await?;

    let note = objects::event(&world, &host.name, "IdentityUnproven").await?;

    assert!(note.contains("Set spec.systemUUID of the BMCEndpoint"), "{note}");
    assert!(note.contains(&format!("BMCEndpoint/{}", host.name)), "{note}");
    // A remediation would fail for that in the end, and the Machine would be quarantined.
    assert!(!objects::is_triggered(&world, &host.name).await?);
    assert_eq!(host.transitions(), (0, 0));

    // Once it is stated, it goes on by itself.
    nodeless::state_uuid(&world, host).await?;
    world
        .remediation_until(&host.remediation(), LONG, |journal| {
            journal.phase == Phase::Booting
        })
        .await?;
    assert_eq!(host.transitions(), (1, 1));
    Ok(())
}

#[tokio::test]
async fn a_host_whose_uuid_a_node_has_is_left_alone() -> world::Outcome {
    let world = world_of("taken", never_joined()).await?;
    let host = &world.hosts[0];
    nodeless::state_uuid(&world, host).await?;
    let mut template = NodeTemplate::new(format!("{}-somebody", world.prefix));
    template.system_uuid = byte_swapped(host.bmc.system_uuid());
    let somebody = ScriptedKubelet::start(world.nodes.clone(), template).await?;
    let plan_before_the_check = planned(&world).await?;
    assert_eq!(plan_before_the_check["noNode"], "NeverJoined");

    nodeless::check(&world).await?;
    let waiting = world
        .remediation_waits(&host.remediation(), "NodeMachineMismatch")
        .await?;

    let message = world::journal(&waiting).message;
    assert!(message.contains(somebody.node_name()), "{message}");
    assert_eq!(host.transitions(), (0, 0));
    assert_eq!(world::journal(&waiting).attempt, 0);
    Ok(())
}

#[tokio::test]
async fn a_host_that_is_being_provisioned_is_not_even_asked_for() -> world::Outcome {
    let world = world_of("provisioning", never_joined()).await?;
    let host = &world.hosts[0];
    nodeless::state_uuid(&world, host).await?;
    status(&world, json!({"phase": "Provisioning"})).await?;

    nodeless::check(&world).await?;
    let note = objects::event(&world, &host.name, "MachineNotProvisioned").await?;

    assert!(note.contains("phase Provisioning"), "{note}");
    assert!(!objects::is_triggered(&world, &host.name).await?);
    // Once it has been provisioned, the absence of a Node is a reason.
    let plan = planned(&world).await?;
    assert_eq!(plan["remediation"]["outcome"], "MachineNotProvisioned", "{plan}");
    status(&world, json!({"phase": "Provisioned"})).await?;
    world
        .remediation_until(&host.remediation(), LONG, |journal| {
            journal.phase == Phase::Booting
        })
        .await?;
    assert_eq!(host.transitions(), (1, 1));
    Ok(())
}

/// The same UUID as firmware before SMBIOS 2.6 gives it: the bytes of the first three groups reversed.
fn byte_swapped(uuid: &str) -> String {
    let swap = |group: &str| {
        let digits: Vec<char> = group.chars().collect();
        digits.chunks(2).rev().flatten().collect::<String>()
    };
    let groups = uuid.split('-').enumerate();
    let swapped = groups.map(|(index, group)| if index < 3 { swap(group) } else { group.to_owned() });
    swapped.collect::<Vec<_>>().join("-")
}
