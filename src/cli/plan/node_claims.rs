//! What the NodeHealthChecks of the cluster say of its Nodes. Their operator evaluates them; what is said here is
//! what it will see.

use std::collections::BTreeMap;

use kube::ResourceExt as _;
use remediator_api::target_ref::{Producer, about, producer};
use remediator_api::views::node_health_check::TemplateReference;
use remediator_api::views::{Node, NodeHealthCheck};
use remediator_core::checker::evaluator::Evaluator;
use remediator_core::facts::Obstacle;
use remediator_core::health::dialect::Dialect;
use remediator_core::health::node_health_check::assess::{
    Circumstances, EXCLUDED, EXCLUDED_LABEL, Held, JudgedNode, NodeAssessment, NodeTarget, NodesStopped,
    assess_nodes,
};
use remediator_core::health::node_health_check::rivals::Rivals;
use remediator_core::health::verdict::Verdict;
use remediator_core::phase::Reason;

use crate::cli::plan::course::{Asks, Claim, Says};
use crate::cli::plan::evaluators::EvaluatedBy;
use crate::cli::plan::health::OfMachine;
use crate::cli::plan::node_checks::unreadable;
use crate::cli::plan::said::{Said, template, verdict};
use crate::cli::plan::world::World;

const KIND: &str = "NodeHealthCheck";

/// What the checks say of each Node of the daemon's own cluster, by its name.
pub(super) fn claims(world: &World) -> BTreeMap<String, OfMachine> {
    let mut claims: BTreeMap<String, OfMachine> = BTreeMap::new();
    for guarded in &world.node_checks.checks {
        let check = match &guarded.0 {
            Ok(check) => check,
            // Nobody knows whom it selects, and a person ought to know.
            Err(invalid) => {
                for node in world.own.by_name.keys() {
                    let of_node = of_unreadable(&guarded.name_any(), &invalid.error);
                    claims.entry(node.clone()).or_default().push(of_node);
                }
                continue;
            }
        };
        let targets = targets(world, check);
        let circumstances = Circumstances {
            rivals: world.node_checks.rivals,
            upgrading: world.node_checks.upgrading,
            storm: check.is_in_a_storm(),
        };
        let assessment = check
            .rules()
            .map(|rules| assess_nodes(&rules, circumstances, &targets, world.read_at));
        let Some(asks) = asks(world, check) else { continue };
        let (evaluator, evaluated_by) = evaluator(check, circumstances.rivals);
        let add = |claims: &mut BTreeMap<String, OfMachine>, node: &str, said, says| {
            let claim = Claim {
                check: format!("{KIND} {}", check.name_any()),
                asks: asks.clone(),
                evaluator: evaluator.clone(),
                says,
            };
            claims.entry(node.to_owned()).or_default().push((said, claim));
        };
        let blank = || said(check, &asks, &evaluated_by);
        match &assessment {
            // It selects nothing, and a person ought to know.
            Err(wrong) => {
                for target in &targets {
                    let why = Some(wrong.to_string());
                    add(&mut claims, &target.name, Said { why, ..blank() }, Says::Nothing);
                }
            }
            Ok(assessment) => {
                for judged in &assessment.nodes {
                    let said = shown(blank(), check, assessment, judged);
                    let says = says(check, &evaluator, assessment, judged);
                    add(&mut claims, &judged.name, said, says);
                }
            }
        }
    }
    claims
}

/// What is said of each Node on account of a check that cannot be read.
fn of_unreadable(name: &str, error: &str) -> (Said, Claim) {
    let check = format!("{KIND} {name}");
    let detail = unreadable(name, error);
    let evaluated_by = EvaluatedBy {
        who: "Unknown",
        why: detail.clone(),
    };
    let said = Said {
        kind: KIND,
        check: name.to_owned(),
        template: None,
        evaluated_by,
        verdict: "Unknown",
        why: Some(detail.clone()),
        until: None,
        limit: String::new(),
    };
    let claim = Claim {
        check,
        asks: Asks::Unknown,
        evaluator: Evaluator::Unknown(Obstacle::new(Reason::HealthCheckUnreadable, detail.clone())),
        says: Says::Unreadable(detail),
    };
    (said, claim)
}

fn targets(world: &World, check: &NodeHealthCheck) -> Vec<NodeTarget> {
    let by = Producer::NodeHealthCheck(check.name_any());
    let readable = world.remediations.iter().filter_map(|one| one.0.as_ref().ok());
    let requests = readable.filter(|one| producer(one).as_ref() == Some(&by));
    let requested: Vec<String> = requests.filter_map(|one| about(one).node).collect();
    let nodes = world.own.by_name.iter();
    nodes
        .map(|(name, node)| {
            let facts = node.0.as_ref().map(Node::facts);
            let config = |which: &str| {
                let key = format!("machineconfiguration.openshift.io/{which}Config");
                node.annotations().get(&key).cloned().unwrap_or_default()
            };
            NodeTarget {
                name: name.clone(),
                labels: node.labels().clone(),
                control_plane: facts.as_ref().is_ok_and(|facts| facts.control_plane),
                changes_config: !config("desired").is_empty() && config("desired") != config("current"),
                requested: requested.contains(name),
                conditions: facts
                    .map(|facts| facts.conditions)
                    .map_err(|invalid| invalid.error.clone()),
            }
        })
        .collect()
}

