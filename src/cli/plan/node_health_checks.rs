//! The NodeHealthChecks of the cluster: which templates they name, what keeps requests of ours from being made, and
//! what their operator says of them.

use kube::ResourceExt as _;
use remediator_api::guarded::Guarded;
use remediator_api::views::NodeHealthCheck;
use remediator_core::facts::Obstacle;
use remediator_core::phase::Reason;
use serde::Serialize;
use serde_json::Value;

use crate::cli::plan::checks::usable_template;
use crate::cli::plan::decision::Remediation;
use crate::cli::plan::snapshot::PlanSnapshot;
use crate::watch::caches::Caches;

/// A NodeHealthCheck as it is shown.
#[derive(Debug, Serialize)]
pub(super) struct CheckEntry {
    pub(super) name: String,
    /// Kinds, namespaces and names of the templates that it names, in the order in which its operator uses them.
    pub(super) templates: Vec<String>,
    /// What keeps its operator from making requests of ours, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) obstacle: Option<CheckObstacle>,
    /// What its operator has written: phase, reason, counts, conditions, unhealthy Nodes.
    pub(super) status: Value,
}

#[derive(Debug, Serialize)]
pub(super) struct CheckObstacle {
    pub(super) reason: String,
    pub(super) why: String,
}

impl From<Remediation> for CheckObstacle {
    fn from(Remediation { outcome, why, .. }: Remediation) -> Self {
        Self { reason: outcome, why }
    }
}

pub(super) fn entries(snapshot: &PlanSnapshot) -> serde_json::Result<Vec<CheckEntry>> {
    let checks = snapshot.node_health_checks.iter();
    checks
        .map(|object| {
            let guarded: Guarded<NodeHealthCheck> = serde_json::from_value(serde_json::to_value(object)?)?;
            let templates = guarded.0.as_ref().map(NodeHealthCheck::templates);
            let named = templates.unwrap_or_default().into_iter();
            Ok(CheckEntry {
                name: guarded.name_any(),
                templates: named
                    .map(|one| format!("{} {}/{}", one.kind, one.namespace, one.name))
                    .collect(),
                obstacle: obstacle(&snapshot.sources.caches, &guarded).map(CheckObstacle::from),
                status: object.data.get("status").cloned().unwrap_or_default(),
            })
        })
        .collect()
}

fn obstacle(caches: &Caches, guarded: &Guarded<NodeHealthCheck>) -> Option<Remediation> {
    let name = guarded.name_any();
    let (reason, detail) = match &guarded.0 {
        Err(invalid) => (
            Reason::HealthCheckUnreadable,
            format!("NodeHealthCheck {name} cannot be read: {}", invalid.error),
        ),
        Ok(check) if check.is_disabled_by_machine_health_checks() => (
            Reason::DisabledByMachineHealthChecks,
            format!("its operator disables NodeHealthCheck {name} because of MachineHealthChecks"),
        ),
        Ok(check) if !check.is_known_to_its_operator() => (
            Reason::HealthChecksUnserved,
            format!(
                "the NodeHealthCheck operator has never looked at NodeHealthCheck {name}: it has no condition Disabled"
            ),
        ),
        Ok(check) => {
            let templates = check.templates();
            let mut ours = templates.iter().filter(|template| template.is_ours());
            return ours.find_map(|one| usable_template(caches, &one.namespace, &one.name).err());
        }
    };
    Some(Obstacle::new(reason, detail).into())
}
