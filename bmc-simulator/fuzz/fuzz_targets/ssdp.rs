//! Any bytes as a datagram to the SSDP port: reading them must not panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = bmc_simulator::fuzzing::ssdp(bytes);
});
