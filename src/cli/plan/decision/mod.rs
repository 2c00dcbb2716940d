//! What becomes of a Machine on account of the health checks that select it.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use kube::ResourceExt as _;
use remediator_api::{PowerCycleRemediation, PowerCycleRemediationTemplate};
use remediator_core::checker::evaluator::Evaluator;
use remediator_core::facts::Obstacle;
use remediator_core::phase::Reason;
use serde::Serialize;

/// What one health check has to do with a Machine.
#[derive(Clone, Debug)]
pub(super) struct Opinion {
    /// Kind and name of the check.
    pub(super) check: String,
    pub(super) asks: Asks,
    pub(super) evaluator: Evaluator,
    pub(super) says: Says,
}

#[derive(Clone, Debug)]
pub(super) enum Asks {
    /// A power cycle, by the strategy annotation, which leads to the trigger.
    Trigger,
    /// A power cycle, by a request that is made from a template of ours; or why none can be.
    Request(Result<Box<PowerCycleRemediationTemplate>, Remediation>),
    /// What another remediator does: its template.
    Another(String),
}

/// What a check says, by the rules of whoever evaluates it.
#[derive(Clone, Debug)]
pub(super) enum Says {
    /// Nothing is to be done, or nobody knows.
    Nothing,
    /// Not yet, but then, if nothing changes.
    Later(Timestamp),
    /// It is unhealthy and not remediated, for this reason.
    Not(Remediation),
    /// It is unhealthy, and an ended request, described here, prevents another one.
    Ended(String),
    /// It is unhealthy and to be remediated.
    Wanted,
}

#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) because: String,
    /// What the request is made from; `None` for a trigger.
    pub(super) template: Option<Box<PowerCycleRemediationTemplate>>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Remediation {
    /// `NotNeeded`, `Later`, `Begins`, `UnderWay`, `RequestEnded`, or the reason that prevents it.
    pub(super) outcome: String,
    pub(super) why: String,
    /// `namespace/name` of the template that its request would be made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) template: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<String>,
}

impl Remediation {
    pub(super) fn new(outcome: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            outcome: outcome.into(),
            why: why.into(),
            ..Self::default()
        }
    }
}

impl From<Obstacle> for Remediation {
    fn from(obstacle: Obstacle) -> Self {
        Self::new(obstacle.reason.as_str(), obstacle.for_people())
    }
}

/// Decides what becomes of a Machine that these checks select: a request, which needs nobody to vouch for it, before
/// a trigger, and that before the reason why nothing is asked for.
pub(super) fn decide(opinions: &[Opinion]) -> Result<Asked, Remediation> {
    let decisions = opinions.iter().map(|one| (one.leads_to(), &one.says));
    // Of several of one rank the first by name is shown.
    let first = decisions.min_by_key(|(decision, says)| match (decision, says) {
        (Ok(asked), _) if asked.template.is_some() => (0, None),
        (Ok(_), _) => (1, None),
        (Err(_), Says::Wanted | Says::Ended(_)) => (2, None),
        (Err(_), Says::Not(_)) => (3, None),
        (Err(_), Says::Later(at)) => (4, Some(*at)),
        (Err(_), Says::Nothing) => (5, None),
    });
    let none = "no health check that asks for power cycles selects it";
    first.map_or_else(|| Err(Remediation::new("NotNeeded", none)), |(first, _)| first)
}

impl Opinion {
    fn leads_to(&self) -> Result<Asked, Remediation> {
        let check = &self.check;
        match &self.says {
            Says::Nothing => return Err(Remediation::new("NotNeeded", "no health check wants it")),
            Says::Not(why) => return Err(why.clone()),
            Says::Later(_) | Says::Ended(_) | Says::Wanted => self.unobstructed()?,
        }
        if let Says::Later(_) = self.says {
            return Err(Remediation::new(
                "Later",
                format!("by {check}, if nothing changes"),
            ));
        }
        if let Says::Ended(ended) = &self.says {
            let why = format!("{ended}, and {check} makes no other request until that is deleted");
            return Err(Remediation::new("RequestEnded", why));
        }
        match &self.asks {
            Asks::Trigger => Ok(Asked {
                because: format!("as soon as the trigger is set for {check}"),
                template: None,
            }),
            Asks::Request(template) => Ok(Asked {
                because: format!("as soon as {check} has made its request"),
                template: Some(template.clone()?),
            }),
            Asks::Another(template) => {
                let why = format!("{check} names {template}, so another remediator acts");
                Err(Remediation::new("AnotherRemediator", why))
            }
        }
    }

    /// # Errors
    /// What keeps the check from having anything done, whatever it says.
    fn unobstructed(&self) -> Result<(), Remediation> {
        let check = &self.check;
        let of = |why: &Obstacle, what: String| {
            let outcome = why.reason.as_str();
            Err(Remediation::new(outcome, format!("{what}: {}", why.for_people())))
        };
        match &self.evaluator {
            Evaluator::Nobody(why) => of(why, format!("nobody evaluates {check}")),
            Evaluator::Unknown(why) => of(why, format!("nobody knows who evaluates {check}")),
            Evaluator::Stranger => {
                let detail = "Cluster API's manager evaluates it, does not know the annotation by which it asks for \
                              power cycles, and would have the Machine replaced by its owner";
                of(&Obstacle::new(Reason::StrategyNotKnown, detail), check.clone())
            }
            Evaluator::Platform
            | Evaluator::Ours(_)
            | Evaluator::Both
            | Evaluator::NodeHealthCheckOperator => match &self.asks {
                Asks::Request(Err(unusable)) => {
                    let why = format!("{check}: {}", unusable.why);
                    Err(Remediation::new(unusable.outcome.clone(), why))
                }
                Asks::Request(Ok(_)) | Asks::Trigger | Asks::Another(_) => Ok(()),
            },
        }
    }
}

/// A remediation, and where it stands.
pub(super) fn standing(remediation: &PowerCycleRemediation) -> String {
    let (journal, phase) = (remediation.journal(), remediation.phase());
    let reason = journal.map(|journal| journal.reason.as_str()).unwrap_or_default();
    let name = remediation.name_any();
    format!(
        "PowerCycleRemediation {name} is in phase {} ({reason})",
        phase.as_str()
    )
}
