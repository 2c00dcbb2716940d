//! The sessions of one BMC. Pure: every call is told the instant at which it happens.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::Window;
use crate::ipmi::crypto::{Keys, SessionKeys, Suite, Transcript};
use crate::ipmi::spec::Privilege;
use crate::seed::Seeded;

/// Most half-open sessions. One more pushes the oldest out, so that nobody is locked out by
/// datagrams that cost their sender nothing.
pub(crate) const HALF_OPEN: usize = 32;

/// A session that is being opened.
pub(crate) struct Opening {
    pub(crate) managed_id: u32,
    pub(crate) console_id: u32,
    pub(crate) suite: Suite,
    /// Highest privilege that the Open Session Request asked for.
    pub(crate) limit: Privilege,
    /// RC. Drawn once, so that a repeated RAKP Message 1 gets the same answer.
    pub(crate) random: [u8; 16],
    pub(crate) claim: Option<Claim>,
    begun: Duration,
}

/// What RAKP Message 1 claimed, and the keys that would prove it.
pub(crate) struct Claim {
    pub(crate) transcript: Transcript,
    pub(crate) keys: Keys,
    pub(crate) user_id: u8,
    pub(crate) username: String,
    pub(crate) limit: Privilege,
}

/// An open session.
pub(crate) struct Session {
    pub(crate) managed_id: u32,
    pub(crate) console_id: u32,
    /// Small number that Get Session Info and Close Session know it by.
    pub(crate) handle: u8,
    pub(crate) user_id: u8,
    pub(crate) username: String,
    pub(crate) peer: SocketAddr,
    pub(crate) privilege: Privilege,
    pub(crate) limit: Privilege,
    pub(crate) keys: Arc<SessionKeys>,
    pub(crate) inbound: Window,
    pub(crate) last_reply: Vec<u8>,
    /// The journal's entry of its opening, while the console may not know of it.
    pub(crate) unanswered: Option<u64>,
    outbound: u32,
    last_used: Duration,
}

impl Session {
    /// The id as the journal writes it.
    pub(crate) fn name(&self) -> String {
        format!("{:08x}", self.managed_id)
    }

    /// A valid packet came at `now`.
    pub(crate) fn touch(&mut self, now: Duration, peer: SocketAddr) {
        self.last_used = now;
        self.peer = peer;
    }

    /// Leaves out numbers of packets to the console.
    pub(crate) fn skip_outbound(&mut self, by: u32) {
        self.outbound = self.outbound.saturating_add(by);
    }

    /// The number of the next packet to the console; never 0.
    pub(crate) fn next_outbound(&mut self) -> u32 {
        self.outbound = self.outbound.checked_add(1).unwrap_or(1);
        self.outbound
    }
}

/// All sessions of one BMC.
pub(crate) struct Sessions {
    random: Seeded,
    opening: VecDeque<Opening>,
    open: Vec<Session>,
    limit: usize,
    idle: Duration,
}

impl Sessions {
    pub(crate) fn new(random: Seeded, limit: u8, idle: Duration) -> Self {
        Self {
            random,
            opening: VecDeque::new(),
            open: Vec::new(),
            limit: usize::from(limit),
            idle,
        }
    }

    pub(crate) fn random(&mut self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let (head, tail) = bytes.split_at_mut(8);
        head.copy_from_slice(&self.random.next().to_le_bytes());
        tail.copy_from_slice(&self.random.next().to_le_bytes());
        bytes
    }

    pub(crate) fn is_full(&self) -> bool {
        self.open.len() >= self.limit
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    pub(crate) fn open(&self) -> &[Session] {
        &self.open
    }

    #[cfg(test)]
    pub(crate) fn half_open(&self) -> usize {
        self.opening.len()
    }

    /// Begins to open a session and returns the BMC's id of it.
    pub(crate) fn begin(&mut self, console_id: u32, suite: Suite, limit: Privilege, now: Duration) -> u32 {
        if self.opening.len() >= HALF_OPEN {
            self.opening.pop_front();
        }
        let managed_id = self.fresh_id();
        let random = self.random();
        self.opening.push_back(Opening {
            managed_id,
            console_id,
            suite,
            limit,
            random,
            claim: None,
            begun: now,
        });
        managed_id
    }

    pub(crate) fn opening(&mut self, managed_id: u32) -> Option<&mut Opening> {
        self.opening.iter_mut().find(|one| one.managed_id == managed_id)
    }

    pub(crate) fn abandon(&mut self, managed_id: u32) {
        self.opening.retain(|one| one.managed_id != managed_id);
    }

    /// Turns a half-open session, whose claim was proved, into an open one at privilege USER, or
    /// lower where the limit is (section 22.18).
    pub(crate) fn establish(&mut self, managed_id: u32, now: Duration, peer: SocketAddr) -> Option<&Session> {
        let index = self.opening.iter().position(|one| one.managed_id == managed_id)?;
        let handle = self.free_handle()?;
        let opening = self.opening.remove(index)?;
        let claim = opening.claim?;
        let limit = claim.limit.min(opening.limit);
        self.open.push(Session {
            managed_id,
            console_id: opening.console_id,
            handle,
            user_id: claim.user_id,
            username: claim.username,
            peer,
            privilege: limit.min(Privilege::User),
            limit,
            keys: Arc::new(SessionKeys {
                suite: opening.suite,
                keys: claim.keys,
            }),
            inbound: Window::default(),
            last_reply: Vec::new(),
            unanswered: None,
            outbound: 0,
            last_used: now,
        });
        self.open.last()
    }

    pub(crate) fn find(&mut self, managed_id: u32) -> Option<&mut Session> {
        self.open.iter_mut().find(|one| one.managed_id == managed_id)
    }

    pub(crate) fn close(&mut self, managed_id: u32) -> Option<Session> {
        let index = self.open.iter().position(|one| one.managed_id == managed_id)?;
        Some(self.open.remove(index))
    }

    /// Ends all, half-open ones included, and returns those that were open.
    pub(crate) fn end_all(&mut self) -> Vec<Session> {
        self.opening.clear();
        std::mem::take(&mut self.open)
    }

    /// Ends what was idle for too long by `now`, and returns with its instant what was open.
    pub(crate) fn expire(&mut self, now: Duration) -> Vec<(Duration, Session)> {
        let idle = self.idle;
        self.opening.retain(|one| one.begun.saturating_add(idle) > now);
        let due = |one: &Session| one.last_used.saturating_add(idle);
        let ended = self.open.extract_if(.., |one| due(one) <= now);
        ended.map(|one| (due(&one), one)).collect()
    }

    /// When the next one ends if nothing comes for it.
    pub(crate) fn next_deadline(&self) -> Option<Duration> {
        let opening = self.opening.iter().map(|one| one.begun);
        let open = self.open.iter().map(|one| one.last_used);
        Some(opening.chain(open).min()?.saturating_add(self.idle))
    }

    fn free_handle(&self) -> Option<u8> {
        (1..=u8::MAX).find(|handle| self.open.iter().all(|one| one.handle != *handle))
    }

    fn fresh_id(&mut self) -> u32 {
        loop {
            let id = u32::try_from(self.random.next() >> 32).unwrap_or(0);
            let taken = id == 0 || self.opening(id).is_some() || self.find(id).is_some();
            if !taken {
                return id;
            }
        }
    }
}
