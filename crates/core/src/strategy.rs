//! How one remediation is to be done: the validated form of a PowerCycleRemediation's spec.

use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::doubling;
use crate::journal::ReleaseBy;

/// How workloads of a host that is proven off are released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
pub enum FencingMode {
    /// The out-of-service taint where the server supports it (Kubernetes 1.28 and newer), Node
    /// deletion elsewhere.
    #[default]
    Automatic,
    /// Always the taint `node.kubernetes.io/out-of-service`.
    OutOfServiceTaint,
    /// Always Node deletion, with labels, annotations and taints saved and restored.
    NodeDeletion,
}

impl FencingMode {
    /// How workloads are released, where the API server supports the taint or does not.
    pub fn releases_by(self, taint_is_supported: bool) -> ReleaseBy {
        match self {
            Self::Automatic if taint_is_supported => ReleaseBy::OutOfServiceTaint,
            Self::Automatic | Self::NodeDeletion => ReleaseBy::NodeDeletion,
            Self::OutOfServiceTaint => ReleaseBy::OutOfServiceTaint,
        }
    }
}

/// Whether a host that a BareMetalHost manages may be powered without holding it there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
pub enum HostControl {
    /// Stand aside when a BareMetalHost manages the host and keeps it online.
    #[default]
    Managed,
    /// Power the host directly. Ironic may revert a power change within about two minutes.
    Direct,
}

/// What is done about a Machine whose host did not come back from its last power cycle. By default nothing:
/// replacing a Machine usually wipes the disks of its host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
pub enum Escalation {
    /// Nothing: the Machine is in quarantine until its Node is well again or a person has looked.
    #[default]
    None,
    /// Machines of Cluster API: their owner is asked to replace them, by the condition OwnerRemediated, while
    /// a MachineHealthCheck says that they are unhealthy.
    MachineOwner,
    /// Machines of OpenShift that a controller such as a MachineSet owns, which replaces them: they are
    /// deleted. Needs the role of deploy/components/machine-deletion.
    MachineDeletion,
}

/// The validated strategy of one remediation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Strategy {
    /// How workloads are released.
    pub fencing: FencingMode,
    /// Whether metal3 may be bypassed.
    pub host_control: HostControl,
    /// Limits of the phases.
    pub deadlines: Deadlines,
    /// How many attempts, and how far apart.
    pub retries: Retries,
    /// What is done about the Machine when the last attempt failed.
    pub escalation: Escalation,
}

/// The longest each phase may take.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Deadlines {
    /// Until the host may be acted on.
    pub pending: SignedDuration,
    /// From the journalled power-off to its proof.
    pub power_off: SignedDuration,
    /// From the proof of Off to clean workloads.
    pub fencing: SignedDuration,
    /// From the journalled power-on to On.
    pub power_on: SignedDuration,
    /// From On to a Ready Node.
    pub boot: SignedDuration,
}

impl Strategy {
    /// The longest a remediation may take once it has begun: all its attempts, the pauses between them, and the time in
    /// which each further one may be held up.
    pub fn longest(&self) -> SignedDuration {
        let attempt = self.deadlines.of_an_attempt();
        let further = (1..self.retries.attempts).map(|failed| {
            let pause = self.retries.pause_after(failed);
            let waits = pause.saturating_add(self.deadlines.pending);
            waits.saturating_add(attempt)
        });
        further.fold(attempt, SignedDuration::saturating_add)
    }
}

impl Deadlines {
    /// The longest one attempt may take once its power-off is journalled.
    pub fn of_an_attempt(&self) -> SignedDuration {
        let others = [self.fencing, self.power_on, self.boot].into_iter();
        others.fold(self.power_off, SignedDuration::saturating_add)
    }
}

/// Spacing and number of attempts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Retries {
    /// Power-offs at the most, 1 to 10.
    pub attempts: u32,
    /// Pause after the first failed attempt; doubles with each further one.
    pub backoff: SignedDuration,
    /// The longest pause.
    pub max_backoff: SignedDuration,
}

impl Retries {
    /// The pause after `failed` attempts (1 for the first failure).
    pub fn pause_after(&self, failed: u32) -> SignedDuration {
        doubling(self.backoff, failed, self.max_backoff)
    }
}

impl Default for Strategy {
    fn default() -> Self {
        Self {
            fencing: FencingMode::Automatic,
            host_control: HostControl::Managed,
            deadlines: Deadlines {
                pending: SignedDuration::from_hours(1),
                power_off: SignedDuration::from_mins(5),
                fencing: SignedDuration::from_mins(10),
                power_on: SignedDuration::from_mins(5),
                boot: SignedDuration::from_mins(30),
            },
            retries: Retries {
                attempts: 3,
                backoff: SignedDuration::from_mins(5),
                max_backoff: SignedDuration::from_hours(1),
            },
            escalation: Escalation::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_that_a_strategy_takes_is_all_that_it_may_wait_for() {
        let mut strategy = Strategy::default();
        // Three attempts of 50 min, two waits of an hour, pauses of 5 and 10 min.
        assert_eq!(strategy.longest(), SignedDuration::from_mins(285));
        strategy.retries.attempts = 1;
        assert_eq!(strategy.longest(), SignedDuration::from_mins(50));
        strategy.retries.attempts = 10;
        strategy.deadlines.boot = SignedDuration::MAX;
        assert_eq!(strategy.longest(), SignedDuration::MAX);
    }
}
