//! Requests as clients send them.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Method, Request, Uri, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::FutureExt as _;

use super::{PASSWORD, USERNAME, bmc, runtime};
use crate::host::HostCore;
use crate::redfish;
use crate::server::Line;

/// What stands between two requests of one input.
const NEXT: &[u8] = b"\n---\n";
/// More requests than this tell nothing new.
const MOST_REQUESTS: usize = 16;

/// Requests to one BMC, one after the other; the statuses of the answers. Each is a line with method and
/// target, lines with headers, an empty line and the body; who says nothing else is the administrator.
pub fn http(bytes: &[u8]) -> Vec<u16> {
    let (Some(core), Some(runtime)) = (bmc(), runtime()) else {
        return Vec::new();
    };
    let _context = runtime.enter();
    let requests = pieces(bytes, NEXT).into_iter().take(MOST_REQUESTS);
    let statuses = requests.filter_map(|piece| ask(&core, request(piece)?)).collect();
    core.act(|acting| acting.snapshot());
    statuses
}

/// The status that a request is answered with; absent when there is no answer, or not at once.
pub(super) fn ask(core: &Arc<HostCore>, request: Request<Body>) -> Option<u16> {
    let line = Line {
        peer: None,
        life: core.act(|acting| acting.state.controller.reboots),
        reused: false,
    };
    let served = redfish::serve(Arc::clone(core), request, line);
    let answer = served.now_or_never()?.ok()?;
    Some(answer.status().as_u16())
}

fn request(piece: &[u8]) -> Option<Request<Body>> {
    let (head, body) = split(piece, b"\n\n");
    let mut lines = std::str::from_utf8(head).ok()?.lines();
    let (method, target) = lines.next()?.split_once(' ')?;
    let mut request = Request::new(Body::from(body.to_vec()));
    *request.method_mut() = Method::from_bytes(method.as_bytes()).ok()?;
    *request.uri_mut() = target.parse::<Uri>().ok()?;
    for line in lines {
        let (name, value) = line.split_once(':')?;
        let name = HeaderName::try_from(name).ok()?;
        let value = HeaderValue::try_from(value.trim()).ok()?;
        request.headers_mut().append(name, value);
    }
    log_in(&mut request);
    Some(request)
}

/// Adds the administrator's login where there is none.
pub(super) fn log_in(request: &mut Request<Body>) {
    let headers = request.headers_mut();
    let given = headers.contains_key(header::AUTHORIZATION) || headers.contains_key("x-auth-token");
    let login = format!("Basic {}", STANDARD.encode(format!("{USERNAME}:{PASSWORD}")));
    if let (false, Ok(value)) = (given, HeaderValue::try_from(login)) {
        headers.insert(header::AUTHORIZATION, value);
    }
}

/// The query of a URI, read as a GET reads it.
pub fn query(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        redfish::read_query(text);
    }
}

/// The bytes before a mark and those behind it.
fn split<'a>(bytes: &'a [u8], mark: &[u8]) -> (&'a [u8], &'a [u8]) {
    let found = bytes.windows(mark.len()).position(|window| window == mark);
    match found.and_then(|at| bytes.split_at_checked(at)) {
        Some((before, rest)) => (before, rest.strip_prefix(mark).unwrap_or_default()),
        None => (bytes, &[]),
    }
}

fn pieces<'a>(bytes: &'a [u8], mark: &[u8]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (piece, behind) = split(rest, mark);
        pieces.push(piece);
        rest = behind;
    }
    pieces
}
