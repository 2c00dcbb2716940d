//! `baremetal-remediator` brings dead bare-metal Kubernetes nodes back through their BMCs, without
//! ever running their workloads twice.
//!
//! It is fencing: between the proof that a host is off and its power-on, everything the host was
//! running may start elsewhere. `ARCHITECTURE.md` walks one remediation through the crate, and says what its rooms are
//! for.
//!
//! # Invariants
//!
//! Each has tests that bear its number (`grep -rn invariant_ tests crates`), except for what is marked: that part
//! does not hold yet.
//!
//! 1. No workload is released unless the BMC said the literal `Off`, for the right system, at least
//!    twice on fresh reads begun after our power-off was acknowledged, the newest at most 5 s old, and
//!    the Node stayed silent; or, where the BMC does not tell, a person with the right to has said so, and the Node
//!    stayed silent.
//! 2. While workloads are being released the host is watched; if it comes on, releasing stops.
//! 3. Only absolute verbs fence, `ForceOff` and `On`, and none is repeated blindly. A reset, of a host that must not be
//!    powered off, releases nothing and is sent once an attempt.
//! 4. Intent is journalled before the effect; after a crash the successor reads, it does not replay.
//!    One attempt causes exactly one On->Off and at most one Off->On.
//! 5. The host is proven to be the right one before any destructive verb, by its Node's system UUID or, where it
//!    has no Node, by the one that a person stated and no Node has; doubt refuses.
//! 6. The last thing before a power-off is a live read of everything that could forbid it.
//! 7. Two remediations never work on one host at once, nor do two daemons: one leads, by its Lease.
//! 8. Recovery - power-on, untaint - is never blocked by a pause or a limit.
//! 9. What cannot be read is unknown, never absent or healthy, and stops the power path.
//! 10. A host that metal3 keeps online is held off through its BareMetalHost while we act. One that somebody else has
//!     in hand is left alone.
//! 11. Credentials go only to an allow-listed address whose TLS identity was verified, and into no
//!     log, event, object or argument.
//! 12. Control-plane hosts are refused; where the policy lets them, one at a time and only if the others keep quorum.
//!     Unknown refuses.
//! 13. A host that is off because of us is brought back, for as long as its BMC takes the journalled login, across
//!     deadlines and restarts, and also if its request or an object that described it is deleted. Where somebody takes
//!     the finalizer off its remediation, this process brings it back, and no later one.
//! 14. Objects of one namespace affect no remediation of another, except by the same proven host. *(Not yet: a login
//!     that a BMC rejects may have it lock an account.)*
//! 15. The whole fleet is never powered off, whatever a producer allows: without a word in the policy few hosts are at
//!     once, of those that are known, and none in a storm.

mod api_call;
mod bmc_access;
pub mod cli;
mod clock;
mod clusters;
mod daemon;
pub mod fencing;
mod leadership;
mod metal3;
mod mhc;
mod readiness;
mod remediation;
pub mod report;
mod requests;
mod single_flight;
mod snapshot;
mod status_page;
#[cfg(test)]
mod test_server;
mod watch;
