//! Rules about sessions.

use std::collections::BTreeMap;

/// What has to be remembered of the sessions of one BMC, which are as many as it has room for.
#[derive(Debug, Default)]
pub(super) struct SessionCase {
    open: BTreeMap<String, Open>,
}

#[derive(Debug)]
struct Open {
    /// The entry that opened it.
    seq: u64,
    /// Whether its client knows that it is open: nobody can close a session that he never heard of.
    known: bool,
}

impl SessionCase {
    pub(super) fn opened(&mut self, session: String, seq: u64, known: bool) {
        self.open.insert(session, Open { seq, known });
    }

    /// The client used it, so it knows of it.
    pub(super) fn used(&mut self, session: &str) {
        if let Some(open) = self.open.get_mut(session) {
            open.known = true;
        }
    }

    /// The answer to the entry that opened it arrived after all.
    pub(super) fn known(&mut self, seq: u64) {
        if let Some(open) = self.open.values_mut().find(|open| open.seq == seq) {
            open.known = true;
        }
    }

    pub(super) fn ended(&mut self, session: &str) {
        self.open.remove(session);
    }

    /// It was left to its time-out: says so, when its client knew of it.
    pub(super) fn expired(&mut self, session: &str) -> Option<String> {
        let open = self.open.remove(session)?;
        open.known
            .then(|| format!("session {session} was left to its time-out"))
    }

    /// The open sessions that somebody should close, each with the entry that opened it.
    pub(super) fn leaked(&self) -> impl Iterator<Item = (u64, String)> {
        let known = self.open.iter().filter(|(_, open)| open.known);
        known.map(|(session, open)| (open.seq, format!("session {session} is still open")))
    }
}
