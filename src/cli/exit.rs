//! Exit statuses: the same of every command. `docs/command-line.md` has them for people.

use std::io;

use crate::cli::bmc::{Interrupted, NotConfirmed};
use crate::cli::history::NotRead;
use crate::cli::usage::WrongUsage;

/// Something was not done, or is not as it should be.
const FAILED: u8 = 1;
/// Nothing was begun, because of how it was asked for. clap ends with the same.
const USAGE: u8 = 2;
/// What a shell says of a program that SIGPIPE ended: 128 and 13. Rust's runtime makes an error of the signal.
const NOBODY_READS: u8 = 141;

/// What the program exits with after an error.
pub fn status(error: &anyhow::Error) -> u8 {
    if error.is::<NotConfirmed>() || error.is::<NotRead>() || error.is::<WrongUsage>() {
        USAGE
    } else if let Some(interrupted) = error.downcast_ref::<Interrupted>() {
        interrupted.status
    } else if is_unread(error) {
        NOBODY_READS
    } else {
        FAILED
    }
}

/// Whether whoever read the output has gone, as `head` does, which is nothing to complain about.
pub fn is_unread(error: &anyhow::Error) -> bool {
    let written = error.downcast_ref::<io::Error>();
    written.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
