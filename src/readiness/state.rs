//! What the checks of BMCs share: what they need, and what they have found out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::SignedDuration;
use remediator_api::bmc_endpoint::FoundHost;
use remediator_api::remediation_policy::{BmcRules, POLICY_NAME};
use remediator_core::facts::{AllowedNamespaces, Obstacle};
use remediator_core::phase::Reason;
use remediator_core::readiness::schedule::{HostKey, HostKind};

use crate::bmc_access::BmcAccess;
use crate::mhc::Checker;
use crate::remediation::admission::Admitted;
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
    pub(crate) checker: Arc<Checker>,
    pub(crate) admitted: Arc<Admitted>,
}

/// What the policy says about BMCs, and about the namespaces of those that describe them.
pub(super) type Rules = (BmcRules, AllowedNamespaces);

/// The rules for checks: the interval and what else matters to them.
pub(crate) fn rules(context: &Readiness) -> Result<(SignedDuration, Rules), Obstacle> {
    let policy = caches::find(&context.sources.caches.policies, None, POLICY_NAME);
    match policy.as_deref().map(|guarded| &guarded.0) {
        Some(Ok(policy)) => match policy.spec.bmc.readiness.interval.every() {
            Some(interval) => {
                let (bmc, allowed) = (policy.spec.bmc.clone(), policy.spec.allowed.namespaces.clone());
                Ok((interval, (bmc, allowed)))
            }
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) verdict: Result<String, Obstacle>,
    pub(crate) generation: Option<i64>,
    /// Which Node it was compared with.
    pub(super) node: Option<NodeSeen>,
    /// The host that the BMC was found to be of.
    pub(super) found: Option<FoundHost>,
}

/// Name and system UUID of a Node, as far as there is one.
pub(super) type NodeSeen = (String, Option<String>);

#[derive(Debug, Default)]
pub(crate) struct Findings {
    by_host: Mutex<BTreeMap<HostKey, Finding>>,
}

impl Findings {
    pub(crate) fn of(&self, host: &HostKey) -> Option<Finding> {
        self.by_host().get(host).cloned()
    }

    /// How many hosts stand how, by reason.
    pub(crate) fn by_reason(&self) -> BTreeMap<&'static str, u64> {
        let mut counts = BTreeMap::new();
        for finding in self.by_host().values() {
            let verdict = finding.verdict.as_ref();
            let reason = verdict.map_or_else(|obstacle| obstacle.reason, |_| Reason::BmcReady);
            let count: &mut u64 = counts.entry(reason.as_str()).or_default();
            *count = count.saturating_add(1);
        }
        counts
    }

    /// What was found of hosts that a Machine leads to.
    pub(crate) fn of_machines(&self) -> Vec<(HostKey, Result<String, Obstacle>)> {
        let by_host = self.by_host();
        let machines = by_host.iter().filter(|(host, _)| host.kind == HostKind::Machine);
        machines
            .map(|(host, finding)| (host.clone(), finding.verdict.clone()))
            .collect()
    }

    /// Notes what was found out. Answers whether it is something else than before.
    pub(super) fn note(&self, host: &HostKey, finding: Finding) -> bool {
        let mut by_host = self.by_host();
        if by_host.get(host) == Some(&finding) {
            return false;
        }
        by_host.insert(host.clone(), finding);
        true
    }

    pub(super) fn forget(&self, host: &HostKey) {
        self.by_host().remove(host);
    }

    /// The hosts that another Node may make ready, and the Nodes that they were compared with.
    pub(super) fn waiting_for_a_node(&self) -> Vec<(HostKey, Option<NodeSeen>)> {
        let waits = |finding: &&Finding| {
            finding.verdict.as_ref().is_err_and(|obstacle| {
                matches!(
                    obstacle.reason,
                    Reason::NodeMissing
                        | Reason::MachineUnreadable
                        | Reason::IdentityUnproven
                        | Reason::IdentityMismatch
                )
            })
        };
        let by_host = self.by_host();
        let waiting = by_host.iter().filter(|(_, finding)| waits(finding));
        waiting
            .map(|(host, finding)| (host.clone(), finding.node.clone()))
            .collect()
    }

    fn by_host(&self) -> MutexGuard<'_, BTreeMap<HostKey, Finding>> {
        self.by_host.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
