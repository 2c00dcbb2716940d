//! The Leases of the leaders of the platforms' own controllers of MachineHealthChecks.
//! Sources: machine-api-operator `cmd/machine-healthcheck/main.go`, cluster-api `main.go`.

use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use remediator_core::machine_api::MachineApi;
use serde_json::json;

use super::ensure_namespace;

/// Namespace and name.
fn place(api: MachineApi) -> (&'static str, &'static str) {
    match api {
        MachineApi::OpenShift => ("openshift-machine-api", "cluster-api-provider-healthcheck-leader"),
        MachineApi::ClusterApi => ("capi-system", "controller-leader-election-capi"),
    }
}

/// The leader has renewed its Lease so long ago, and not since.
pub async fn renewed(client: &Client, api: MachineApi, ago: SignedDuration) -> Result<()> {
    let (namespace, name) = place(api);
    ensure_namespace(client, namespace).await?;
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name},
        "spec": {
            "holderIdentity": "leader", "leaseDurationSeconds": 15,
            "renewTime": format!("{:.6}", Timestamp::now().checked_sub(ago)?),
        },
    });
    let parameters = PatchParams::apply("leader").force();
    Api::<Lease>::namespaced(client.clone(), namespace)
        .patch(name, &parameters, &Patch::Apply(lease))
        .await?;
    Ok(())
}

/// There is no leader, and none was.
pub async fn never_was(client: &Client, api: MachineApi) -> Result<()> {
    let (namespace, name) = place(api);
    let leases = Api::<Lease>::namespaced(client.clone(), namespace);
    if leases.get_opt(name).await?.is_some() {
        leases.delete(name, &DeleteParams::default()).await?;
    }
    Ok(())
}
