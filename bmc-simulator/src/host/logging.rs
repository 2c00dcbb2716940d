//! Writing to the journal, and judging what is written.

use std::time::Duration;

use super::Acting;
use crate::counters::RequestClass;
use crate::journal::{Event, Tried};

impl Acting<'_> {
    /// Writes to the journal, at this instant. Returns the entry's number.
    pub(crate) fn log(&mut self, event: Event) -> u64 {
        self.log_at(self.now, event)
    }

    /// Writes to the journal that a fault changed an answer.
    pub(crate) fn log_fault(&mut self, fault: &str, class: RequestClass) {
        self.log(Event::FaultApplied {
            fault: fault.to_owned(),
            class,
        });
    }

    /// Writes to the journal that credentials were accepted, if others were rejected before.
    pub(crate) fn log_accepted(&mut self, class: RequestClass, tried: Tried) {
        if self.state.case.concerns_login(&tried) {
            self.log(Event::LoginAccepted { class, tried });
        }
    }

    /// Writes to the journal that the logins of these users are not what they were. Nothing for none.
    pub(crate) fn log_rotated(&mut self, users: &[String]) {
        let salt = &self.core.journal.salt;
        let users: Vec<String> = users.iter().map(|name| salt.user(name.as_bytes())).collect();
        if !users.is_empty() {
            self.log(Event::CredentialsRotated { users });
        }
    }

    /// Writes to the journal that late answers were sent, or (`None`) never will be.
    pub(crate) fn log_answered(&mut self, of: impl IntoIterator<Item = u64>, status: Option<u16>) {
        for of in of {
            self.log(Event::Answered { of, status });
        }
    }

    /// Writes to the journal, at an instant that is over. Returns the entry's number.
    pub(crate) fn log_at(&mut self, elapsed: Duration, event: Event) -> u64 {
        let entry = self.core.journal.append(&self.core.name, elapsed, event);
        self.state.case.hear(&entry);
        self.logged = true;
        entry.seq
    }
}

#[cfg(test)]
#[path = "logging_tests.rs"]
mod tests;
