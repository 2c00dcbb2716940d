//! Our own health checker. Where it is active, it evaluates the MachineHealthChecks that ask for power cycles, and puts
//! the trigger on unhealthy Machines. From there on it is the path of every trigger, so nothing is lost when it dies.

pub(crate) mod activation;
pub(crate) mod check_inputs;
mod event_publisher;
mod machine_conditions;
pub(crate) mod namespace_snapshot;
mod pass;
pub(crate) mod platform;
mod requeue;
mod run;
mod state;
mod status;
mod triggers;
mod unserved;

#[cfg(test)]
pub(crate) use run::concerned;
pub(crate) use run::run;
pub(crate) use state::{CheckKey, Checker, MhcController};
