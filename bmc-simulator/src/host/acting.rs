//! What everybody can do who acts on a host under its lock.

use std::time::Duration;

use tokio::sync::broadcast;

use super::core::{HostCore, HostState};
use super::{HostEvent, Snapshot};
use crate::counters::RequestClass;
use crate::fault::Fault;
use crate::journal::Event;
use crate::redfish;
use crate::spec::Identity;

/// Changes a subscriber may lag behind before it loses some. Room for all is allocated per host.
const EVENT_BACKLOG: usize = 128;

/// Somebody acting on a host at one instant.
pub(crate) struct Acting<'a> {
    pub(crate) core: &'a HostCore,
    pub(crate) state: &'a mut HostState,
    pub(crate) now: Duration,
    pub(super) logged: bool,
}

impl Acting<'_> {
    /// Writes to the journal, at this instant.
    pub(crate) fn log(&mut self, event: Event) {
        self.log_at(self.now, event);
    }

    /// Writes to the journal that a fault changed an answer.
    pub(crate) fn log_fault(&mut self, fault: &str, class: RequestClass) {
        self.log(Event::FaultApplied {
            fault: fault.to_owned(),
            class,
        });
    }

    /// An instant as Redfish writes it (DSP0266, "Date-Time values"), to the second.
    pub(crate) fn date_time(&self, elapsed: Duration) -> String {
        let wall = self.core.journal.wall(elapsed);
        wall.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// What the real system claims to be now.
    pub(crate) fn identity(&self) -> &Identity {
        let identities = &self.core.identities;
        if self.state.faults.has(&Fault::WrongUuid) {
            &identities.wrong
        } else {
            &identities.real
        }
    }

    /// A subscription that misses nothing after this instant.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<HostEvent> {
        let events = self
            .core
            .events
            .get_or_init(|| broadcast::Sender::new(EVENT_BACKLOG));
        events.subscribe()
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let core = self.core;
        Snapshot {
            name: core.name.clone(),
            redfish_url: core.redfish_url(),
            system_path: core.system_path(),
            system_uuid: core.identities.real.uuid.clone(),
            serial_number: core.identities.real.serial.clone(),
            certificate_sha256: core.tls.current().sha256,
            truth: self.state.machine.truth(),
            reported: self.reported(),
            delays: self.state.machine.delays(),
            faults: self.state.faults.list(),
            personality_faults: self.state.faults.of_personality(),
            counters: self.state.counters,
            sessions: self.state.sessions.ids(),
            bmc: self.stage(),
            bmc_reboots: self.state.controller.reboots,
            ipmi: self.ipmi_snapshot(),
        }
    }

    /// Lets happen what is due, and tells of it.
    pub(super) fn settle(&mut self) {
        // A fault that begins or ends by itself does so at its own instant, not when somebody looks.
        while let Some(edge) = self.state.faults.next_edge().filter(|edge| *edge <= self.now) {
            self.state.machine.advance(edge);
            self.state.faults.advance(edge);
            self.obey_faults(edge);
        }
        self.state.faults.advance(self.now);
        self.expire_sessions();
        self.state.machine.advance(self.now);
        while let Some(edge) = self.state.controller.next_edge(self.state.settled) {
            if edge > self.now {
                break;
            }
            self.state.settled = edge;
            let stage = self.state.controller.stage(edge);
            self.log_at(edge, Event::BmcStage { stage });
        }
        self.state.settled = self.now;
        let condition = self.state.machine.condition();
        self.state.history.note(self.now, condition);
        for occurred in self.state.machine.drain() {
            self.log_at(occurred.at, Event::Changed(occurred.change.clone()));
            redfish::changed(self, &occurred.change);
            // No subscriber is no failure.
            let Some(events) = self.core.events.get() else {
                continue;
            };
            let _ = events.send(HostEvent {
                host: self.core.name.clone(),
                elapsed: occurred.at,
                change: occurred.change,
            });
        }
        redfish::settle(self);
    }

    pub(super) fn log_at(&mut self, elapsed: Duration, event: Event) {
        self.core.journal.append(&self.core.name, elapsed, event);
        self.logged = true;
    }
}
