//! Events about a pass over one health check, and whether they were published before.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::facts::Obstacle;
use crate::health::assess::{AssessedMachine, Assessment, Exempt};
use crate::health::dialect::Dialect;
use crate::health::limit::TOO_MANY_UNHEALTHY;
use crate::health::overlap::Evaluation;
use crate::health::rules::Malformed;
use crate::health::verdict::{Unknown, Verdict, Wait};
use crate::phase::Reason;

/// A Machine will be remediated if it stays as it is: an unhealthy condition holds, or it has no Node yet. This and
/// the following as machine-api-operator has them, `healthCheckTargets` of
/// `pkg/controller/machinehealthcheck/machinehealthcheck_controller.go`; Cluster API had it up to 1.11.
const DETECTED_UNHEALTHY: &str = "DetectedUnhealthy";
/// A Machine was given the trigger.
pub const EXTERNAL_ANNOTATION_ADDED: &str = "ExternalAnnotationAdded";
/// A Machine could not be given the trigger.
pub const EXTERNAL_ANNOTATION_FAILED: &str = "ExternalAnnotationFailed";
/// A Machine of Cluster API was given the trigger.
/// Source: cluster-api `core/reconcilers/machinehealthcheck/machinehealthcheck_targets.go`.
pub const MACHINE_MARKED_UNHEALTHY: &str = "MachineMarkedUnhealthy";
/// The limit of a health check, or another check, forbids to remediate.
const REMEDIATION_RESTRICTED: &str = "RemediationRestricted";

/// What an event regards.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum On {
    /// The health check.
    Check,
    /// A Machine of its namespace, by name.
    Machine(String),
}

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    /// Good to know.
    Normal,
    /// Somebody ought to look.
    Warning,
}

/// An event about a health check or one of its Machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it regards.
    pub on: On,
    /// Its type.
    pub kind: EventType,
    /// Its reason.
    pub reason: &'static str,
    /// What makes it the same as one that was published before; the text may differ.
    pub key: String,
    /// The text.
    pub note: String,
}

impl Event {
    /// A warning.
    pub fn warning(on: On, reason: &'static str, key: impl Into<String>, note: String) -> Self {
        Self {
            on,
            kind: EventType::Warning,
            reason,
            key: key.into(),
            note,
        }
    }

    fn because(on: On, reason: Reason, detail: impl Into<String>, key: impl Into<String>) -> Self {
        let note = Obstacle::new(reason, detail).for_people();
        Self::warning(on, reason.as_str(), key, note)
    }
}

