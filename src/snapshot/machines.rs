//! Machines and their health checks at the API server, of whichever API they are.

use k8s_openapi::NamespaceResourceScope;
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use remediator_api::guarded::Guarded;
use remediator_api::views::cluster_api::{Cluster, ClusterKey, FromClusterApi, Version};
use remediator_api::views::{Machine, MachineHealthCheck};
use remediator_core::facts::Lookup;
use remediator_core::machine_api::MachineApi;
use serde_json::{Value, json};

use crate::api_call::{ShellError, present, within};
use crate::snapshot::sources::Sources;
use crate::watch::api_discovery::{Dynamic, not_served};
use crate::watch::lookup;
use crate::watch::machine_key::MachineKey;

/// A Machine with all that decides about it, read live.
pub(crate) struct Live {
    pub(crate) machine: Lookup<Machine>,
    pub(crate) cluster: Option<Lookup<Cluster>>,
    pub(crate) checks: Vec<Guarded<MachineHealthCheck>>,
}

/// Reads a Machine, the health checks of its namespace and its Cluster. `known` is the Machine as the cache
/// has it, which says of which API it is and of which Cluster.
pub(crate) async fn read(
    sources: &Sources,
    key: &MachineKey,
    known: Option<&Machine>,
) -> Result<Live, ShellError> {
    let api = known
        .map(Machine::api)
        .or(key.api)
        .unwrap_or(MachineApi::OpenShift);
    let known_cluster = known.and_then(ClusterKey::of);
    let (machine, checks, cluster) = tokio::try_join!(
        within("reading the Machine", machine(sources, api, key)),
        within(
            "listing the MachineHealthChecks",
            checks(sources, api, &key.namespace)
        ),
        within(
            "reading the Cluster",
            self::cluster(sources, known_cluster.as_ref())
        ),
    )?;
    let machine = lookup::of(machine.as_ref(), "Machine", &key.name);
    // The cache did not have it, or another one.
    let found = machine.present().and_then(ClusterKey::of);
    let found = found.filter(|found| Some(found) != known_cluster.as_ref());
    let cluster = match found {
        Some(found) => within("reading the Cluster", self::cluster(sources, Some(&found))).await?,
        None => cluster,
    };
    Ok(Live {
        machine,
        cluster,
        checks,
    })
}

async fn machine(
    sources: &Sources,
    api: MachineApi,
    key: &MachineKey,
) -> Result<Option<Guarded<Machine>>, kube::Error> {
    match api {
        MachineApi::OpenShift => present(openshift(sources, &key.namespace).get(&key.name).await, &key.name),
        MachineApi::ClusterApi => {
            let machines = of_cluster_api::<Machine>(sources, &key.namespace)?;
            machines.get(&key.name).await
        }
    }
}

async fn checks(
    sources: &Sources,
    api: MachineApi,
    namespace: &str,
) -> Result<Vec<Guarded<MachineHealthCheck>>, kube::Error> {
    match api {
        MachineApi::OpenShift => {
            let checks = openshift(sources, namespace);
            Ok(checks.list(&ListParams::default()).await?.items)
        }
        MachineApi::ClusterApi => {
            let checks = of_cluster_api::<MachineHealthCheck>(sources, namespace)?;
            checks.list().await
        }
    }
}

async fn cluster(
    sources: &Sources,
    key: Option<&ClusterKey>,
) -> Result<Option<Lookup<Cluster>>, kube::Error> {
    let Some(key) = key else { return Ok(None) };
    let clusters = of_cluster_api::<Cluster>(sources, &key.namespace)?;
    let cluster = clusters.get(&key.name).await?;
    Ok(Some(lookup::of(cluster.as_ref(), "Cluster", &key.name)))
}

fn openshift<K>(sources: &Sources, namespace: &str) -> Api<Guarded<K>>
where
    K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    Api::namespaced(sources.client.clone(), namespace)
}

fn of_cluster_api<K: FromClusterApi>(sources: &Sources, namespace: &str) -> Result<Dynamic, kube::Error> {
    let api = sources.cluster_api.api::<K>(&sources.client, Some(namespace));
    api.ok_or_else(not_served)
}

/// Changes the metadata of a Machine by a merge patch; answers its resourceVersion then.
pub(crate) async fn patch(
    sources: &Sources,
    (api, namespace, name): (MachineApi, &str, &str),
    change: &Value,
) -> Result<Option<String>, kube::Error> {
    let (parameters, change) = (PatchParams::default(), Patch::Merge(change));
    match api {
        MachineApi::OpenShift => {
            let machines = openshift::<Machine>(sources, namespace);
            let written = machines.patch(name, &parameters, &change).await?;
            Ok(written.resource_version())
        }
        MachineApi::ClusterApi => {
            let machines = of_cluster_api::<Machine>(sources, namespace)?;
            let written = machines.api.patch(name, &parameters, &change).await?;
            Ok(written.resource_version())
        }
    }
}

/// Merges a change into the status of a Machine of Cluster API: that which `change` makes of the Machine as it is,
/// because lists are written as a whole. Nothing where there is nothing to change, and where the version that is
/// served changed since: its watch will soon be begun anew.
///
/// # Errors
/// A conflict when it is another by now, or is written to meanwhile; and when the server refuses.
pub(crate) async fn merge_status(
    sources: &Sources,
    machine: &Machine,
    change: impl FnOnce(Version, &DynamicObject) -> Option<Value>,
) -> Result<(), ShellError> {
    let (namespace, name) = (machine.namespace(), machine.name_any());
    let served = &sources.cluster_api;
    let machines = served.api::<Machine>(&sources.client, namespace.as_deref());
    let as_read = machine.spec.cluster_api.as_ref().map(|machine| machine.version);
    let Some(machines) = machines.filter(|machines| Some(machines.version) == as_read) else {
        return Ok(());
    };
    let live = within("reading a Machine", machines.api.get(&name)).await?;
    if live.metadata.uid != machine.metadata.uid {
        return Err(ShellError::Conflict { object: "Machine" });
    }
    let Some(status) = change(machines.version, &live) else {
        return Ok(());
    };
    let change = json!({
        "metadata": {"uid": live.metadata.uid, "resourceVersion": live.metadata.resource_version},
        "status": status,
    });
    let (parameters, patch) = (PatchParams::default(), Patch::Merge(&change));
    let written = machines.api.patch_status(&name, &parameters, &patch);
    within("writing the status of a Machine", written).await?;
    Ok(())
}
