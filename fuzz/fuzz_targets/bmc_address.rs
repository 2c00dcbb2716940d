//! Any text as the address of a BMC: reading it must not panic, and what was read is written so that it
//! reads the same.
//!
//! `cargo +nightly fuzz run bmc_address`. A property test of the crate does the same.
#![no_main]

use remediator_bmc::BmcAddress;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(address) = text.parse::<BmcAddress>() {
        let written = address.to_string();
        let again: BmcAddress = written.parse().expect("what we write can be read");
        assert_eq!(again.host, address.host);
        assert_eq!(again.port, address.port);
        assert_eq!(again.system_path, address.system_path);
    }
});
