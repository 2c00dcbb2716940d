//! Discovery (DSP0266, "Discovery"): one socket answers searches for all BMCs. Of SSDP there is what the
//! specification asks for, which is answers; nothing is announced.

mod message;

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::SimError;
use crate::host::Host;
use crate::redfish;

/// UDP port of the protocol (UPnP Device Architecture 1.1, section 1.3.2).
pub const SSDP_PORT: u16 = 1900;
/// Where searches go to.
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 255, 250);
/// Linux lets one socket join 20 groups (ip(7), `igmp_max_memberships`).
const MOST_INTERFACES: usize = 16;
/// Searches answered at one time. Others are not answered: the sender of a datagram can be forged, and a
/// fleet must not drown him.
const MOST_SEARCHES: usize = 8;
/// No search is longer.
const MAX_DATAGRAM: usize = 1024;

/// Whether a datagram is a search that is answered; what is fuzzed.
pub fn searches_for_us(datagram: &[u8]) -> bool {
    message::search(datagram).is_some()
}

/// Opens the socket, on the default interface and on those of the BMCs.
///
/// # Errors
/// [`SimError::Bind`], also when no interface takes part in multicast.
pub(crate) fn bind(
    port: u16,
    bmcs: impl Iterator<Item = IpAddr>,
) -> Result<(UdpSocket, SocketAddr), SimError> {
    let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    open(address, &interfaces(bmcs)).map_err(|source| SimError::bind(address, source))
}

fn open(address: SocketAddr, interfaces: &BTreeSet<Ipv4Addr>) -> std::io::Result<(UdpSocket, SocketAddr)> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    // Port 1900 is everybody's: each program that has it gets each search.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    let joined: Vec<std::io::Result<()>> = interfaces
        .iter()
        .map(|interface| socket.join_multicast_v4(&GROUP, interface))
        .collect();
    // One interface can be named twice, by different addresses; what matters is that there is one.
    if !joined.iter().any(Result::is_ok) {
        joined.into_iter().collect::<std::io::Result<()>>()?;
    }
    let socket = UdpSocket::from_std(socket.into())?;
    let bound = socket.local_addr()?;
    Ok((socket, bound))
}

/// Addresses of the interfaces to listen on; the unspecified one is that of the default route.
fn interfaces(bmcs: impl Iterator<Item = IpAddr>) -> BTreeSet<Ipv4Addr> {
    let mut all = BTreeSet::from([Ipv4Addr::UNSPECIFIED, Ipv4Addr::LOCALHOST]);
    for bmc in bmcs {
        let IpAddr::V4(address) = bmc else {
            continue;
        };
        if !address.is_loopback() && all.len() < MOST_INTERFACES {
            all.insert(address);
        }
    }
    all
}

/// Answers until the simulator stops.
pub(crate) async fn run(socket: UdpSocket, hosts: Vec<Host>, stop: CancellationToken) {
    let (socket, hosts) = (Arc::new(socket), Arc::new(hosts));
    let mut searches = JoinSet::new();
    let mut buffer = [0; MAX_DATAGRAM];
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            Some(_) = searches.join_next() => {}
            received = socket.recv_from(&mut buffer) => {
                // An error here is a peer's ICMP message, which is no concern of ours.
                let Ok((length, peer)) = received else {
                    continue;
                };
                let within = buffer.get(..length).and_then(message::search);
                if let Some(within) = within.filter(|_| searches.len() < MOST_SEARCHES) {
                    searches.spawn(answer_all(Arc::clone(&socket), Arc::clone(&hosts), peer, within));
                }
            }
        }
    }
}

/// Answers for each BMC that can be found, one after the other, so that no buffer overflows.
async fn answer_all(socket: Arc<UdpSocket>, hosts: Arc<Vec<Host>>, peer: SocketAddr, within: Duration) {
    let begin = Instant::now();
    let many = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
    // The client has to get the last one in time, too.
    let span = within.saturating_mul(3).checked_div(4).unwrap_or(within);
    for (number, host) in (0_u32..).zip(hosts.iter()) {
        let after = span.saturating_mul(number).checked_div(many).unwrap_or_default();
        tokio::time::sleep_until(begin.checked_add(after).unwrap_or(begin)).await;
        let Some(root) = host.core.act(|acting| redfish::discoverable(acting)) else {
            continue;
        };
        let answer = message::answer(&host.core.identities.service_uuid, &root);
        // Whoever is gone gets nothing.
        let _ = socket.send_to(answer.as_bytes(), peer).await;
    }
}

#[cfg(test)]
mod tests {
    use super::{Ipv4Addr, MOST_INTERFACES, interfaces};

    #[test]
    fn listens_where_bmcs_are_and_not_on_too_many_interfaces() {
        let loopback = (1..=200).map(|last| [127, 1, 0, last].into());
        assert_eq!(interfaces(loopback).len(), 2);
        let others = (1..=200).map(|last| [192, 0, 2, last].into());
        let all = interfaces(others);
        assert!(all.len() == MOST_INTERFACES && all.contains(&Ipv4Addr::new(192, 0, 2, 1)));
        assert_eq!(
            interfaces(std::iter::once(std::net::Ipv6Addr::LOCALHOST.into())).len(),
            2
        );
    }
}
