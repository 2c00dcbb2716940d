//! Who is asking: a session's token or HTTP Basic (DSP0266 section 13.3).

use axum::body::Body;
use axum::http::{Response, StatusCode, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Call, Refusal, reply};
use crate::counters::{RequestClass, bump};
use crate::fault::Fault;
use crate::host::{Acting, Stage};
use crate::journal::{Event, Via};

/// How the caller proved who it is, or the refusal to send.
pub(super) fn authenticate(call: &Call<'_>) -> Result<Via, Refusal> {
    call.core.act(|acting| {
        let starting = acting.stage() == Stage::Rejecting;
        let via = if starting || acting.state.faults.take_rejection(call.asked) {
            None
        } else {
            identify(call, acting)
        };
        via.ok_or_else(|| Box::new(unauthorized(acting, call.class)))
    })
}

/// Counts and journals a failed login.
pub(super) fn unauthorized(acting: &mut Acting<'_>, class: RequestClass) -> Response<Body> {
    bump(&mut acting.state.counters.auth_failures);
    acting.log(Event::AuthFailed { class });
    let text = "The credentials are missing or wrong.";
    reply::error(StatusCode::UNAUTHORIZED, "NoValidSession", text)
}

fn identify(call: &Call<'_>, acting: &Acting<'_>) -> Option<Via> {
    let headers = &call.parts.headers;
    if let Some(token) = headers.get("X-Auth-Token") {
        if acting.state.faults.has(&Fault::NoSessionService) {
            return None;
        }
        // A token that is wrong is not made good by a password beside it.
        let session = acting.state.sessions.owner_of(token.to_str().ok()?)?;
        return Some(Via::RedfishSession(session));
    }
    let (scheme, encoded) = headers
        .get(header::AUTHORIZATION)?
        .to_str()
        .ok()?
        .split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("Basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (username, password) = decoded.split_once(':')?;
    let login = &acting.state.credentials;
    (login.username == username && login.password == password).then_some(Via::RedfishBasic)
}
