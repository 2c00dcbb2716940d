//! SessionService (DSP0266, "Session login authentication"): open, list and close sessions.

mod login;
mod resources;

pub(super) use login::{create, full};
pub(super) use resources::{SERVICE, collection, member, place, placed, plan, service};

use std::collections::BTreeMap;
use std::time::Duration;

use crate::fault::Fault;
use crate::host::Acting;
use crate::journal::{Ended, Event};
use crate::seed::Seeded;

/// One open session.
#[derive(Debug)]
struct Open {
    token: String,
    /// Number of the account that opened it.
    account: u64,
    created: Duration,
    last_used: Duration,
}

/// Open sessions of one BMC.
#[derive(Debug)]
pub(crate) struct Sessions {
    tokens: Seeded,
    opened: u64,
    open: BTreeMap<u64, Open>,
    /// How long a session may be idle.
    pub(super) timeout: Duration,
}

impl Sessions {
    pub(crate) fn new(tokens: Seeded, timeout: Duration) -> Self {
        Self {
            tokens,
            opened: 0,
            open: BTreeMap::new(),
            timeout,
        }
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        self.open.keys().map(u64::to_string).collect()
    }

    /// When the next one ends if it is not used.
    pub(crate) fn next_deadline(&self) -> Option<Duration> {
        let idle_since = self.open.values().map(|open| open.last_used).min()?;
        idle_since.checked_add(self.timeout)
    }

    /// Ends the sessions that were idle for too long, and says when each did, in that order.
    pub(crate) fn expire(&mut self, now: Duration) -> Vec<(Duration, String)> {
        let timeout = self.timeout;
        let due = |open: &Open| open.last_used.saturating_add(timeout);
        let ended = self.open.extract_if(.., |_, open| due(open) <= now);
        let mut ended: Vec<(Duration, String)> =
            ended.map(|(id, open)| (due(&open), id.to_string())).collect();
        ended.sort_by_key(|(at, _)| *at);
        ended
    }

    /// The session that this token opens and its account; counts as use of it.
    pub(super) fn owner_of(&mut self, token: &str, now: Duration) -> Option<(String, u64)> {
        let (id, open) = self.open.iter_mut().find(|(_, open)| open.token == token)?;
        open.last_used = now;
        Some((id.to_string(), open.account))
    }

    /// The account that opened a session.
    pub(super) fn account_of(&self, id: &str) -> Option<u64> {
        self.find(id).map(|open| open.account)
    }

    /// Takes out those that are not spared, and says which they were.
    fn take(&mut self, spared: impl Fn(&str, &Open) -> bool) -> Vec<String> {
        let taken = self
            .open
            .extract_if(.., |id, open| !spared(id.to_string().as_str(), open));
        taken.map(|(id, _)| id.to_string()).collect()
    }

    fn find(&self, id: &str) -> Option<&Open> {
        self.open
            .iter()
            .find(|(open, _)| open.to_string() == id)
            .map(|(_, open)| open)
    }

    fn start(&mut self, account: u64, now: Duration) -> (String, String) {
        self.opened = self.opened.saturating_add(1);
        let token = self.tokens.hex();
        let open = Open {
            token: token.clone(),
            account,
            created: now,
            last_used: now,
        };
        self.open.insert(self.opened, open);
        (self.opened.to_string(), token)
    }

    fn end(&mut self, id: &str) -> bool {
        let before = self.open.len();
        self.open.retain(|open, _| open.to_string() != id);
        self.open.len() < before
    }
}

/// Whether the service is there at all.
pub(super) fn offered(acting: &Acting<'_>) -> bool {
    !acting.state.faults.has(&Fault::NoSessionService)
}

/// Ends all sessions.
pub(crate) fn end_all(acting: &mut Acting<'_>, reason: Ended) {
    let ended = acting.state.sessions.take(|_, _| false);
    tell(acting, ended, reason);
}

/// Ends the sessions of an account, but for one.
pub(super) fn end_of(acting: &mut Acting<'_>, account: u64, spared: Option<&str>, reason: Ended) {
    let stays = |id: &str, open: &Open| open.account != account || spared == Some(id);
    let ended = acting.state.sessions.take(stays);
    tell(acting, ended, reason);
}

fn tell(acting: &mut Acting<'_>, ended: Vec<String>, reason: Ended) {
    for session in ended {
        acting.log(Event::SessionEnded { session, reason });
    }
}

/// Ends one session at the wish of its owner or an administrator; false when it is not open.
pub(super) fn end(acting: &mut Acting<'_>, id: &str) -> bool {
    if !offered(acting) || !acting.state.sessions.end(id) {
        return false;
    }
    acting.log(Event::SessionDeleted {
        session: id.to_owned(),
    });
    true
}
