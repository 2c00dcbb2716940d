//! Whether a BMC can be reached at all.

use super::Acting;
use super::Stage;
use crate::fault::Fault;

/// What becomes of those who want to connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listening {
    /// They are served.
    Open,
    /// Nothing listens.
    Closed,
    /// They wait for ever.
    Blackhole,
}

impl Acting<'_> {
    /// How far the BMC has come up.
    pub(crate) fn stage(&self) -> Stage {
        self.state.controller.stage(self.now)
    }

    /// What becomes of those who want to connect now.
    pub(super) fn listening(&self) -> Listening {
        let faults = &self.state.faults;
        if faults.has(&Fault::Blackhole) {
            Listening::Blackhole
        } else if self.stage() == Stage::Dead || faults.has(&Fault::RefuseConnections) {
            Listening::Closed
        } else {
            Listening::Open
        }
    }
}
