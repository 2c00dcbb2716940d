//! How long the machine takes.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Delay;

/// Delays of one machine. They apply to commands accepted from now on, not to pending ones.
///
/// In JSON: `{"off":"2s","on":"1s","boot":"5s","gracefulShutdown":"never"}`, every field optional,
/// and each may be a distribution: see [`Delay`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Delays {
    /// From an accepted forced power-off to off.
    pub off: Delay,
    /// From an accepted power-on to on.
    pub on: Delay,
    /// From on (or reset) to the operating system being up.
    pub boot: Delay,
    /// From an accepted graceful shutdown or restart to it happening; `None` ("never") = hung system.
    #[serde(with = "super::delay::or_never")]
    pub graceful_shutdown: Option<Delay>,
}

impl Delays {
    /// 2 s to off, 1 s to on, 5 s to boot, graceful shutdown never: those of the program's hosts, and of the
    /// hosts of a fleet file, where nobody says otherwise.
    pub const USUAL: Self = Self {
        off: Delay::Fixed(Duration::from_secs(2)),
        on: Delay::Fixed(Duration::from_secs(1)),
        boot: Delay::Fixed(Duration::from_secs(5)),
        graceful_shutdown: None,
    };
}

impl Default for Delays {
    /// Everything at once, graceful shutdown never: the quickest machine with a hung system. Hosts that are
    /// described in Rust begin with these.
    fn default() -> Self {
        Self {
            off: Delay::ZERO,
            on: Delay::ZERO,
            boot: Delay::ZERO,
            graceful_shutdown: None,
        }
    }
}
