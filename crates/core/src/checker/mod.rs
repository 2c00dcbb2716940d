//! Our own health checker: whether it is active in place of the platform's, and what it does then. That is what
//! machine-api-operator's controller does with the strategy external-baremetal, also for Cluster API: it puts the trigger
//! on Machines. What follows is the path of any trigger, so the platform's controller may take over at any moment.
//! Source: machine-api-operator `pkg/controller/machinehealthcheck/machinehealthcheck_controller.go`.

pub mod activation;
pub mod evaluator;
pub mod events;
pub mod machine_health;
pub mod pass;
pub mod platform;

#[cfg(test)]
mod tests;
