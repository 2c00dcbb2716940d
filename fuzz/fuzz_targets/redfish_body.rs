//! Any bytes as the body of a Redfish answer: reading them must not panic, and nothing that is shown of them
//! may hold a password.
//!
//! `cargo +nightly fuzz run redfish_body`. Inputs worth keeping go into `fuzz/corpus/redfish_body`, which a
//! test of the crate replays.
#![no_main]

use remediator_bmc::read_redfish_body;

const PASSWORD: &str = "canary-Pa55word";

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let read = read_redfish_body(bytes, PASSWORD);
    assert!(!read.shown.contains(PASSWORD), "a password is shown");
});
