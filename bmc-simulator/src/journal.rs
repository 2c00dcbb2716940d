//! The ground-truth journal: what was asked, what was answered and what truly happened, in order.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};

use crate::ipmi::{Ended, Privilege};
use crate::power::{Change, Command, Delays, Outcome, Power};
use crate::redfish::RedfishSpec;
use crate::{Injection, RequestClass, Stage};

/// Entries kept; the oldest go first and [`Page::dropped`] tells how many are gone.
pub const JOURNAL_CAPACITY: usize = 1_000_000;

/// By which door a request came in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// Redfish with HTTP Basic.
    RedfishBasic,
    /// Redfish with the session of this id.
    RedfishSession(String),
    /// IPMI, in the session of this id.
    IpmiSession(String),
}

/// Something that happened at one BMC or to its machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Event {
    /// A TCP connection was accepted.
    TcpAccepted,
    /// A TLS handshake was completed.
    TlsHandshake,
    /// A TLS handshake failed or took too long.
    TlsFailed,
    /// A session was opened.
    SessionCreated {
        /// Its id.
        session: String,
    },
    /// A session was closed by its owner.
    SessionDeleted {
        /// Its id.
        session: String,
    },
    /// A session was opened over IPMI.
    IpmiSessionOpened {
        /// Its id: what the BMC calls it, 8 hexadecimal digits.
        session: String,
        /// Who opened it.
        username: String,
        /// The highest privilege that it may ask for.
        limit: Privilege,
        /// Id of its cipher suite.
        cipher_suite: u8,
    },
    /// A session over IPMI ended.
    IpmiSessionEnded {
        /// Its id.
        session: String,
        /// Why.
        reason: Ended,
    },
    /// A session ended because it was not used for too long.
    SessionExpired {
        /// Its id.
        session: String,
    },
    /// A request was refused for missing or wrong credentials.
    AuthFailed {
        /// What kind of request.
        class: RequestClass,
    },
    /// A power command was accepted.
    Command {
        /// Id of the system it was sent to.
        system: String,
        /// The command.
        command: Command,
        /// How it came in.
        via: Via,
        /// What became of it.
        outcome: Outcome,
        /// HTTP status or, over IPMI, completion code answered; absent when no answer was sent.
        status: Option<u16>,
    },
    /// A power command was refused and had no effect.
    CommandRefused {
        /// Id of the system it was sent to.
        system: String,
        /// How it came in.
        via: Via,
        /// HTTP status or, over IPMI, completion code answered.
        status: u16,
        /// Why.
        reason: String,
    },
    /// A power state was read.
    Observed {
        /// Id of the system that was read.
        system: String,
        /// How the request came in.
        via: Via,
        /// What was reported; absent = null.
        reported: Option<String>,
        /// What was true at that moment.
        truth: Power,
    },
    /// The truth about a machine changed.
    Changed {
        /// Id of the system that the machine is.
        system: String,
        /// What changed.
        #[serde(flatten)]
        change: Change,
    },
    /// Somebody set the truth directly.
    Pressed {
        /// Id of the system whose.
        system: String,
        /// To what.
        to: Power,
    },
    /// The BMC itself rebooted: sessions and connections are gone.
    BmcRebooted,
    /// The BMC itself came a stage further.
    BmcStage {
        /// How far it is.
        stage: Stage,
    },
    /// The mains failed: neither the BMC nor its machine has power.
    MainsLost,
    /// The mains are back; the BMC boots.
    MainsRestored,
    /// A fault replaced or damaged an answer.
    FaultApplied {
        /// The fault's name.
        fault: String,
        /// What kind of request it hit.
        class: RequestClass,
    },
    /// The faults in force became these.
    FaultsSet {
        /// Those that were injected, in order.
        faults: Vec<Injection>,
        /// Those that belong to the personality.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        personality_faults: Vec<Injection>,
    },
    /// The delays of a machine became these.
    DelaysSet {
        /// Id of the system that the machine is.
        system: String,
        /// All of them.
        #[serde(flatten)]
        delays: Delays,
    },
    /// The switches of the Redfish service were replaced by these.
    RedfishSet {
        /// All of them.
        redfish: Box<RedfishSpec>,
    },
    /// User name and password were changed; all sessions ended.
    CredentialsRotated,
    /// The TLS certificate was swapped; all connections were closed.
    CertificateSwapped {
        /// SHA-256 of the new certificate, in hexadecimal.
        sha256: String,
    },
}

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
    kept: Mutex<Kept>,
}

impl Journal {
    pub(crate) fn new(begin: Timestamp, capacity: usize) -> Self {
        Self {
            begin,
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

    pub(crate) fn append(&self, host: &str, elapsed: Duration, event: Event) {
        let wall = self.wall(elapsed);
        let mut kept = self.kept();
        kept.last_seq = kept.last_seq.saturating_add(1);
        let entry = Entry {
            seq: kept.last_seq,
            host: host.to_owned(),
            wall,
            elapsed,
            event,
        };
        if kept.entries.len() >= kept.capacity {
            kept.entries.pop_front();
        }
        kept.entries.push_back(Arc::new(entry));
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
    use super::{Event, Journal};
    use std::time::Duration;

    #[test]
    fn numbers_filters_and_admits_what_it_dropped() {
        let journal = Journal::new(jiff::Timestamp::UNIX_EPOCH, 3);
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
