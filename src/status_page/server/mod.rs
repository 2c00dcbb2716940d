//! Gives the page away: the page itself, the document, and the document again whenever it has changed.
//!
//! Other web pages that the browser has open must not read it: nothing allows them to, and where it listens on loopback,
//! it answers only to an address or to localhost, because a name may be made to lead here (DNS rebinding).

mod events;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{self, HeaderName, HeaderValue};
use http::uri::Authority;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use self::events::{Content, Events, json};
use crate::report::listener::{self, DEADLINE, Lasting, Limits};
use crate::status_page::latest::StatusPage;

/// Connections served at once.
const CONNECTIONS: usize = 16;
/// As many of them may be told of changes: the others are left for who only asks.
const STREAMS: usize = 8;

const PAGE: &str = include_str!("../page.html");

/// What the browser may do with the page: run its own script and style, which are known by their digests, and ask where
/// it came from. Source: Content Security Policy Level 3.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let digest = |tag| STANDARD.encode(Sha256::digest(inside(tag)));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
        digest("script"),
        digest("style"),
    )
});

/// Headers of every answer, besides the policy.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// Serves for ever.
pub(super) async fn serve(listener: TcpListener, page: Arc<StatusPage>) {
    let limits = Limits {
        connections: CONNECTIONS,
        deadline: DEADLINE,
    };
    serve_within(listener, page, (limits, events::HEARTBEAT)).await;
}

async fn serve_within(listener: TcpListener, page: Arc<StatusPage>, (limits, heartbeat): (Limits, Duration)) {
    let is_loopback = listener
        .local_addr()
        .is_ok_and(|address| address.ip().is_loopback());
    let streams = Arc::new(Semaphore::new(STREAMS));
    listener::serve(listener, limits, "the status page", move |request| {
        let mut answer = if is_loopback && !is_to_an_address(request.headers()) {
            let told = "ask by an IP address or as localhost; this listens on loopback\n";
            plain(StatusCode::FORBIDDEN, told)
        } else {
            answer(request, &page, (&streams, heartbeat))
        };
        secure(answer.headers_mut());
        answer
    })
    .await;
}

fn answer<T>(
    request: &Request<T>,
    page: &Arc<StatusPage>,
    (streams, heartbeat): (&Arc<Semaphore>, Duration),
) -> Response<Content> {
    let path = request.uri().path();
    if request.method() != Method::GET {
        let mut refused = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET is served\n");
        let allowed = HeaderValue::from_static("GET");
        refused.headers_mut().insert(header::ALLOW, allowed);
        return refused;
    }
    match path {
        "/" => of_type("text/html; charset=utf-8", Content::whole(PAGE)),
        "/api/status" => match json(page, &page.latest().document) {
            Some(text) => of_type("application/json", Content::whole(text)),
            None => plain(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the status could not be written\n",
            ),
        },
        "/events" => match Arc::clone(streams).try_acquire_owned() {
            Ok(place) => {
                let events = Content::Events(Box::new(Events::new(Arc::clone(page), place, heartbeat)));
                let mut response = of_type("text/event-stream", events);
                response.extensions_mut().insert(Lasting(events::LONGEST));
                response
            }
            Err(_) => plain(
                StatusCode::SERVICE_UNAVAILABLE,
                "as many look at the page as may; close another one\n",
            ),
        },
        _ => plain(
            StatusCode::NOT_FOUND,
            "only /, /api/status and /events are served\n",
        ),
    }
}

/// Whether the one Host is an IP address or localhost.
fn is_to_an_address(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let authority = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
    authority.is_some_and(|authority| {
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok()
    })
}

fn secure(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let policy = HeaderValue::from_str(&POLICY).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
}

/// The text of the one element of the page with this tag.
fn inside(tag: &str) -> &'static str {
    let (begin, end) = (format!("<{tag}>"), format!("</{tag}>"));
    let after = PAGE.split_once(&begin).map_or("", |(_, after)| after);
    after.split_once(&end).map_or("", |(inside, _)| inside)
}

fn of_type(media_type: &'static str, content: Content) -> Response<Content> {
    let mut response = Response::new(content);
    let media_type = HeaderValue::from_static(media_type);
    response.headers_mut().insert(header::CONTENT_TYPE, media_type);
    response
}

fn plain(status: StatusCode, text: &'static str) -> Response<Content> {
    let mut response = of_type("text/plain; charset=utf-8", Content::whole(text));
    *response.status_mut() = status;
    response
}
