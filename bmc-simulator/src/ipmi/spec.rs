//! How a BMC is to answer over IPMI.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::crypto::{self, Suite};
use super::state::guid;
use crate::HostSpec;
use crate::per_machine::Slot;
use crate::spec::{Layered, Wrong};

/// Longest user name that IPMI carries, in bytes (section 13.20).
pub(crate) const LONGEST_NAME: usize = 16;
/// Longest password of IPMI 2.0, in bytes (section 22.30).
pub(crate) const LONGEST_PASSWORD: usize = 20;
/// Longest KG, in bytes (section 22.25).
const LONGEST_KG: usize = 20;
/// Most sessions that Get Session Info can count (6 bits, table 22-25).
const MOST_SESSIONS: u8 = 63;
/// As OpenBMC's phosphor-net-ipmid per channel (`maxSessionCountPerChannel` in session.hpp).
const USUAL_SESSIONS: u8 = 15;
/// Those that clients choose by themselves.
const USUAL_SUITES: [u8; 2] = [3, 17];
/// Section 6.12.15.
const USUAL_IDLE: Duration = Duration::from_mins(1);

/// Privilege levels (section 6.8). Each may do what the lower ones may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Privilege {
    /// May do next to nothing.
    Callback,
    /// May read; every session begins here.
    User,
    /// May power on and off.
    Operator,
    /// May do everything.
    Administrator,
}

impl Privilege {
    pub(crate) fn of(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Callback),
            2 => Some(Self::User),
            3 => Some(Self::Operator),
            4 => Some(Self::Administrator),
            _ => None,
        }
    }

    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Callback => 1,
            Self::User => 2,
            Self::Operator => 3,
            Self::Administrator => 4,
        }
    }
}

/// A user beside the BMC's login.
#[derive(Clone)]
pub(crate) struct IpmiUser {
    pub(crate) name: String,
    pub(crate) password: String,
    pub(crate) privilege: Privilege,
}

/// IPMI 2.0 over UDP for one BMC. The BMC's login is an administrator here, too, unless it is limited.
#[derive(Clone)]
pub struct IpmiSpec {
    pub(crate) port: u16,
    /// Absent = as usual.
    cipher_suites: Option<Vec<u8>>,
    pub(crate) kg: Option<Vec<u8>>,
    pub(crate) users: Vec<IpmiUser>,
    pub(crate) session_limit: u8,
    pub(crate) idle_timeout: Duration,
    /// Absent: an administrator.
    pub(crate) login_limit: Option<Privilege>,
    pub(crate) reset_while_off_refused: bool,
}

impl std::fmt::Debug for IpmiSpec {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not derived: passwords and KG are in there.
        formatter
            .debug_struct("IpmiSpec")
            .field("port", &self.port)
            .field("cipher_suites", &self.suite_ids())
            .finish_non_exhaustive()
    }
}

impl Default for IpmiSpec {
    fn default() -> Self {
        Self::new()
    }
}

impl IpmiSpec {
    /// Any free port, cipher suites 3 and 17, 15 sessions, 60 s until an idle one ends.
    pub fn new() -> Self {
        Self {
            port: 0,
            cipher_suites: None,
            kg: None,
            users: Vec::new(),
            session_limit: USUAL_SESSIONS,
            idle_timeout: USUAL_IDLE,
            login_limit: None,
            reset_while_off_refused: false,
        }
    }

    /// The UDP port; 0 (any free one) when not given. IPMI's own is 623.
    pub fn port(self, port: u16) -> Self {
        Self { port, ..self }
    }

    /// Ids of the cipher suites offered (section 22.15.2): any of 0, 1, 2, 3, 6, 7, 8, 11, 12, 15, 16
    /// and 17. Suite 0 lets everybody in who knows a user name.
    pub fn cipher_suites(self, ids: impl IntoIterator<Item = u8>) -> Self {
        Self {
            cipher_suites: Some(ids.into_iter().collect()),
            ..self
        }
    }

    /// The same, unless it was said already.
    pub(crate) fn usual_cipher_suites(self, ids: impl IntoIterator<Item = u8>) -> Self {
        if self.cipher_suites.is_some() {
            self
        } else {
            self.cipher_suites(ids)
        }
    }

    /// The BMC's own key KG, 1 to 20 bytes (section 13.31): a console has to know it beside the
    /// password.
    pub fn kg(self, key: impl Into<Vec<u8>>) -> Self {
        Self {
            kg: Some(key.into()),
            ..self
        }
    }

