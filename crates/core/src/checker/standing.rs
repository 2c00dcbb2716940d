//! Whether our health checker stands in for the platform's.

use super::platform::Platform;
use crate::facts::{Obstacle, Seen};
use crate::phase::Reason;

/// What the administrator wants, `spec.healthChecker` of the RemediationPolicy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Where the platform's controller does not run.
    Auto,
    /// Whatever else runs.
    Always,
    /// Nowhere.
    Never,
}

/// Whether our health checker stands in, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It evaluates the checks, and writes triggers and status; the text says why it does.
    In(String),
    /// The same, because the policy has it so, beside the platform's controller or where nobody knows whether that
    /// runs: status, conditions of Machines and numbers are left to that one. The text says so.
    Beside(String),
    /// It writes nothing.
    Aside(Obstacle),
}

impl Standing {
    /// Whether it evaluates the checks.
    pub fn is_in(&self) -> bool {
        match self {
            Self::In(_) | Self::Beside(_) => true,
            Self::Aside(_) => false,
        }
    }

    /// Whether it writes status, conditions of Machines and numbers, which only one may write.
    pub fn is_alone(&self) -> bool {
        match self {
            Self::In(_) => true,
            Self::Beside(_) | Self::Aside(_) => false,
        }
    }

    /// The named reason.
    pub fn reason(&self) -> Reason {
        match self {
            Self::In(_) | Self::Beside(_) => Reason::StandingIn,
            Self::Aside(obstacle) => obstacle.reason,
        }
    }
}

impl Default for Standing {
    /// Before anything was read.
    fn default() -> Self {
        let detail = "whether the platform's controller runs was not looked at yet";
        Self::Aside(Obstacle::new(Reason::PlatformControllerUnknown, detail))
    }
}

const ALWAYS: &str = "spec.healthChecker of the RemediationPolicy is Always";

fn beside(why: &str) -> Standing {
    Standing::Beside(format!(
        "{ALWAYS}; the status of health checks is left to the platform's controller: {why}"
    ))
}

/// Decides. Without a policy nothing is wanted, and what is not known is not acted on.
pub fn standing(wanted: &Seen<Wanted>, platform: &Platform) -> Standing {
    let aside = |reason, detail: &str| Standing::Aside(Obstacle::new(reason, detail));
    match (wanted, platform) {
        (Seen::Absent, _) => aside(Reason::PolicyMissing, "there is no RemediationPolicy"),
        (Seen::Unreadable(detail), _) => aside(Reason::PolicyUnreadable, detail),
        (Seen::Present(Wanted::Never), _) => aside(
            Reason::SwitchedOff,
            "spec.healthChecker of the RemediationPolicy is Never",
        ),
        (Seen::Present(Wanted::Always), Platform::DoesNotRun(_)) => Standing::In(ALWAYS.to_owned()),
        (Seen::Present(Wanted::Always), Platform::Runs) => {
            beside("the Lease of the leader of the platform's controller is renewed")
        }
        (Seen::Present(Wanted::Always), Platform::Unknown(why)) => beside(&format!(
            "whether the platform's controller runs is not known: {why}"
        )),
        (Seen::Present(Wanted::Auto), Platform::Runs) => aside(
            Reason::PlatformControllerRuns,
            "the platform's controller evaluates MachineHealthChecks: the Lease of its leader is renewed",
        ),
        (Seen::Present(Wanted::Auto), Platform::DoesNotRun(why)) => Standing::In(format!(
            "the platform's controller does not evaluate MachineHealthChecks: {why}"
        )),
        (Seen::Present(Wanted::Auto), Platform::Unknown(why)) => {
            aside(Reason::PlatformControllerUnknown, why)
        }
    }
}
