//! The one place where a host's state is touched. Whoever acts, acts under the host's lock, after
//! everything that was due has happened, and journals before letting go: so the journal's order is
//! the order in which things took effect.

use std::net::SocketAddr;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, broadcast, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::controller::Controller;
use super::machine::MachineState;
use super::mains::Outage;
use super::rate::Rate;
use super::{Acting, Door, HostEvent, Listening};
use crate::counters::Counters;
use crate::fault::{FaultSet, Target};
use crate::ipmi::{self, IpmiState};
use crate::journal::Journal;
use crate::oracle::Case;
use crate::per_machine::{PerMachine, Slot};
use crate::redfish::{RedfishState, Sessions, SystemNotes};
use crate::seed::Seeded;
use crate::server::SUFFIX;
use crate::spec::{Credentials, HostSpec, Identities};
use crate::tls::TlsSlot;

/// What all hosts of a simulator share, and what is known once the listener is open.
pub(crate) struct Setup {
    pub(crate) address: SocketAddr,
    /// Where IPMI listens; absent = it does not.
    pub(crate) ipmi_address: Option<SocketAddr>,
    pub(crate) tls: Arc<TlsSlot>,
    pub(crate) epoch: Instant,
    pub(crate) journal: Arc<Journal>,
    pub(crate) stop: CancellationToken,
    pub(crate) seed: u64,
    /// Its address is everybody's, and its name tells it apart.
    pub(crate) behind_one_port: bool,
    /// Where searches for it are answered.
    pub(crate) ssdp_port: Option<u16>,
}

/// The mutable part of a host.
pub(crate) struct HostState {
    pub(crate) machines: PerMachine<MachineState>,
    pub(crate) faults: FaultSet,
    pub(crate) counters: Counters,
    pub(crate) sessions: Sessions,
    pub(crate) redfish: RedfishState,
    pub(crate) credentials: Credentials,
    pub(crate) controller: Controller,
    pub(crate) rate: Rate,
    /// What its clients have been seen to do.
    pub(crate) case: Case,
    /// Absent when there is no IPMI, and while a datagram is dealt with.
    pub(crate) ipmi: Option<Box<IpmiState>>,
    /// A loss of the mains that was ordered.
    pub(super) outage: Option<Outage>,
    /// Until when everything has happened that was due.
    pub(super) settled: Duration,
}

impl HostState {
    /// The next instant at which something happens by itself.
    fn next_deadline(&self, identities: &Identities) -> Option<Duration> {
        let machines = self.machines.iter();
        let all = [
            machines.filter_map(|machine| machine.power.next_deadline()).min(),
            self.faults.next_edge(),
            self.controller.next_edge(self.settled),
            self.outage
                .map(|outage| outage.next_edge(self.controller.has_power())),
            self.ipmi.as_ref().and_then(|ipmi| ipmi.next_deadline()),
            self.sessions.next_deadline(),
            self.redfish.next_deadline(),
            self.next_report(identities),
        ];
        all.into_iter().flatten().min()
    }
}

/// A BMC and its machines.
pub(crate) struct HostCore {
    pub(crate) name: String,
    pub(crate) identities: Identities,
    pub(crate) address: SocketAddr,
    pub(crate) ipmi_address: Option<SocketAddr>,
    pub(crate) tls: Arc<TlsSlot>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) stop: CancellationToken,
    pub(crate) wake: Notify,
    pub(crate) closing: watch::Sender<u64>,
    /// HTTPS connections that it has now.
    pub(crate) connections: AtomicUsize,
    pub(crate) tick: watch::Sender<u64>,
    pub(crate) door: watch::Sender<Door>,
    pub(crate) generated_password: bool,
    /// What faults meet here.
    pub(crate) target: Target,
    pub(crate) ssdp_port: Option<u16>,
    /// Made for the first who asks: most hosts of a fleet have no subscriber.
    pub(super) events: OnceLock<broadcast::Sender<HostEvent>>,
    epoch: Instant,
    state: Mutex<HostState>,
}

