//! Machines and their health checks at the API server, of whichever API they are.

use kube::ResourceExt as _;
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::Value;

use super::api_call::{ShellError, present, within};
use super::context::Context;
use super::machine_key::MachineKey;
use super::seen;
use super::served::not_served;
use super::workload::ClusterKey;
use crate::api::guarded::Guarded;
use crate::api::views::cluster_api::{Cluster, Kind};
use crate::api::views::{Machine, MachineHealthCheck};
use crate::core::facts::Seen;
use crate::core::machine_api::MachineApi;

/// A Machine with all that decides about it, read live.
pub(crate) struct Live {
    pub(crate) machine: Seen<Machine>,
    /// Its Cluster, where it has one.
    pub(crate) cluster: Option<Seen<Cluster>>,
    /// The health checks of its namespace.
    pub(crate) checks: Vec<Guarded<MachineHealthCheck>>,
}

/// Reads a Machine, the health checks of its namespace and its Cluster. `known` is the Machine as the cache
/// has it, which says of which API it is and of which Cluster.
///
/// # Errors
/// When the API server does not say.
pub(crate) async fn read(
    context: &Context,
    key: &MachineKey,
    known: Option<&Machine>,
) -> Result<Live, ShellError> {
    let api = known
        .map(Machine::api)
        .or(key.api)
        .unwrap_or(MachineApi::OpenShift);
    let known_cluster = known.and_then(ClusterKey::of);
    let (machine, checks, cluster) = tokio::try_join!(
        within("reading the Machine", machine(context, api, key)),
        within(
            "listing the MachineHealthChecks",
            checks(context, api, &key.namespace)
        ),
        within(
            "reading the Cluster",
            self::cluster(context, known_cluster.as_ref())
        ),
    )?;
    let machine = seen::of(machine.as_ref(), "Machine", &key.name);
    // The cache did not have it, or another one.
    let found = machine.present().and_then(ClusterKey::of);
    let found = found.filter(|found| Some(found) != known_cluster.as_ref());
    let cluster = match found {
        Some(found) => within("reading the Cluster", self::cluster(context, Some(&found))).await?,
        None => cluster,
    };
    Ok(Live {
        machine,
        cluster,
        checks,
    })
}

async fn machine(
    context: &Context,
    api: MachineApi,
    key: &MachineKey,
) -> Result<Option<Guarded<Machine>>, kube::Error> {
    let client = &context.client;
    match api {
        MachineApi::OpenShift => {
            let machines = Api::<Guarded<Machine>>::namespaced(client.clone(), &key.namespace);
            present(machines.get(&key.name).await, &key.name)
        }
        MachineApi::ClusterApi => match context
            .cluster_api
            .api(client, Kind::Machine, Some(&key.namespace))
        {
            Some(machines) => machines.get(&key.name).await,
            None => Err(not_served()),
        },
    }
}

async fn checks(
    context: &Context,
    api: MachineApi,
    namespace: &str,
) -> Result<Vec<Guarded<MachineHealthCheck>>, kube::Error> {
    let client = &context.client;
    match api {
        MachineApi::OpenShift => {
            let checks = Api::<Guarded<MachineHealthCheck>>::namespaced(client.clone(), namespace);
            Ok(checks.list(&ListParams::default()).await?.items)
        }
        MachineApi::ClusterApi => {
            match context
                .cluster_api
                .api(client, Kind::MachineHealthCheck, Some(namespace))
            {
                Some(checks) => checks.list().await,
                None => Err(not_served()),
            }
        }
    }
}

async fn cluster(context: &Context, key: Option<&ClusterKey>) -> Result<Option<Seen<Cluster>>, kube::Error> {
    let Some(key) = key else { return Ok(None) };
    let cluster = match context
        .cluster_api
        .api(&context.client, Kind::Cluster, Some(&key.namespace))
    {
        Some(clusters) => clusters.get(&key.name).await?,
        None => return Err(not_served()),
    };
    Ok(Some(seen::of(cluster.as_ref(), "Cluster", &key.name)))
}

/// Changes the metadata of a Machine by a merge patch; answers its resourceVersion then.
///
/// # Errors
/// The API server's answer.
pub(crate) async fn patch(
    context: &Context,
    (api, namespace, name): (MachineApi, &str, &str),
    change: &Value,
) -> Result<Option<String>, kube::Error> {
    let client = &context.client;
    let (parameters, change) = (PatchParams::default(), Patch::Merge(change));
    match api {
        MachineApi::OpenShift => {
            let machines = Api::<Guarded<Machine>>::namespaced(client.clone(), namespace);
            let written = machines.patch(name, &parameters, &change).await?;
            Ok(written.resource_version())
        }
        MachineApi::ClusterApi => match context.cluster_api.api(client, Kind::Machine, Some(namespace)) {
            Some(machines) => {
                let written = machines.api.patch(name, &parameters, &change).await?;
                Ok(written.resource_version())
            }
            None => Err(not_served()),
        },
    }
}
