//! `baremetal-remediator` brings dead bare-metal Kubernetes nodes back through their BMCs.
pub mod api;
pub mod bmc;
pub mod cli;
pub mod config;
pub mod controller;
pub mod core;
pub mod fencing;
mod intake;
pub mod report;
