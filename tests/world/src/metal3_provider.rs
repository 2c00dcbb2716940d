//! Cluster API with its provider Metal3 in a world: a Machine, its Metal3Machine, and the BareMetalHost that this
//! has taken.
//! Source: cluster-api-provider-metal3 `baremetal/metal3machine_manager.go`.
#![allow(clippy::indexing_slicing, reason = "what is indexed was built here")]

use anyhow::{Context as _, Result};
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use remediator_api::keys;
use serde_json::{Value, json};

use super::{HostOptions, World, WorldHost, cluster_api, objects};

const GROUP: &str = "infrastructure.cluster.x-k8s.io";

/// A host without a BMCEndpoint, whose Machine is in the Cluster of this name.
pub fn options(cluster: &'static str) -> HostOptions {
    let of_cluster = cluster_api::options(cluster);
    HostOptions {
        endpoint: Box::new(|_| Value::Null),
        machine: Box::new(move |machine| {
            let mut machine = (of_cluster.machine)(machine);
            let metal3_machine = metal3_machine(machine["metadata"]["name"].as_str().unwrap_or_default());
            machine["spec"]["infrastructureRef"] =
                json!({"apiGroup": GROUP, "kind": "Metal3Machine", "name": metal3_machine});
            machine
        }),
        ..cluster_api::options(cluster)
    }
}

/// A Machine of this name without a Node, whose Metal3Machine does not exist.
pub async fn create_bare_machine(world: &World, name: &str, cluster: &'static str) -> Result<()> {
    let machine = (options(cluster).machine)(objects::machine(world, name, false));
    objects::create_machine(world, machine).await
}

/// Name of the Metal3Machine of a Machine.
pub fn metal3_machine(machine: &str) -> String {
    format!("{machine}-m3m")
}

pub fn metal3_machines(world: &World) -> Api<DynamicObject> {
    objects::dynamic(world, GROUP, "v1beta2", "Metal3Machine")
}

/// A BareMetalHost for a host's BMC, and the Metal3Machine that has taken it. Answers with the UID of the
/// BareMetalHost.
pub async fn take_bare_metal_host(world: &World, host: &WorldHost) -> Result<String> {
    objects::create_bare_metal_host(world, host).await?;
    let consumer = json!({"spec": {"consumerRef": consumer(world, &host.name)}});
    let taken = objects::bare_metal_hosts(world)
        .patch(&host.name, &PatchParams::default(), &Patch::Merge(consumer))
        .await?;
    create_metal3_machine(world, &host.name, Value::Null).await?;
    taken.uid().context("the BareMetalHost has no UID")
}

/// Whom the BareMetalHost of this name is used by.
pub fn consumer(world: &World, host: &str) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1beta2"), "kind": "Metal3Machine", "name": metal3_machine(host),
        "namespace": world.namespace,
    })
}

/// The providerID by which a Node tells that it runs on the BareMetalHost of this name.
pub fn provider_id(namespace: &str, host: &str) -> String {
    format!("metal3://{namespace}/{host}/{}", metal3_machine(host))
}

/// The Metal3Machine that has taken the BareMetalHost of this name, and has provided it if there is a providerID.
pub async fn create_metal3_machine(world: &World, host: &str, provider_id: Value) -> Result<()> {
    let name = metal3_machine(host);
    let provided = provider_id.is_string();
    let object: DynamicObject = serde_json::from_value(json!({
        "apiVersion": format!("{GROUP}/v1beta2"), "kind": "Metal3Machine",
        "metadata": {
            "name": name, "namespace": world.namespace,
            "annotations": {keys::BARE_METAL_HOST_ANNOTATION: format!("{}/{host}", world.namespace)},
        },
        "spec": {"image": {"url": "oci://registry.invalid/image:1"}, "providerID": provider_id},
    }))?;
    let machines = metal3_machines(world);
    machines.create(&PostParams::default(), &object).await?;
    let status = json!({"status": {"initialization": {"provisioned": provided}}});
    machines
        .patch_status(&name, &PatchParams::default(), &Patch::Merge(status))
        .await?;
    Ok(())
}

/// Writes the providerID of a Machine, as Cluster API copies it from the Metal3Machine.
pub async fn provide(world: &World, host: &WorldHost, provider_id: Option<&str>) -> Result<()> {
    let id = json!({"spec": {"providerID": provider_id}});
    cluster_api::machines(world)
        .patch(&host.name, &PatchParams::default(), &Patch::Merge(id))
        .await?;
    Ok(())
}
