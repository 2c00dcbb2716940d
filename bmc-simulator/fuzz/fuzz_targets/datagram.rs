//! Any bytes as a datagram to the IPMI port: reading them must not panic.
//!
//! `cargo +nightly fuzz run datagram` in `bmc-simulator`. Inputs worth keeping go into
//! `fuzz/corpus/datagram`, which a test of the crate replays.
#![no_main]

use bmc_simulator::ipmi::wire;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wire::read_all(bytes));
