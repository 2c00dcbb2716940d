//! One connection, from the first byte to the last, and what faults make of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use hyper::StatusCode;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::{StartHandshake, TlsStream};

use super::arrival::{Line, arrive};
use super::patient::Patient;
use super::room::Seat;
use crate::counters::bump;
use crate::fault::{Connection, Fault};
use crate::host::HostCore;
use crate::journal::Event;
use crate::{SimError, redfish, tls};

/// A peer that takes longer is cut off.
pub(super) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
const HEAD_TIMEOUT: Duration = Duration::from_mins(1);
/// So is one who takes no byte of an answer for so long.
const WRITE_TIMEOUT: Duration = Duration::from_mins(1);
/// Longest head of a request, in bytes; a longer one is answered 431.
const LONGEST_HEAD: usize = 64 * 1024;

/// A fatal `handshake_failure` (RFC 8446 sections 5.1 and 6).
pub(super) const ALERT: [u8; 7] = [0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28];

/// Serves a connection that was opened in this life of the BMC.
pub(super) async fn run(stream: TcpStream, core: Arc<HostCore>, opened_in: u64, _seat: Seat) {
    let Some(mut arrival) = arrive(&core, &stream, Some(opened_in)) else {
        let _ = stream.set_zero_linger();
        return;
    };
    // Small answers; without it Nagle's algorithm may hold them back for 40 ms.
    let _ = stream.set_nodelay(true);
    if arrival.broken == Some(Connection::Reset) || arrival.resets {
        let _ = stream.set_zero_linger();
    }
    let (broken, line) = (arrival.broken, arrival.line);
    tokio::select! {
        // Else a request that arrives with the order to close might still be served.
        biased;
        _ = arrival.closing.changed() => {}
        () = converse(stream, core, broken, line) => {}
    }
}

async fn converse(mut stream: TcpStream, core: Arc<HostCore>, broken: Option<Connection>, line: Line) {
    match broken {
        None => secure(stream, core, line).await,
        Some(Connection::Reset) => {}
        Some(Connection::Hang) => read_out(&mut stream).await,
        Some(Connection::HalfClose) => close_half(stream).await,
        Some(Connection::Plaintext) => serve(stream, core, line).await,
        Some(Connection::Alert) => {
            // After the ClientHello: an alert before it is no answer to anything.
            let mut hello = [0; 5];
            let _ = tokio::time::timeout(HANDSHAKE_TIMEOUT, stream.read_exact(&mut hello)).await;
            let _ = stream.write_all(&ALERT).await;
            close_half(stream).await;
        }
    }
}

/// Closes our direction, and reads until the peer has had enough.
pub(super) async fn close_half(mut stream: TcpStream) {
    let _ = stream.shutdown().await;
    read_out(&mut stream).await;
}

/// Reads until the peer has had enough: a connection that nobody reads keeps its descriptor for ever.
pub(super) async fn read_out(stream: &mut TcpStream) {
    let mut bytes = [0; 512];
    while stream.read(&mut bytes).await.is_ok_and(|read| read > 0) {}
}

async fn secure(stream: TcpStream, core: Arc<HostCore>, line: Line) {
    let accepted = match config(&core) {
        Ok(config) => {
            let handshake = TlsAcceptor::from(config).accept(stream);
            tokio::time::timeout(HANDSHAKE_TIMEOUT, handshake).await.ok()
        }
        Err(_) => None,
    };
    go_on(accepted, core, line).await;
}

/// As for a connection of its own, once the ClientHello was read.
pub(super) async fn secure_hello(start: StartHandshake<TcpStream>, core: Arc<HostCore>, line: Line) {
    let accepted = match config(&core) {
        Ok(config) => {
            let handshake = start.into_stream(config);
            tokio::time::timeout(HANDSHAKE_TIMEOUT, handshake).await.ok()
        }
        Err(_) => None,
    };
    go_on(accepted, core, line).await;
}

/// Made anew for each connection: it costs little beside the handshake, and idle BMCs hold none.
fn config(core: &HostCore) -> Result<Arc<ServerConfig>, SimError> {
    let only_1_2 = core.act(|acting| acting.state.faults.has(&Fault::Tls12Only));
    tls::server_config(Arc::clone(&core.tls), only_1_2)
}

async fn go_on(accepted: Option<std::io::Result<TlsStream<TcpStream>>>, core: Arc<HostCore>, line: Line) {
    let Some(Ok(stream)) = accepted else {
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
    serve(stream, core, line).await;
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    core: Arc<HostCore>,
    line: Line,
) {
    let used = AtomicBool::new(false);
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let reused = used.swap(true, Ordering::Relaxed);
        let core = Arc::clone(&core);
        async move {
            if head_of(&request) > LONGEST_HEAD {
                return Ok(head_too_long());
            }
            redfish::serve(core, request.map(Body::new), Line { reused, ..line }).await
        }
    });
    // An error here is the peer's or an injected fault's doing; both are in the journal or in
    // the counters already.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(LONGEST_HEAD)
        .serve_connection(TokioIo::new(Patient::new(stream, WRITE_TIMEOUT)), service)
        .await;
}

/// Bytes of a request's head, as it was sent without needless white space. hyper's own limit is that of its buffer,
/// which it fills beyond before it looks.
fn head_of<T>(request: &hyper::Request<T>) -> usize {
    // "GET " URI " HTTP/1.1" CRLF, "NAME: VALUE" CRLF, CRLF
    let line = request.method().as_str().len().saturating_add(14);
    let lines = request.headers().iter().map(|(name, value)| {
        let length = name.as_str().len().saturating_add(value.len());
        length.saturating_add(4)
    });
    let uri = request.uri();
    let parts = [
        uri.scheme_str()
            .map_or(0, |scheme| scheme.len().saturating_add(3)),
        uri.authority().map_or(0, |authority| authority.as_str().len()),
        uri.path_and_query().map_or(0, |path| path.as_str().len()),
    ];
    lines.chain(parts).fold(line, usize::saturating_add)
}

/// As hyper refuses a head that does not fit its buffer.
fn head_too_long() -> hyper::Response<Body> {
    let mut response = hyper::Response::new(Body::empty());
    *response.status_mut() = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(CONNECTION, close);
    response
}
