//! What the MachineHealthChecks of a namespace say of its Machines.

use std::collections::BTreeMap;

use kube::ResourceExt as _;
use remediator_api::guarded::Guarded;
use remediator_api::target_ref::{Producer, is_meant};
use remediator_api::views::cluster_api::ClusterKey;
use remediator_api::views::{Machine, MachineHealthCheck};
use remediator_api::{PowerCycleRemediation, target_ref};
use remediator_core::checker::evaluator::{self, Evaluator};
use remediator_core::facts::Lookup;
use remediator_core::health::assess::{AssessedMachine, Exempt};
use remediator_core::health::overlap::{Assessed, Check, Evaluation, evaluate};
use remediator_core::health::target::Target;
use remediator_core::health::verdict::{Unknown, Verdict};

use crate::cli::plan::check_report::{CheckReport, check_report, limit};
use crate::cli::plan::decision::{Asks, CheckOpinion, CheckVerdict};
use crate::cli::plan::evaluators::EvaluatedBy;
use crate::cli::plan::world::{ApiObjects, PlanSnapshot, within_namespace};
use crate::mhc::check_inputs;

/// A check that asks for a remediation.
struct Listed {
    check: Check,
    asks: Asks,
    evaluator: Evaluator,
    evaluated_by: EvaluatedBy,
}

/// What the checks say of a Machine, as it is shown and as it counts.
pub(super) type OfMachine = Vec<(CheckReport, CheckOpinion)>;

/// What the checks of a namespace say of each Machine, by its name.
pub(super) fn claims(
    world: &PlanSnapshot,
    of_api: &ApiObjects,
    namespace: &str,
) -> BTreeMap<String, OfMachine> {
    let checks = within_namespace(&of_api.health_checks, namespace);
    let listed: Vec<Listed> = checks.filter_map(|check| listed(world, of_api, check)).collect();
    let targets: Vec<Target> = within_namespace(&of_api.machines, namespace)
        .map(|machine| target(world, machine))
        .collect();
    // Ours regards the limits of all its checks, others those of each for itself.
    let (together, alone): (Vec<Listed>, Vec<Listed>) = listed.into_iter().partition(Listed::is_for_ours);
    let mut groups: Vec<Vec<Listed>> = alone.into_iter().map(|one| vec![one]).collect();
    groups.push(together);
    let mut claims: BTreeMap<String, OfMachine> = BTreeMap::new();
    for group in &groups {
        let checks: Vec<Check> = group.iter().map(|listed| listed.check.clone()).collect();
        let evaluation = evaluate(&checks, &targets, world.read_at);
        for target in &targets {
            let of_machine = group
                .iter()
                .filter_map(|listed| of_check(listed, &evaluation, &target.name));
            claims.entry(target.name.clone()).or_default().extend(of_machine);
        }
    }
    for of_machine in claims.values_mut() {
        of_machine.sort_by(|(one, _), (other, _)| one.check.cmp(&other.check));
    }
    claims
}

impl Listed {
    /// Whether our health checker evaluates it, or would.
    fn is_for_ours(&self) -> bool {
        match &self.evaluator {
            Evaluator::Ours(_) | Evaluator::Nobody(_) | Evaluator::Unknown(_) => self.asks == Asks::Trigger,
            Evaluator::Platform
            | Evaluator::Both
            | Evaluator::NodeHealthCheckOperator
            | Evaluator::Stranger => false,
        }
    }
}

/// A check that asks for a remediation by the strategy or a template; of one that cannot be read nobody knows.
fn listed(
    world: &PlanSnapshot,
    of_api: &ApiObjects,
    guarded: &Guarded<MachineHealthCheck>,
) -> Option<Listed> {
    let cluster = check_inputs::cluster_of(guarded);
    let cluster = cluster.map_or(Lookup::Absent, |key: ClusterKey| {
        world.cluster(&key).map(|cluster| cluster.state)
    });
    let asks_for_any = |check: &MachineHealthCheck| {
        check.asks_for_power_cycles() || check.spec.remediation_template.is_some()
    };
    let check = check_inputs::check(guarded, asks_for_any, cluster)?;
    let template = guarded.0.as_ref().ok().and_then(|check| {
        let template = check.spec.remediation_template.as_ref()?;
        Some((check.asks_by_template(), template))
    });
    let (asks, how) = match template {
        None => (Asks::Trigger, evaluator::Asks::ByAnnotation),
        Some((true, template)) => {
            let namespace = guarded.namespace().unwrap_or_default();
            let request = Asks::Request {
                template: format!("{namespace}/{}", template.name),
                by: Producer::Template(template.name.clone()),
                strategy: world.templates.strategy(&namespace, &template.name),
            };
            (request, evaluator::Asks::ByTemplate)
        }
        Some((false, template)) => (
            Asks::Another(format!("{} {}", template.kind, template.name)),
            evaluator::Asks::ByTemplate,
        ),
    };
    let (evaluator, evaluated_by) = world.evaluators.of_check(of_api.api, how);
    Some(Listed {
        check,
        asks,
        evaluator,
        evaluated_by,
    })
}

