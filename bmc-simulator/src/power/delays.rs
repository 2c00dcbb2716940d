//! How long the machine takes.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Delays of one machine. They apply to commands accepted from now on, not to pending ones.
///
/// In JSON: `{"off":"2s","on":"1s","boot":"5s","gracefulShutdown":"never"}`, every field optional.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Delays {
    /// From an accepted forced power-off to off.
    #[serde(with = "crate::human::text")]
    pub off: Duration,
    /// From an accepted power-on to on.
    #[serde(with = "crate::human::text")]
    pub on: Duration,
    /// From on (or reset) to the operating system being up.
    #[serde(with = "crate::human::text")]
    pub boot: Duration,
    /// From an accepted graceful shutdown or restart to it happening; `None` ("never") = hung system.
    #[serde(with = "crate::human::or_never")]
    pub graceful_shutdown: Option<Duration>,
}

impl Default for Delays {
    /// Everything at once, graceful shutdown never: the quickest machine with a hung system.
    fn default() -> Self {
        Self {
            off: Duration::ZERO,
            on: Duration::ZERO,
            boot: Duration::ZERO,
            graceful_shutdown: None,
        }
    }
}
