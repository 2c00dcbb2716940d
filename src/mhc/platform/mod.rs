//! Reads what tells whether the platform's controller runs.

#[cfg(test)]
mod tests;

use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt as _};
use remediator_api::views::FeatureGate;
use remediator_api::views::openshift_config::{CONFIG_NAME, NO_HEALTH_CHECK_CONTROLLER};
use remediator_core::checker::platform::LeaseRecord;
use remediator_core::facts::Lookup;
use remediator_core::machine_api::MachineApi;

use crate::api_call::{list, within};
use crate::watch::caches::Guarded;

/// Namespace of the Lease: that of the controller. Source: machine-api-operator `pkg/operator/sync.go`.
const LEASE_NAMESPACE: &str = "openshift-machine-api";

/// Name of the Lease. Source: machine-api-operator `cmd/machine-healthcheck/main.go`, `LeaderElectionID`.
const LEASE_NAME: &str = "cluster-api-provider-healthcheck-leader";

/// Name of the Lease of Cluster API's manager, in any namespace. Source: cluster-api `main.go`, `LeaderElectionID`.
const MANAGER_LEASE_NAME: &str = "controller-leader-election-capi";

pub(crate) async fn lease(client: &Client, api: MachineApi) -> Lookup<LeaseRecord> {
    let read = match api {
        MachineApi::OpenShift => {
            let leases = Api::<Guarded<Lease>>::namespaced(client.clone(), LEASE_NAMESPACE);
            let call = "reading the Lease of the platform's health checker";
            let lease = within(call, leases.get_opt(LEASE_NAME)).await;
            lease.map(|lease| lease.into_iter().collect())
        }
        MachineApi::ClusterApi => {
            let leases = Api::<Guarded<Lease>>::all(client.clone());
            let named = ListParams::default().fields(&format!("metadata.name={MANAGER_LEASE_NAME}"));
            list(
                "listing the Leases of Cluster API's manager",
                &leases,
                &named,
                |_| true,
            )
            .await
        }
    };
    read.map_or_else(|error| Lookup::Unreadable(crate::report::chain(&error)), as_one)
}

/// The Leases as one: an installation that is gone leaves its own behind, and its clock tells nothing. Whichever of
/// them is renewed, it changes.
fn as_one(leases: Vec<Guarded<Lease>>) -> Lookup<LeaseRecord> {
    let mut records = Vec::new();
    for lease in leases {
        let full_name = format!("{}/{}", lease.namespace().unwrap_or_default(), lease.name_any());
        match lease.0 {
            Ok(lease) => records.push(record(lease)),
            Err(invalid) => {
                let error = invalid.error;
                return Lookup::Unreadable(format!("Lease {full_name} cannot be read: {error}"));
            }
        }
    }
    if records.is_empty() {
        return Lookup::Absent;
    }
    records.sort_by(|one, other| one.uid.cmp(&other.uid));
    Lookup::Present(LeaseRecord {
        duration: records.iter().filter_map(|one| one.duration).max(),
        renewed: records.iter().filter_map(|one| one.renewed).max(),
        holder: Some(format!("{records:?}")),
        uid: None,
    })
}

fn record(lease: Lease) -> LeaseRecord {
    let spec = lease.spec.unwrap_or_default();
    let seconds = spec.lease_duration_seconds;
    LeaseRecord {
        uid: lease.metadata.uid,
        holder: spec.holder_identity,
        renewed: spec.renew_time.map(|time| time.0),
        duration: seconds.map(|seconds| SignedDuration::from_secs(seconds.into())),
    }
}

/// Whether the feature gate that removes the platform's controller is on; none where that cannot be read.
pub(crate) async fn is_switched_off(client: &Client) -> Option<bool> {
    let gates = Api::<Guarded<FeatureGate>>::all(client.clone());
    match within("reading the FeatureGate", gates.get_opt(CONFIG_NAME)).await {
        Ok(None) => Some(false),
        Ok(Some(gate)) => gate.0.ok().map(|gate| gate.is_on(NO_HEALTH_CHECK_CONTROLLER)),
        // The kind is not served: not OpenShift.
        Err(error) if error.is_not_found() => Some(false),
        Err(error) => {
            tracing::debug!(error = %crate::report::chain(&error), "the FeatureGate cannot be read");
            None
        }
    }
}
