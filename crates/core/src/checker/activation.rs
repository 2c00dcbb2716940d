//! Whether our health checker is active in place of the platform's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::platform::Platform;
use crate::facts::{Lookup, Obstacle};
use crate::phase::Reason;

/// Where the daemon evaluates MachineHealthChecks (`machine.openshift.io`, `cluster.x-k8s.io`) with the
/// strategy external-baremetal and without a template, as machine-api-operator does: it puts the trigger on
/// unhealthy Machines and writes the status of the checks. Decided for each API by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HealthChecker {
    /// While the platform's controller does not run: the Lease of its leader is absent or not renewed, or a
    /// feature gate removes it. While nobody knows, nothing is evaluated.
    #[default]
    Auto,
    /// Whether or not the platform's controller runs.
    Always,
    /// Nowhere.
    Never,
}

/// Whether our health checker is active, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activation {
    /// It evaluates the checks, and writes triggers and status; why.
    Active(String),
    /// The same, but the platform's controller runs or may run, so status and numbers are left to that one; why.
    Alongside(String),
    /// It writes nothing.
    Inactive(Obstacle),
}

impl Activation {
    /// Whether it evaluates the checks, alone or not.
    pub fn is_active(&self) -> bool {
        matches!(self, Self::Active(_) | Self::Alongside(_))
    }

    /// Whether it writes status, conditions of Machines and numbers, which only one may write.
    pub fn is_alone(&self) -> bool {
        matches!(self, Self::Active(_))
    }
}

impl Default for Activation {
    /// Before anything was read.
    fn default() -> Self {
        let detail = "whether the platform's controller runs was not looked at yet";
        Self::Inactive(Obstacle::new(Reason::PlatformControllerUnknown, detail))
    }
}

/// Decides. Without a policy nothing is wanted, and what is not known is not acted on.
pub fn activation(wanted: &Lookup<HealthChecker>, platform: &Platform) -> Activation {
    let inactive = |reason, detail: &str| Activation::Inactive(Obstacle::new(reason, detail));
    let always = "spec.healthChecker of the RemediationPolicy is Always";
    let alongside = |why: &str| {
        Activation::Alongside(format!(
            "{always}; the status of health checks is left to the platform's controller: {why}"
        ))
    };
    match (wanted, platform) {
        (Lookup::Absent, _) => inactive(Reason::PolicyMissing, "there is no RemediationPolicy"),
        (Lookup::Unreadable(detail), _) => inactive(Reason::PolicyUnreadable, detail),
        (Lookup::Present(HealthChecker::Never), _) => inactive(
            Reason::SwitchedOff,
            "spec.healthChecker of the RemediationPolicy is Never",
        ),
        (Lookup::Present(HealthChecker::Always), Platform::DoesNotRun(_)) => {
            Activation::Active(always.to_owned())
        }
        (Lookup::Present(HealthChecker::Always), Platform::Runs) => {
            alongside("the Lease of the leader of the platform's controller is renewed")
        }
        (Lookup::Present(HealthChecker::Always), Platform::Unknown(why)) => alongside(&format!(
            "whether the platform's controller runs is not known: {why}"
        )),
        (Lookup::Present(HealthChecker::Auto), Platform::Runs) => inactive(
            Reason::PlatformControllerRuns,
            "the platform's controller evaluates MachineHealthChecks: the Lease of its leader is renewed",
        ),
        (Lookup::Present(HealthChecker::Auto), Platform::DoesNotRun(why)) => Activation::Active(format!(
            "the platform's controller does not evaluate MachineHealthChecks: {why}"
        )),
        (Lookup::Present(HealthChecker::Auto), Platform::Unknown(why)) => {
            inactive(Reason::PlatformControllerUnknown, why)
        }
    }
}
