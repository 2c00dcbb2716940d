//! Any text as a fleet file: reading it must not panic, and a mistake must be told.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some(Err(error)) = bmc_simulator::fuzzing::fleet(bytes) {
        assert!(!error.to_string().is_empty());
    }
});
