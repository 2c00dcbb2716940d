//! Any bytes as requests to the Redfish service, one after the other: answering them must not panic.
//!
//! `cargo +nightly fuzz run http` in `bmc-simulator`; how an input is read is told at `fuzzing::http`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = bmc_simulator::fuzzing::http(bytes);
});
