//! Who keeps the power of hosts for metal3: Ironic, and baremetal-operator that tells it what to do.

pub mod ironic;
pub mod ironic_api;
pub mod letting_go;
pub mod operator;
pub mod real_operator;

use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::await_condition;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use remediator_api::keys;
use serde_json::{Value, json};

pub use ironic::{Ironic, Settings};
pub use ironic_api::{IronicApi, IronicNode, NewNode, Provision, TargetPower, Told};
pub use letting_go::LettingGo;
pub use operator::{Operator, Pace};
pub use real_operator::BaremetalOperator;

use crate::{HostOptions, World, WorldHost, objects};

/// How long metal3 may take, on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// A host of which only a BareMetalHost says where its BMC is.
pub fn options() -> HostOptions {
    HostOptions {
        endpoint: Box::new(|_| Value::Null),
        ..HostOptions::default()
    }
}

/// Describes a host by a BareMetalHost that says that metal3 keeps it online, with this in its spec; its Machine runs on
/// it. Nobody plays metal3.
pub async fn describe(world: &World, host: &WorldHost, spec: Value) -> Result<()> {
    objects::create_bare_metal_host(world, host).await?;
    objects::bare_metal_hosts(world)
        .patch(
            &host.name,
            &PatchParams::default(),
            &Patch::Merge(json!({"spec": spec})),
        )
        .await?;
    runs_on(world, host).await
}

/// Has a Machine say that it runs on the BareMetalHost of its host.
pub async fn runs_on(world: &World, host: &WorldHost) -> Result<()> {
    let id = format!("baremetalhost:///{}/{}", world.namespace, host.name);
    objects::patch_machine(world, &host.name, json!({"spec": {"providerID": id}})).await
}

/// The name of a host's node in Ironic.
pub fn node_name(world: &World, host: &WorldHost) -> String {
    format!("{}~{}", world.namespace, host.name)
}

/// Makes a node in Ironic whose BMC and system are those of a host. Answers its id.
pub async fn enroll(world: &World, ironic: &IronicApi, host: &WorldHost) -> Result<String> {
    let credentials = host.bmc.credentials();
    let node = NewNode {
        name: &node_name(world, host),
        address: &host.bmc.redfish_url(),
        system: &host.system.system_path(),
        username: &credentials.username,
        password: &credentials.password,
        verify: true,
        disable_power_off: false,
    };
    ironic.create(&node).await
}

/// Takes a host under Ironic's management as it is, as baremetal-operator does with one that is externally provisioned.
/// Answers the node's id.
pub async fn take_over(world: &World, ironic: &IronicApi, host: &WorldHost) -> Result<String> {
    let within = Duration::from_mins(2);
    let node = enroll(world, ironic, host).await?;
    ironic.provision(&node, Provision::Manage).await?.accepted()?;
    ironic
        .node_until(&node, within, |node| node.provision_state == "manageable")
        .await?;
    ironic.provision(&node, Provision::Adopt).await?.accepted()?;
    let active = |node: &IronicNode| node.provision_state == "active" && node.power_state.is_some();
    ironic.node_until(&node, within, active).await?;
    Ok(node)
}

/// Has Ironic forget a node, as baremetal-operator does when it detaches a host: again for as long as Ironic is at work
/// on it.
pub async fn let_go(ironic: &IronicApi, node: &str) -> Result<()> {
    let done = async {
        while let Told::Busy(_) = ironic.maintain(node, Some("it is let go")).await? {
            idle(ironic, node).await?;
        }
        while let Told::Busy(_) = ironic.delete(node).await? {
            idle(ironic, node).await?;
        }
        Ok(())
    };
    let within = Duration::from_mins(2);
    tokio::time::timeout(within, done)
        .await
        .context("Ironic does not let go of the node")?
}

/// Waits until Ironic is not at work on a node.
async fn idle(ironic: &IronicApi, node: &str) -> Result<()> {
    let idle = |node: &IronicNode| node.reservation.is_none() && node.target_power_state.is_none();
    ironic.node_until(node, Duration::from_mins(2), idle).await?;
    Ok(())
}

/// Creates a BareMetalHost for a host's BMC, externally provisioned and online, used by its Machine.
pub async fn create_bare_metal_host(world: &World, host: &WorldHost) -> Result<()> {
    let consumer = json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "name": host.name, "namespace": world.namespace,
    });
    create_for(world, host, consumer).await
}

