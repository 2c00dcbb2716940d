//! Who evaluates health checks: what the activation of the daemon's checker depends on, read once.

use jiff::Timestamp;
use kube::Client;
use remediator_api::RemediationPolicy;
use remediator_api::guarded::Guarded;
use remediator_core::checker::activation::{Activation, activation};
use remediator_core::checker::evaluator::{Asks, Evaluator, evaluator, operator};
use remediator_core::checker::platform::{LeaseHistory, LeaseRecord, Platform, platform};
use remediator_core::facts::Lookup;
use remediator_core::machine_api::MachineApi;
use serde::Serialize;

use crate::mhc::activation::wanted_by;
use crate::mhc::platform::{is_switched_off, lease};

/// What tells whether the platform's controllers run.
pub(super) struct Leases {
    openshift: Lookup<LeaseRecord>,
    cluster_api: Lookup<LeaseRecord>,
    switched_off: Option<bool>,
}

/// Who evaluates the MachineHealthChecks of each API.
pub(super) struct Evaluators {
    openshift: ApiObjects,
    cluster_api: ApiObjects,
    /// Whether the NodeHealthCheck operator evaluates those of OpenShift that have a template.
    operator: Option<bool>,
}

struct ApiObjects {
    platform: Platform,
    activation: Activation,
    /// How old the last renewal of the Lease of the platform's leader is, in whole seconds.
    renewed: Option<i64>,
}

/// Who evaluates a check, as it is shown.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EvaluatedBy {
    /// `PlatformController`, `Daemon`, `PlatformControllerAndDaemon`, `NodeHealthCheckOperator`, `Nobody` or
    /// `Unknown`.
    pub(super) who: &'static str,
    pub(super) why: String,
}

impl Leases {
    /// Reads them.
    pub(super) async fn read(client: &Client) -> Self {
        let (openshift, cluster_api, switched_off) = tokio::join!(
            lease(client, MachineApi::OpenShift),
            lease(client, MachineApi::ClusterApi),
            is_switched_off(client),
        );
        Self {
            openshift,
            cluster_api,
            switched_off,
        }
    }
}

impl Evaluators {
    /// By what was read until `now`. `node_health_checks`: the server has NodeHealthChecks.
    pub(super) fn of(
        leases: Leases,
        policy: Option<&Guarded<RemediationPolicy>>,
        node_health_checks: bool,
        now: Timestamp,
    ) -> Self {
        let of_api = |read: Lookup<LeaseRecord>, switched_off: bool| {
            let seen = LeaseHistory::by_its_own_time(read, now);
            let platform = platform(&seen, switched_off, now);
            ApiObjects {
                activation: activation(&wanted_by(policy), &platform),
                platform,
                renewed: seen.since().map(|since| now.duration_since(since).as_secs()),
            }
        };
        Self {
            openshift: of_api(leases.openshift, leases.switched_off == Some(true)),
            cluster_api: of_api(leases.cluster_api, false),
            operator: operator(leases.switched_off, Some(node_health_checks)),
        }
    }

    /// Who evaluates a check of an API, and how that is shown.
    pub(super) fn of_check(&self, api: MachineApi, asks: Asks) -> (Evaluator, EvaluatedBy) {
        let of_api = match api {
            MachineApi::OpenShift => &self.openshift,
            MachineApi::ClusterApi => &self.cluster_api,
        };
        let evaluator = evaluator(api, asks, &of_api.platform, &of_api.activation, self.operator);
        let shown = shown(&evaluator, api, of_api.renewed);
        (evaluator, shown)
    }
}

fn shown(evaluator: &Evaluator, api: MachineApi, renewed: Option<i64>) -> EvaluatedBy {
    let (whose, who) = match api {
        MachineApi::OpenShift => ("machine-api-operator's health checker", "PlatformController"),
        MachineApi::ClusterApi => ("Cluster API's manager", "PlatformController"),
    };
    let renewed = renewed.map_or_else(
        || "is renewed".to_owned(),
        |seconds| format!("was renewed {} s ago", seconds.max(0)),
    );
    let platform = format!("{whose}, for the Lease of its leader {renewed}");
    let (who, why) = match evaluator {
        Evaluator::Platform => (who, platform),
        Evaluator::Stranger => (
            who,
            format!("{platform}; it does not know the annotation of the strategy"),
        ),
        Evaluator::Ours(why) => ("Daemon", format!("this daemon, where it runs: {why}")),
        Evaluator::Both => (
            "PlatformControllerAndDaemon",
            format!("{platform}; and this daemon, because spec.healthChecker of the RemediationPolicy is Always"),
        ),
        Evaluator::NodeHealthCheckOperator => (
            "NodeHealthCheckOperator",
            "the NodeHealthCheck operator, where it runs, because a feature gate removed the platform's controller"
                .to_owned(),
        ),
        Evaluator::Nobody(why) => ("Nobody", why.detail.clone()),
        Evaluator::Unknown(why) => ("Unknown", why.detail.clone()),
    };
    EvaluatedBy { who, why }
}
