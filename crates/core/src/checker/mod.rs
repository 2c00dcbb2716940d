//! Our own health checker: whether it is active in place of the platform's, and what it does then.
//!
//! It does what machine-api-operator's controller does with the strategy external-baremetal, also for the
//! MachineHealthChecks of Cluster API: it puts the trigger on Machines. Everything after that is the path of any trigger, so it may be stopped, and the
//! platform's controller may take over, at any moment.
//! Source: machine-api-operator `pkg/controller/machinehealthcheck/machinehealthcheck_controller.go`.

pub mod activation;
pub mod evaluator;
pub mod notice;
pub mod notices;
pub mod pass;
pub mod platform;
pub mod succeeded;

#[cfg(test)]
mod tests;
