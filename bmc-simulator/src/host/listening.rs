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

/// What a BMC's port is like to those who want to connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Door {
    pub(crate) listening: Listening,
    /// How often the BMC has booted: what came to an earlier life of it is not answered in a later one.
    pub(crate) life: u64,
}

impl Door {
    /// Whether somebody is served.
    pub(crate) fn is_open(self) -> bool {
        self.listening == Listening::Open
    }
}

impl Acting<'_> {
    /// What is at the BMC's port now.
    pub(crate) fn door(&self) -> Door {
        Door {
            listening: self.listening(),
            life: self.state.controller.reboots,
        }
    }

    /// Whether a life of the BMC, counted by its reboots, is the present one.
    pub(crate) fn lives_in(&self, life: u64) -> bool {
        self.stage() != Stage::Dead && self.state.controller.reboots == life
    }

    /// How far the BMC has come up.
    pub(crate) fn stage(&self) -> Stage {
        self.state.controller.stage(self.now)
    }

    /// What becomes of those who want to connect now.
    fn listening(&self) -> Listening {
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
