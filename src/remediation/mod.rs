//! One remediation from request to end: reconciles, writes the journal, carries out the one act.

pub(crate) mod acting;
pub(crate) mod claims;
pub(crate) mod escalating;
pub(crate) mod externally_remediated;
pub(crate) mod farewell;
pub(crate) mod journal;
pub(crate) mod memory;
pub(crate) mod node_lease;
pub(crate) mod observing;
pub(crate) mod powering;
pub(crate) mod predecessor;
pub(crate) mod reconcile;
pub(crate) mod writing;
