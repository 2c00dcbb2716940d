//! Serves the metrics and answers probes over HTTP: four paths.

#[cfg(test)]
mod tests;

use std::time::Duration;

use http::{Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use tokio::net::TcpListener;

use crate::report::listener::{self, DEADLINE, Limits};
use crate::report::{Metrics, Probes};

/// Connections served at once; further ones wait in the queue of the operating system.
const CONNECTIONS: usize = 8;

/// Media type of the text format.
/// Source: OpenMetrics 1.0, "Protocol negotiation".
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves for ever.
pub async fn serve(listener: TcpListener, metrics: Metrics, probes: Probes) {
    serve_within(listener, (metrics, probes), DEADLINE).await;
}

async fn serve_within(listener: TcpListener, served: (Metrics, Probes), deadline: Duration) {
    let limits = Limits {
        connections: CONNECTIONS,
        deadline,
    };
    let (metrics, probes) = served;
    listener::serve(listener, limits, "metrics", move |request| {
        answer(request, &metrics, &probes)
    })
    .await;
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
