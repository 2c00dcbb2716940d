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
    /// Number of the newest entry that was looked at, also when it does not match; ask for what comes
    /// after it next time.
    pub last_seq: u64,
    /// How many of the oldest entries are no longer kept.
    pub dropped: u64,
    /// Whether there was more to look at when the page was asked for.
    pub more: bool,
}

fn plain<S: Serializer>(entries: &[Arc<Entry>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(entries.iter().map(AsRef::<Entry>::as_ref))
}

/// How far a page reaches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Most {
    /// Entries on it.
    pub(crate) entries: usize,
    /// Entries that are looked at for it.
    pub(crate) looked_at: usize,
}

impl Most {
    /// To the end.
    pub(crate) const ALL: Self = Self {
        entries: usize::MAX,
        looked_at: usize::MAX,
    };
}

/// Entries that a reader looks at before writers get their turn.
const AT_ONCE: usize = 1024;

#[derive(Debug)]
struct Kept {
    entries: VecDeque<Arc<Entry>>,
    last_seq: u64,
    capacity: usize,
}

impl Kept {
    /// How many of the oldest entries are gone.
    fn dropped(&self) -> u64 {
        let held = u64::try_from(self.entries.len()).unwrap_or(u64::MAX);
        self.last_seq.saturating_sub(held)
    }
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

    /// Entries with a number above `after`, of one host or of all. They are copied a few at a time, so that
    /// nobody who writes waits for a reader; what is written meanwhile is left to the next page.
    pub(crate) fn page(&self, host: Option<&str>, after: u64, most: Most) -> Page {
        let mut page = Page {
            entries: Vec::new(),
            last_seq: after,
            dropped: 0,
            more: true,
        };
        let (mut end, mut looked_at) = (None, 0_usize);
        while page.more && page.entries.len() < most.entries && looked_at < most.looked_at {
            let kept = self.kept();
            let end = *end.get_or_insert(kept.last_seq);
            page.dropped = kept.dropped();
            if looked_at > 0 && page.dropped > page.last_seq {
                // The writers have overtaken us: the next page begins with what is kept.
                break;
            }
            let start = kept.entries.partition_point(|entry| entry.seq <= page.last_seq);
            for entry in kept.entries.range(start..).take(AT_ONCE) {
                if entry.seq > end || page.entries.len() >= most.entries {
                    break;
                }
                looked_at = looked_at.saturating_add(1);
                page.last_seq = entry.seq;
                if host.is_none_or(|name| entry.host == name) {
                    page.entries.push(Arc::clone(entry));
                }
            }
            page.last_seq = page.last_seq.max(page.dropped.min(end));
            page.more = page.last_seq < end;
        }
        page
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
