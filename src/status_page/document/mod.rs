//! What the page shows, as one document of bounded size, made from the caches.

mod bmcs;
mod policy;
mod remediations;
#[cfg(test)]
mod tests;
mod texts;

use serde::Serialize;

pub(super) use self::bmcs::Bmcs;
pub(super) use self::policy::Policy;
pub(super) use self::remediations::Remediations;
use crate::readiness::Findings;
use crate::report::Standing;
use crate::watch::caches::Caches;

/// What is known, by this replica.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document {
    /// Name of the replica.
    pub(super) instance: String,
    pub(super) version: &'static str,
    pub(super) stands: Standing,
    /// Holder of the Lease, where that is another replica.
    pub(super) leader: Option<String>,
    #[serde(flatten)]
    pub(super) known: Known,
}

/// What only the replica that leads knows; empty for others.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Known {
    #[serde(flatten)]
    pub(super) remediations: Remediations,
    pub(super) policy: Option<Policy>,
    pub(super) bmcs: Bmcs,
}

/// What the caches hold. It looks at all remediations and endpoints: not for each event.
pub(super) fn known(caches: &Caches, findings: &Findings) -> Known {
    Known {
        remediations: remediations::of(&caches.remediations.all()),
        policy: policy::of(caches),
        bmcs: bmcs::of(caches, findings),
    }
}
