//! What a health check can say of one Machine. Closed, each with its name.

use jiff::Timestamp;

use super::dialect::Dialect;

/// What one health check says of one Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is wrong.
    Healthy,
    /// Not looked at, and not in the total.
    Skipped(Skip),
    /// Neither: not remediated, and not healthy.
    Waiting {
        /// What is waited for.
        why: Wait,
        /// The first instant at which the verdict is another one if nothing else changes.
        until: Option<Timestamp>,
    },
    /// To be remediated.
    Unhealthy {
        /// The named reason.
        reason: UnhealthyReason,
        /// What exactly.
        message: String,
        /// The first instant at which it was, where a time-out tells.
        since: Option<Timestamp>,
    },
    /// What is needed for a verdict cannot be read: never remediated, and not healthy.
    Unknown(Unknown),
}

/// Why a Machine is not looked at. Cluster API only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// Annotation `cluster.x-k8s.io/paused` on the Machine.
    Paused,
    /// Annotation `cluster.x-k8s.io/skip-remediation` on the Machine.
    SkipRemediation,
}

/// Why there is no verdict yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// An unhealthy condition holds, but not for long enough.
    Grace,
    /// The Machine has no Node, but may do without for longer.
    NodeStartup,
    /// The Machine has no Node, and may do without for as long as it likes.
    NodeStartupUnlimited,
    /// The control plane of the Cluster was never initialized.
    ControlPlaneNotInitialized,
    /// The infrastructure of the Cluster is not ready.
    InfrastructureNotReady {
        /// Whether the Machine counts as healthy meanwhile, as upstream counts one with a Node that nobody judges.
        counts_as_healthy: bool,
    },
    /// Nothing is wrong, but the Machine is being deleted.
    Deleting,
    /// Nothing is wrong, but a remediation of ours is under way.
    UnderRemediation,
    /// Nothing is wrong, but the trigger annotation is still there.
    Triggered,
}

/// What cannot be read; the text says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// A field of the Machine.
    Machine(String),
    /// A field of the Node.
    Node(String),
    /// The cluster of the Node does not answer.
    NodeUnreachable(String),
    /// The Cluster, or it is not there.
    Cluster(String),
}

impl Unknown {
    /// Why it cannot be read.
    pub fn detail(&self) -> &str {
        match self {
            Self::Machine(detail)
            | Self::Node(detail)
            | Self::NodeUnreachable(detail)
            | Self::Cluster(detail) => detail,
        }
    }
}

/// Why a Machine is unhealthy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnhealthyReason {
    /// A person asked for the remediation by an annotation.
    RemediateAnnotation,
    /// OpenShift: the Machine is in phase Failed.
    PhaseFailed,
    /// Cluster API v1beta1: the Machine has a failureReason or a failureMessage.
    MachineHasFailure,
    /// The Machine had a Node, and it is gone.
    NodeGone,
    /// The Machine got no Node in time.
    NodeStartupTimeout,
    /// A condition of the Node.
    UnhealthyNode,
    /// A condition of the Machine.
    UnhealthyMachine,
}

impl UnhealthyReason {
    /// The reason of the condition `HealthCheckSucceeded` in this dialect. OpenShift has no such condition;
    /// it gets the names of Cluster API v1beta1, and `MachineFailed` for the phase that only OpenShift has.
    /// Source: cluster-api `api/v1beta1/condition_consts.go` (v1.10.4), `api/core/v1beta2/machine_types.go`.
    pub fn name(self, dialect: Dialect) -> &'static str {
        let is_v1beta2 = dialect == Dialect::ClusterApiV1Beta2;
        match self {
            Self::RemediateAnnotation if is_v1beta2 => "HasRemediateAnnotation",
            Self::RemediateAnnotation => "HasRemediateMachineAnnotation",
            Self::PhaseFailed => "MachineFailed",
            Self::MachineHasFailure => "MachineHasFailure",
            Self::NodeGone if is_v1beta2 => "NodeDeleted",
            Self::NodeGone => "NodeNotFound",
            Self::NodeStartupTimeout => "NodeStartupTimeout",
            Self::UnhealthyNode => "UnhealthyNode",
            Self::UnhealthyMachine => "UnhealthyMachine",
        }
    }
}

impl Verdict {
    /// Whether the Machine is in the total.
    pub fn is_expected(&self) -> bool {
        !matches!(self, Self::Skipped(_))
    }

    /// Whether the Machine counts as healthy.
    pub fn counts_as_healthy(&self) -> bool {
        match self {
            Self::Healthy => true,
            Self::Waiting { why, .. } => matches!(
                why,
                Wait::InfrastructureNotReady {
                    counts_as_healthy: true
                }
            ),
            Self::Skipped(_) | Self::Unhealthy { .. } | Self::Unknown(_) => false,
        }
    }

    /// Cluster API: whether the Machine has passed, as `HealthCheckSucceeded` says, whatever remediation is under way.
    pub fn has_passed(&self) -> bool {
        match self {
            Self::Healthy => true,
            Self::Waiting { why, .. } => match why {
                Wait::UnderRemediation | Wait::Triggered => true,
                Wait::InfrastructureNotReady { counts_as_healthy } => *counts_as_healthy,
                Wait::Grace
                | Wait::NodeStartup
                | Wait::NodeStartupUnlimited
                | Wait::ControlPlaneNotInitialized
                | Wait::Deleting => false,
            },
            Self::Skipped(_) | Self::Unhealthy { .. } | Self::Unknown(_) => false,
        }
    }

    /// The first instant at which the verdict is another one if nothing else changes.
    pub fn until(&self) -> Option<Timestamp> {
        let Self::Waiting { until, .. } = self else {
            return None;
        };
        *until
    }

    /// Whether the Machine is to be remediated.
    pub fn is_unhealthy(&self) -> bool {
        matches!(self, Self::Unhealthy { .. })
    }

    /// The first instant at which it was unhealthy, if it is and a time-out tells.
    pub fn since(&self) -> Option<Timestamp> {
        let Self::Unhealthy { since, .. } = self else {
            return None;
        };
        *since
    }
}
