//! What the checks of BMCs share.

use std::sync::Arc;

use crate::bmc_access::BmcAccess;
use crate::mhc::Checker;
use crate::readiness::findings::Findings;
use crate::report::Reporter;
use crate::report::condition_writer::ConditionWriter;
use crate::snapshot::Sources;

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
