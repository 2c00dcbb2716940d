//! The NodeHealthChecks of the cluster, and what their operator makes them depend on.

use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt as _};
use remediator_api::guarded::Guarded;
use remediator_api::views::{MachineHealthCheck, NodeHealthCheck};
use remediator_core::facts::Seen;
use remediator_core::health::HealthCheck;
use remediator_core::health::node_health_check::rivals::Rivals;
use remediator_core::machine_api::MachineApi;
use serde_json::Value;

use crate::api_call::{ShellError, list, within};
use crate::snapshot::machine_lists::MachineLists;

/// The NodeHealthChecks of the cluster.
pub(super) struct NodeChecks {
    /// Whether the server has the kind.
    pub(super) served: bool,
    pub(super) checks: Vec<Guarded<NodeHealthCheck>>,
    pub(super) rivals: Rivals,
    pub(super) upgrading: bool,
}

impl NodeChecks {
    /// Reads them, and what their operator makes them depend on.
    ///
    /// # Errors
    /// When the API server does not say.
    pub(super) async fn read(client: &Client, lists: &MachineLists) -> Result<Self, ShellError> {
        let checks = Api::<Guarded<NodeHealthCheck>>::all(client.clone());
        let all = ListParams::default();
        let checks = match list("listing NodeHealthChecks", &checks, &all, |_| true).await {
            Ok(checks) => Some(checks),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        let (served, checks) = (checks.is_some(), checks.unwrap_or_default());
        let (rivals, upgrading) = if checks.is_empty() {
            (Rivals::None, false)
        } else {
            let everywhere = lists.health_checks(client, MachineApi::OpenShift, None);
            tokio::try_join!(everywhere, is_upgrading(client))
                .map(|(rivals, upgrading)| (rivals_among(&rivals), upgrading))?
        };
        Ok(Self {
            served,
            checks,
            rivals,
            upgrading,
        })
    }

    /// Namespaces and names of the templates of ours that they name.
    pub(super) fn templates(&self) -> Vec<(String, String)> {
        let readable = self.checks.iter().filter_map(|check| check.0.as_ref().ok());
        let templates = readable.flat_map(NodeHealthCheck::templates);
        let ours = templates.filter(|template| template.is_ours());
        ours.map(|template| (template.namespace.clone(), template.name.clone()))
            .collect()
    }

    /// Those that cannot be read, each as a clause with what is wrong with it.
    pub(super) fn unreadable(&self) -> impl Iterator<Item = String> {
        self.checks.iter().filter_map(|check| {
            let invalid = check.0.as_ref().err()?;
            Some(unreadable(&check.name_any(), &invalid.error))
        })
    }

    /// What decisions about a request of the check of this name are based on.
    pub(super) fn facts(&self, name: &str) -> Seen<HealthCheck> {
        let mut checks = self.checks.iter().filter_map(|check| check.0.as_ref().ok());
        let check = checks.find(|check| check.name_any() == name);
        check.map_or(Seen::Absent, NodeHealthCheck::facts)
    }
}

/// That a check cannot be read, and why.
pub(super) fn unreadable(name: &str, error: &str) -> String {
    format!("NodeHealthCheck {name} cannot be read: {error}")
}

/// What MachineHealthChecks make of NodeHealthChecks. One that cannot be read looks at nobody knows what.
fn rivals_among(checks: &[Guarded<MachineHealthCheck>]) -> Rivals {
    Rivals::of(checks.iter().map(|check| {
        let conditions = check
            .0
            .as_ref()
            .map(|check| check.spec.unhealthy_conditions.as_slice());
        let conditions = conditions.unwrap_or_default().iter();
        conditions.map(|condition| condition.kind.as_str())
    }))
}

/// Whether OpenShift is being upgraded. Source: medik8s/node-healthcheck-operator
/// `internal/controller/cluster/upgrade_checker.go`.
async fn is_upgrading(client: &Client) -> Result<bool, ShellError> {
    let kind = GroupVersionKind::gvk("config.openshift.io", "v1", "ClusterVersion");
    let versions = Api::<DynamicObject>::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    let version = match within("reading the ClusterVersion", versions.get("version")).await {
        Ok(version) => version,
        // Not OpenShift.
        Err(error) if error.is_not_found() => return Ok(false),
        Err(error) => return Err(error),
    };
    let conditions = version.data.pointer("/status/conditions");
    let mut conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    Ok(conditions.any(|one| one["type"] == "Progressing" && one["status"] == "True"))
}
