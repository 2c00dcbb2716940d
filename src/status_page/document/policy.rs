//! What the administrator's limits leave, and what holds everything up.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use remediator_api::RemediationPolicy;
use remediator_api::remediation_policy::{POLICY_NAME, UsedLimits};
use remediator_core::brakes::Figure;
use remediator_core::phase::Reason;
use serde::Serialize;

use crate::report::conditions::{ACCEPTED, HEALTH_CHECKS_SERVED, REMEDIATION_ALLOWED, ROLE_COMPLETE};
use crate::status_page::document::texts::{Why, short};
use crate::watch::caches::{self, Caches};

/// The policy, as its status says.
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Policy {
    /// Whether a remediation may begin; none while that is not known.
    pub(crate) allowed: Option<bool>,
    /// Why not, or what is used.
    #[serde(flatten)]
    pub(crate) why: Why,
    /// Since when.
    pub(crate) since: Option<Timestamp>,
    pub(crate) limits: Vec<Limit>,
    /// Hosts under remediation in each failure domain that has any.
    pub(crate) failure_domains: String,
    /// What else is wrong.
    pub(crate) problems: Vec<Why>,
}

/// A limit, and what is used of it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Limit {
    /// Its field in `spec.limits`.
    pub(crate) field: &'static str,
    pub(crate) used: usize,
    pub(crate) allowed: usize,
}

/// None where the policies are not listed yet.
pub(super) fn of(caches: &Caches) -> Option<Policy> {
    if !caches.policies.is_listed() {
        return None;
    }
    let policy = caches::find(&caches.policies, None, POLICY_NAME);
    let held_up = |reason: Reason, message: &str| Policy {
        allowed: Some(false),
        why: Why::of(reason.as_str(), message),
        ..Policy::default()
    };
    Some(match policy.as_deref().map(|guarded| &guarded.0) {
        Some(Ok(policy)) => told(policy),
        Some(Err(invalid)) => held_up(Reason::PolicyUnreadable, &invalid.error),
        None => held_up(Reason::PolicyMissing, "There is no RemediationPolicy."),
    })
}

fn told(policy: &RemediationPolicy) -> Policy {
    let Some(status) = &policy.status else {
        return Policy::default();
    };
    let allowed = condition(&status.conditions, REMEDIATION_ALLOWED);
    let used = status.used.as_ref();
    let problems = [ACCEPTED, ROLE_COMPLETE, HEALTH_CHECKS_SERVED].into_iter();
    let problems = problems
        .filter_map(|kind| condition(&status.conditions, kind))
        .filter(|condition| condition.status == "False")
        .map(why);
    Policy {
        allowed: allowed.and_then(|condition| match condition.status.as_str() {
            "True" => Some(true),
            "False" => Some(false),
            _ => None,
        }),
        why: allowed.map(why).unwrap_or_default(),
        since: allowed.map(|condition| condition.last_transition_time.0),
        limits: used.map(limits).unwrap_or_default(),
        failure_domains: used.map(|used| short(&used.failure_domains)).unwrap_or_default(),
        problems: problems.collect(),
    }
}

fn condition<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == kind)
}

fn why(condition: &Condition) -> Why {
    Why::of(&condition.reason, &condition.message)
}

fn limits(used: &UsedLimits) -> Vec<Limit> {
    let figures = [
        ("maxConcurrent", &used.concurrent),
        ("maxPerWindow", &used.window),
        ("maxUnhealthy", &used.unhealthy_hosts),
        ("maxFailed", &used.failed),
    ];
    let read = |(field, figure): (&'static str, &String)| {
        let Figure { used, allowed } = figure.parse().ok()?;
        Some(Limit { field, used, allowed })
    };
    figures.into_iter().filter_map(read).collect()
}
