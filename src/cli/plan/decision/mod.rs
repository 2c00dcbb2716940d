//! What becomes of a Machine on account of the health checks that select it.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use remediator_api::target_ref::Producer;
use remediator_core::checker::evaluator::Evaluator;
use remediator_core::facts::{Obstacle, Origin};
use remediator_core::phase::Reason;
use remediator_core::strategy::Strategy;

use crate::cli::plan::templates::Unusable;

/// What one health check has to do with a Machine.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CheckOpinion {
    /// Kind and name of the check.
    pub(super) check: String,
    pub(super) asks: Asks,
    pub(super) evaluator: Evaluator,
    pub(super) says: CheckVerdict,
}

/// What a check asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Asks {
    /// A power cycle, by the strategy annotation, which leads to the trigger.
    Trigger,
    /// A power cycle, by a request that is made from a template of ours.
    Request {
        /// `namespace/name` of the template.
        template: String,
        by: Producer,
        strategy: Result<Strategy, Unusable>,
    },
    /// What another remediator does: kind and name of its template.
    Another(String),
}

/// What a check says, by the rules of whoever evaluates it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CheckVerdict {
    /// Nothing is to be done, or nobody knows.
    Nothing,
    /// Not yet, but then, if nothing changes.
    Later(Timestamp),
    /// It is unhealthy and not remediated for another reason than a limit.
    Unwanted(String),
    /// It is unhealthy, and its limit or a pause forbids to remediate it.
    Forbidden(String),
    /// It is unhealthy, and no request is made, because one that has ended stands in the way: which.
    Ended(String),
    /// It is unhealthy and to be remediated.
    Wanted,
}

/// What becomes of a Machine.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PlanDecision {
    /// A remediation is asked for, or would be.
    Asked(Box<PlannedRequest>),
    /// None is.
    Not {
        /// `NotNeeded`, `Later`, `Forbidden`, `AnotherRemediator`, or the reason that stands in the way.
        outcome: String,
        why: String,
    },
}

/// A remediation that is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlannedRequest {
    pub(super) because: String,
    pub(super) origin: Origin,
    /// Who makes the request, if it is one.
    pub(super) by: Option<Producer>,
    /// `namespace/name` of the template that the request is made from.
    pub(super) template: Option<String>,
    pub(super) strategy: Strategy,
}

/// CheckVerdict what becomes of a Machine that these checks select. `triggered`: the Machine has the trigger.
///
/// A request needs nobody to vouch for it, so it comes before a trigger.
pub(super) fn decide(triggered: bool, claims: &[CheckOpinion]) -> PlanDecision {
    if triggered {
        return trigger("the trigger is there".to_owned());
    }
    let mut courses: Vec<(Rank, PlanDecision)> = claims.iter().map(of_claim).collect();
    // Stable: of several of one rank the first by name is told.
    courses.sort_by_key(|(rank, _)| *rank);
    match courses.into_iter().next() {
        Some((Rank::Trigger, _)) => {
            let wanting = claims.iter().filter(|claim| of_claim(claim).0 == Rank::Trigger);
            let wanting: Vec<&str> = wanting.map(|claim| claim.check.as_str()).collect();
            trigger(format!(
                "as soon as the trigger is set for {}",
                wanting.join(", ")
            ))
        }
        Some((_, course)) => course,
        None => not(
            "NotNeeded",
            "no health check that asks for power cycles selects it",
        ),
    }
}

/// What is told first of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Request,
    Trigger,
    Obstructed,
    Another,
    Forbidden,
    Unwanted,
    Later(Timestamp),
    ObstructedLater,
    Nothing,
}

/// What a check alone leads to.
fn of_claim(claim: &CheckOpinion) -> (Rank, PlanDecision) {
    let check = &claim.check;
    match &claim.says {
        CheckVerdict::Nothing => (Rank::Nothing, not("NotNeeded", "no health check wants it")),
        CheckVerdict::Unwanted(why) => (Rank::Unwanted, not("NotNeeded", why.clone())),
        CheckVerdict::Forbidden(why) => (Rank::Forbidden, not("Forbidden", format!("{check}: {why}"))),
        CheckVerdict::Ended(ended) => {
            let why = format!("{ended}, and {check} makes no other until that is deleted");
            let course = obstruction(claim).unwrap_or_else(|| not("RequestEnded", why));
            (Rank::Obstructed, course)
        }
        CheckVerdict::Wanted => wanted(claim),
        CheckVerdict::Later(at) => match obstruction(claim) {
            Some(course) => (Rank::ObstructedLater, course),
            None => {
                let why = format!("by {check}, if nothing changes");
                (Rank::Later(*at), not("Later", why))
            }
        },
    }
}

fn wanted(claim: &CheckOpinion) -> (Rank, PlanDecision) {
    let check = &claim.check;
    if let Some(course) = obstruction(claim) {
        return (Rank::Obstructed, course);
    }
    match &claim.asks {
        Asks::Trigger => (Rank::Trigger, trigger(String::new())),
        Asks::Request {
            template,
            by,
            strategy: Ok(strategy),
        } => {
            let asked = PlannedRequest {
                because: format!("as soon as {check} has made its request"),
                origin: Origin::Request,
                by: Some(by.clone()),
                template: Some(template.clone()),
                strategy: strategy.clone(),
            };
            (Rank::Request, PlanDecision::Asked(Box::new(asked)))
        }
        Asks::Request {
            strategy: Err(unusable),
            ..
        } => (Rank::Obstructed, unusable_template(check, unusable)),
        Asks::Another(template) => {
            let why = format!("{check} names {template}, so another remediator acts");
            (Rank::Another, not("AnotherRemediator", why))
        }
    }
}

/// What keeps a check from having anything done, whatever it says.
fn obstruction(claim: &CheckOpinion) -> Option<PlanDecision> {
    let check = &claim.check;
    let of = |obstacle: &Obstacle, what: &str| {
        let why = format!("{what}: {}", obstacle.for_people());
        Some(not(obstacle.reason.as_str(), why))
    };
    match &claim.evaluator {
        Evaluator::Nobody(why) => of(why, &format!("nobody evaluates {check}")),
        Evaluator::Unknown(why) => of(why, &format!("nobody knows who evaluates {check}")),
        Evaluator::Stranger => {
            let detail = "Cluster API's manager evaluates it, does not know the annotation by which it asks for \
                          power cycles, and would have the Machine replaced by its owner";
            of(&Obstacle::new(Reason::StrategyNotKnown, detail), check)
        }
        Evaluator::Platform | Evaluator::Ours(_) | Evaluator::Both | Evaluator::NodeHealthCheckOperator => {
            match &claim.asks {
                Asks::Request {
                    strategy: Err(unusable),
                    ..
                } => Some(unusable_template(check, unusable)),
                Asks::Trigger | Asks::Request { .. } | Asks::Another(_) => None,
            }
        }
    }
}

fn unusable_template(check: &str, unusable: &Unusable) -> PlanDecision {
    not(unusable.outcome, format!("{check}: {}", unusable.why))
}

/// A trigger asks for nothing special.
fn trigger(because: String) -> PlanDecision {
    PlanDecision::Asked(Box::new(PlannedRequest {
        because,
        origin: Origin::Annotation,
        by: None,
        template: None,
        strategy: Strategy::default(),
    }))
}

fn not(outcome: &str, why: impl Into<String>) -> PlanDecision {
    PlanDecision::Not {
        outcome: outcome.to_owned(),
        why: why.into(),
    }
}
