//! Any bytes as the query of a URI: reading it must not panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    bmc_simulator::fuzzing::query(bytes);
});
