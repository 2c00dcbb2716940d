//! How far long work is: one line on the terminal that the next one overwrites.

use std::io::{self, IsTerminal as _, Write as _};

/// A line on standard error. Nothing is written where that is no terminal, such as a file or a pipe.
pub(super) struct Progress {
    is_seen: bool,
}

impl Progress {
    pub(super) fn begin() -> Self {
        Self {
            is_seen: io::stderr().is_terminal(),
        }
    }

    /// Says something in place of what stood there.
    pub(super) fn say(&self, text: &str) {
        if self.is_seen {
            // What cannot be told is no reason to end the work.
            let _ = write!(io::stderr().lock(), "\r\x1b[K{text}");
        }
    }
}

impl Drop for Progress {
    /// Leaves an empty line to what is printed next.
    fn drop(&mut self) {
        self.say("");
    }
}
