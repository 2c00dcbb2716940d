//! Who evaluates health checks: what the activation of the daemon's checker depends on, read once.

use jiff::Timestamp;
use kube::Client;
use remediator_api::RemediationPolicy;
use remediator_api::guarded::Guarded;
use remediator_core::checker::activation::{Activation, activation};
use remediator_core::checker::evaluator::{Asks, Evaluator, evaluator, operator};
use remediator_core::checker::platform::{LeaseHistory, Platform, platform};
use remediator_core::machine_api::MachineApi;
use serde::Serialize;

use crate::mhc::activation::wanted_by;
use crate::mhc::platform::{is_switched_off, lease};

/// Who evaluates the MachineHealthChecks of each API.
pub(super) struct Evaluators {
    openshift: OfApi,
    cluster_api: OfApi,
    /// Whether the NodeHealthCheck operator evaluates those of OpenShift that have a template.
    operator: Option<bool>,
}

struct OfApi {
    platform: Platform,
    activation: Activation,
    lease: String,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct EvaluatedBy {
    /// `PlatformController`, `Daemon`, `PlatformControllerAndDaemon`, `NodeHealthCheckOperator`, `Nobody` or
    /// `Unknown`.
    pub(super) who: &'static str,
    pub(super) why: String,
}

impl Evaluators {
    /// Reads what tells. `node_health_checks`: the server has NodeHealthChecks.
    pub(super) async fn read(
        client: &Client,
        policy: Option<&Guarded<RemediationPolicy>>,
        node_health_checks: bool,
    ) -> Self {
        let switched_off = is_switched_off(client).await;
        let of_api = async |api, is_off| {
            let read = lease(client, api).await;
            let now = Timestamp::now();
            let seen = LeaseHistory::by_its_own_time(read, now);
            let age = seen.since().map(|since| now.duration_since(since).as_secs());
            let lease = age.map(|age| format!("the Lease of its leader was renewed {} s ago", age.max(0)));
            let platform = platform(&seen, is_off, now);
            OfApi {
                activation: activation(&wanted_by(policy), &platform),
                platform,
                lease: lease.unwrap_or_default(),
            }
        };
        Self {
            openshift: of_api(MachineApi::OpenShift, switched_off == Some(true)).await,
            cluster_api: of_api(MachineApi::ClusterApi, false).await,
            operator: operator(switched_off, Some(node_health_checks)),
        }
    }

    /// Who evaluates a check of an API, and how that is shown.
    pub(super) fn of_check(&self, api: MachineApi, asks: Asks) -> (Evaluator, EvaluatedBy) {
        let OfApi {
            platform,
            activation,
            lease,
        } = match api {
            MachineApi::OpenShift => &self.openshift,
            MachineApi::ClusterApi => &self.cluster_api,
        };
        let evaluator = evaluator(api, asks, platform, activation, self.operator);
        let (who, why) = match &evaluator {
            Evaluator::Platform | Evaluator::Stranger => ("PlatformController", lease.clone()),
            Evaluator::Ours(why) => ("Daemon", format!("this daemon, where it runs: {why}")),
            Evaluator::Both => ("PlatformControllerAndDaemon", lease.clone()),
            Evaluator::NodeHealthCheckOperator => (
                "NodeHealthCheckOperator",
                "a feature gate removed the platform's controller".to_owned(),
            ),
            Evaluator::Nobody(why) => ("Nobody", why.detail.clone()),
            Evaluator::Unknown(why) => ("Unknown", why.detail.clone()),
        };
        (evaluator, EvaluatedBy { who, why })
    }
}
