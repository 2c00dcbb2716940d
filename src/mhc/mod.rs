//! Our own health checker. Where it is active, it evaluates the MachineHealthChecks, of
//! OpenShift and of Cluster API, that ask for power cycles, by [`remediator_core::health`], and puts the trigger on
//! unhealthy Machines. From there on it is the path of every trigger, so nothing is lost when it dies anywhere.

pub(crate) mod activation;
pub(crate) mod check_inputs;
pub(crate) mod evaluators;
mod event_publisher;
mod machine_conditions;
pub(crate) mod namespace_snapshot;
mod pass;
pub(crate) mod platform;
mod queue;
mod requeue;
mod run;
mod state;
mod status;
mod trigger;
pub(crate) mod unserved;
mod unserved_checks;
mod with_template;

#[cfg(test)]
pub(crate) use run::concerned;
pub(crate) use run::run;
pub(crate) use state::{CheckKey, Checker, MhcController, Mode};
pub(crate) use unserved_checks::Unserved;
