//! The harness: control planes, what is asked of them, and other processes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test reports by panicking, and so do its helpers"
)]

mod cluster;
mod control_plane;
mod fleet;
mod process;
