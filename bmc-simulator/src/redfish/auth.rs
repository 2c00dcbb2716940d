//! Who is asking: a session's token or HTTP Basic (DSP0266, "Authentication").

use axum::body::Body;
use axum::http::{HeaderMap, Response, StatusCode, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::message::Base;
use super::{Call, Refusal, body, reply};
use crate::counters::{RequestClass, bump};
use crate::fault::Fault;
use crate::host::{Acting, HostCore};
use crate::journal::{Delivery, Event, Salt, Tried, Via};

const TOKEN: &str = "X-Auth-Token";
const UNAUTHORIZED: u16 = 401;

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

/// What HTTP Basic carries.
struct Basic {
    username: String,
    password: String,
}

/// How the caller proved who it is, or the refusal to send.
pub(super) fn authenticate(call: &Call<'_>) -> Result<Caller, Refusal> {
    let headers = &call.parts.headers;
    call.core.act(|acting| {
        let basic = basic(headers);
        let tried = basic.as_ref().map(|basic| basic.tried(&acting.core.journal.salt));
        let caller = if acting.state.controller.rejects_login(acting.now) {
            None
        } else {
            // A fault that rejects hits only those who would have been let in.
            identify(call, basic.as_ref(), acting).filter(|_| !acting.rejects(call.asked))
        };
        if let Some(caller) = caller {
            admitted(call, acting, tried);
            return Ok(caller);
        }
        Err(Box::new(unauthorized(call, acting, tried)))
    })
}

/// Counts and journals a failed login.
pub(super) fn unauthorized(call: &Call<'_>, acting: &mut Acting<'_>, tried: Option<Tried>) -> Response<Body> {
    bump(&mut acting.state.counters.auth_failures);
    let mut response = reply::error(StatusCode::UNAUTHORIZED, Base::NoValidSession.message(&[]));
    let sent = call.sends_head(acting, &mut response);
    let event = Event::AuthFailed {
        class: call.class,
        tried,
        status: sent.status,
        delivery: sent.delivery,
    };
    call.entries.log(acting, event, sent.delivery);
    response
}

/// Journals a login that succeeded, where that matters.
pub(super) fn admitted(call: &Call<'_>, acting: &mut Acting<'_>, tried: Option<Tried>) {
    if let Some(tried) = tried {
        let _ = call.admitted.set(tried.clone());
        acting.log_accepted(call.class, tried);
    }
}

/// Journals that a fault answers 401 in the BMC's place.
pub(super) async fn told_unauthorized(core: &HostCore, headers: &HeaderMap, class: RequestClass, body: Body) {
    let basic = if class == RequestClass::SessionCreate {
        let object = body::json_object(headers, body).await.unwrap_or_default();
        let text = |name: &str| object.get(name)?.as_str().map(str::to_owned);
        text("UserName")
            .zip(text("Password"))
            .map(|(username, password)| Basic { username, password })
    } else {
        basic(headers)
    };
    core.act(|acting| {
        let tried = basic.map(|basic| basic.tried(&acting.core.journal.salt));
        acting.log(told_wrong(class, tried));
    });
}

pub(super) fn told_wrong(class: RequestClass, tried: Option<Tried>) -> Event {
    Event::AuthFailed {
        class,
        tried,
        status: Some(UNAUTHORIZED),
        delivery: Delivery::Sent,
    }
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

/// Whether a request says who sent it.
pub(super) fn has_credentials(headers: &HeaderMap) -> bool {
    headers.contains_key(TOKEN) || headers.contains_key(header::AUTHORIZATION)
}

fn identify(call: &Call<'_>, basic: Option<&Basic>, acting: &mut Acting<'_>) -> Option<Caller> {
    if let Some(token) = call.parts.headers.get(TOKEN) {
        if acting.state.faults.has(&Fault::NoSessionService) {
            return None;
        }
        let sessions = &mut acting.state.sessions;
        let (session, account) = sessions.owner_of(token.to_str().ok()?, acting.now)?;
        let via = Via::RedfishSession(session);
        return Some(Caller { via, account });
    }
    let Basic { username, password } = basic?;
    let account = log_in(call, acting, username, password)?;
    let via = Via::RedfishBasic;
    Some(Caller { via, account })
}

/// User name and password, unless there is a token: one that is wrong is not made good by a password
/// beside it.
fn basic(headers: &HeaderMap) -> Option<Basic> {
    if headers.contains_key(TOKEN) {
        return None;
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
    Some(Basic {
        username: username.to_owned(),
        password: password.to_owned(),
    })
}

impl Basic {
    fn tried(&self, salt: &Salt) -> Tried {
        salt.login(self.username.as_bytes(), self.password.as_bytes())
    }
}