/// The same, used by this.
async fn create_for(world: &World, host: &WorldHost, consumer: Value) -> Result<()> {
    let address = format!(
        "redfish-virtualmedia+{}{}",
        host.bmc.redfish_url(),
        host.system.system_path()
    );
    let object: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": host.name, "namespace": world.namespace},
        "spec": {
            "online": true,
            "externallyProvisioned": true,
            "bmc": {"address": address, "credentialsName": format!("{}-bmc", host.name)},
            "consumerRef": consumer,
        },
    }))?;
    objects::bare_metal_hosts(world)
        .create(&PostParams::default(), &object)
        .await?;
    Ok(())
}

/// Has metal3 keep a host online by a BareMetalHost, on which its Machine runs; waits until it does.
pub async fn keeps_online(world: &World, host: &WorldHost) -> Result<()> {
    create_bare_metal_host(world, host).await?;
    runs_on(world, host).await?;
    is_kept_online(world, host).await
}

/// The same of a host that this uses.
pub async fn keeps_online_for(world: &World, host: &WorldHost, consumer: Value) -> Result<()> {
    create_for(world, host, consumer).await?;
    is_kept_online(world, host).await
}

async fn is_kept_online(world: &World, host: &WorldHost) -> Result<()> {
    let is = |status: &Value| is_managed(status) && says_powered_on(status, true);
    status_until(world, &host.name, PATIENCE, is).await?;
    Ok(())
}

/// Waits until nothing of the daemon's, nor of anybody else who switches hosts off, is on a BareMetalHost.
pub async fn is_given_back(world: &World, host: &WorldHost) -> Result<()> {
    let anybodys = [keys::BARE_METAL_HOST_DETACHED, keys::REBOOT_ANNOTATION];
    is_free_of(world, host, &anybodys).await
}

/// Waits until nothing of the daemon's is on a BareMetalHost.
pub async fn is_released(world: &World, host: &WorldHost) -> Result<()> {
    is_free_of(world, host, &["baremetal-remediator"]).await
}

async fn is_free_of(world: &World, host: &WorldHost, others: &[&str]) -> Result<()> {
    let ours = [keys::HOLD_LABEL, keys::DETACHED_FOR_ANNOTATION];
    let ours: Vec<&str> = ours.iter().chain(others).copied().collect();
    let is_free = |found: Option<&DynamicObject>| {
        let metadata = found.map(|found| serde_json::to_string(&found.metadata).unwrap_or_default());
        metadata.is_some_and(|metadata| !ours.iter().any(|one| metadata.contains(one)))
    };
    let free = await_condition(objects::bare_metal_hosts(world), &host.name, is_free);
    tokio::time::timeout(PATIENCE, free)
        .await
        .with_context(|| format!("something of the daemon's stays on BareMetalHost {}", host.name))??;
    Ok(())
}

/// Says in a BareMetalHost whether the host is to be on.
pub async fn set_online(world: &World, host: &WorldHost, online: bool) -> Result<()> {
    let change = json!({"spec": {"online": online}});
    objects::bare_metal_hosts(world)
        .patch(&host.name, &PatchParams::default(), &Patch::Merge(change))
        .await?;
    Ok(())
}

/// Waits until the status of a BareMetalHost is as wanted; answers it.
pub async fn status_until(
    world: &World,
    name: &str,
    within: Duration,
    wanted: impl Fn(&Value) -> bool + Send + Sync,
) -> Result<Value> {
    let is =
        |host: Option<&DynamicObject>| host.and_then(|host| host.data.get("status")).is_some_and(&wanted);
    let hosts = objects::bare_metal_hosts(world);
    let seen = match tokio::time::timeout(within, await_condition(hosts.clone(), name, is)).await {
        Ok(seen) => seen?.context("the BareMetalHost is gone")?,
        Err(_) => {
            let present = hosts.get(name).await?;
            let status = present.data.get("status").cloned().unwrap_or_default();
            anyhow::bail!("BareMetalHost {name} did not get there within {within:?}: {status:#}");
        }
    };
    seen.data.get("status").cloned().context("no status")
}

/// Writes an annotation of a BareMetalHost, or takes it off.
pub async fn annotate(world: &World, name: &str, key: &str, value: Option<&str>) -> Result<()> {
    let annotations = json!({"metadata": {"annotations": {key: value}}});
    objects::bare_metal_hosts(world)
        .patch(name, &PatchParams::default(), &Patch::Merge(annotations))
        .await?;
    Ok(())
}

/// Whether baremetal-operator has said that it manages a host that is externally provisioned, and that all is well.
pub fn is_managed(status: &Value) -> bool {
    let state = status.pointer("/provisioning/state");
    state == Some(&json!("externally provisioned")) && status.get("operationalStatus") == Some(&json!("OK"))
}

/// Whether a status says this about the power.
pub fn says_powered_on(status: &Value, on: bool) -> bool {
    status.get("poweredOn") == Some(&json!(on))
}
