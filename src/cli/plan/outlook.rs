//! What is to be said of each Machine.

use jiff::Timestamp;
use kube::ResourceExt as _;
use serde::Serialize;

use super::health::{checks, targets, under_way};
use super::prospect::{self, Prospect};
use super::steps::steps;
use super::world::{OfApi, World, within_namespace};
use crate::api::guarded::Guarded;
use crate::api::views::{Machine, MachineHealthCheck};
use crate::core::facts::Origin;
use crate::core::health::assess::{Assessment, Exempt, Judged, Stopped};
use crate::core::health::dialect::Dialect;
use crate::core::health::overlap::{Assessed, Evaluation, evaluate};
use crate::core::health::verdict::{Unknown, Verdict};

/// What is to be said of one Machine.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outlook {
    pub(super) namespace: String,
    pub(super) machine: String,
    /// API group of the Machine.
    pub(super) api: &'static str,
    /// The workload cluster that its Node is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cluster: Option<String>,
    pub(super) node: Option<String>,
    /// `NeverJoined` or `Deleted`, where the Machine has no Node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) no_node: Option<&'static str>,
    /// Carries the trigger annotation.
    pub(super) triggered: bool,
    /// What each MachineHealthCheck says that selects it.
    pub(super) checks: Vec<Said>,
    pub(super) remediation: Remediation,
    pub(super) host: Option<String>,
    pub(super) bmc: Option<String>,
    /// What a remediation that begins would do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) steps: Vec<String>,
}

/// What one MachineHealthCheck says of a Machine.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Said {
    pub(super) check: String,
    /// `Healthy`, `Waiting`, `Unhealthy`, `Unknown` or `Skipped`.
    pub(super) verdict: &'static str,
    pub(super) why: Option<String>,
    /// When the verdict will be another one if nothing changes.
    pub(super) until: Option<Timestamp>,
    /// What its limit says.
    pub(super) limit: String,
}

/// Whether a remediation would begin.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Remediation {
    /// `NotNeeded`, `Later`, `Begins`, `UnderWay`, or the reason that stands in the way.
    pub(super) outcome: String,
    pub(super) why: String,
}

impl Remediation {
    fn new(outcome: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            outcome: outcome.into(),
            why: why.into(),
        }
    }
}

/// All Machines of a namespace, by name.
///
/// # Errors
/// When the API server does not answer.
pub(super) async fn of_namespace(world: &World, namespace: &str) -> anyhow::Result<Vec<Outlook>> {
    let mut outlooks = Vec::new();
    for of_api in &world.apis {
        let checks = checks(world, of_api, namespace);
        let targets = targets(world, of_api, namespace);
        let evaluation = evaluate(&checks, &targets, world.read_at);
        for guarded in within_namespace(&of_api.machines, namespace) {
            outlooks.push(of_machine(world, (of_api, &evaluation), guarded).await?);
        }
    }
    outlooks.sort_by(|one, other| (&one.machine, one.api).cmp(&(&other.machine, other.api)));
    Ok(outlooks)
}

async fn of_machine(
    world: &World,
    (of_api, evaluation): (&OfApi, &Evaluation<'_>),
    guarded: &Guarded<Machine>,
) -> anyhow::Result<Outlook> {
    let name = guarded.name_any();
    let mut outlook = Outlook {
        api: of_api.api.group(),
        namespace: guarded.namespace().unwrap_or_default(),
        cluster: None,
        node: None,
        no_node: None,
        triggered: false,
        checks: evaluation
            .checks
            .iter()
            .filter_map(|one| said(one, &name))
            .collect(),
        remediation: Remediation::new("NotNeeded", "no MachineHealthCheck wants it"),
        host: None,
        bmc: None,
        steps: Vec::new(),
        machine: name,
    };
    let machine = match &guarded.0 {
        Ok(machine) => machine,
        Err(invalid) => {
            outlook.remediation = Remediation::new("MachineUnreadable", &invalid.error);
            return Ok(outlook);
        }
    };
    outlook.cluster = machine.cluster().map(ToOwned::to_owned);
    outlook.node = machine.node_name().map(ToOwned::to_owned);
    outlook.no_node = no_node(world, machine);
    outlook.triggered = machine.is_triggered();
    let host = prospect::host(world, machine).await?;
    if let Ok(host) = &host {
        outlook.host = Some(host.host.reference.clone());
        outlook.bmc = Some(host.host.bmc.clone());
    }
    outlook.remediation = match wanted(world, evaluation, guarded, machine, &outlook.checks) {
        Err(remediation) => remediation,
        Ok((because, by)) => match prospect::ask(world, machine, &host, by) {
            Prospect::Held(reason, why) => Remediation::new(reason, why),
            Prospect::Ends(why) => Remediation::new("NotNeeded", why),
            Prospect::Begins => {
                if let Ok(host) = &host {
                    outlook.steps = steps(world, machine, host, by);
                }
                Remediation::new("Begins", because)
            }
        },
    };
    Ok(outlook)
}

/// Why a Machine has no Node, as far as that is known.
fn no_node(world: &World, machine: &Machine) -> Option<&'static str> {
    let nodes = world.nodes_of(machine).ok()?;
    match machine.node_name() {
        None => Some("NeverJoined"),
        Some(name) => (!nodes.by_name.contains_key(name)).then_some("Deleted"),
    }
}

