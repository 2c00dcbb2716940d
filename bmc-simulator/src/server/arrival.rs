//! What a BMC makes of a connection when it is taken.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::counters::RequestClass;
use crate::fault::{Connection, Fault};
use crate::host::HostCore;
use crate::journal::Event;
use crate::redfish;

/// A connection, as requests over it know it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    /// Where it came from; absent when that is gone already.
    pub(crate) peer: Option<IpAddr>,
    /// How often the BMC had booted when it was taken: it ends with that life of the BMC.
    pub(crate) life: u64,
    /// A request came over it before.
    pub(crate) reused: bool,
}

/// A connection that was taken.
pub(super) struct Arrival {
    pub(super) line: Line,
    /// Changes when it is to be closed.
    pub(super) closing: watch::Receiver<u64>,
    /// How a fault breaks it.
    pub(super) broken: Option<Connection>,
    /// Whether it is closed by a reset, whenever that is.
    pub(super) resets: bool,
    /// Its place among those that the BMC has at one time.
    _place: Place,
}

/// Counts a connection as long as it lives.
struct Place(Arc<HostCore>);

impl Place {
    fn of(core: &Arc<HostCore>) -> Self {
        core.connections.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(core))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts a connection; none when the BMC takes none, or no more, or had not begun its present life when it was opened.
///
/// `opened_in`: the life for which it was opened; absent = whichever is now.
pub(super) fn arrive(core: &Arc<HostCore>, stream: &TcpStream, opened_in: Option<u64>) -> Option<Arrival> {
    let peer = stream.peer_addr().ok().map(|peer| peer.ip());
    // Of an address that it blocks a BMC takes no connection, as a firewall in it.
    let blocked = redfish::blocks(core, peer);
    core.act(|acting| {
        let door = acting.door();
        if !door.is_open() || opened_in.is_some_and(|life| life != door.life) {
            return None;
        }
        // Under the lock, so that no two take the last place.
        let limit = usize::from(acting.state.redfish.spec().connection_limit);
        if core.connections.load(Ordering::Relaxed) >= limit {
            return None;
        }
        acting.state.counters.count(RequestClass::Connect);
        acting.log(Event::TcpAccepted);
        let fault = (!blocked)
            .then(|| acting.state.faults.take_connection())
            .flatten();
        if let Some((name, _)) = fault {
            acting.log_fault(name, RequestClass::Connect);
        }
        let broken = fault.map(|(_, what)| what);
        let line = Line {
            peer,
            life: door.life,
            reused: false,
        };
        Some(Arrival {
            line,
            // Under the lock, so that no order to close falls in between.
            closing: core.closing.subscribe(),
            broken: blocked.then_some(Connection::Reset).or(broken),
            resets: acting.state.faults.has(&Fault::ResetOnReuse),
            _place: Place::of(core),
        })
    })
}
