//! The rule about sessions.

use super::History;
use crate::journal::{Delivery, Ended, Entry, Event, Via};

impl History<'_> {
    pub(super) fn leaks(&self) -> Vec<u64> {
        let opened = self.0.iter().filter_map(|entry| match &entry.event {
            Event::SessionCreated { session, .. } => Some((entry, session, false)),
            Event::IpmiSessionOpened { session, .. } => Some((entry, session, true)),
            _ => None,
        });
        opened
            .filter_map(|(entry, session, ipmi)| {
                let end = self.0.iter().find_map(|other| {
                    let (ended, expired, over_ipmi) = match &other.event {
                        Event::SessionDeleted { session } => (session, false, false),
                        Event::SessionEnded { session, .. } => (session, false, false),
                        Event::SessionExpired { session } => (session, true, false),
                        Event::IpmiSessionEnded { session, reason } => {
                            (session, *reason == Ended::Idle, true)
                        }
                        _ => return None,
                    };
                    (ended == session && over_ipmi == ipmi && other.seq > entry.seq)
                        .then_some((other.seq, expired))
                });
                match end {
                    Some((_, false)) => None,
                    Some((seq, true)) => self.knows(entry, session, ipmi, seq).then_some(seq),
                    None => self.knows(entry, session, ipmi, u64::MAX).then_some(entry.seq),
                }
            })
            .collect()
    }

    /// Whether a client knew of a session before an instant.
    fn knows(&self, opened: &Entry, session: &str, ipmi: bool, before: u64) -> bool {
        self.0.iter().filter(|entry| entry.seq < before).any(|entry| {
            let via = match &entry.event {
                Event::Answered { of, status: Some(_) } => return *of == opened.seq,
                Event::SessionCreated { delivery, .. } | Event::IpmiSessionOpened { delivery, .. } => {
                    return entry.seq == opened.seq && *delivery == Delivery::Sent;
                }
                Event::Observed { via, .. }
                | Event::Command { via, .. }
                | Event::CommandRefused { via, .. } => via,
                _ => return false,
            };
            let used = match via {
                Via::RedfishSession(id) => id == session && !ipmi,
                Via::IpmiSession(id) => id == session && ipmi,
                Via::RedfishBasic => false,
            };
            used && entry.seq > opened.seq
        })
    }
}
