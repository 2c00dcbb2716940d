//! One remediation from request to end: reconciles, writes the journal, carries out the one act.

pub(crate) mod acting;
pub(crate) mod admission;
pub(crate) mod escalating;
pub(crate) mod externally_remediated;
pub(crate) mod facts;
pub(crate) mod journal;
pub(crate) mod leftover_taints;
pub(crate) mod memory;
pub(crate) mod node_lease;
pub(crate) mod observing;
pub(crate) mod powering;
pub(crate) mod reconcile;
pub(crate) mod sessions;
pub(crate) mod writing;

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use remediator_core::facts::Leadership;

use crate::bmc_access::BmcAccess;
use crate::remediation::admission::Admitted;
use crate::remediation::memory::Memories;
use crate::report::Reporter;
use crate::snapshot::Sources;

/// How long after each look at the lead an effect may still begin.
const ACT_WITHIN: SignedDuration = SignedDuration::from_secs(15);

/// What drives the remediations.
pub(crate) struct Remediator {
    pub(crate) sources: Arc<Sources>,
    pub(crate) bmc: Arc<BmcAccess>,
    pub(crate) reporter: Reporter,
    pub(crate) memories: Memories,
    pub(crate) admitted: Admitted,
}

impl Remediator {
    pub(crate) fn new(sources: Arc<Sources>, bmc: Arc<BmcAccess>, reporter: Reporter) -> Self {
        Self {
            sources,
            bmc,
            reporter,
            memories: Memories::default(),
            admitted: Admitted::default(),
        }
    }
}

/// This process's right to act. There is one replica and no election yet: every process leads, in the first term.
pub(crate) fn leadership(now: Timestamp) -> Leadership {
    Leadership {
        epoch: 1,
        act_until: now.saturating_add(ACT_WITHIN).ok(),
    }
}
