//! The HTTPS side of one BMC: accept, handshake, serve. One BMC's peers cost the others nothing.

use std::future::IntoFuture as _;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::counters::bump;
use crate::host::HostCore;
use crate::journal::Event;
use crate::redfish;

/// A peer that takes longer is cut off.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
const HEAD_TIMEOUT: Duration = Duration::from_mins(1);
/// Pause after `accept` failed, so that running out of descriptors does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
/// How long a control request in flight may hold up the end.
const CONTROL_PATIENCE: Duration = Duration::from_secs(1);

/// Serves until the simulator stops, then closes every connection.
pub(crate) async fn run(listener: TcpListener, core: Arc<HostCore>, acceptor: TlsAcceptor) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = core.stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, Arc::clone(&core), acceptor.clone()));
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    connections.shutdown().await;
}

async fn connection(stream: TcpStream, core: Arc<HostCore>, acceptor: TlsAcceptor) {
    let mut closing = core.closing.subscribe();
    core.act(|acting| {
        bump(&mut acting.state.counters.tcp_connections);
        acting.log(Event::TcpAccepted);
    });
    // Small answers; without it Nagle's algorithm may hold them back for 40 ms.
    let _ = stream.set_nodelay(true);
    tokio::select! {
        // Else a request that arrives with the order to close might still be served.
        biased;
        _ = closing.changed() => {}
        () = secure(stream, Arc::clone(&core), acceptor) => {}
    }
}

async fn secure(stream: TcpStream, core: Arc<HostCore>, acceptor: TlsAcceptor) {
    let handshake = tokio::time::timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await;
    let Ok(Ok(stream)) = handshake else {
        core.act(|acting| {
            bump(&mut acting.state.counters.tls_failures);
            acting.log(Event::TlsFailed);
        });
        return;
    };
    core.act(|acting| {
        bump(&mut acting.state.counters.tls_handshakes);
        acting.log(Event::TlsHandshake);
    });
    serve(stream, core).await;
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, core: Arc<HostCore>) {
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        redfish::serve(Arc::clone(&core), request.map(Body::new))
    });
    // An error here is the peer's or an injected fault's doing; both are in the journal or in
    // the counters already.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// Serves the control API, without TLS, until the simulator stops.
pub(crate) async fn run_control(listener: TcpListener, router: axum::Router, stop: CancellationToken) {
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
