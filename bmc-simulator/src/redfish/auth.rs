//! Who is asking: a session's token or HTTP Basic (DSP0266, "Authentication").

use axum::body::Body;
use axum::http::{Response, StatusCode, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::message::Base;
use super::{Call, Refusal, reply};
use crate::counters::{RequestClass, bump};
use crate::fault::Fault;
use crate::host::Acting;
use crate::journal::{Event, Via};

/// Somebody who proved who it is.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub(super) via: Via,
    /// Number of its account.
    pub(super) account: u64,
}

impl Caller {
    pub(super) fn session(&self) -> Option<&str> {
        if let Via::RedfishSession(session) = &self.via {
            Some(session)
        } else {
            None
        }
    }
}

/// How the caller proved who it is, or the refusal to send.
pub(super) fn authenticate(call: &Call<'_>) -> Result<Caller, Refusal> {
    call.core.act(|acting| {
        let caller = if acting.state.controller.rejects_login(acting.now) {
            None
        } else {
            // A fault that rejects hits only those who would have been let in.
            identify(call, acting).filter(|_| !acting.rejects(call.asked))
        };
        caller.ok_or_else(|| Box::new(unauthorized(acting, call.class)))
    })
}

/// Counts and journals a failed login.
pub(super) fn unauthorized(acting: &mut Acting<'_>, class: RequestClass) -> Response<Body> {
    bump(&mut acting.state.counters.auth_failures);
    acting.log(Event::AuthFailed { class });
    reply::error(StatusCode::UNAUTHORIZED, Base::NoValidSession.message(&[]))
}

/// The account that a name and a password open now.
pub(super) fn log_in(
    call: &Call<'_>,
    acting: &mut Acting<'_>,
    username: &str,
    password: &str,
) -> Option<u64> {
    let state = &mut *acting.state;
    let accounts = &mut state.redfish.accounts;
    let from = (call.line.peer, acting.now);
    accounts.log_in(&state.credentials, username, password, from)
}

fn identify(call: &Call<'_>, acting: &mut Acting<'_>) -> Option<Caller> {
    let headers = &call.parts.headers;
    if let Some(token) = headers.get("X-Auth-Token") {
        if acting.state.faults.has(&Fault::NoSessionService) {
            return None;
        }
        // A token that is wrong is not made good by a password beside it.
        let sessions = &mut acting.state.sessions;
        let (session, account) = sessions.owner_of(token.to_str().ok()?, acting.now)?;
        let via = Via::RedfishSession(session);
        return Some(Caller { via, account });
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
    let account = log_in(call, acting, username, password)?;
    let via = Via::RedfishBasic;
    Some(Caller { via, account })
}
