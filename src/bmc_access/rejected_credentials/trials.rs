//! Logins that a BMC has not taken yet, and that may be wrong: few of them, so that they lock nobody's account.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::Instant;

use super::Rejection;

/// For how long a rejection of what a BMC never took counts.
const COUNTED: Duration = Duration::from_mins(5);
/// How many count until nothing more of that kind is offered.
const MOST: usize = 3;
/// The same for the Secrets of one namespace, so that another may correct its own.
const MOST_OF_A_NAMESPACE: usize = 2;

/// What was offered to a BMC that it had not taken.
#[derive(Debug, Default)]
pub(super) struct Trials {
    /// When which Secrets were rejected, the oldest first.
    rejected: VecDeque<(Instant, String)>,
    /// Which are offered now.
    offered: Vec<(Weak<()>, String)>,
}

/// Something that a BMC has not taken is offered to it while this is held. It counts as a rejection until then.
#[derive(Debug)]
pub(crate) struct Trial(#[expect(dead_code, reason = "it is held")] Arc<()>);

impl Trials {
    pub(super) fn note_rejection(&mut self, secret: &str, now: Instant) {
        self.rejected.push_back((now, secret.to_owned()));
        if self.rejected.len() > MOST {
            self.rejected.pop_front();
        }
    }

    /// Begins to offer one, unless too many were rejected or are offered now.
    pub(super) fn begin(&mut self, secret: &str, now: Instant) -> Result<Trial, Rejection> {
        self.offered.retain(|(trial, _)| trial.strong_count() > 0);
        if self.are_too_many(secret, now) {
            return Err(Rejection::TooMany);
        }
        let trial = Arc::default();
        self.offered.push((Arc::downgrade(&trial), secret.to_owned()));
        Ok(Trial(trial))
    }

    /// Whether nothing of them counts any more.
    pub(super) fn are_over(&self, now: Instant) -> bool {
        self.counted(now).next().is_none()
    }

    /// The Secrets that were rejected lately, and those that are offered.
    fn counted(&self, now: Instant) -> impl Iterator<Item = &str> {
        let counts = move |(at, _): &&(Instant, String)| now.saturating_duration_since(*at) < COUNTED;
        let rejected = self
            .rejected
            .iter()
            .filter(counts)
            .map(|(_, secret)| secret.as_str());
        let offered = self.offered.iter().filter(|(trial, _)| trial.strong_count() > 0);
        rejected.chain(offered.map(|(_, secret)| secret.as_str()))
    }

    /// Whether another Secret has to wait.
    fn are_too_many(&self, secret: &str, now: Instant) -> bool {
        let is_neighbour = |other: &&str| namespace(other) == namespace(secret);
        let own = self.counted(now).filter(is_neighbour).count();
        own >= MOST_OF_A_NAMESPACE || self.counted(now).count() >= MOST
    }
}

/// The namespace of a Secret that is named `namespace/name`.
fn namespace(secret: &str) -> &str {
    secret.split_once('/').map_or(secret, |(namespace, _)| namespace)
}
