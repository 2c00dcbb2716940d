//! Accounts, roles and logins (DSP0266, "Privilege model"). The first account is the BMC's own login,
//! which other protocols and the control API share; its name and password are in the host's state.

mod change;
mod create;
mod lock;
mod peers;
mod resources;
mod role;

pub(super) use change::{AccountChange, ServiceChange, plan_account, plan_service};
pub(super) use create::create;
pub(super) use lock::Policy;
pub(super) use resources::{SERVICE, account, accounts, password_change, role, roles, service};
pub(super) use role::{Privilege, Role};

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use super::quirks::LockoutBy;
use super::spec::RedfishSpec;
use crate::spec::Credentials;
use lock::Lock;
use peers::Peers;

/// Number of the account that is the BMC's own login.
pub(super) const FIRST: u64 = 1;
/// No BMC has room for more.
const MOST: usize = 15;
/// Lengths of a password that can be set. The upper one is IPMI's (section 22.30 of IPMI 2.0).
pub(super) const PASSWORD_LENGTH: std::ops::RangeInclusive<usize> = 8..=20;

/// Where an account's name and password are.
enum Login {
    /// In the host's state.
    Bmc,
    Own(Credentials),
}

/// Somebody who can log in.
pub(super) struct Account {
    login: Login,
    pub(super) role: Role,
    pub(super) enabled: bool,
    pub(super) password_change_required: bool,
    lock: Lock,
    /// Counts changes, so that entity tags tell passwords apart.
    pub(super) revision: u64,
}

impl Account {
    fn credentials<'a>(&'a self, bmc: &'a Credentials) -> &'a Credentials {
        match &self.login {
            Login::Bmc => bmc,
            Login::Own(own) => own,
        }
    }
}

/// All accounts of one BMC.
pub(super) struct Accounts {
    known: BTreeMap<u64, Account>,
    last: u64,
    pub(super) policy: Policy,
    peers: Peers,
}

impl Accounts {
    pub(super) fn new(spec: &RedfishSpec) -> Self {
        let own = Account {
            login: Login::Bmc,
            role: Role::Administrator,
            enabled: true,
            password_change_required: spec.password_change_required,
            lock: Lock::default(),
            revision: 0,
        };
        Self {
            known: BTreeMap::from([(FIRST, own)]),
            last: FIRST,
            policy: Policy::of(&spec.lockout),
            peers: Peers::default(),
        }
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = u64> {
        self.known.keys().copied()
    }

    pub(super) fn get(&self, id: u64) -> Option<&Account> {
        self.known.get(&id)
    }

    fn get_mut(&mut self, id: u64) -> Option<&mut Account> {
        self.known.get_mut(&id)
    }

    /// The user name of an account.
    pub(super) fn username<'a>(&'a self, id: u64, bmc: &'a Credentials) -> Option<&'a str> {
        Some(&self.get(id)?.credentials(bmc).username)
    }

    pub(super) fn is_locked(&self, id: u64, now: Duration) -> bool {
        self.get(id).is_some_and(|account| account.lock.is_locked(now))
    }

    /// The account that this name and password open now; a failure counts towards its lock.
    pub(super) fn log_in(
        &mut self,
        bmc: &Credentials,
        username: &str,
        password: &str,
        (peer, now): (Option<IpAddr>, Duration),
    ) -> Option<u64> {
        let policy = self.policy;
        let known = self
            .known
            .iter_mut()
            .find(|(_, account)| account.credentials(bmc).username == username);
        let usable = known.filter(|(_, account)| account.enabled);
        let right = usable
            .as_ref()
            .is_some_and(|(_, account)| account.credentials(bmc).password == password);
        let (id, account) = match policy.by {
            LockoutBy::Account => usable?,
            LockoutBy::Address => {
                let admitted = self.peers.admits(peer, right, policy, now);
                return usable.filter(|_| admitted).map(|(id, _)| *id);
            }
        };
        account.lock.admits(right, policy, now).then_some(*id)
    }

    /// Whether nothing from this address is answered.
    pub(super) fn blocks(&self, peer: Option<IpAddr>, now: Duration) -> bool {
        self.policy.by == LockoutBy::Address && self.peers.blocks(peer, now)
    }

    /// The BMC's own login was replaced from outside.
    pub(super) fn own_login_replaced(&mut self) {
        if let Some(own) = self.known.get_mut(&FIRST) {
            own.lock = Lock::default();
            own.password_change_required = false;
            own.revision = own.revision.wrapping_add(1);
        }
    }

    /// Whether the BMC's own login has to change its password before anything else.
    pub(super) fn require_own_password_change(&mut self, required: bool) {
        if let Some(own) = self.known.get_mut(&FIRST) {
            own.password_change_required = required;
            own.revision = own.revision.wrapping_add(1);
        }
    }

    fn has_name(&self, bmc: &Credentials, name: &str) -> bool {
        self.known
            .values()
            .any(|account| account.credentials(bmc).username == name)
    }

    fn is_full(&self) -> bool {
        self.known.len() >= MOST
    }

    fn add(&mut self, account: Account) -> u64 {
        self.last = self.last.saturating_add(1);
        self.known.insert(self.last, account);
        self.last
    }

    /// Removes an account; the BMC's own stays.
    pub(super) fn remove(&mut self, id: u64) -> bool {
        id != FIRST && self.known.remove(&id).is_some()
    }
}
