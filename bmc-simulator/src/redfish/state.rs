//! What a Redfish service keeps beside its sessions.

use std::time::Duration;

use super::accounts::{Accounts, Policy};
use super::events::{self, Events};
use super::network::Network;
use super::spec::RedfishSpec;
use super::system::SystemNotes;
use super::tasks::{self, Tasks};
use crate::host::Acting;
use crate::journal::Event;
use crate::per_machine::{PerMachine, Slot};
use crate::power::Change;

/// The Redfish part of a host's state.
pub(crate) struct RedfishState {
    pub(super) spec: RedfishSpec,
    pub(super) accounts: Accounts,
    pub(super) tasks: Tasks,
    pub(super) events: Events,
    pub(super) network: Network,
    pub(super) systems: PerMachine<SystemNotes>,
    /// When the BMC last began to serve.
    pub(super) restarted: Duration,
}

impl RedfishState {
    pub(crate) fn new(spec: RedfishSpec, systems: PerMachine<SystemNotes>) -> Self {
        Self {
            accounts: Accounts::new(&spec),
            tasks: Tasks::default(),
            events: Events::new(),
            network: Network::default(),
            systems,
            restarted: Duration::ZERO,
            spec,
        }
    }

    pub(super) fn decoys_unavailable_while_off(&self) -> bool {
        self.spec.decoys_unavailable_while_off
    }

    pub(crate) fn spec(&self) -> &RedfishSpec {
        &self.spec
    }

    /// The BMC's own login was replaced from outside.
    pub(crate) fn own_login_replaced(&mut self) {
        self.accounts.own_login_replaced();
    }

    /// The next instant at which something here ends by itself.
    pub(crate) fn next_deadline(&self) -> Option<Duration> {
        self.tasks.next_deadline()
    }

    /// Whether somebody is told of events.
    pub(crate) fn has_subscribers(&self) -> bool {
        self.events.has_subscribers()
    }

    /// Forgets what does not survive a restart of the BMC; sessions are ended apart.
    pub(crate) fn forget(&mut self, now: Duration) {
        self.tasks.remove_all();
        self.events.remove_all();
        self.restarted = now;
    }
}

/// The truth about a machine changed.
pub(crate) fn changed(acting: &mut Acting<'_>, slot: Slot, change: &Change, at: Duration) {
    let now = acting.now;
    if acting.state.redfish.systems.get_mut(slot).changed(change, now) {
        acting.begin_ac_cycle();
    }
    events::changed(acting, slot, change, at);
}

/// Lets happen what follows from the time and from what was done: sessions expire, tasks end,
/// subscribers hear of it.
pub(crate) fn settle(acting: &mut Acting<'_>) {
    for (at, session) in acting.state.sessions.expire(acting.now) {
        acting.log_at(at, Event::SessionExpired { session });
    }
    tasks::settle(acting);
    events::settle(acting);
}

/// Changes how the service behaves, from now on. What a client set meanwhile stays where the change is about
/// something else.
pub(crate) fn respecify(acting: &mut Acting<'_>, spec: RedfishSpec) {
    let state = &mut *acting.state;
    let before = std::mem::replace(&mut state.redfish.spec, spec);
    let after = &state.redfish.spec;
    if after.session_timeout != before.session_timeout {
        state.sessions.timeout = after.session_timeout;
    }
    if after.lockout != before.lockout {
        state.redfish.accounts.policy = Policy::of(&after.lockout);
    }
    if after.password_change_required != before.password_change_required {
        let required = after.password_change_required;
        state.redfish.accounts.require_own_password_change(required);
    }
    let redfish = Box::new(state.redfish.spec.clone());
    acting.log(Event::RedfishSet { redfish });
}
