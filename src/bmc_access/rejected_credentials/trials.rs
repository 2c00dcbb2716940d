//! Logins that a BMC has not taken yet, and that may be wrong: few of them, so that they lock nobody's account.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard};
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
    one_at_a_time: Weak<Mutex<()>>,
}

/// Nothing else that a BMC has not taken yet is offered to it while this is held.
#[derive(Debug)]
pub(crate) struct Trial(#[expect(dead_code, reason = "it is held")] pub(super) OwnedMutexGuard<()>);

impl Trials {
    pub(super) fn note_rejection(&mut self, secret: &str, now: Instant) {
        self.rejected.push_back((now, secret.to_owned()));
        if self.rejected.len() > MOST {
            self.rejected.pop_front();
        }
    }

    /// What is locked while something is offered that the BMC has not taken.
    pub(super) fn turn(&mut self) -> Arc<Mutex<()>> {
        self.one_at_a_time.upgrade().unwrap_or_else(|| {
            let new = Arc::default();
            self.one_at_a_time = Arc::downgrade(&new);
            new
        })
    }

    /// Whether nothing of them counts any more.
    pub(super) fn are_over(&self, now: Instant) -> bool {
        self.one_at_a_time.strong_count() == 0 && self.counted(now).next().is_none()
    }

    fn counted(&self, now: Instant) -> impl Iterator<Item = &(Instant, String)> {
        let counts = move |(at, _): &&(Instant, String)| now.saturating_duration_since(*at) < COUNTED;
        self.rejected.iter().filter(counts)
    }

    /// Whether so many were rejected that another Secret has to wait.
    pub(super) fn too_many(&self, secret: &str, now: Instant) -> Option<Rejection> {
        let is_neighbour = |(_, other): &&(Instant, String)| namespace(other) == namespace(secret);
        let own = self.counted(now).filter(is_neighbour).count();
        let are_too_many = own >= MOST_OF_A_NAMESPACE || self.counted(now).count() >= MOST;
        are_too_many.then_some(Rejection::TooMany(COUNTED))
    }
}

/// The namespace of a Secret that is named `namespace/name`.
fn namespace(secret: &str) -> &str {
    secret.split_once('/').map_or(secret, |(namespace, _)| namespace)
}