fn target(world: &PlanSnapshot, guarded: &Guarded<Machine>) -> Target {
    let node = |machine: &Machine, name: &str| match world.nodes_of(machine) {
        Ok(nodes) => check_inputs::node(name, nodes.by_name.get(name)),
        Err(obstacle) => Err(Unknown::NodeUnreachable(obstacle.detail)),
    };
    check_inputs::target(guarded, node, is_under_way(world, guarded))
}

/// What a check has to do with a Machine; nothing where it does not select it.
fn of_check(
    listed: &Listed,
    evaluation: &Evaluation<'_>,
    machine: &str,
) -> Option<(CheckReport, CheckOpinion)> {
    let name = &listed.check.name;
    let assessed = evaluation.checks.iter().find(|one| one.check.name == *name)?;
    let says = says(listed, evaluation, assessed, machine)?;
    let said = check_report(assessed, machine, &listed.evaluated_by, &listed.asks)?;
    let claim = CheckOpinion {
        check: format!("MachineHealthCheck {name}"),
        asks: listed.asks.clone(),
        evaluator: listed.evaluator.clone(),
        says,
    };
    Some((said, claim))
}

fn says(
    listed: &Listed,
    evaluation: &Evaluation<'_>,
    assessed: &Assessed<'_>,
    machine: &str,
) -> Option<CheckVerdict> {
    // A malformed one selects nothing, and is shown all the same.
    let Ok((_, assessment)) = &assessed.assessment else {
        return Some(CheckVerdict::Nothing);
    };
    let judged = assessment.machines.iter().find(|one| one.name == machine)?;
    Some(match &judged.verdict {
        Verdict::Healthy | Verdict::Skipped(_) | Verdict::Unknown(_) => CheckVerdict::Nothing,
        Verdict::Waiting { until, .. } => until.map_or(CheckVerdict::Nothing, CheckVerdict::Later),
        Verdict::Unhealthy { .. } if assessment.stopped.is_some() => {
            CheckVerdict::Forbidden(limit(assessment))
        }
        Verdict::Unhealthy { .. } => match exempt(listed, judged) {
            Some(why) => CheckVerdict::Unwanted(why.to_owned()),
            None => by_others(evaluation, machine).map_or(CheckVerdict::Wanted, CheckVerdict::Forbidden),
        },
    })
}

/// Why another check forbids what this one wants.
fn by_others(evaluation: &Evaluation<'_>, machine: &str) -> Option<String> {
    let forbidden = evaluation
        .forbidden
        .iter()
        .find(|one| one.wanted.machine == machine)?;
    Some(format!(
        "MachineHealthCheck {} does not let it be: {}",
        forbidden.check, forbidden.why
    ))
}

/// Why whoever evaluates a check leaves an unhealthy Machine alone.
///
/// A request is made whatever the Machine is otherwise. Sources: machine-api-operator
/// `pkg/controller/machinehealthcheck/machinehealthcheck_controller.go`, `remediate`; cluster-api
/// `core/reconcilers/machinehealthcheck/`, `patchUnhealthyTargets`; medik8s/node-healthcheck-operator
/// `internal/controller/machinehealthcheck_controller.go`.
fn exempt(listed: &Listed, judged: &AssessedMachine) -> Option<&'static str> {
    let is_by_trigger = match &listed.asks {
        Asks::Trigger => true,
        Asks::Request { .. } | Asks::Another(_) => false,
    };
    let by_operator = listed.evaluator == Evaluator::NodeHealthCheckOperator;
    match judged.exempt? {
        Exempt::Deleting if is_by_trigger || by_operator => Some("it is being deleted"),
        Exempt::PhaseFailed if is_by_trigger => {
            Some("it is in phase Failed, to which the answer is its deletion")
        }
        Exempt::UnderRemediation => Some("a remediation is under way"),
        Exempt::Triggered if is_by_trigger => Some("the trigger is there already"),
        Exempt::Deleting | Exempt::PhaseFailed | Exempt::Triggered => None,
    }
}

/// Whether a remediation of a Machine is at work.
fn is_under_way(world: &PlanSnapshot, machine: &Guarded<Machine>) -> bool {
    let node = machine.0.as_ref().ok().and_then(Machine::node_name);
    let (name, namespace) = (machine.name_any(), machine.namespace().unwrap_or_default());
    remediation_of(world, (&namespace, &name), node, target_ref::is_under_way).is_some()
}

/// The first remediation of a Machine, by namespace and name, or of its Node that is wanted.
pub(super) fn remediation_of<'a>(
    world: &'a PlanSnapshot,
    (namespace, machine): (&str, &str),
    node: Option<&str>,
    is_wanted: impl Fn(&PowerCycleRemediation) -> bool,
) -> Option<&'a PowerCycleRemediation> {
    let mut readable = world
        .remediations
        .iter()
        .filter_map(|guarded| guarded.0.as_ref().ok());
    readable.find(|remediation| {
        remediation.namespace().as_deref() == Some(namespace)
            && is_meant(remediation, Some(machine), node)
            && is_wanted(remediation)
    })
}
