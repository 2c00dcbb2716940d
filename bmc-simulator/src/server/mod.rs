//! The HTTPS side of one BMC: accept, handshake, serve. One BMC's peers cost the others nothing.

mod arrival;
mod connection;
mod control;
mod patient;
mod port;
mod shared;
mod waiting;

pub(crate) use arrival::Line;
pub(crate) use control::run_control;
pub(crate) use port::Port;
pub(crate) use shared::{SUFFIX, run as run_shared};

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::host::{Door, HostCore, Listening};

/// Pause after `accept` or `listen` failed, so that running out of descriptors does not spin.
const PAUSE: Duration = Duration::from_millis(20);

/// Serves until the simulator stops, then closes every connection.
pub(crate) async fn run(mut port: Port, core: Arc<HostCore>) {
    let mut connections = JoinSet::new();
    let mut door = core.door.subscribe();
    loop {
        let present = *door.borrow_and_update();
        let phase = async {
            match present.listening {
                Listening::Open => accept(&mut port, &core, present, &mut connections).await,
                Listening::Closed => {
                    port.rest();
                    reap(&mut connections).await;
                }
                Listening::Blackhole => {
                    let _hole = swallow(&mut port).await;
                    reap(&mut connections).await;
                }
            }
        };
        tokio::select! {
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
async fn accept(port: &mut Port, core: &Arc<HostCore>, door: Door, connections: &mut JoinSet<()>) {
    loop {
        let Ok(listener) = port.listen() else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => welcome(stream, core, door, connections),
                Err(_) => tokio::time::sleep(PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

fn welcome(stream: TcpStream, core: &Arc<HostCore>, door: Door, connections: &mut JoinSet<()>) {
    connections.spawn(connection::run(stream, Arc::clone(core), door.life));
}

/// Forgets connections that ended, for ever.
async fn reap(connections: &mut JoinSet<()>) {
    loop {
        if connections.join_next().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

async fn swallow(port: &mut Port) -> port::Hole {
    loop {
        match port.swallow().await {
            Ok(hole) => return hole,
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}
