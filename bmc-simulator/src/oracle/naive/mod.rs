//! The rules once more, as they are documented: questions to the whole history, asked anew for each entry.
//! Slow, and independent of [`Case`](super::Case), which has to come to the same verdicts.

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "a question to the history is about the events that it names"
)]

mod logins;
mod power;
mod sessions;

use std::collections::BTreeSet;

use super::Oracle;
use crate::journal::{Delivery, Entry, Event};

/// A history with the questions that the rules ask.
pub(super) struct History<'a>(pub(super) &'a [Entry]);

impl History<'_> {
    /// All breaches, as rule and entry.
    pub(super) fn breaches(&self) -> BTreeSet<(Oracle, u64)> {
        let mut found: BTreeSet<(Oracle, u64)> = BTreeSet::new();
        for sent in self.commands() {
            found.extend(self.of_command(&sent).into_iter().map(|rule| (rule, sent.seq)));
        }
        for entry in self.0 {
            found.extend(self.of_login(entry).into_iter().map(|rule| (rule, entry.seq)));
        }
        let cycles = self.more_offs_by_command().into_iter();
        found.extend(cycles.map(|seq| (Oracle::MoreThanOnePowerCycle, seq)));
        found.extend(self.leaks().into_iter().map(|seq| (Oracle::LeakedSession, seq)));
        found.extend(
            self.unproven_at_the_end()
                .into_iter()
                .map(|seq| (Oracle::OffNotProvenTwice, seq)),
        );
        found
    }

    /// Whether the BMC went down between two entries, and with it all answers under way.
    fn went_down(&self, from: u64, to: u64) -> bool {
        let within = self.0.iter().filter(|entry| from < entry.seq && entry.seq < to);
        within
            .into_iter()
            .any(|entry| matches!(entry.event, Event::MainsLost | Event::BmcRebooted))
    }

    /// When the answer to an entry was there.
    fn answered(&self, seq: u64, delivery: Delivery) -> Option<u64> {
        match delivery {
            Delivery::Sent => Some(seq),
            Delivery::Lost => None,
            Delivery::Late => self
                .0
                .iter()
                .find_map(|entry| match entry.event {
                    Event::Answered { of, status: Some(_) } if of == seq => Some(entry.seq),
                    _ => None,
                })
                .filter(|answered| !self.went_down(seq, *answered)),
        }
    }
}