impl HostCore {
    pub(crate) fn new(spec: HostSpec, setup: Setup) -> Self {
        let layered = spec.layered();
        let target = layered.target(setup.behind_one_port);
        let identities = Identities::of(&layered, |name| Seeded::named(setup.seed, name));
        // Streams of their own: how many tokens were drawn must not change the next boot id.
        let stream = |purpose: &str| Seeded::named(setup.seed, &format!("{}/{purpose}", spec.name));
        let password = spec.password.clone().unwrap_or_else(|| {
            let mut password = stream("password").hex();
            if spec.ipmi.is_some() {
                password.truncate(ipmi::LONGEST_PASSWORD);
            }
            password
        });
        let machines = layered.machines.map(|plan| MachineState::new(plan, setup.seed));
        let state = HostState {
            redfish: RedfishState::new(layered.redfish.clone(), machines.map(|_| SystemNotes::default())),
            machines,
            faults: FaultSet::new(stream("faults")),
            counters: Counters::default(),
            sessions: Sessions::new(stream("session"), layered.redfish.session_timeout),
            credentials: Credentials {
                username: spec.username.clone(),
                password,
            },
            controller: Controller::new(layered.bmc_boot),
            rate: Rate::default(),
            case: Case::default(),
            settled: Duration::ZERO,
            outage: None,
            ipmi: layered
                .ipmi
                .map(|ipmi| Box::new(IpmiState::new(ipmi, stream("ipmi")))),
        };
        let faults = spec.faults.clone();
        let core = Self {
            identities,
            address: setup.address,
            ipmi_address: setup.ipmi_address,
            tls: setup.tls,
            journal: setup.journal,
            stop: setup.stop,
            wake: Notify::new(),
            closing: watch::Sender::new(0),
            connections: AtomicUsize::new(0),
            tick: watch::Sender::new(0),
            door: watch::Sender::new(Door {
                listening: Listening::Open,
                life: 0,
            }),
            generated_password: spec.password.is_none(),
            target,
            ssdp_port: setup.ssdp_port,
            events: OnceLock::new(),
            epoch: setup.epoch,
            state: Mutex::new(state),
            name: spec.name,
        };
        let of_personality = layered.personality_faults;
        if !faults.is_empty() || !of_personality.is_empty() {
            core.act(|acting| {
                acting.state.faults.set_personality(of_personality);
                acting.set_faults(faults);
            });
        }
        core
    }

    /// Does something at this instant. All that was due happens first, all that follows at once
    /// happens before it returns.
    pub(crate) fn act<R>(&self, action: impl FnOnce(&mut Acting<'_>) -> R) -> R {
        let mut guard = self.lock();
        let before = guard.next_deadline(&self.identities);
        // Read under the lock, or two actors could take effect against the order of their instants.
        let now = self.epoch.elapsed();
        let mut acting = Acting {
            core: self,
            state: &mut guard,
            now,
            logged: false,
        };
        acting.settle();
        let result = action(&mut acting);
        acting.settle();
        let (logged, door) = (acting.logged, acting.door());
        let rescheduled = guard.next_deadline(&self.identities) != before;
        // Under the lock: two who act could else tell of the door in the wrong order.
        self.door.send_if_modified(|present| {
            let changed = *present != door;
            *present = door;
            changed
        });
        drop(guard);
        if rescheduled {
            self.wake.notify_one();
        }
        if logged {
            self.tick.send_modify(|tick| *tick = tick.wrapping_add(1));
        }
        result
    }

    /// Closes every connection that is open now.
    pub(crate) fn close_connections(&self) {
        self.closing
            .send_modify(|generation| *generation = generation.wrapping_add(1));
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let due = self.lock().next_deadline(&self.identities)?;
        self.epoch.checked_add(due)
    }

    pub(crate) fn redfish_url(&self) -> String {
        if self.target.behind_one_port {
            return format!("https://{}{SUFFIX}:{}", self.name, self.address.port());
        }
        format!("https://{}", self.address)
    }

    pub(crate) fn system_path(&self, slot: Slot) -> String {
        format!("/redfish/v1/Systems/{}", self.identities.real(slot).id)
    }

    fn lock(&self) -> MutexGuard<'_, HostState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
