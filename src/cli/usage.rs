//! What is wrong in how the program was asked.

/// An option or a setting is wrong, and nothing was begun.
#[derive(Debug, thiserror::Error)]
#[error("{0:#}")]
pub(super) struct WrongUsage(pub(super) anyhow::Error);
