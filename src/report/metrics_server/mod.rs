//! Serves the metrics and answers probes over HTTP. Whoever asks is not trusted: few connections at once, little time
//! and memory for each, four paths.

#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::report::{Metrics, Probes};

/// Connections served at once; further ones wait in the queue of the operating system.
const CONNECTIONS: usize = 8;
/// The longest that a connection may take, from its first byte to its last.
const DEADLINE: Duration = Duration::from_secs(10);
/// The most that is read of a request, in bytes; hyper takes no less.
const REQUEST_BYTES: usize = 8 * 1024;
/// Pause when no connection can be taken, such as for want of file descriptors.
const PAUSE: Duration = Duration::from_secs(1);

/// Media type of the text format.
/// Source: OpenMetrics 1.0, "Protocol negotiation".
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves for ever.
pub async fn serve(listener: TcpListener, metrics: Metrics, probes: Probes) {
    serve_within(listener, (metrics, probes), DEADLINE).await;
}

async fn serve_within(listener: TcpListener, served: (Metrics, Probes), deadline: Duration) {
    let free = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&free).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let served = served.clone();
                tokio::spawn(async move {
                    connection(stream, served, deadline).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::debug!(%error, "a connection for metrics was not taken");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, (metrics, probes): (Metrics, Probes), deadline: Duration) {
    let service = service_fn(|request| {
        let answer = answer(&request, &metrics, &probes);
        async move { Ok::<_, Infallible>(answer) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(deadline)
        .keep_alive(false)
        .max_buf_size(REQUEST_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    match tokio::time::timeout(deadline, serving).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a reader of metrics went away"),
        Err(_) => tracing::debug!("a reader of metrics took too long"),
    }
}

fn answer(request: &Request<Incoming>, metrics: &Metrics, probes: &Probes) -> Response<String> {
    match request.uri().path() {
        "/metrics" | "/livez" | "/readyz" | "/healthz" if request.method() != Method::GET => {
            plain(StatusCode::METHOD_NOT_ALLOWED, "only GET is served\n")
        }
        // The older name, for whoever still asks by it.
        "/livez" | "/healthz" => match probes.live() {
            Ok(()) => plain(StatusCode::OK, "ok\n"),
            Err(still) => plain(StatusCode::INTERNAL_SERVER_ERROR, still),
        },
        "/readyz" => match probes.ready() {
            Ok(()) => plain(StatusCode::OK, "ok\n"),
            Err(why) => plain(StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
        },
        "/metrics" => match metrics.text() {
            Ok(text) => {
                let mut response = Response::new(text);
                let media_type = header::HeaderValue::from_static(OPEN_METRICS);
                response.headers_mut().insert(header::CONTENT_TYPE, media_type);
                response
            }
            Err(_) => plain(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the metrics could not be written\n",
            ),
        },
        _ => plain(
            StatusCode::NOT_FOUND,
            "only /metrics, /livez and /readyz are served\n",
        ),
    }
}

fn plain(status: StatusCode, text: impl Into<String>) -> Response<String> {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    response
}
