//! Any bytes as the certificate of a BMC: reading them must not panic.
//!
//! `cargo +nightly fuzz run bmc_certificate`. Inputs worth keeping go into `fuzz/corpus/bmc_certificate`,
//! which a test of the crate replays.
#![no_main]

use remediator_bmc::read_bmc_certificate;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    read_bmc_certificate(bytes);
});