    /// Adds a user: a name of up to 16 bytes, a password of up to 20, and the highest privilege
    /// it may ask for. Not changed by a rotation of the BMC's login.
    pub fn user(mut self, name: impl Into<String>, password: impl Into<String>, limit: Privilege) -> Self {
        self.users.push(IpmiUser {
            name: name.into(),
            password: password.into(),
            privilege: limit,
        });
        self
    }

    /// Lets the BMC's own login ask for no more than this; who asks for more is refused with RMCP+ status 0x0A,
    /// unauthorized role (Cisco UCS refuses ADMINISTRATOR: ipmitool issue 376).
    pub fn login_limit(self, limit: Privilege) -> Self {
        Self {
            login_limit: Some(limit),
            ..self
        }
    }

    /// The same, unless it was said already.
    pub(crate) fn usual_login_limit(self, limit: Privilege) -> Self {
        let limit = self.login_limit.unwrap_or(limit);
        self.login_limit(limit)
    }

    /// Answers Chassis Control "hard reset" of a machine that is off with 0xD5 instead of success without
    /// effect (section 28.3 leaves both open).
    pub fn reset_while_off_refused(self) -> Self {
        Self {
            reset_while_off_refused: true,
            ..self
        }
    }

    /// Most sessions at a time, 1 to 63.
    pub fn session_limit(self, limit: u8) -> Self {
        Self {
            session_limit: limit,
            ..self
        }
    }

    /// Ends a session after this long without a valid packet.
    pub fn idle_timeout(self, after: Duration) -> Self {
        Self {
            idle_timeout: after,
            ..self
        }
    }

    pub(crate) fn suite_ids(&self) -> &[u8] {
        self.cipher_suites.as_deref().unwrap_or(&USUAL_SUITES)
    }

    pub(crate) fn suites(&self) -> Vec<Suite> {
        let ids = self.suite_ids().iter();
        ids.filter_map(|id| crypto::find(*id)).collect()
    }

    /// What cannot be served, and what to write instead.
    pub(crate) fn check(&self, host: &HostSpec, layered: &Layered) -> Result<(), Wrong> {
        let uuid = layered.machines.get(Slot::FIRST).uuid.as_deref();
        if uuid.is_some_and(|uuid| guid(uuid).is_none()) {
            let field = if host.machines.is_empty() {
                "uuid"
            } else {
                "machines[0].uuid"
            };
            return Err(Wrong::of(
                field,
                "IPMI sends the UUID in 16 bytes: give one of 32 hexadecimal digits",
            ));
        }
        if self.suites().is_empty() || self.suites().len() != self.suite_ids().len() {
            return Err(Wrong::of(
                "ipmi.cipherSuites",
                "IPMI: this cipher suite is not served: choose among 0-3, 6-8, 11, 12 and 15-17",
            ));
        }
        if self
            .kg
            .as_ref()
            .is_some_and(|kg| kg.is_empty() || kg.len() > LONGEST_KG)
        {
            return Err(Wrong::of(
                "ipmi.kg",
                "IPMI: KG has 1 to 20 bytes: choose such a key, or none",
            ));
        }
        if !(1..=MOST_SESSIONS).contains(&self.session_limit) {
            return Err(Wrong::of(
                "ipmi.sessionLimit",
                "IPMI: a BMC has 1 to 63 sessions: choose such a limit",
            ));
        }
        if self.idle_timeout.is_zero() {
            return Err(Wrong::of(
                "ipmi.idleTimeout",
                "IPMI: no session could live: choose a time-out above zero",
            ));
        }
        let names = self.users.iter().map(|user| user.name.as_str());
        if names
            .chain([host.username.as_str()])
            .any(|name| name.is_empty() || name.len() > LONGEST_NAME)
        {
            return Err(Wrong::of(
                "username",
                "IPMI: user names have 1 to 16 bytes: choose a shorter one",
            ));
        }
        let passwords = self.users.iter().map(|user| user.password.as_str());
        if passwords
            .chain(host.password.as_deref())
            .any(|password| password.len() > LONGEST_PASSWORD)
        {
            return Err(Wrong::of(
                "password",
                "IPMI: passwords have at most 20 bytes: choose a shorter one",
            ));
        }
        Ok(())
    }
}
