//! The simulator as its users see it: over TLS, over the control API and as a program.

// clippy.toml allows these in tests; the helpers here are outside of `#[test]` functions.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code fails by panicking"
)]

mod binary;
mod bmc;
mod client;
mod control;
mod control_input;
mod control_pages;
mod determinism;
mod expiry;
mod faults_answer;
mod faults_connection;
mod faults_everywhere;
mod faults_host;
mod faults_http;
mod faults_power;
mod faults_selected;
mod fleet;
mod fleet_clashes;
mod fleet_mistakes;
mod fleet_words;
mod hostile;
mod ipmi;
mod journal;
mod lifecycle;
mod machines;
mod machines_faults;
mod mains;
mod one_port;
mod open_files;
mod oracle;
mod personalities;
mod personality_layers;
mod power;
mod reboots;
mod redfish;
mod service;
mod sessions;
mod ssdp;
mod tls;
mod verdict;
