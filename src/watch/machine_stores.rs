//! The caches of one API's Machines and health checks.

use futures::Stream;
use kube::runtime::watcher;
use remediator_api::views::{Machine, MachineHealthCheck};
use tokio::task::JoinSet;

use crate::watch::indexed_store::IndexedStore;
use crate::watch::shared_cache::{Changes, SharedCache};
use crate::watch::watching::drive;
use remediator_api::guarded::Guarded;

/// Machines and their health checks, of one API. Empty where the server has none.
#[derive(Clone)]
pub(crate) struct MachineStores {
    pub(crate) machines: IndexedStore<Machine>,
    pub(crate) health_checks: IndexedStore<MachineHealthCheck>,
}

/// What changes of one API's Machines and health checks.
pub(crate) struct MachineChanges {
    pub(crate) machines: Changes<Machine>,
    pub(crate) health_checks: Changes<MachineHealthCheck>,
}

/// Machines and health checks of one API, from what is watched of them.
pub(crate) fn machine_stores(
    (machine_events, check_events): (
        impl Stream<Item = watcher::Result<watcher::Event<Guarded<Machine>>>> + Send + 'static,
        impl Stream<Item = watcher::Result<watcher::Event<Guarded<MachineHealthCheck>>>> + Send + 'static,
    ),
    (machines_heard, checks_heard): (
        impl FnMut(&watcher::Event<Guarded<Machine>>) + Send + 'static,
        impl FnMut(&watcher::Event<Guarded<MachineHealthCheck>>) + Send + 'static,
    ),
    tasks: &mut JoinSet<&'static str>,
) -> (MachineStores, MachineChanges) {
    let (machines, machine_changes, cache) = SharedCache::new();
    let heard = (|_: &_| {}, machines_heard);
    drive(machine_events, "Machine", Machine::narrow, heard, cache, tasks);
    let (health_checks, health_check_changes, cache) = SharedCache::new();
    let (narrow, heard) = (MachineHealthCheck::narrow, (|_: &_| {}, checks_heard));
    drive(check_events, "MachineHealthCheck", narrow, heard, cache, tasks);
    let stores = MachineStores {
        machines,
        health_checks,
    };
    let changes = MachineChanges {
        machines: machine_changes,
        health_checks: health_check_changes,
    };
    (stores, changes)
}

impl MachineStores {
    /// Whether the Machines have been listed once.
    pub(crate) fn is_listed(&self) -> bool {
        self.machines.is_listed()
    }
}