/// Why a remediation is wanted, or what there is instead.
fn wanted(
    world: &World,
    evaluation: &Evaluation<'_>,
    guarded: &Guarded<Machine>,
    machine: &Machine,
    said: &[Said],
) -> Result<(String, Origin), Remediation> {
    let name = machine.name_any();
    if let Some((remediation, phase, reason)) = under_way(world, guarded) {
        let why = format!("PowerCycleRemediation {remediation} is in phase {phase} ({reason})");
        return Err(Remediation::new("UnderWay", why));
    }
    if machine.is_triggered() {
        return Ok(("the trigger is there".to_owned(), Origin::Annotation));
    }
    if let Some(wanted) = evaluation.remediate.iter().find(|one| one.machine == name) {
        let checks = wanted.checks.join(", ");
        return Ok(if by_template(world, machine, &wanted.checks) {
            let why = format!("as soon as MachineHealthCheck {checks} has made its request");
            (why, Origin::Request)
        } else {
            let why = format!("as soon as the trigger is set for MachineHealthCheck {checks}");
            (why, Origin::Annotation)
        });
    }
    if let Some(forbidden) = evaluation.forbidden.iter().find(|one| one.machine == name) {
        let why = format!("MachineHealthCheck {}: {}", forbidden.check, forbidden.why);
        return Err(Remediation::new("Forbidden", why));
    }
    if let Some(remediation) = evaluation.checks.iter().find_map(|one| held_back(one, &name)) {
        return Err(remediation);
    }
    let later = said
        .iter()
        .filter(|one| one.until.is_some())
        .min_by_key(|one| one.until);
    Err(match (later, said.first()) {
        (Some(later), _) => Remediation::new(
            "Later",
            format!("by MachineHealthCheck {}, if nothing changes", later.check),
        ),
        (None, Some(_)) => Remediation::new("NotNeeded", "no MachineHealthCheck wants it"),
        (None, None) => Remediation::new(
            "NotNeeded",
            "no MachineHealthCheck that asks for power cycles selects it",
        ),
    })
}

/// Whether all of these checks ask by a template.
fn by_template(world: &World, machine: &Machine, names: &[String]) -> bool {
    let namespace = machine.namespace().unwrap_or_default();
    let checks = world.health_checks(machine.api());
    let mut wanting = within_namespace(checks, &namespace).filter(|check| names.contains(&check.name_any()));
    wanting.all(|check| check.0.as_ref().is_ok_and(MachineHealthCheck::asks_by_template))
}

/// Why a check that calls a Machine unhealthy does not want it remediated.
fn held_back(assessed: &Assessed<'_>, machine: &str) -> Option<Remediation> {
    let (_, assessment) = assessed.assessment.as_ref().ok()?;
    let mut machines = assessment.machines.iter();
    let judged = machines.find(|one| one.name == machine && one.verdict.is_unhealthy())?;
    let check = &assessed.check.name;
    if assessment.stopped.is_some() {
        let why = format!("MachineHealthCheck {check}: {}", limit(assessment));
        return Some(Remediation::new("Forbidden", why));
    }
    let why = match judged.exempt? {
        Exempt::Deleting => "it is being deleted",
        Exempt::PhaseFailed => "it is in phase Failed, to which the answer is its deletion",
        Exempt::UnderRemediation => "a remediation is under way",
        Exempt::Triggered => "the trigger is there already",
    };
    Some(Remediation::new("NotNeeded", why))
}

/// What the limit of a check says, or what else stops it.
fn limit(assessment: &Assessment) -> String {
    match &assessment.stopped {
        Some(Stopped::CheckPaused) => "it is paused".to_owned(),
        Some(Stopped::ClusterPaused) => "its Cluster is paused".to_owned(),
        Some(Stopped::ClusterUnreadable(detail)) => detail.clone(),
        Some(Stopped::TooManyUnhealthy) | None => assessment.allowance.message.clone(),
    }
}

/// What a check says of a Machine; nothing where it does not select it.
fn said(assessed: &Assessed<'_>, machine: &str) -> Option<Said> {
    let name = assessed.check.name.clone();
    let assessment = match &assessed.assessment {
        Ok((_, assessment)) => assessment,
        // It selects nothing, and a person ought to know.
        Err(malformed) => {
            return Some(Said {
                check: name,
                verdict: "Unknown",
                why: Some(malformed.to_string()),
                until: None,
                limit: String::new(),
            });
        }
    };
    let judged = assessment.machines.iter().find(|one| one.name == machine)?;
    let (verdict, why) = shown(judged, dialect(assessed));
    Some(Said {
        check: name,
        verdict,
        why,
        until: judged.verdict.until(),
        limit: limit(assessment),
    })
}

/// By whose rules a check is evaluated.
fn dialect(assessed: &Assessed<'_>) -> Dialect {
    let rules = assessed.check.rules.as_ref();
    rules.map_or(Dialect::OpenShift, |rules| rules.dialect)
}

fn shown(judged: &Judged, dialect: Dialect) -> (&'static str, Option<String>) {
    match &judged.verdict {
        Verdict::Healthy => ("Healthy", None),
        Verdict::Skipped(why) => ("Skipped", Some(format!("{why:?}"))),
        Verdict::Waiting { why, .. } => ("Waiting", Some(format!("{why:?}"))),
        Verdict::Unhealthy { reason, message, .. } => {
            let name = reason.name(dialect);
            ("Unhealthy", Some(format!("{name}: {message}")))
        }
        Verdict::Unknown(
            Unknown::Machine(why)
            | Unknown::Node(why)
            | Unknown::NodeUnreachable(why)
            | Unknown::Cluster(why),
        ) => ("Unknown", Some(why.clone())),
    }
}
