//! Faults at numbered calls of the daemon: what happens to it, or to a call, when it makes the n-th of a name in a
//! phase of its remediation.

pub mod calls;
pub mod stage;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context as _, Error, Result, bail};

use crate::front::views::View;

/// Longer than a journalled intent to send a power command lives.
const FROZEN: Duration = Duration::from_secs(12);
/// Longer than a proof of Off is good for, and than the daemon pauses between two looks.
const UNSEEN: Duration = Duration::from_secs(10);
/// Longer than the pauses of the daemon between two looks, shorter than it waits for an answer.
const DELAYED: Duration = Duration::from_secs(4);

/// When something happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// It has not reached its server.
    Before,
    /// It is done, and the daemon was not told.
    During,
    /// The daemon was told, and has done nothing since.
    After,
}

impl When {
    pub const ALL: [Self; 3] = [Self::Before, Self::During, Self::After];
}

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The daemon is killed, and another one started.
    Kill,
    /// The daemon stands still for a while.
    Freeze,
    /// The connection breaks instead of an answer.
    Drop,
    /// The request, or its answer, takes a while.
    Delay,
    /// What the daemon watches stands still for a while, or it sees less of it.
    See(View),
}

impl What {
    pub const ALL: [Self; 7] = [
        Self::Kill,
        Self::Freeze,
        Self::Drop,
        Self::Delay,
        Self::See(View::Held),
        Self::See(View::Merged),
        Self::See(View::Lost),
    ];

    /// Whether it can happen then.
    pub fn can_be(self, when: When) -> bool {
        match self {
            Self::Kill => true,
            // Before a call is after another one; what is on its way already comes late, which is a delay.
            Self::Freeze => when != When::Before,
            Self::Drop | Self::Delay => when != When::After,
            // From before the call its own event is among what is not seen.
            Self::See(view) => view != View::Live && when == When::Before,
        }
    }

    /// How long.
    pub fn lasts(self) -> Duration {
        match self {
            Self::Kill | Self::Drop => Duration::ZERO,
            Self::Freeze => FROZEN,
            Self::Delay => DELAYED,
            Self::See(_) => UNSEEN,
        }
    }
}

/// Something that happens to one call. Its text is `kill-before:PoweringOff/bmc-ForceOff#1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub what: What,
    pub when: When,
    /// `phase/name#number`.
    pub call: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            What::Kill => "kill",
            What::Freeze => "freeze",
            What::Drop => "drop",
            What::Delay => "delay",
            What::See(View::Live) => "live",
            What::See(View::Held) => "hold",
            What::See(View::Merged) => "merge",
            What::See(View::Lost) => "lose",
        };
        let when = match self.when {
            When::Before => "before",
            When::During => "during",
            When::After => "after",
        };
        write!(out, "{what}-{when}:{}", self.call)
    }
}

impl FromStr for Fault {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (kind, call) = text.split_once(':').context("a fault is WHAT-WHEN:CALL")?;
        let (what, when) = kind.split_once('-').context("a fault is WHAT-WHEN:CALL")?;
        let what = match what {
            "kill" => What::Kill,
            "freeze" => What::Freeze,
            "drop" => What::Drop,
            "delay" => What::Delay,
            "hold" => What::See(View::Held),
            "merge" => What::See(View::Merged),
            "lose" => What::See(View::Lost),
            other => bail!("{other} is none of kill, freeze, drop, delay, hold, merge, lose"),
        };
        let when = match when {
            "before" => When::Before,
            "during" => When::During,
            "after" => When::After,
            other => bail!("{other} is none of before, during, after"),
        };
        Ok(Self {
            what,
            when,
            call: call.to_owned(),
        })
    }
}
