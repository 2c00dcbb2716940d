//! Connections that lead somewhere, or nowhere, whatever is said over them.

use std::io;
use std::net::SocketAddr;

use anyhow::Result;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::Front;

/// What becomes of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// They lead to the server.
    Through,
    /// There are none: those that were are cut, and new ones are refused.
    Refused,
    /// They are accepted and stay, and nothing passes.
    Silent,
}

/// Stands before what listens at `behind`, for as long as anybody may say what becomes of connections.
pub(crate) async fn serve(behind: SocketAddr, reach: watch::Receiver<Reach>) -> Result<Front> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let task = tokio::spawn(stand_before(behind, listener, reach));
    Ok(Front {
        address,
        task: task.abort_handle(),
    })
}

async fn stand_before(
    behind: SocketAddr,
    mut listener: TcpListener,
    reach: watch::Receiver<Reach>,
) -> Result<()> {
    let address = listener.local_addr()?;
    let mut changes = reach.clone();
    loop {
        tokio::select! {
            refused = changes.wait_for(|now| *now == Reach::Refused) => drop(refused?),
            accepted = listener.accept() => {
                let (daemon, _) = accepted?;
                tokio::spawn(relay(daemon, behind, reach.clone()));
                continue;
            }
        }
        drop(listener);
        changes.wait_for(|now| *now != Reach::Refused).await?;
        listener = TcpListener::bind(address).await?;
    }
}

async fn relay(daemon: TcpStream, behind: SocketAddr, mut reach: watch::Receiver<Reach>) -> io::Result<()> {
    let server = TcpStream::connect(behind).await?;
    let ((daemon_says, to_daemon), (server_says, to_server)) = (daemon.into_split(), server.into_split());
    tokio::select! {
        ended = pass(daemon_says, to_server, reach.clone()) => ended,
        ended = pass(server_says, to_daemon, reach.clone()) => ended,
        _ = reach.wait_for(|now| *now == Reach::Refused) => Ok(()),
    }
}

async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut reach: watch::Receiver<Reach>,
) -> io::Result<()> {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let count = from.read(&mut bytes).await?;
        // Where nobody could tell it any more, the test is over.
        let _ = reach.wait_for(|now| *now != Reach::Silent).await;
        let Some(said) = bytes.get(..count).filter(|said| !said.is_empty()) else {
            return Ok(());
        };
        to.write_all(said).await?;
    }
}
