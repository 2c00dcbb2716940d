//! NodeHealthChecks, evaluated as their operator evaluates them, from plain data.
//!
//! This daemon never stands in for that operator; it says with this what the operator is about to do.
//!
//! 1. [`rules`] and [`threshold`] read what one check asks for. What is malformed selects nothing.
//! 2. [`assess`] judges the Nodes of one check, counts them and asks its threshold.
//! 3. [`rivals`] says what the MachineHealthChecks of the cluster make of it.
//!
//! Source: medik8s/node-healthcheck-operator dd444329 `internal/controller/nodehealthcheck_controller.go`
//! (`Reconcile`, `checkNodeConditions`, `getMinHealthy`), `api/v1alpha1/`, `internal/controller/mhc/checker.go`.

pub mod assess;
pub mod rivals;
pub mod rules;
pub mod threshold;
