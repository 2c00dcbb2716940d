//! Reads what tells whether the platform's controller runs.

use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::api::Api;

use crate::api::views::FeatureGate;
use crate::api::views::feature_gate::{FEATURE_GATE_NAME, NO_HEALTH_CHECK_CONTROLLER};
use crate::controller::caches::Guarded;
use crate::controller::within;
use crate::core::checker::platform::{LeaseRead, LeaseRecord};

/// Namespace of the Lease: that of the controller's own ServiceAccount, for none is named when it is
/// started. Source: machine-api-operator `pkg/operator/sync.go`, `cmd/machine-healthcheck/main.go`.
const LEASE_NAMESPACE: &str = "openshift-machine-api";

/// Name of the Lease. Source: machine-api-operator `cmd/machine-healthcheck/main.go`, `LeaderElectionID`.
const LEASE_NAME: &str = "cluster-api-provider-healthcheck-leader";

/// Reads the Lease of the leader of the platform's controller.
pub(super) async fn lease(client: &Client) -> LeaseRead {
    let leases = Api::<Guarded<Lease>>::namespaced(client.clone(), LEASE_NAMESPACE);
    let call = "reading the Lease of the platform's health checker";
    match within(call, leases.get_opt(LEASE_NAME)).await {
        Ok(None) => LeaseRead::Absent,
        Ok(Some(Guarded(Ok(lease)))) => LeaseRead::Present(record(lease)),
        Ok(Some(Guarded(Err(invalid)))) => LeaseRead::Unreadable(format!(
            "Lease {LEASE_NAMESPACE}/{LEASE_NAME} cannot be read: {}",
            invalid.error
        )),
        Err(error) => LeaseRead::Unreadable(crate::report::chain(&error)),
    }
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

/// Whether the feature gate that removes the platform's controller is known to be on. Where it cannot be
/// read, the Lease alone decides.
pub(super) async fn is_switched_off(client: &Client) -> bool {
    let gates = Api::<Guarded<FeatureGate>>::all(client.clone());
    match within("reading the FeatureGate", gates.get_opt(FEATURE_GATE_NAME)).await {
        Ok(gate) => gate.is_some_and(|gate| {
            let readable = gate.0.as_ref();
            readable.is_ok_and(|gate| gate.is_on(NO_HEALTH_CHECK_CONTROLLER))
        }),
        Err(error) => {
            tracing::debug!(error = %crate::report::chain(&error), "the FeatureGate cannot be read");
            false
        }
    }
}
