//! The UDP side of one BMC. While nothing comes there is a socket and nothing else: the buffer is
//! on the stack, and only once there is something to read.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::UdpSocket;
use tokio::time::Instant;

use super::deliver;
use super::receive::{self, Outgoing};
use super::wire::MAX_DATAGRAM;
use crate::SimError;
use crate::host::HostCore;

/// Datagrams dealt with before others get their turn.
const BATCH: usize = 32;
/// Replies that may wait for their time; more are lost, as in a full queue of a network.
const MOST_DELAYED: usize = 1024;

/// A reply and when to send it.
struct Delayed {
    due: Instant,
    reply: Outgoing,
}

/// Opens the socket and returns the address that it has.
pub(crate) async fn bind(address: SocketAddr) -> Result<(UdpSocket, SocketAddr), SimError> {
    let fail = |source| SimError::bind(address, source);
    let socket = UdpSocket::bind(address).await.map_err(fail)?;
    let bound = socket.local_addr().map_err(fail)?;
    Ok((socket, bound))
}

/// Serves until the simulator stops.
pub(crate) async fn run(socket: UdpSocket, core: Arc<HostCore>) {
    let mut delayed: Vec<Delayed> = Vec::new();
    loop {
        let next = delayed.iter().map(|one| one.due).min();
        let due = async {
            match next {
                Some(instant) => tokio::time::sleep_until(instant).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = core.stop.cancelled() => return,
            () = due => send_due(&socket, &core, &mut delayed),
            readable = socket.readable() => {
                // An error here is a peer's ICMP message, which is no concern of the BMC's.
                if readable.is_ok() {
                    drain(&socket, &core, &mut delayed);
                }
                tokio::task::yield_now().await;
            }
        }
    }
}

fn drain(socket: &UdpSocket, core: &HostCore, delayed: &mut Vec<Delayed>) {
    let mut buffer = [0; MAX_DATAGRAM];
    for _ in 0..BATCH {
        // It fails when nothing is left, or with what a peer's host said of an earlier reply.
        let Ok((length, peer)) = socket.try_recv_from(&mut buffer) else {
            return;
        };
        let datagram = buffer.get(..length).unwrap_or_default();
        for reply in receive::receive(core, peer, datagram) {
            if reply.after.is_zero() {
                send(socket, &reply);
                continue;
            }
            match Instant::now().checked_add(reply.after) {
                Some(due) if delayed.len() < MOST_DELAYED => delayed.push(Delayed { due, reply }),
                Some(_) | None => {
                    core.act(|acting| deliver::settle(acting, &reply, false));
                }
            }
        }
    }
}

fn send_due(socket: &UdpSocket, core: &HostCore, delayed: &mut Vec<Delayed>) {
    let now = Instant::now();
    let mut due: Vec<Delayed> = delayed.extract_if(.., |one| one.due <= now).collect();
    due.sort_by_key(|one| one.due);
    // Under the lock: a BMC that goes down meanwhile has sent them before.
    core.act(|acting| {
        for one in &due {
            if deliver::settle(acting, &one.reply, true) {
                send(socket, &one.reply);
            }
        }
    });
}

fn send(socket: &UdpSocket, reply: &Outgoing) {
    // A datagram that does not fit into the system's queue is lost, as UDP's are.
    let _ = socket.try_send_to(&reply.bytes, reply.to);
}
