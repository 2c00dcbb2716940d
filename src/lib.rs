//! `baremetal-remediator` brings dead bare-metal Kubernetes nodes back through their BMCs.
pub mod api;
pub mod bmc;
pub mod core;
