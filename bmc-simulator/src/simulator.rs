//! Many BMCs in one process, running.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::SimError;
use crate::builder::SimulatorBuilder;
use crate::control::Controlled;
use crate::host::Host;
use crate::journal::{Most, Page};
use crate::oracle::{Breach, Oracle};

/// Running BMCs. Dropping it stops them; [`shutdown`](Self::shutdown) also waits until they have.
pub struct Simulator {
    pub(crate) controlled: Arc<Controlled>,
    pub(crate) control: Option<SocketAddr>,
    pub(crate) ssdp_port: Option<u16>,
    pub(crate) stop: CancellationToken,
    pub(crate) tasks: JoinSet<()>,
}

impl std::fmt::Debug for Simulator {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Simulator")
            .field("hosts", &self.controlled.hosts.len())
            .finish_non_exhaustive()
    }
}

impl Simulator {
    /// Begins to describe a simulator.
    pub fn builder() -> SimulatorBuilder {
        SimulatorBuilder::default()
    }

    /// The host of this name.
    ///
    /// # Errors
    /// [`SimError::UnknownHost`].
    pub fn host(&self, name: &str) -> Result<Host, SimError> {
        let found = self.controlled.by_name.get(name).cloned();
        found.ok_or_else(|| SimError::UnknownHost {
            name: name.to_owned(),
        })
    }

    /// All hosts, in the order they were given.
    pub fn hosts(&self) -> &[Host] {
        &self.controlled.hosts
    }

    /// The authority to trust, in PEM.
    pub fn ca_pem(&self) -> &str {
        &self.controlled.ca_pem
    }

    /// The journal of all hosts after entry number `after`.
    pub fn journal_after(&self, after: u64) -> Page {
        self.controlled
            .hosts
            .iter()
            .for_each(|host| host.core.act(|_| ()));
        self.controlled.journal.page(None, after, Most::ALL)
    }

    /// Which of these rules clients have broken so far, by the journal's order; see [`Host::judge`].
    pub fn judge(&self, oracles: &[Oracle]) -> Vec<Breach> {
        self.controlled.judge(oracles)
    }

    /// Where the control API listens, as `http://address:port`.
    pub fn control_url(&self) -> Option<String> {
        self.control.map(|address| format!("http://{address}"))
    }

    /// UDP port at which searches over SSDP are answered.
    pub fn ssdp_port(&self) -> Option<u16> {
        self.ssdp_port
    }

    /// Stops everything and waits until every listener and connection is closed.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        // The tasks are aborted when the set is dropped; this ends the waits of test code.
        self.stop.cancel();
    }
}
