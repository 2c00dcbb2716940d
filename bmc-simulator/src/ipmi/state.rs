//! The IPMI side of one BMC's state.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Serialize;

use super::crypto::Suite;
use super::receive::Outgoing;
use super::session::{Session, Sessions};
use super::spec::{IpmiSpec, IpmiUser, LONGEST_PASSWORD, Privilege};
use crate::counters::{RequestClass, bump};
use crate::fault::IpmiEffect;
use crate::host::Acting;
use crate::journal::{Delivery, Ended, Event};
use crate::per_machine::Slot;
use crate::seed::Seeded;

/// What does not change while the BMC runs.
pub(crate) struct Settings {
    pub(super) suites: Vec<Suite>,
    pub(super) kg: Option<Vec<u8>>,
    pub(super) users: Vec<IpmiUser>,
    pub(super) login_limit: Option<Privilege>,
    pub(super) reset_while_off_refused: bool,
}

/// What Chassis Status tells beside the power state.
#[derive(Debug, Default)]
pub(crate) struct ChassisMemory {
    /// The power-on, counted as `Truth::off_to_on` does, that a command over IPMI asked for.
    pub(super) commanded_on: Option<u64>,
}

/// The mutable part.
pub(crate) struct IpmiState {
    pub(super) settings: Settings,
    pub(super) sessions: Sessions,
    pub(super) chassis: ChassisMemory,
    /// Replies that wait for the next one to overtake them.
    pub(super) held: Vec<Outgoing>,
}

impl IpmiState {
    pub(crate) fn new(spec: IpmiSpec, random: Seeded) -> Self {
        Self {
            settings: Settings {
                suites: spec.suites(),
                kg: spec.kg,
                users: spec.users,
                login_limit: spec.login_limit,
                reset_while_off_refused: spec.reset_while_off_refused,
            },
            sessions: Sessions::new(random, spec.session_limit, spec.idle_timeout),
            chassis: ChassisMemory::default(),
            held: Vec::new(),
        }
    }

    pub(crate) fn next_deadline(&self) -> Option<Duration> {
        self.sessions.next_deadline()
    }

    /// Ends what was idle for too long, and says when.
    pub(crate) fn expire(&mut self, now: Duration) -> Vec<(Duration, Event)> {
        let ended = self.sessions.expire(now).into_iter();
        ended
            .map(|(at, session)| (at, Ended::Idle.of(&session)))
            .collect()
    }

    /// Ends all sessions. Of a BMC that is gone no reply is left either.
    pub(crate) fn end_all(&mut self, reason: Ended) -> Vec<Event> {
        if reason == Ended::BmcGone {
            self.held.clear();
        }
        let ended = self.sessions.end_all();
        ended.iter().map(|session| reason.of(session)).collect()
    }

    pub(crate) fn snapshots(&self) -> Vec<IpmiSession> {
        self.sessions.open().iter().map(IpmiSession::of).collect()
    }
}

impl Ended {
    pub(super) fn of(self, session: &Session) -> Event {
        Event::IpmiSessionEnded {
            session: session.name(),
            reason: self,
        }
    }
}

/// An open session at one instant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IpmiSession {
    /// The BMC's id of it, 8 hexadecimal digits.
    pub id: String,
    /// Who opened it.
    pub username: String,
    /// Where its newest packet came from.
    pub peer: SocketAddr,
    /// What it may do now.
    pub privilege: Privilege,
    /// What it may raise itself to.
    pub limit: Privilege,
    /// Id of its cipher suite.
    pub cipher_suite: u8,
}

impl IpmiSession {
    fn of(session: &Session) -> Self {
        Self {
            id: session.name(),
            username: session.username.clone(),
            peer: session.peer,
            privilege: session.privilege,
            limit: session.limit,
            cipher_suite: session.keys.suite.id,
        }
    }
}

/// The user that RAKP Message 1 names.
pub(super) struct Known {
    pub(super) id: u8,
    pub(super) name: String,
    pub(super) privilege: Privilege,
    /// Whether a role above that is refused instead of lowered.
    pub(super) refuses_more: bool,
}

