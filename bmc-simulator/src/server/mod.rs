//! The HTTPS side of one BMC: accept, handshake, serve. One BMC's peers cost the others nothing.

mod blackhole;
mod connection;
mod control;
mod shared;

pub(crate) use control::run_control;
pub(crate) use shared::{SUFFIX, run as run_shared};

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::host::{HostCore, Listening};
use blackhole::Blackhole;

/// Pause after `accept` or `bind` failed, so that running out of descriptors does not spin.
const PAUSE: Duration = Duration::from_millis(20);

/// Serves until the simulator stops, then closes every connection.
pub(crate) async fn run(listener: TcpListener, core: Arc<HostCore>) {
    let mut connections = JoinSet::new();
    let mut listening = core.listening.subscribe();
    let mut listener = Some(listener);
    loop {
        let wanted = *listening.borrow_and_update();
        let phase = async {
            match wanted {
                Listening::Open => accept(&mut listener, &core, &mut connections).await,
                Listening::Closed => {
                    listener = None;
                    std::future::pending::<()>().await;
                }
                Listening::Blackhole => {
                    listener = None;
                    let _hole = fall(&core).await;
                    std::future::pending::<()>().await;
                }
            }
        };
        tokio::select! {
            () = core.stop.cancelled() => break,
            _ = listening.changed() => {}
            () = phase => {}
        }
    }
    drop(listener);
    connections.shutdown().await;
}

/// Takes connections for ever; listens first where nothing does.
async fn accept(listener: &mut Option<TcpListener>, core: &Arc<HostCore>, connections: &mut JoinSet<()>) {
    let listener = match listener {
        Some(listener) => listener,
        None => listener.insert(listen_again(core).await),
    };
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection::run(stream, Arc::clone(core)));
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// The address is ours; while somebody else has it nobody can be served.
async fn listen_again(core: &HostCore) -> TcpListener {
    loop {
        match TcpListener::bind(core.address).await {
            Ok(listener) => return listener,
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

async fn fall(core: &HostCore) -> Blackhole {
    loop {
        match Blackhole::open(core.address).await {
            Ok(hole) => return hole,
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}
