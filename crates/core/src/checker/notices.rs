//! What people are told of a pass over one health check.

use super::notice::{Notice, On, Weight};
use crate::facts::Obstacle;
use crate::health::assess::{AssessedMachine, Assessment, Exempt, Stopped};
use crate::health::dialect::Dialect;
use crate::health::limit::TOO_MANY_UNHEALTHY;
use crate::health::overlap::{Check, Evaluation};
use crate::health::verdict::{Unknown, Verdict, Wait};
use crate::phase::Reason;

/// Event on a Machine that will be remediated if it stays as it is: an unhealthy condition holds, or it has no
/// Node yet. This and the following as machine-api-operator has them, `healthCheckTargets` of
/// `pkg/controller/machinehealthcheck/machinehealthcheck_controller.go`; Cluster API had it up to 1.11.
pub const DETECTED_UNHEALTHY: &str = "DetectedUnhealthy";
/// Event on a Machine that was given the trigger.
pub const EXTERNAL_ANNOTATION_ADDED: &str = "ExternalAnnotationAdded";
/// Event on a Machine that could not be given the trigger.
pub const EXTERNAL_ANNOTATION_FAILED: &str = "ExternalAnnotationFailed";
/// Event on a Machine of Cluster API that was given the trigger.
/// Source: cluster-api `core/reconcilers/machinehealthcheck/machinehealthcheck_targets.go`.
pub const MACHINE_MARKED_UNHEALTHY: &str = "MachineMarkedUnhealthy";
/// Event on a health check whose limit, or another check, forbids to remediate.
pub const REMEDIATION_RESTRICTED: &str = "RemediationRestricted";

/// What people are told of a check that is malformed, whoever evaluates it.
pub fn malformed(check: &Check) -> Option<Notice> {
    let malformed = check.rules.as_ref().err()?.to_string();
    let obstacle = Obstacle::new(Reason::HealthCheckMalformed, malformed.clone());
    Some(warning(On::Check, &obstacle, malformed))
}

/// Why no request can be made from the template of this name that a check names.
pub fn unusable_template(name: &str, wrong: &str) -> Notice {
    let detail = format!("no request can be made from PowerCycleRemediationTemplate {name}: {wrong}");
    warning(
        On::Check,
        &Obstacle::new(Reason::TemplateUnusable, detail),
        wrong.to_owned(),
    )
}

/// That nobody knows whether the Cluster of a check is paused, or how far it is.
pub(super) fn cluster_unknown(detail: &str) -> Notice {
    let obstacle = Obstacle::new(Reason::ClusterUnreadable, detail);
    warning(On::Check, &obstacle, detail.to_owned())
}

/// Why a Machine that is to be remediated gets no trigger.
pub(super) fn refused(machine: &str, obstacle: &Obstacle) -> Notice {
    warning(On::Machine(machine.to_owned()), obstacle, String::new())
}

/// What is told of the Machines of a check that are not healthy and are not remediated.
pub(super) fn of_machines(assessment: &Assessment) -> Vec<Notice> {
    let of_each = assessment.machines.iter().filter_map(of_machine);
    of_each.chain(unreachable(assessment)).collect()
}

fn of_machine(judged: &AssessedMachine) -> Option<Notice> {
    match (&judged.verdict, judged.exempt) {
        (Verdict::Waiting { why, until }, _) => detected(judged, *why, *until),
        (Verdict::Unhealthy { message, .. }, Some(Exempt::PhaseFailed)) => {
            let obstacle = Obstacle::new(Reason::MachineFailed, message.clone());
            Some(refused(&judged.name, &obstacle))
        }
        // Gets the trigger, or has it, or the deletion decides.
        (
            Verdict::Unhealthy { .. },
            None | Some(Exempt::Deleting | Exempt::UnderRemediation | Exempt::Triggered),
        ) => None,
        (Verdict::Unknown(unknown), _) => unreadable(&judged.name, unknown),
        (Verdict::Healthy | Verdict::Skipped(_), _) => None,
    }
}

