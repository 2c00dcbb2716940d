//! The ground-truth journal: what was asked, what was answered and what truly happened, in order.

mod event;
mod salt;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};

pub use event::{Delivery, Ended, Event, Tried, Via};
pub(crate) use salt::Salt;

/// Entries kept; the oldest go first and [`Page::dropped`] tells how many are gone.
pub const JOURNAL_CAPACITY: usize = 1_000_000;

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Position in the simulator's one order of events; starts at 1, without gaps.
    pub seq: u64,
    /// Name of the host.
    pub host: String,
    /// Wall time: the simulation's begin plus `elapsed`.
    pub wall: Timestamp,
    /// Time since the simulation began. A change carries the instant it was due.
    #[serde(rename = "elapsedUs", with = "crate::human::micros")]
    pub elapsed: Duration,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// An answer to a query of the journal.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    /// Matching entries, oldest first.
    #[serde(serialize_with = "plain")]
    pub entries: Vec<Arc<Entry>>,
    /// Number of the newest entry of the whole journal, also when it does not match; ask for what
    /// comes after it next time.
    pub last_seq: u64,
    /// How many of the oldest entries are no longer kept.
    pub dropped: u64,
}

fn plain<S: Serializer>(entries: &[Arc<Entry>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(entries.iter().map(AsRef::<Entry>::as_ref))
}

#[derive(Debug)]
struct Kept {
    entries: VecDeque<Arc<Entry>>,
    last_seq: u64,
    capacity: usize,
}

/// The journal of one simulator. One lock gives numbers and stores, so no reader sees a gap.
#[derive(Debug)]
pub(crate) struct Journal {
    begin: Timestamp,
    /// For texts that stand for credentials.
    pub(crate) salt: Salt,
    kept: Mutex<Kept>,
}

impl Journal {
    pub(crate) fn new(begin: Timestamp, capacity: usize, salt: Salt) -> Self {
        Self {
            begin,
            salt,
            kept: Mutex::new(Kept {
                entries: VecDeque::new(),
                last_seq: 0,
                capacity,
            }),
        }
    }

    /// The wall time of an instant.
    pub(crate) fn wall(&self, elapsed: Duration) -> Timestamp {
        self.begin.checked_add(elapsed).unwrap_or(Timestamp::MAX)
    }

    pub(crate) fn append(&self, host: &str, elapsed: Duration, event: Event) -> Arc<Entry> {
        let wall = self.wall(elapsed);
        let mut kept = self.kept();
        kept.last_seq = kept.last_seq.saturating_add(1);
        let entry = Arc::new(Entry {
            seq: kept.last_seq,
            host: host.to_owned(),
            wall,
            elapsed,
            event,
        });
        if kept.entries.len() >= kept.capacity {
            kept.entries.pop_front();
        }
        kept.entries.push_back(Arc::clone(&entry));
        entry
    }

    /// Entries with a number above `after`, of one host or of all.
    pub(crate) fn page(&self, host: Option<&str>, after: u64) -> Page {
        let kept = self.kept();
        let start = kept.entries.partition_point(|entry| entry.seq <= after);
        let entries = kept
            .entries
            .range(start..)
            .filter(|entry| host.is_none_or(|name| entry.host == name))
            .cloned()
            .collect();
        let held = u64::try_from(kept.entries.len()).unwrap_or(u64::MAX);
        Page {
            entries,
            last_seq: kept.last_seq,
            dropped: kept.last_seq.saturating_sub(held),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, Journal, Salt};
    use std::time::Duration;

    #[test]
    fn numbers_filters_and_admits_what_it_dropped() {
        let journal = Journal::new(jiff::Timestamp::UNIX_EPOCH, 3, Salt::new().unwrap());
        for host in ["a", "b", "a", "b", "a"] {
            journal.append(host, Duration::from_secs(1), Event::TcpAccepted);
        }
        let seqs = |host, after| -> Vec<u64> {
            journal
                .page(host, after)
                .entries
                .iter()
                .map(|entry| entry.seq)
                .collect()
        };
        assert_eq!(seqs(None, 0), [3, 4, 5]);
        assert_eq!(seqs(Some("a"), 3), [5]);
        assert_eq!(seqs(None, 5), [0_u64; 0]);
        let page = journal.page(None, 0);
        assert_eq!((page.last_seq, page.dropped), (5, 2));
        assert_eq!(page.entries[0].wall.to_string(), "1970-01-01T00:00:01Z");
    }
}