/// Id of the BMC's login; 1 is the nameless user (section 22.26), which there is none of.
const FIRST_USER: u8 = 2;

/// A BMC while it deals with one datagram.
pub(super) struct Bmc<'a, 'b> {
    pub(super) acting: &'a mut Acting<'b>,
    pub(super) ipmi: &'a mut IpmiState,
    pub(super) peer: SocketAddr,
    /// What becomes of the answer.
    pub(super) delivery: Delivery,
    /// Entries of the journal whose answer takes long.
    pub(super) awaited: Vec<Awaited>,
}

/// An entry of the journal whose answer takes long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Awaited {
    pub(super) of: u64,
    /// The code that is answered.
    pub(super) status: u16,
}

impl Bmc<'_, '_> {
    /// Writes to the journal what is answered with this code. Returns the entry's number.
    pub(super) fn tell(&mut self, code: u8, event: impl FnOnce(Option<u16>, Delivery) -> Event) -> u64 {
        let (delivery, status) = (self.delivery, u16::from(code));
        let at_once = (delivery == Delivery::Sent).then_some(status);
        let of = self.acting.log(event(at_once, delivery));
        if delivery == Delivery::Late {
            self.awaited.push(Awaited { of, status });
        }
        of
    }

    /// Uses a fault that is wanted and selects `class`, and writes so to the journal.
    pub(super) fn fault<T>(
        &mut self,
        class: RequestClass,
        wanted: impl Fn(IpmiEffect) -> Option<T>,
    ) -> Option<T> {
        let (fault, value) = self.acting.state.faults.take_ipmi(class, wanted)?;
        self.acting.log_fault(fault, class);
        Some(value)
    }

    /// Counts a datagram that is well-formed and still gets no answer.
    pub(super) fn discard(&mut self) -> Vec<Outgoing> {
        bump(&mut self.acting.state.counters.ipmi.discarded);
        Vec::new()
    }

    /// Looks a user up: by name alone, or by name and privilege, which then has to be the user's
    /// own limit (section 13.20; so do OpenIPMI and phosphor-net-ipmid).
    pub(super) fn user(&self, name: &[u8], role: Privilege, name_only: bool) -> Option<(Known, [u8; 20])> {
        let login = &self.acting.state.credentials;
        let limit = self.ipmi.settings.login_limit;
        let login = (
            login.username.as_str(),
            login.password.as_str(),
            limit.unwrap_or(Privilege::Administrator),
        );
        let others = self.ipmi.settings.users.iter();
        let others = others.map(|user| (user.name.as_str(), user.password.as_str(), user.privilege));
        let mut all = (FIRST_USER..).zip(std::iter::once(login).chain(others));
        let (id, (name, password, privilege)) = all.find(|(_, (known, _, privilege))| {
            known.as_bytes() == name && (name_only || *privilege == role)
        })?;
        let known = Known {
            id,
            name: name.to_owned(),
            privilege,
            refuses_more: id == FIRST_USER && limit.is_some(),
        };
        Some((known, padded(password)?))
    }

    /// The system's UUID as Get System GUID sends it (section 22.14): least significant byte first,
    /// as section 20.8 prescribes.
    pub(super) fn system_guid(&self) -> [u8; 16] {
        guid(&self.acting.identity(Slot::FIRST).uuid).unwrap_or_default()
    }
}

/// A password in its 20 bytes; absent when it does not fit, for then nobody can log in with it.
fn padded(password: &str) -> Option<[u8; LONGEST_PASSWORD]> {
    let mut bytes = [0; LONGEST_PASSWORD];
    bytes
        .get_mut(..password.len())?
        .copy_from_slice(password.as_bytes());
    Some(bytes)
}

/// A UUID's text as IPMI sends it; absent when it is none.
pub(crate) fn guid(uuid: &str) -> Option<[u8; 16]> {
    let digits: String = uuid.chars().filter(|digit| *digit != '-').collect();
    if digits.len() != 32 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    u128::from_str_radix(&digits, 16).ok().map(u128::to_le_bytes)
}
