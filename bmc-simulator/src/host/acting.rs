//! What everybody can do who acts on a host under its lock.

use std::time::Duration;

use tokio::sync::broadcast;

use super::core::{HostCore, HostState};
use super::{HostEvent, Snapshot};
use crate::counters::RequestClass;
use crate::fault::Asked;
use crate::journal::Event;
use crate::per_machine::Slot;
use crate::power::Occurred;
use crate::redfish;

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
    /// Whether credentials that are right are refused all the same.
    pub(crate) fn rejects<'b>(&mut self, asked: impl Into<Asked<'b>>) -> bool {
        let asked = asked.into();
        let fault = self.state.faults.take_rejection(asked);
        self.log_hit(fault, asked.class)
    }

    /// Writes to the journal which fault hit, if one did, and says whether.
    pub(crate) fn log_hit(&mut self, fault: Option<&str>, class: RequestClass) -> bool {
        if let Some(fault) = fault {
            self.log_fault(fault, class);
        }
        fault.is_some()
    }

    /// An instant as Redfish writes it (DSP0266, "Date-Time values"), to the second.
    pub(crate) fn date_time(&self, elapsed: Duration) -> String {
        let wall = self.core.journal.wall(elapsed);
        wall.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
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
        let machines = self.state.machines.slots();
        let machines: Vec<_> = machines.map(|slot| self.machine_snapshot(slot)).collect();
        let first = self.machine_snapshot(Slot::FIRST);
        Snapshot {
            name: core.name.clone(),
            redfish_url: core.redfish_url(),
            system_path: first.system_path,
            system_uuid: first.system_uuid,
            serial_number: first.serial_number,
            certificate_sha256: core.tls.current().sha256,
            truth: first.truth,
            reported: first.reported,
            delays: first.delays,
            machines,
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
            for machine in self.state.machines.iter_mut() {
                machine.power.advance(edge);
            }
            self.state.faults.advance(edge);
            self.obey_faults(edge);
        }
        self.state.faults.advance(self.now);
        self.expire_sessions();
        for machine in self.state.machines.iter_mut() {
            machine.power.advance(self.now);
        }
        while let Some(edge) = self.state.controller.next_edge(self.state.settled) {
            if edge > self.now {
                break;
            }
            self.state.settled = edge;
            let stage = self.state.controller.stage(edge);
            self.log_at(edge, Event::BmcStage { stage });
        }
        self.state.settled = self.now;
        self.settle_outage();
        for (slot, occurred) in self.occurred() {
            self.tell(slot, occurred);
        }
        for machine in self.state.machines.iter_mut() {
            machine.remember(self.now);
        }
        redfish::settle(self);
    }

    /// What happened to the machines since the last look, in the order of its instants.
    fn occurred(&mut self) -> Vec<(Slot, Occurred)> {
        let mut all = Vec::new();
        for (slot, machine) in self.state.machines.slots().zip(self.state.machines.iter_mut()) {
            let occurred = machine.power.drain();
            all.extend(occurred.into_iter().map(|occurred| (slot, occurred)));
        }
        // Stable: what happened to one machine at one instant keeps its order.
        all.sort_by_key(|(_, occurred)| occurred.at);
        all
    }

    /// Tells everybody of a change.
    fn tell(&mut self, slot: Slot, Occurred { at, change }: Occurred) {
        let system = self.core.identities.real(slot).id.clone();
        self.log_at(
            at,
            Event::Changed {
                system: system.clone(),
                change: change.clone(),
            },
        );
        let condition = change.condition();
        if let Some(condition) = condition {
            self.state.machines.get_mut(slot).history.note(at, condition);
        }
        redfish::changed(self, slot, &change, at);
        if let Some(events) = self.core.events.get() {
            // No subscriber is no failure.
            let _ = events.send(HostEvent {
                host: self.core.name.clone(),
                system,
                elapsed: at,
                change,
            });
        }
    }
}
