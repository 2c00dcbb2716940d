//! What one NodeHealthCheck asks for, and what is wrong with it when it cannot be followed.

use jiff::SignedDuration;

use super::threshold::Threshold;
use crate::health::UnhealthyCondition;
use crate::health::limit::IntOrText;
use crate::health::problem::RuleError;
use crate::health::reading::{Part, condition};
use crate::health::rules::{Malformed, RawCondition, Scope};
use crate::health::selector::{RawSelector, Selector};

/// How long a Node may be not Ready when nothing is said. Source: the default of `unhealthyConditions` in
/// `api/v1alpha1/nodehealthcheck_types.go`.
const DEFAULT_DURATION: SignedDuration = SignedDuration::from_secs(300);

/// The spec of a NodeHealthCheck as it stands there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawNodeRules {
    /// Which Nodes.
    pub selector: RawSelector,
    /// Conditions of Nodes. `None`: the field is absent, and has its default.
    pub unhealthy_conditions: Option<Vec<RawCondition>>,
    /// How many have to be healthy.
    pub min_healthy: Option<IntOrText>,
    /// How many may be unhealthy.
    pub max_unhealthy: Option<IntOrText>,
    /// `pauseRequests` has any entry.
    pub paused: bool,
}

/// What one NodeHealthCheck asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRules {
    /// Which Nodes. An empty selector selects all: the webhook refuses it on new objects, old ones keep it.
    pub selector: Selector,
    /// Any of these makes a Node unhealthy; without any, none is.
    pub conditions: Vec<UnhealthyCondition>,
    /// When nothing new is remediated any more.
    pub threshold: Threshold,
    /// Nothing is done at all.
    pub paused: bool,
}

impl NodeRules {
    /// Reads what a NodeHealthCheck asks for.
    ///
    /// # Errors
    /// Everything that is wrong with it, when anything is. Such a check selects nothing; its operator reports an
    /// error on each pass.
    pub fn read(raw: &RawNodeRules) -> Result<Self, Malformed> {
        let (selector, problems) = Selector::read(&raw.selector);
        let is_understood = problems.is_empty() || !selector.is_empty();
        let note = |problem| RuleError::new("spec.selector".to_owned(), problem);
        let mut errors: Vec<RuleError> = problems.into_iter().map(note).collect();
        let conditions = match &raw.unhealthy_conditions {
            None => default_conditions(),
            Some(raw) => conditions(raw, &mut errors),
        };
        match Threshold::read(raw.min_healthy.as_ref(), raw.max_unhealthy.as_ref()) {
            Ok(threshold) if errors.is_empty() => {
                return Ok(Self {
                    selector,
                    conditions,
                    threshold,
                    paused: raw.paused,
                });
            }
            Ok(_) => {}
            Err(error) => errors.push(error),
        }
        let scope = if is_understood {
            Scope::Within(selector)
        } else {
            Scope::Unknown
        };
        Err(Malformed { errors, scope })
    }
}

fn conditions(raw: &[RawCondition], errors: &mut Vec<RuleError>) -> Vec<UnhealthyCondition> {
    let mut conditions = Vec::new();
    for (index, one) in raw.iter().enumerate() {
        match condition(one) {
            Ok(condition) => conditions.push(condition),
            Err((part, problem)) => {
                let field = match part {
                    Part::Whole => "",
                    Part::Kind => ".type",
                    Part::Status => ".status",
                    Part::Timeout => ".duration",
                };
                let path = format!("spec.unhealthyConditions[{index}]{field}");
                errors.push(RuleError::new(path, problem));
            }
        }
    }
    conditions
}

fn default_conditions() -> Vec<UnhealthyCondition> {
    ["False", "Unknown"]
        .map(|status| UnhealthyCondition {
            kind: "Ready".to_owned(),
            status: status.to_owned(),
            timeout: DEFAULT_DURATION,
        })
        .to_vec()
}