/// What a check asks for; nothing if it names no template.
fn asks(world: &World, check: &NodeHealthCheck) -> Option<Asks> {
    let templates = check.templates();
    let called = |template: &&TemplateReference| format!("{} {}", template.kind, template.name);
    let Some(at) = templates.iter().position(|template| template.is_ours()) else {
        return templates.first().map(called).map(Asks::Another);
    };
    let (before, rest) = templates.split_at(at);
    let ours = rest.first()?;
    let before: Vec<String> = before.iter().map(called).collect();
    Some(Asks::Request {
        template: format!("{}/{}", ours.namespace, ours.name),
        by: Producer::NodeHealthCheck(check.name_any()),
        strategy: world.templates.strategy(&ours.namespace, &ours.name),
        after: (!before.is_empty()).then(|| before.join(", ")),
    })
}

/// Whether its operator evaluates it, as its own status tells: there is a condition as soon as it has.
fn evaluator(check: &NodeHealthCheck, rivals: Rivals) -> (Evaluator, EvaluatedBy) {
    let nobody = |reason, detail: &str| {
        let why = detail.to_owned();
        let obstacle = Obstacle::new(reason, detail);
        (Evaluator::Nobody(obstacle), EvaluatedBy { who: "Nobody", why })
    };
    if check.is_disabled_by_machine_health_checks() || rivals == Rivals::Others {
        let detail = "its operator disables it because of MachineHealthChecks";
        nobody(Reason::DisabledByMachineHealthChecks, detail)
    } else if check.is_known_to_its_operator() {
        let why = "the NodeHealthCheck operator, by the status of the NodeHealthCheck".to_owned();
        let who = "NodeHealthCheckOperator";
        (Evaluator::NodeHealthCheckOperator, EvaluatedBy { who, why })
    } else {
        let detail = "the NodeHealthCheck operator has never looked at it: it has no condition Disabled";
        nobody(Reason::HealthChecksUnserved, detail)
    }
}

fn said(check: &NodeHealthCheck, asks: &Asks, evaluated_by: &EvaluatedBy) -> Said {
    Said {
        kind: KIND,
        check: check.name_any(),
        template: template(asks),
        evaluated_by: evaluated_by.clone(),
        verdict: "Unknown",
        why: None,
        until: None,
        limit: String::new(),
    }
}

fn shown(said: Said, check: &NodeHealthCheck, assessment: &NodeAssessment, judged: &JudgedNode) -> Said {
    let (verdict, why) = verdict(&judged.verdict, Dialect::OpenShift);
    Said {
        verdict,
        why,
        until: judged.verdict.until(),
        limit: stopped(check, assessment).unwrap_or_else(|| threshold(assessment)),
        ..said
    }
}

fn threshold(assessment: &NodeAssessment) -> String {
    match &assessment.allowance {
        Ok(allowance) => allowance.message.clone(),
        Err(error) => error.to_string(),
    }
}

/// What keeps a check from asking for anything new.
fn stopped(check: &NodeHealthCheck, assessment: &NodeAssessment) -> Option<String> {
    if let Some(reason) = check.disabled() {
        return Some(format!("its operator has disabled it: {reason}"));
    }
    Some(match assessment.stopped.as_ref()? {
        NodesStopped::Disabled => "MachineHealthChecks disable it".to_owned(),
        NodesStopped::Upgrading => "the cluster, or an unhealthy Node, is being upgraded".to_owned(),
        NodesStopped::Paused => format!("it is paused: {}", check.spec.pause_requests.join(", ")),
        NodesStopped::ThresholdUnusable(error) => error.to_string(),
        NodesStopped::TooFewHealthy => threshold(assessment),
        NodesStopped::Storm => {
            "too few Nodes were healthy a short time ago, and its stormCooldownDuration is not over"
                .to_owned()
        }
    })
}

fn says(
    check: &NodeHealthCheck,
    evaluator: &Evaluator,
    assessment: &NodeAssessment,
    judged: &JudgedNode,
) -> Says {
    match &judged.verdict {
        Verdict::Healthy | Verdict::Skipped(_) | Verdict::Unknown(_) => Says::Nothing,
        Verdict::Waiting { until, .. } => until.map_or(Says::Nothing, Says::Later),
        // That nobody evaluates it is told instead of what stops it.
        Verdict::Unhealthy { .. } if *evaluator != Evaluator::NodeHealthCheckOperator => Says::Wanted,
        Verdict::Unhealthy { .. } => match (stopped(check, assessment), &judged.held) {
            (Some(why), _) => Says::Forbidden(why),
            (None, Some(held)) => self::held(held),
            (None, None) => Says::Wanted,
        },
    }
}

fn held(held: &Held) -> Says {
    Says::Unwanted(match held {
        Held::Requested => return Says::Requested,
        Held::Excluded => format!("the Node has the label {EXCLUDED_LABEL} with the value {EXCLUDED}"),
        Held::ControlPlane(other) => format!("{other} of the control plane comes first"),
    })
}
