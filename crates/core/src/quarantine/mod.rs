//! Quarantine: a host that was powered off and did not come back well is not powered off again for a trigger until
//! its Node has been well for a while, or a person has deleted what failed.

#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};

use super::after;
use super::facts::Obstacle;
use super::journal::Journal;
use super::phase::{Phase, Reason};

/// For how long the Node has to be Ready, with a boot of its own, before the quarantine ends. Twice the 5 min after
/// which health checks commonly take a Node for unhealthy, so that one which only comes up to fail again does not
/// end it. The same time as Cluster API gives a new Node by default (cluster-api
/// `api/core/v1beta2/machinehealthcheck_types.go`, `DefaultNodeStartupTimeoutSeconds`).
pub const READY_FOR: SignedDuration = SignedDuration::from_mins(10);

/// Since when a remediation keeps its Machine in quarantine; `None`: it does not. Only one that may have sent a
/// power-off does, that was not merely taken back. `is_taken_back`: its producer has told it to stop, or it is being
/// deleted.
pub fn since(journal: &Journal, is_taken_back: bool) -> Option<Timestamp> {
    let has_sent = journal.phase == Phase::Failed && journal.attempt > 0;
    let is_withdrawn = Reason::named(&journal.reason).is_some_and(Reason::is_withdrawal);
    let is_over = is_taken_back || is_withdrawn || journal.quarantine_lifted.is_some();
    // Without a time somebody has edited it.
    let failed = journal.phase_started.unwrap_or(Timestamp::MIN);
    (has_sent && !is_over).then_some(failed)
}

/// When a quarantine that began then ends, where its Node has been Ready since, with a boot of its own.
pub fn ends(began: Timestamp, ready_since: Timestamp) -> Timestamp {
    after(began.max(ready_since), READY_FOR)
}

/// The quarantine of a Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantine {
    /// When the first of these failed.
    pub since: Timestamp,
    /// Names of the remediations that keep it there, in order.
    pub remediations: Vec<String>,
}

impl Quarantine {
    /// What these remediations amount to, each with when it failed. `None`: there are none.
    pub fn of(failed: impl IntoIterator<Item = (String, Timestamp)>) -> Option<Self> {
        let mut failed: Vec<_> = failed.into_iter().collect();
        failed.sort();
        let since = failed.iter().map(|(_, at)| *at).min()?;
        let remediations = failed.into_iter().map(|(name, _)| name).collect();
        Some(Self { since, remediations })
    }

    /// Since when it lasts, and on whose account.
    pub fn cause(&self) -> String {
        let (names, since) = (self.remediations.join(", "), self.since);
        format!("in quarantine since {since:.0}, because PowerCycleRemediation {names} failed")
    }

    /// Why no trigger of the Machine is taken up, with what ends it.
    pub fn obstacle(&self, machine: &str) -> Obstacle {
        Obstacle::new(
            Reason::Quarantined,
            format!("Machine {machine} is {}", self.cause()),
        )
    }
}
