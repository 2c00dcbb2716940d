//! Many BMCs behind one address and port, told apart by the name that the client asks for in TLS (SNI).

use std::collections::BTreeMap;
use std::sync::Arc;

use rustls::server::Acceptor;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::StartHandshake;
use tokio_util::sync::CancellationToken;

use super::arrival::{Line, arrive};
use super::connection::{self, ALERT, HANDSHAKE_TIMEOUT};
use super::room::Seat;
use super::waiting::{Ticket, Waiting};
use super::{Seats, pause};
use crate::fault::Connection;
use crate::host::{Host, HostCore};

/// What a server says that expects no TLS.
const PLAINTEXT: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// The BMCs by name, in lower case as TLS hands names over.
pub(crate) type Behind = Arc<BTreeMap<String, Host>>;

/// Serves until the simulator stops, then closes every connection.
pub(crate) async fn run(listener: TcpListener, behind: Behind, seats: Seats, stop: CancellationToken) {
    let mut connections = JoinSet::new();
    let waiting = Waiting::default();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    if let Some(seat) = seats.take() {
                        let behind = Arc::clone(&behind);
                        connections.spawn(route(stream, behind, waiting.enter(), seat));
                    } else {
                        let _ = stream.set_zero_linger();
                    }
                }
                Err(error) => pause(&seats, &error).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    connections.shutdown().await;
}

/// Hands a connection to the BMC whose name is asked for. Nobody has another one: it ends with an alert.
async fn route(stream: TcpStream, behind: Behind, mut ticket: Ticket, _seat: Seat) {
    // Small answers; without it Nagle's algorithm may hold them back for 40 ms.
    let _ = stream.set_nodelay(true);
    let hello = LazyConfigAcceptor::new(Acceptor::default(), stream);
    let hello = tokio::select! {
        hello = tokio::time::timeout(HANDSHAKE_TIMEOUT, hello) => hello,
        _ = &mut ticket.pushed_out => return,
    };
    drop(ticket);
    let Ok(Ok(mut start)) = hello else {
        return;
    };
    let named = start.client_hello().server_name().map(host_name);
    match named.and_then(|name| behind.get(&name)) {
        Some(host) => serve(start, Arc::clone(&host.core)).await,
        None => {
            let _ = start.io.write_all(&ALERT).await;
        }
    }
}

/// The name in lower case: `worker-1` of `worker-1.localhost`, or of `worker-1` alone.
fn host_name(server_name: &str) -> String {
    let name = server_name.strip_suffix(SUFFIX).unwrap_or(server_name);
    name.to_ascii_lowercase()
}

/// What is behind the host's name in the name of its BMC: a name that everybody resolves to this machine
/// (RFC 6761 section 6.3).
pub(crate) const SUFFIX: &str = ".localhost";

async fn serve(start: StartHandshake<TcpStream>, core: Arc<HostCore>) {
    // The address is there for the others: of what is not open the connection ends at once.
    let Some(mut arrival) = arrive(&core, &start.io, None) else {
        return reset(&start);
    };
    if arrival.resets {
        reset(&start);
    }
    let (broken, line) = (arrival.broken, arrival.line);
    tokio::select! {
        // Else a request that arrives with the order to close might still be served.
        biased;
        _ = arrival.closing.changed() => {}
        () = converse(start, core, broken, line) => {}
    }
}

async fn converse(
    mut start: StartHandshake<TcpStream>,
    core: Arc<HostCore>,
    broken: Option<Connection>,
    line: Line,
) {
    match broken {
        None => connection::secure_hello(start, core, line).await,
        Some(Connection::Reset) => reset(&start),
        Some(Connection::Hang) => connection::read_out(&mut start.io).await,
        Some(Connection::HalfClose) => connection::close_half(start.io).await,
        Some(Connection::Plaintext) => {
            let _ = start.io.write_all(PLAINTEXT).await;
        }
        Some(Connection::Alert) => {
            let _ = start.io.write_all(&ALERT).await;
            connection::close_half(start.io).await;
        }
    }
}

/// Lets a connection end by a reset.
fn reset(start: &StartHandshake<TcpStream>) {
    let _ = start.io.set_zero_linger();
}

#[cfg(test)]
mod tests {
    use super::host_name;

    #[test]
    fn the_host_is_the_first_part_of_the_name() {
        assert_eq!(host_name("worker-1.localhost"), "worker-1");
        assert_eq!(host_name("worker-1"), "worker-1");
        assert_eq!(host_name("Worker.1.localhost"), "worker.1");
    }
}
