//! What a story holds while it uses a control plane.

use std::sync::Arc;
use std::thread::{self, ThreadId};
use std::time::Instant;

use super::mount::Mount;
use super::schedule::Pool;
use super::told;
use crate::failure;

/// Ends when it is dropped, which is when the last clone of its [`harness::Cluster`] is.
pub struct Lease {
    mount: Arc<Mount>,
    story: ThreadId,
    name: String,
    since: Instant,
}

impl Lease {
    pub(super) fn new(mount: Arc<Mount>) -> Self {
        let thread = thread::current();
        Self {
            mount,
            story: thread.id(),
            name: thread.name().unwrap_or_default().to_owned(),
            since: Instant::now(),
        }
    }

    pub(super) fn mount(&self) -> &Mount {
        &self.mount
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        told::time(&self.name, self.mount.setting(), self.since.elapsed());
        if failure::story_fails() {
            told::logs(&self.mount.logs());
        }
        Pool::of_this_process().give_back(self.story, &self.mount);
    }
}
