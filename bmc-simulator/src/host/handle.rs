//! The handle on one host: what a test asks, awaits and breaks.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::broadcast;

use super::{HostCore, HostEvent, Snapshot};
use crate::SimError;
use crate::counters::Counters;
use crate::journal::{Entry, Event, Most, Page};
use crate::oracle::{Breach, Oracle};
use crate::per_machine::Slot;
use crate::power::{Delays, Power, Truth};
use crate::spec::Credentials;

/// One BMC and its machine; where it has several, what is asked here about a machine is about the first, and
/// [`machine`](Self::machine) gives the others. Cheap to clone; outlives the simulator, whose BMCs then no longer answer.
#[derive(Clone)]
pub struct Host {
    pub(crate) core: Arc<HostCore>,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Host")
            .field("name", &self.core.name)
            .finish_non_exhaustive()
    }
}

impl Host {
    /// The host's name.
    pub fn name(&self) -> &str {
        &self.core.name
    }

    /// Where its BMC listens.
    pub fn address(&self) -> SocketAddr {
        self.core.address
    }

    /// Where its BMC listens for IPMI, over UDP; absent when it does not.
    pub fn ipmi_address(&self) -> Option<SocketAddr> {
        self.core.ipmi_address
    }

    /// `https://address:port`, without a path.
    pub fn redfish_url(&self) -> String {
        self.core.redfish_url()
    }

    /// `/redfish/v1/Systems/{id}` of the real system.
    pub fn system_path(&self) -> String {
        self.core.system_path(Slot::FIRST)
    }

    /// UUID of the real system, whatever is reported.
    pub fn system_uuid(&self) -> &str {
        &self.core.identities.real(Slot::FIRST).uuid
    }

    /// Serial number of the real system, whatever is reported.
    pub fn serial_number(&self) -> &str {
        &self.core.identities.real(Slot::FIRST).serial
    }

    /// The login that works now.
    pub fn credentials(&self) -> Credentials {
        self.core.act(|acting| acting.state.credentials.clone())
    }

    /// Whether its password was not given, but made from the seed.
    pub fn has_generated_password(&self) -> bool {
        self.core.generated_password
    }

    /// SHA-256 of the certificate presented now, 64 lower-case hexadecimal digits.
    pub fn certificate_sha256_fingerprint(&self) -> String {
        self.core.tls.current().sha256
    }

    /// The authority that signed the certificate presented now; another one after a swap.
    pub fn ca_pem(&self) -> String {
        self.core.tls.current().ca_pem
    }

    /// The truth at this instant.
    pub fn truth(&self) -> Truth {
        self.core.act(|acting| acting.truth(Slot::FIRST))
    }

    /// The power state that would be reported at this instant; `None` = null.
    pub fn reported(&self) -> Option<String> {
        self.core.act(|acting| acting.reported(Slot::FIRST))
    }

    /// Everything at one instant.
    pub fn snapshot(&self) -> Snapshot {
        self.core.act(|acting| acting.snapshot())
    }

    /// Requests, connections and refusals so far.
    pub fn counters(&self) -> Counters {
        self.core.act(|acting| acting.state.counters)
    }

    /// Every change of the truth from now on. A receiver that lags 128 changes loses some and is told.
    pub fn subscribe(&self) -> broadcast::Receiver<HostEvent> {
        self.follow().1
    }

    /// The truth now and every change after it, with nothing lost in between.
    pub fn follow(&self) -> (Truth, broadcast::Receiver<HostEvent>) {
        self.core
            .act(|acting| (acting.truth(Slot::FIRST), acting.subscribe()))
    }

