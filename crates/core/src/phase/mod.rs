//! Where a remediation stands, and the one reason why it stands there.

mod reason;

pub use reason::Reason;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The phases of a remediation, in the order of the path. Every phase has a deadline, except while a person is awaited.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Phase {
    /// Nothing has been done to the host. Everything that forbids acting is waited for here.
    #[default]
    Pending,
    /// Keeping others from powering the host on behind us. Nothing to do for a host that no
    /// BareMetalHost manages.
    Holding,
    /// A power-off was decided and journalled; the proof of Off is being gathered.
    PoweringOff,
    /// The BMC does not tell whether the host is off. A person may say that it is; or the BMC answers again.
    AwaitingConfirmation,
    /// Off is proven, or a person has said it, and stays watched; workloads are being released.
    Fencing,
    /// A power-on was decided and journalled; the BMC has not said On yet.
    PoweringOn,
    /// A reset was decided and journalled for a host that metal3 forbids to power off. Nothing of it is released.
    Restarting,
    /// The BMC said On, or has reset the host; the Node has to come back Ready with a new boot ID.
    Booting,
    /// The Node is Ready after a proven reboot. Final.
    Succeeded,
    /// Withdrawn or recovered before the host was powered off. Final.
    Cancelled,
    /// Given up with a reason; a person is needed. Final.
    Failed,
}

impl Phase {
    /// Every phase, for counting.
    pub const ALL: [Self; 11] = [
        Self::Pending,
        Self::Holding,
        Self::PoweringOff,
        Self::AwaitingConfirmation,
        Self::Fencing,
        Self::PoweringOn,
        Self::Restarting,
        Self::Booting,
        Self::Succeeded,
        Self::Cancelled,
        Self::Failed,
    ];

    /// The name as it stands in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Holding => "Holding",
            Self::PoweringOff => "PoweringOff",
            Self::AwaitingConfirmation => "AwaitingConfirmation",
            Self::Fencing => "Fencing",
            Self::PoweringOn => "PoweringOn",
            Self::Restarting => "Restarting",
            Self::Booting => "Booting",
            Self::Succeeded => "Succeeded",
            Self::Cancelled => "Cancelled",
            Self::Failed => "Failed",
        }
    }

    /// Whether nothing more will be done to the host.
    pub fn is_final(self) -> bool {
        match self {
            Self::Succeeded | Self::Cancelled | Self::Failed => true,
            Self::Pending
            | Self::Holding
            | Self::PoweringOff
            | Self::AwaitingConfirmation
            | Self::Fencing
            | Self::PoweringOn
            | Self::Restarting
            | Self::Booting => false,
        }
    }
}
