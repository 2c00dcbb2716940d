//! The NodeHealthChecks of the cluster, with what their operator says of them in their status.

use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::{Client, ResourceExt as _};
use remediator_api::guarded::Guarded;
use remediator_api::views::NodeHealthCheck;
use remediator_api::views::machine_health_check::TemplateReference;
use remediator_core::facts::Obstacle;
use remediator_core::phase::Reason;
use serde::Serialize;
use serde_json::Value;

use crate::api_call::{ShellError, list};
use crate::cli::plan::templates::Templates;

/// The NodeHealthChecks of the cluster; none where the server does not have the kind.
pub(super) struct NodeHealthChecks(Option<Vec<Listed>>);

struct Listed {
    name: String,
    /// What is wrong with one that cannot be read.
    check: Result<NodeHealthCheck, String>,
    status: Value,
}

/// A NodeHealthCheck as it is shown.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    pub(super) name: String,
    /// Kinds, namespaces and names of the templates that it names, in the order in which its operator uses them.
    pub(super) templates: Vec<String>,
    /// What keeps its operator from making requests of ours, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) obstacle: Option<Hindrance>,
    /// What its operator has written: phase, reason, counts, conditions, unhealthy Nodes.
    pub(super) status: Value,
}

/// What stands in the way.
#[derive(Debug, Serialize)]
pub(super) struct Hindrance {
    pub(super) reason: String,
    pub(super) why: String,
}

impl NodeHealthChecks {
    /// Reads them.
    ///
    /// # Errors
    /// When the API server does not say.
    pub(super) async fn read(client: &Client) -> Result<Self, ShellError> {
        let kind = ApiResource::erase::<NodeHealthCheck>(&());
        let checks = Api::<DynamicObject>::all_with(client.clone(), &kind);
        match list(
            "listing NodeHealthChecks",
            &checks,
            &ListParams::default(),
            |_| true,
        )
        .await
        {
            Ok(checks) => Ok(Self(Some(checks.into_iter().map(Listed::new).collect()))),
            Err(error) if error.is_not_found() => Ok(Self(None)),
            Err(error) => Err(error),
        }
    }

    /// Whether the server has the kind, which the operator brings.
    pub(super) fn is_served(&self) -> bool {
        self.0.is_some()
    }

    /// Namespaces and names of the templates of ours that they name.
    pub(super) fn templates(&self) -> impl Iterator<Item = (String, String)> {
        let readable = self.0.iter().flatten().filter_map(|one| one.check.as_ref().ok());
        let templates = readable.flat_map(NodeHealthCheck::templates);
        let ours = templates.filter(|template| template.is_ours());
        ours.map(|template| (template.namespace.clone(), template.name.clone()))
    }

    /// All of them as they are shown.
    pub(super) fn shown(&self, templates: &Templates) -> Vec<Shown> {
        self.0.iter().flatten().map(|one| one.shown(templates)).collect()
    }
}

impl Listed {
    fn new(object: DynamicObject) -> Self {
        let name = object.name_any();
        let status = object.data.get("status").cloned().unwrap_or_default();
        let check = serde_json::to_value(object).and_then(serde_json::from_value::<Guarded<NodeHealthCheck>>);
        let check = check.map_err(|error| error.to_string());
        Self {
            name,
            status,
            check: check.and_then(|guarded| guarded.0.map_err(|invalid| invalid.error)),
        }
    }

    fn shown(&self, templates: &Templates) -> Shown {
        let named = self.check.as_ref().map(NodeHealthCheck::templates);
        let named = named.unwrap_or_default().into_iter();
        Shown {
            name: self.name.clone(),
            templates: named.map(called).collect(),
            obstacle: self.obstacle(templates),
            status: self.status.clone(),
        }
    }

    fn obstacle(&self, templates: &Templates) -> Option<Hindrance> {
        let name = &self.name;
        let check = match &self.check {
            Ok(check) => check,
            Err(wrong) => {
                let detail = format!("NodeHealthCheck {name} cannot be read: {wrong}");
                return Some(Hindrance::new(Reason::HealthCheckUnreadable, detail));
            }
        };
        if check.is_disabled_by_machine_health_checks() {
            let detail =
                format!("its operator disables NodeHealthCheck {name} because of MachineHealthChecks");
            return Some(Hindrance::new(Reason::DisabledByMachineHealthChecks, detail));
        }
        if !check.is_known_to_its_operator() {
            let detail = format!(
                "the NodeHealthCheck operator has never looked at NodeHealthCheck {name}: it has no condition Disabled"
            );
            return Some(Hindrance::new(Reason::HealthChecksUnserved, detail));
        }
        let mut ours = check
            .templates()
            .into_iter()
            .filter(|template| template.is_ours());
        let unusable = ours.find_map(|one| templates.strategy(&one.namespace, &one.name).err())?;
        Some(Hindrance {
            reason: unusable.outcome.to_owned(),
            why: unusable.why,
        })
    }
}

impl Hindrance {
    fn new(reason: Reason, detail: String) -> Self {
        let obstacle = Obstacle::new(reason, detail);
        Self {
            reason: obstacle.reason.as_str().to_owned(),
            why: obstacle.for_people(),
        }
    }
}

fn called(template: &TemplateReference) -> String {
    format!("{} {}/{}", template.kind, template.namespace, template.name)
}
