//! Serves the control API.

use std::future::IntoFuture as _;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::PAUSE;

/// How long a control request in flight may hold up the end.
const CONTROL_PATIENCE: Duration = Duration::from_secs(1);

/// Takes so many connections at one time; the next is reset, as a BMC does with one too many.
pub(crate) struct ControlListener {
    listener: TcpListener,
    places: Arc<Semaphore>,
}

/// A connection and its place, until it is closed.
pub(crate) struct Placed {
    stream: TcpStream,
    _place: OwnedSemaphorePermit,
}

impl ControlListener {
    pub(crate) fn new(listener: TcpListener, most: usize) -> Self {
        Self {
            listener,
            places: Arc::new(Semaphore::new(most)),
        }
    }
}

impl Listener for ControlListener {
    type Io = Placed;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Placed, SocketAddr) {
        loop {
            let Ok((stream, peer)) = self.listener.accept().await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
                let placed = Placed {
                    stream,
                    _place: place,
                };
                return (placed, peer);
            }
            let _ = stream.set_zero_linger();
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl AsyncRead for Placed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Placed {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Serves the control API, without TLS, until the simulator stops.
pub(crate) async fn run_control(listener: ControlListener, router: axum::Router, stop: CancellationToken) {
    let server = axum::serve(listener, router).with_graceful_shutdown(stop.clone().cancelled_owned());
    let patience = async {
        stop.cancelled().await;
        tokio::time::sleep(CONTROL_PATIENCE).await;
    };
    tokio::select! {
        _ = server.into_future() => {}
        () = patience => {}
    }
}