    /// Waits until the host is as `wanted` says. States that pass between two looks may be missed:
    /// wait for counts, or use [`wait_for_entry`](Self::wait_for_entry). Has no deadline of its own.
    ///
    /// # Errors
    /// [`SimError::Stopped`] when the simulator ends first.
    pub async fn wait_for(&self, wanted: impl Fn(&Snapshot) -> bool) -> Result<Snapshot, SimError> {
        let mut tick = self.core.tick.subscribe();
        loop {
            tick.mark_unchanged();
            let snapshot = self.snapshot();
            if wanted(&snapshot) {
                return Ok(snapshot);
            }
            tokio::select! {
                () = self.core.stop.cancelled() => return Err(SimError::Stopped),
                _ = tick.changed() => {}
            }
        }
    }

    /// Waits for the first journal entry of this host after number `after` that is as `wanted`
    /// says. Misses nothing that is still kept. Has no deadline of its own.
    ///
    /// # Errors
    /// [`SimError::Stopped`] when the simulator ends first.
    pub async fn wait_for_entry(
        &self,
        after: u64,
        wanted: impl Fn(&Event) -> bool,
    ) -> Result<Arc<Entry>, SimError> {
        let mut tick = self.core.tick.subscribe();
        let mut seen = after;
        loop {
            tick.mark_unchanged();
            let page = self.journal_after(seen);
            if let Some(entry) = page.entries.into_iter().find(|entry| wanted(&entry.event)) {
                return Ok(entry);
            }
            seen = seen.max(page.last_seq);
            if page.more {
                continue;
            }
            tokio::select! {
                () = self.core.stop.cancelled() => return Err(SimError::Stopped),
                _ = tick.changed() => {}
            }
        }
    }

    /// This host's part of the journal, oldest first.
    pub fn journal(&self) -> Vec<Arc<Entry>> {
        let mut page = self.journal_after(0);
        let mut entries = std::mem::take(&mut page.entries);
        while page.more {
            page = self.journal_after(page.last_seq);
            entries.append(&mut page.entries);
        }
        entries
    }

    /// This host's part of the journal after number `after`.
    pub fn journal_after(&self, after: u64) -> Page {
        // What is due by now belongs to the answer.
        self.core.act(|_| ());
        self.core.journal.page(Some(&self.core.name), after, Most::ALL)
    }

    /// Which of these rules clients of this BMC have broken so far, by the journal's order; at most 100
    /// breaches of each. It takes the present for the end: sessions that are open now count as leaked, so
    /// ask when everybody is done. Entries that the journal no longer keeps have been judged, too.
    pub fn judge(&self, oracles: &[Oracle]) -> Vec<Breach> {
        self.core
            .act(|acting| acting.state.case.verdict(&acting.core.name, oracles))
    }

    /// The changes of the truth so far, with their instants, oldest first.
    pub fn transitions(&self) -> Vec<Arc<Entry>> {
        let changed = |entry: &Arc<Entry>| matches!(entry.event, Event::Changed { .. });
        self.journal().into_iter().filter(changed).collect()
    }

    /// Replaces the delays for commands to come; pending ones keep theirs.
    pub fn set_delays(&self, delays: Delays) {
        self.core.act(|acting| acting.set_delays(Slot::FIRST, delays));
    }

    /// Sets the truth at once, past all faults: somebody pressed the button.
    ///
    /// # Errors
    /// [`SimError::NoMains`] while the mains are off; then nothing has changed.
    pub fn press_power(&self, to: Power) -> Result<(), SimError> {
        self.core.act(|acting| acting.press(Slot::FIRST, to))
    }

    /// The BMC itself reboots: sessions and connections are gone, and it comes back in its stages. The
    /// machine goes on as it was.
    pub fn reboot_bmc(&self) {
        self.core.act(|acting| {
            acting.reboot_bmc();
        });
    }

    /// The mains fail: the machine is off at once, and the BMC dead until they are back.
    pub fn cut_mains(&self) {
        self.core.act(|acting| {
            acting.cut_mains();
        });
    }

    /// The mains are back: the BMC boots, and the machine does as its policy says.
    pub fn restore_mains(&self) {
        self.core.act(|acting| {
            acting.restore_mains();
        });
    }

    /// Closes every connection to this BMC.
    pub fn close_connections(&self) {
        self.core.close_connections();
    }
}
