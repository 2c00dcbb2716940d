//! What a step answers: what to write down, at most one thing to do, and when to look again.

use jiff::Timestamp;

use super::journal::{Journal, SavedNode};
use super::machine_api::MachineApi;
use super::metal3::HoldWrite;
use super::node_lease::LeaseWrite;

/// The answer of one step.
#[derive(Clone, Debug, Hash)]
pub struct Decision {
    /// The journal as it must stand before the act. Written by compare-and-swap when it differs.
    pub journal: Journal,
    /// At most one thing to do.
    pub act: Option<Act>,
    /// When to decide again if nothing is seen before. `None`: only when something changes.
    pub look_again: Option<Timestamp>,
}

/// The one thing to do next. Closed: the shell can do nothing else.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Act {
    /// Looks at the world.
    Observe(Observation),
    /// Changes the world.
    Effect(Effect),
}

/// Reads that change nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Observation {
    /// Ask the BMC for identity and power state.
    Power,
    /// Read policy, Machine, MachineHealthChecks, Node and its Leases live.
    LiveCheck,
    /// Ask whether it may begin, which nothing else forbids. A step that neither asks nor begins gives that up.
    Admission,
    /// Read live by whom the Lease of medik8s on the Node is held.
    NodeLease,
    /// Read the Node's Lease live.
    Report,
    /// Read the BareMetalHost that we hold.
    BareMetalHost,
    /// List the pods and VolumeAttachments left on the Node.
    Cleanup,
}

/// Changes of the world. Each is safe to find done, half done or not done by a successor.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Effect {
    /// Put our finalizer on the remediation, so that it cannot vanish while the host is off.
    AddFinalizer,
    /// Take our finalizer off.
    RemoveFinalizer,
    /// `ForceOff`, not after the given time.
    PowerOff {
        /// The command is not begun later than this.
        not_after: Timestamp,
    },
    /// `On`, not after the given time.
    PowerOn {
        /// The command is not begun later than this.
        not_after: Timestamp,
    },
    /// `ForceRestart`, not after the given time.
    Restart {
        /// The command is not begun later than this.
        not_after: Timestamp,
    },
    /// Ask metal3 to keep the host off, or to let go of it.
    WriteHold(HoldOn),
    /// Take everything of ours off the BareMetalHost.
    ReleaseHost(HeldHost),
    /// Put the out-of-service taint and our mark on the Node.
    TaintNode {
        /// Name.
        node: String,
        /// The Node must not have changed since.
        resource_version: String,
        /// The write is not begun later than this: the evidence is too old then.
        not_after: Timestamp,
    },
    /// Delete the Node object.
    DeleteNode {
        /// Name.
        node: String,
        /// UID the Node must have.
        uid: String,
        /// The Node must not have changed since.
        resource_version: String,
        /// The write is not begun later than this: the evidence is too old then.
        not_after: Timestamp,
    },
    /// Give a Node that registered again its labels, annotations and taints back.
    RestoreNode {
        /// Name.
        node: String,
        /// The Node must not have changed since.
        resource_version: String,
        /// What it had.
        saved: SavedNode,
    },
    /// Take the out-of-service taint and our mark off the Node.
    UntaintNode {
        /// Name.
        node: String,
        /// The Node must not have changed since.
        resource_version: String,
    },
    /// Remove the signal from the Machine: the trigger, and what else asks for one remediation.
    ClearTrigger {
        /// Name.
        machine: String,
        /// UID the Machine must have.
        uid: String,
    },
    /// Ask the owner of the Machine to replace it.
    AskOwner(OfMachine),
    /// Delete the Machine.
    DeleteMachine(OfMachine),
    /// Take the Lease of medik8s on the Node, or renew ours.
    TakeNodeLease(LeaseWrite),
    /// Delete that Lease, which is ours.
    ReleaseNodeLease {
        /// Name of the Node.
        node: String,
        /// UID the Lease must have.
        uid: String,
        /// The Lease must not have changed since.
        resource_version: String,
    },
}

/// A BareMetalHost that we hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeldHost {
    /// Name.
    pub name: String,
    /// UID it must have.
    pub uid: String,
    /// Our annotation.
    pub annotation: String,
}

/// A write to a BareMetalHost that metal3 answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HoldOn {
    /// Which.
    pub host: HeldHost,
    /// What.
    pub write: HoldWrite,
    /// The BareMetalHost must not have changed since, so that nobody else holds it.
    pub resource_version: Option<String>,
    /// The write is not begun later than this.
    pub not_after: Timestamp,
}

/// A write to a Machine, on what was read of it live.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OfMachine {
    /// Its API.
    pub api: MachineApi,
    /// Name.
    pub machine: String,
    /// UID the Machine must have.
    pub uid: String,
    /// The Machine must not have changed since.
    pub resource_version: String,
    /// The write is not begun later than this: what it was decided on is too old then.
    pub not_after: Timestamp,
}
