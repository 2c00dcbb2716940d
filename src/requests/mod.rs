//! Triggers become remediations, and old ones go.

pub(crate) mod annotation;
pub(crate) mod pruning;
pub(crate) mod quarantine;
