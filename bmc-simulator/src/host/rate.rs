//! How often a BMC is asked.

use std::time::Duration;

/// Requests of the present second.
#[derive(Debug, Default)]
pub(crate) struct Rate {
    second: u64,
    requests: u32,
}

impl Rate {
    /// Counts one request; answers how many there were in this second.
    pub(super) fn count(&mut self, now: Duration) -> u32 {
        if now.as_secs() != self.second {
            self.second = now.as_secs();
            self.requests = 0;
        }
        self.requests = self.requests.saturating_add(1);
        self.requests
    }
}
