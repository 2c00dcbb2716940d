//! What checks of BMCs have found out, for those who write it down and those who ask again.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use remediator_core::facts::Obstacle;
use remediator_core::phase::Reason;
use remediator_core::readiness::schedule::HostKey;

/// What was found out about one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The verdict.
    pub(crate) verdict: Result<String, Obstacle>,
    /// The generation of the endpoint that was checked.
    pub(crate) generation: Option<i64>,
    /// Which Node it was compared with.
    pub(super) node: Option<NodeSeen>,
}

/// Name and system UUID of a Node, as far as there is one.
pub(super) type NodeSeen = (String, Option<String>);

/// Everything that this process found out.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    by_host: Mutex<BTreeMap<HostKey, Finding>>,
}

impl Findings {
    /// What was found out about a host.
    pub(crate) fn of(&self, host: &HostKey) -> Option<Finding> {
        let by_host = self.by_host.lock().unwrap_or_else(PoisonError::into_inner);
        by_host.get(host).cloned()
    }

    /// Notes what was found out. Answers whether it is something else than before.
    pub(super) fn note(&self, host: &HostKey, finding: Finding) -> bool {
        let mut by_host = self.by_host.lock().unwrap_or_else(PoisonError::into_inner);
        if by_host.get(host) == Some(&finding) {
            return false;
        }
        by_host.insert(host.clone(), finding);
        true
    }

    /// Forgets a host.
    pub(super) fn forget(&self, host: &HostKey) {
        let mut by_host = self.by_host.lock().unwrap_or_else(PoisonError::into_inner);
        by_host.remove(host);
    }

    /// The hosts that another Node may make ready, and the Nodes that they were compared with.
    pub(super) fn waiting_for_a_node(&self) -> Vec<(HostKey, Option<NodeSeen>)> {
        let waits = |finding: &&Finding| {
            finding.verdict.as_ref().is_err_and(|obstacle| {
                matches!(
                    obstacle.reason,
                    Reason::NodeMissing | Reason::IdentityUnproven | Reason::IdentityMismatch
                )
            })
        };
        let by_host = self.by_host.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = by_host.iter().filter(|(_, finding)| waits(finding));
        waiting
            .map(|(host, finding)| (host.clone(), finding.node.clone()))
            .collect()
    }
}
