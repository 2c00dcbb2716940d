//! The HTTPS side of one BMC: accept, handshake, serve. One BMC's peers cost the others nothing.

mod arrival;
mod connection;
mod control;
mod patient;
mod port;
mod room;
mod shared;
mod waiting;

pub(crate) use arrival::Line;
pub(crate) use control::{ControlListener, run_control};
pub(crate) use port::Port;
pub(crate) use room::{Room, Seats};
pub(crate) use shared::{SUFFIX, run as run_shared};

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::host::{Door, HostCore, Listening};

/// Pause after `accept` or `listen` failed, so that running out of descriptors does not spin.
const PAUSE: Duration = Duration::from_millis(20);

/// Serves until the simulator stops, then closes every connection.
pub(crate) async fn run(mut port: Port, core: Arc<HostCore>, seats: Seats) {
    let mut connections = JoinSet::new();
    let mut door = core.door.subscribe();
    loop {
        let present = *door.borrow_and_update();
        let phase = async {
            match present.listening {
                Listening::Open => accept(&mut port, &core, &seats, present, &mut connections).await,
                Listening::Closed => {
                    port.rest();
                    reap(&mut connections).await;
                }
                Listening::Blackhole => {
                    let _hole = swallow(&mut port, &seats).await;
                    reap(&mut connections).await;
                }
            }
        };
        tokio::select! {
            // Nobody is taken through a door that has changed: they would count, and the next be reset.
            biased;
            () = core.stop.cancelled() => break,
            _ = door.changed() => {}
            () = phase => {}
        }
        // Who waits to be taken came to another door.
        port.rest();
    }
    drop(port);
    connections.shutdown().await;
}

/// Takes connections for ever.
async fn accept(
    port: &mut Port,
    core: &Arc<HostCore>,
    seats: &Seats,
    door: Door,
    connections: &mut JoinSet<()>,
) {
    loop {
        let listener = match port.listen() {
            Ok(listener) => listener,
            Err(error) => {
                pause(seats, &error).await;
                continue;
            }
        };
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => welcome(stream, core, seats, door, connections),
                Err(error) => pause(seats, &error).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

fn welcome(
    stream: TcpStream,
    core: &Arc<HostCore>,
    seats: &Seats,
    door: Door,
    connections: &mut JoinSet<()>,
) {
    let Some(seat) = seats.take() else {
        let _ = stream.set_zero_linger();
        return;
    };
    connections.spawn(connection::run(stream, Arc::clone(core), door.life, seat));
}

/// After the system refused something, for want of open files most likely.
async fn pause(seats: &Seats, error: &std::io::Error) {
    seats.failed(error);
    tokio::time::sleep(PAUSE).await;
}

/// Forgets connections that ended, for ever.
async fn reap(connections: &mut JoinSet<()>) {
    loop {
        if connections.join_next().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

async fn swallow(port: &mut Port, seats: &Seats) -> port::Hole {
    loop {
        match port.swallow().await {
            Ok(hole) => return hole,
            Err(error) => pause(seats, &error).await,
        }
    }
}
