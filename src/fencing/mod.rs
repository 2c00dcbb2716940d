//! Releasing the workloads of a host that is proven off, and giving its Node back afterwards.

pub mod cleanup;
pub mod node_deletion;
pub mod taint;
