//! MachineHealthChecks: which of them vouches for a trigger, and what each says about the Machines it selects. They are
//! evaluated as their own controllers do it, from plain data:
//!
//! 1. [`rules`], [`selector`], [`limit`] read what one check asks for. What is malformed selects nothing.
//! 2. [`judgement`] says of one Machine whether it is healthy, by the order of checks of its [`dialect`].
//! 3. [`assess`] counts the Machines of one check and asks its limit.
//! 4. [`overlap`] joins all checks of a namespace: the strictest one wins.
//!
//! Sources, at the revisions that were compared: machine-api-operator 951196122
//! `pkg/controller/machinehealthcheck/machinehealthcheck_controller.go`; cluster-api v1.10.4, v1.11.0 and
//! v1.12.0 `internal/controllers/machinehealthcheck/`, and ae7ff047db `core/reconcilers/machinehealthcheck/`.

pub mod assess;
mod cluster_api;
pub mod dialect;
pub mod judgement;
pub mod limit;
mod node;
pub mod overlap;
pub(crate) mod problem;
mod reading;
pub mod rules;
pub mod selector;
pub mod target;
pub mod verdict;
mod vouching;

pub use node::{Health, judge};
pub(crate) use node::{judge_by_readiness, judge_without_node};
pub use rules::UnhealthyCondition;
pub use vouching::{HealthCheck, rules_for, vouching};

#[cfg(test)]
mod tests;
