//! Any bytes as a datagram of a BMC: reading them must not panic.
//!
//! `cargo +nightly fuzz run ipmi_datagram`. Inputs worth keeping go into `fuzz/corpus/ipmi_datagram`,
//! which a test of the crate replays.
#![no_main]

use remediator_bmc::read_ipmi_datagram;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    read_ipmi_datagram(bytes);
});
