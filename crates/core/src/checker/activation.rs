//! Whether our health checker is active in place of the platform's.

use super::platform::Platform;
use crate::facts::{Lookup, Obstacle};
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

/// Whether our health checker is active, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activation {
    /// It evaluates the checks, and writes triggers and status; the text says why it does.
    Active(String),
    /// The same, because the policy has it so, beside the platform's controller or where nobody knows whether that
    /// runs: status, conditions of Machines and numbers are left to that one. The text says so.
    Alongside(String),
    /// It writes nothing.
    Inactive(Obstacle),
}

impl Activation {
    /// Whether it evaluates the checks.
    pub fn is_in(&self) -> bool {
        match self {
            Self::Active(_) | Self::Alongside(_) => true,
            Self::Inactive(_) => false,
        }
    }

    /// Whether it writes status, conditions of Machines and numbers, which only one may write.
    pub fn is_alone(&self) -> bool {
        match self {
            Self::Active(_) => true,
            Self::Alongside(_) | Self::Inactive(_) => false,
        }
    }

    /// The named reason.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Active(_) | Self::Alongside(_) => Reason::StandingIn,
            Self::Inactive(obstacle) => obstacle.reason,
        }
    }
}

impl Default for Activation {
    /// Before anything was read.
    fn default() -> Self {
        let detail = "whether the platform's controller runs was not looked at yet";
        Self::Inactive(Obstacle::new(Reason::PlatformControllerUnknown, detail))
    }
}

const ALWAYS: &str = "spec.healthChecker of the RemediationPolicy is Always";

fn beside(why: &str) -> Activation {
    Activation::Alongside(format!(
        "{ALWAYS}; the status of health checks is left to the platform's controller: {why}"
    ))
}

/// Decides. Without a policy nothing is wanted, and what is not known is not acted on.
pub fn activation(wanted: &Lookup<Wanted>, platform: &Platform) -> Activation {
    let aside = |reason, detail: &str| Activation::Inactive(Obstacle::new(reason, detail));
    match (wanted, platform) {
        (Lookup::Absent, _) => aside(Reason::PolicyMissing, "there is no RemediationPolicy"),
        (Lookup::Unreadable(detail), _) => aside(Reason::PolicyUnreadable, detail),
        (Lookup::Present(Wanted::Never), _) => aside(
            Reason::SwitchedOff,
            "spec.healthChecker of the RemediationPolicy is Never",
        ),
        (Lookup::Present(Wanted::Always), Platform::DoesNotRun(_)) => Activation::Active(ALWAYS.to_owned()),
        (Lookup::Present(Wanted::Always), Platform::Runs) => {
            beside("the Lease of the leader of the platform's controller is renewed")
        }
        (Lookup::Present(Wanted::Always), Platform::Unknown(why)) => beside(&format!(
            "whether the platform's controller runs is not known: {why}"
        )),
        (Lookup::Present(Wanted::Auto), Platform::Runs) => aside(
            Reason::PlatformControllerRuns,
            "the platform's controller evaluates MachineHealthChecks: the Lease of its leader is renewed",
        ),
        (Lookup::Present(Wanted::Auto), Platform::DoesNotRun(why)) => Activation::Active(format!(
            "the platform's controller does not evaluate MachineHealthChecks: {why}"
        )),
        (Lookup::Present(Wanted::Auto), Platform::Unknown(why)) => {
            aside(Reason::PlatformControllerUnknown, why)
        }
    }
}