/// What was published and still holds, by what makes events the same.
#[derive(Clone, Debug, Default)]
pub struct Published(BTreeSet<(On, &'static str, String)>);

impl Published {
    /// Those of the events of one pass that were not in the pass before.
    pub fn new_ones(&mut self, events: Vec<Event>) -> Vec<Event> {
        let id = |event: &Event| (event.on.clone(), event.reason, event.key.clone());
        let before = std::mem::replace(&mut self.0, events.iter().map(id).collect());
        let is_new = |event: &Event| !before.contains(&id(event));
        events.into_iter().filter(is_new).collect()
    }
}

/// That a check is malformed, whoever evaluates it.
pub fn malformed(malformed: &Malformed) -> Event {
    let wrong = malformed.to_string();
    Event::because(On::Check, Reason::HealthCheckMalformed, wrong.clone(), wrong)
}

/// Why no request can be made from the template of this name that a check names.
pub fn unusable_template(name: &str, wrong: &str) -> Event {
    let detail = format!("no request can be made from PowerCycleRemediationTemplate {name}: {wrong}");
    Event::because(On::Check, Reason::TemplateUnusable, detail, wrong)
}

/// That nobody knows whether the Cluster of a check is paused, or how far it is.
pub(super) fn cluster_unknown(detail: &str) -> Event {
    Event::because(On::Check, Reason::ClusterUnreadable, detail, detail)
}

/// Why a Machine that is to be remediated gets no trigger.
pub(super) fn refused(machine: &str, obstacle: &Obstacle) -> Event {
    let on = On::Machine(machine.to_owned());
    Event::warning(on, obstacle.reason.as_str(), "", obstacle.for_people())
}

/// On the Machines of a check that are not healthy and are not remediated.
pub(super) fn of_machines(assessment: &Assessment) -> Vec<Event> {
    let of_each = assessment.machines.iter().filter_map(of_machine);
    of_each.chain(unreachable(assessment)).collect()
}

fn of_machine(
    AssessedMachine {
        name,
        verdict,
        exempt,
    }: &AssessedMachine,
) -> Option<Event> {
    match verdict {
        Verdict::Waiting { why, until } => detected(name, *why, *until),
        Verdict::Unhealthy { message, .. } => match exempt {
            Some(Exempt::PhaseFailed) => {
                let on = On::Machine(name.clone());
                Some(Event::because(on, Reason::MachineFailed, message.clone(), ""))
            }
            // Gets the trigger, or has it, or the deletion decides.
            None | Some(Exempt::Deleting | Exempt::UnderRemediation | Exempt::Triggered) => None,
        },
        Verdict::Unknown(unknown) => unreadable(name, unknown),
        Verdict::Healthy | Verdict::Skipped(_) => None,
    }
}

fn detected(name: &str, why: Wait, until: Option<Timestamp>) -> Option<Event> {
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
    Some(Event {
        on: On::Machine(name.to_owned()),
        kind: EventType::Normal,
        reason: DETECTED_UNHEALTHY,
        key,
        note,
    })
}

/// What of a Machine cannot be read; what concerns all Machines of a Cluster is said on the check.
fn unreadable(name: &str, unknown: &Unknown) -> Option<Event> {
    let (reason, what) = match unknown {
        Unknown::Machine(_) => (Reason::MachineUnreadable, "Machine"),
        Unknown::Node(_) => (Reason::NodeUnreadable, "the Node of Machine"),
        Unknown::NodeUnreachable(_) | Unknown::Cluster(_) => return None,
    };
    let detail = unknown.detail();
    let what =
        format!("{what} {name} cannot be read, so it counts as unhealthy and is not remediated: {detail}");
    let on = On::Machine(name.to_owned());
    Some(Event::because(on, reason, what, detail))
}

/// That the cluster of the Nodes cannot be asked: once for as long as that lasts, whatever the errors are.
fn unreachable(assessment: &Assessment) -> Option<Event> {
    let mut details = assessment.machines.iter().filter_map(|one| {
        let Verdict::Unknown(Unknown::NodeUnreachable(detail)) = &one.verdict else {
            return None;
        };
        Some(detail)
    });
    let first = details.next()?;
    let number = details.count().saturating_add(1);
    let detail = format!(
        "{first}; the {number} Machines with a Node there count as unhealthy, and none is remediated \
         meanwhile"
    );
    let reason = Reason::WorkloadClusterUnreachable;
    Some(Event::because(On::Check, reason, detail, ""))
}

/// That the limit forbids, and once for as long as it does. Cluster API says so only while a Machine needs to
/// be remediated; a range may forbid because too few are unhealthy. Sources: `Reconcile` of machine-api-operator,
/// `reconcile` of cluster-api `core/reconcilers/machinehealthcheck/machinehealthcheck_controller.go`.
pub(super) fn restricted(dialect: Dialect, assessment: &Assessment) -> Option<Event> {
    let is_any_unhealthy = || assessment.machines.iter().any(|one| one.verdict.is_unhealthy());
    let restricts = assessment.is_short_circuited() && (!dialect.is_cluster_api() || is_any_unhealthy());
    let (key, note) = (TOO_MANY_UNHEALTHY, assessment.allowance.message.clone());
    restricts.then(|| Event::warning(On::Check, REMEDIATION_RESTRICTED, key, note))
}

/// Which Machines a check would have remediated if another check let it.
pub(super) fn forbidden(evaluation: &Evaluation<'_>, check: &str) -> Vec<Event> {
    let of_check = evaluation.forbidden.iter();
    of_check
        .filter(|one| one.wanted.checks.iter().any(|wanting| wanting == check))
        .map(|one| {
            let note = format!(
                "Machine {} is not remediated, because MachineHealthCheck {}, which selects it too, does not \
                 let it be: {}",
                one.wanted.machine, one.check, one.why
            );
            let key = format!("{}/{}", one.check, one.wanted.machine);
            Event::warning(On::Check, REMEDIATION_RESTRICTED, key, note)
        })
        .collect()
}