/// That it will be remediated if it stays so.
fn detected(judged: &AssessedMachine, why: Wait, until: Option<jiff::Timestamp>) -> Option<Notice> {
    let (what, key) = match why {
        Wait::Grace => ("the Node is unhealthy", format!("{until:?}")),
        // Counted from the last change of the status in OpenShift, so that the end moves with each.
        Wait::NodeStartup => ("the Machine has no Node yet", String::new()),
        Wait::NodeStartupUnlimited
        | Wait::ControlPlaneNotInitialized
        | Wait::InfrastructureNotReady { .. }
        | Wait::Deleting
        | Wait::UnderRemediation
        | Wait::Triggered => return None,
    };
    let note = match until {
        Some(until) => format!("{what}; to be remediated at {until} if it stays so"),
        None => format!("{what}, and nothing says since when"),
    };
    Some(Notice {
        on: On::Machine(judged.name.clone()),
        weight: Weight::Normal,
        reason: DETECTED_UNHEALTHY,
        key,
        note,
    })
}

/// What of a Machine cannot be read; what concerns all Machines of a Cluster is told on the check.
fn unreadable(name: &str, unknown: &Unknown) -> Option<Notice> {
    let (reason, what, detail) = match unknown {
        Unknown::Machine(detail) => (Reason::MachineUnreadable, format!("Machine {name}"), detail),
        Unknown::Node(detail) => (
            Reason::NodeUnreadable,
            format!("the Node of Machine {name}"),
            detail,
        ),
        Unknown::NodeUnreachable(_) | Unknown::Cluster(_) => return None,
    };
    let what = format!("{what} cannot be read, so it counts as unhealthy and is not remediated: {detail}");
    let obstacle = Obstacle::new(reason, what);
    Some(warning(On::Machine(name.to_owned()), &obstacle, detail.clone()))
}

/// That the cluster of the Nodes cannot be asked: once for as long as that lasts, whatever the errors are.
fn unreachable(assessment: &Assessment) -> Option<Notice> {
    let mut details = assessment.machines.iter().filter_map(|one| match &one.verdict {
        Verdict::Unknown(Unknown::NodeUnreachable(detail)) => Some(detail),
        Verdict::Unknown(Unknown::Machine(_) | Unknown::Node(_) | Unknown::Cluster(_))
        | Verdict::Healthy
        | Verdict::Skipped(_)
        | Verdict::Waiting { .. }
        | Verdict::Unhealthy { .. } => None,
    });
    let first = details.next()?;
    let number = details.count().saturating_add(1);
    let detail = format!(
        "{first}; the {number} Machines with a Node there count as unhealthy, and none is remediated \
         meanwhile"
    );
    let obstacle = Obstacle::new(Reason::WorkloadClusterUnreachable, detail);
    Some(warning(On::Check, &obstacle, String::new()))
}

/// That the limit forbids, and once for as long as it does. Cluster API says so only while a Machine needs to
/// be remediated; a range may forbid because too few are unhealthy. Sources: `Reconcile` of machine-api-operator,
/// `reconcile` of cluster-api `core/reconcilers/machinehealthcheck/machinehealthcheck_controller.go`.
pub(super) fn restricted(dialect: Dialect, assessment: &Assessment) -> Option<Notice> {
    let concerns_somebody = match dialect {
        Dialect::OpenShift => true,
        Dialect::ClusterApiV1Beta1 | Dialect::ClusterApiV1Beta2 => {
            assessment.machines.iter().any(|one| one.verdict.is_unhealthy())
        }
    };
    let restricts = assessment.stopped == Some(Stopped::TooManyUnhealthy) && concerns_somebody;
    restricts.then(|| {
        restriction(
            TOO_MANY_UNHEALTHY.to_owned(),
            assessment.allowance.message.clone(),
        )
    })
}

/// Which Machines a check would have remediated if another check let it.
pub(super) fn forbidden(evaluation: &Evaluation<'_>, check: &str) -> Vec<Notice> {
    let forbidden = evaluation.forbidden.iter();
    let of_check = forbidden.filter(|one| one.wanted_by.iter().any(|wanting| wanting == check));
    of_check
        .map(|one| {
            let note = format!(
                "Machine {} is not remediated, because MachineHealthCheck {}, which selects it too, does not \
                 let it be: {}",
                one.machine, one.check, one.why
            );
            restriction(format!("{}/{}", one.check, one.machine), note)
        })
        .collect()
}

fn restriction(key: String, note: String) -> Notice {
    Notice {
        on: On::Check,
        weight: Weight::Warning,
        reason: REMEDIATION_RESTRICTED,
        key,
        note,
    }
}

fn warning(on: On, obstacle: &Obstacle, key: String) -> Notice {
    Notice {
        on,
        weight: Weight::Warning,
        reason: obstacle.reason.as_str(),
        key,
        note: obstacle.for_people(),
    }
}
