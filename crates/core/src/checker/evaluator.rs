//! Who evaluates a MachineHealthCheck that asks for power cycles.

use super::activation::Activation;
use super::platform::Platform;
use crate::facts::Obstacle;
use crate::machine_api::MachineApi;
use crate::phase::Reason;

/// How a MachineHealthCheck asks for power cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// By the annotation of the strategy external-baremetal.
    ByAnnotation,
    /// By a template of ours, which wins over the annotation.
    ByTemplate,
}

impl Asks {
    /// All ways.
    pub const ALL: [Self; 2] = [Self::ByAnnotation, Self::ByTemplate];
}

/// Whether the NodeHealthCheck operator evaluates OpenShift's checks that have a template: it is there, as its kind
/// shows, and the feature gate has removed the platform's controller; none where nobody knows.
/// Source: medik8s/node-healthcheck-operator `internal/controller/machinehealthcheck_controller.go`.
pub fn operator(switched_off: Option<bool>, node_health_checks: Option<bool>) -> Option<bool> {
    match (switched_off, node_health_checks) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        (None, _) | (_, None) => None,
    }
}

/// Who evaluates a health check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evaluator {
    /// The platform's controller.
    Platform,
    /// Ours, alone; the text says why.
    Ours(String),
    /// The platform's controller and, because the policy has it so, ours.
    Both,
    /// The NodeHealthCheck operator.
    NodeHealthCheckOperator,
    /// Cluster API's manager, which does not know the annotation and asks for the Machine to be replaced.
    Stranger,
    /// Nobody.
    Nobody(Obstacle),
    /// It is not known who.
    Unknown(Obstacle),
}

/// Says who evaluates a check of an API. For `operator`, see [`operator`].
pub fn evaluator(
    api: MachineApi,
    asks: Asks,
    platform: &Platform,
    activation: &Activation,
    operator: Option<bool>,
) -> Evaluator {
    match asks {
        Asks::ByAnnotation => by_annotation(api, platform, activation),
        Asks::ByTemplate => by_template(api, platform, operator),
    }
}

fn by_annotation(api: MachineApi, platform: &Platform, activation: &Activation) -> Evaluator {
    match (platform, activation) {
        // Whoever else evaluates it, too.
        (Platform::Runs, _) if api == MachineApi::ClusterApi => Evaluator::Stranger,
        (Platform::Runs, Activation::Active(_) | Activation::Alongside(_)) => Evaluator::Both,
        (Platform::Runs, Activation::Inactive(_)) => Evaluator::Platform,
        (
            Platform::DoesNotRun(_) | Platform::Unknown(_),
            Activation::Active(why) | Activation::Alongside(why),
        ) => Evaluator::Ours(why.clone()),
        (Platform::DoesNotRun(_), Activation::Inactive(why)) => Evaluator::Nobody(why.clone()),
        (Platform::Unknown(_), Activation::Inactive(why)) => Evaluator::Unknown(why.clone()),
    }
}

/// Ours evaluates none of these, whatever the policy wants.
fn by_template(api: MachineApi, platform: &Platform, operator: Option<bool>) -> Evaluator {
    let operator = match api {
        MachineApi::OpenShift => operator,
        MachineApi::ClusterApi => Some(false),
    };
    match (platform, operator) {
        (Platform::Runs, _) => Evaluator::Platform,
        (Platform::DoesNotRun(_), Some(true)) => Evaluator::NodeHealthCheckOperator,
        (Platform::DoesNotRun(_), None) => Evaluator::Unknown(Obstacle::new(
            Reason::PlatformControllerUnknown,
            "whether the NodeHealthCheck operator evaluates it is not known: the FeatureGate or the \
             NodeHealthChecks cannot be read",
        )),
        (Platform::DoesNotRun(why), Some(false)) => Evaluator::Nobody(Obstacle::new(
            Reason::HealthChecksUnserved,
            format!(
                "it has a template, so this daemon does not evaluate it, and neither does the platform's \
                 controller: {why}"
            ),
        )),
        (Platform::Unknown(why), _) => {
            Evaluator::Unknown(Obstacle::new(Reason::PlatformControllerUnknown, why.clone()))
        }
    }
}
