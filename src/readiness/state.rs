//! What the checks of BMCs share.

use std::sync::Arc;

use jiff::SignedDuration;
use remediator_api::remediation_policy::{BmcRules, POLICY_NAME};
use remediator_core::facts::Obstacle;
use remediator_core::phase::Reason;

use crate::bmc_access::BmcAccess;
use crate::mhc::Checker;
use crate::readiness::findings::Findings;
use crate::report::Reporter;
use crate::report::condition_writer::ConditionWriter;
use crate::snapshot::Sources;
use crate::watch::caches;

/// What judges beforehand whether remediations would work.
pub(crate) struct Readiness {
    pub(crate) sources: Arc<Sources>,
    pub(crate) bmc: Arc<BmcAccess>,
    pub(crate) reporter: Reporter,
    pub(crate) conditions: ConditionWriter,
    pub(crate) findings: Findings,
    /// Who evaluates the health checks.
    pub(crate) checker: Arc<Checker>,
}

/// The rules for checks: the interval and what else the policy says about BMCs.
pub(crate) fn rules(context: &Readiness) -> Result<(SignedDuration, BmcRules), Obstacle> {
    let policy = caches::find(&context.sources.caches.policies, None, POLICY_NAME);
    match policy.as_deref().map(|guarded| &guarded.0) {
        Some(Ok(policy)) => match policy.spec.bmc.readiness.interval.every() {
            Some(interval) => Ok((interval, policy.spec.bmc.clone())),
            None => Err(Obstacle::new(
                Reason::ReadinessChecksOff,
                "the RemediationPolicy switches checks of BMCs off",
            )),
        },
        Some(Err(invalid)) => Err(Obstacle::new(Reason::PolicyUnreadable, invalid.error.clone())),
        None => Err(Obstacle::new(
            Reason::PolicyMissing,
            "there is no RemediationPolicy",
        )),
    }
}
