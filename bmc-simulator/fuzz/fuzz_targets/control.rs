//! Any bytes as a body of the control API, and then requests to the BMC that it changed: neither must panic.
//!
//! The first byte chooses the request; see `fuzzing::control`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = bmc_simulator::fuzzing::control(bytes);
});
