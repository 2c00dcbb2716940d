//! What a careful power client never does. The journal is judged as it is written, so that no verdict
//! depends on how much of it is kept.

mod case;
mod kinds;
mod late;
mod logins;
#[cfg(test)]
mod naive;
mod power;
mod proof;
#[cfg(test)]
mod scribe;
mod sessions;
#[cfg(test)]
mod tests;
mod verdict;

pub(crate) use case::Case;

use serde::{Deserialize, Serialize};

/// A rule about what clients do to one BMC. Only what reached a client counts as known to it, and requests
/// that are under way together count in the order in which the BMC took them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Oracle {
    /// No On after a forced power-off before Off was read: the power-off may still come.
    OnBeforeConfirmedOff,
    /// No On after a forced power-off before two reads in a row said Off, the second begun when the first
    /// was answered; nor is it the end when the client last saw a single Off, or did not look at all.
    /// The end is not judged when something may have kept the client from reading on.
    OffNotProvenTwice,
    /// No power command twice without a read in between: the first may have been carried out.
    BlindRepeat,
    /// No power command before the power state was read at all.
    CommandBeforeRead,
    /// Only `On` and `ForceOff`: what the others do depends on the state, or on the operating system.
    RelativeCommand,
    /// Not more than once from on to off by commands: one failure of a machine is worth one power cycle.
    MoreThanOnePowerCycle,
    /// No second login after one was rejected, as long as the credentials are the same and the login is
    /// not changed: BMCs lock accounts. A rejection by a BMC that is still starting is one, too.
    TryAfterRejection,
    /// Not three rejected logins of one user in a row: with whatever credentials, BMCs lock accounts.
    ThirdRejection,
    /// No session is left open at the end, or to its time-out, that the client knows of.
    LeakedSession,
}

impl Oracle {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::OnBeforeConfirmedOff,
        Self::OffNotProvenTwice,
        Self::BlindRepeat,
        Self::CommandBeforeRead,
        Self::RelativeCommand,
        Self::MoreThanOnePowerCycle,
        Self::TryAfterRejection,
        Self::ThirdRejection,
        Self::LeakedSession,
    ];

    /// The name used in JSON and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OnBeforeConfirmedOff => "on-before-confirmed-off",
            Self::OffNotProvenTwice => "off-not-proven-twice",
            Self::BlindRepeat => "blind-repeat",
            Self::CommandBeforeRead => "command-before-read",
            Self::RelativeCommand => "relative-command",
            Self::MoreThanOnePowerCycle => "more-than-one-power-cycle",
            Self::TryAfterRejection => "try-after-rejection",
            Self::ThirdRejection => "third-rejection",
            Self::LeakedSession => "leaked-session",
        }
    }
}

impl std::fmt::Display for Oracle {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A rule that was broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Breach {
    /// Which rule.
    pub oracle: Oracle,
    /// At which host.
    pub host: String,
    /// Number of the journal entry that broke it; for a session that is open the one that opened it, for a
    /// power-off that is not proven the one that commanded it.
    pub seq: u64,
    /// What happened, in a sentence.
    pub text: String,
}

impl std::fmt::Display for Breach {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            oracle,
            host,
            seq,
            text,
        } = self;
        write!(formatter, "{oracle} at {host}, journal entry {seq}: {text}")
    }
}

/// A rule and how it was broken.
type Broken = (Oracle, String);
