//! Opening a session.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use serde_json::{Map, Value};

use super::{offered, place};
use crate::host::Acting;
use crate::journal::{Delivery, Event};
use crate::redfish::message::{self, Base};
use crate::redfish::route::Route;
use crate::redfish::{Call, accounts, auth, read, reply};

/// POST of `{UserName, Password}`: 201 with the token and the session's location.
pub(in crate::redfish) fn create(call: &Call<'_>, body: &Map<String, Value>) -> Response<Body> {
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    call.act(|acting| {
        if !offered(acting) {
            return reply::not_found(call.path());
        }
        let (Some(username), Some(password)) = (text("UserName"), text("Password")) else {
            let missing = if text("UserName").is_none() {
                "UserName"
            } else {
                "Password"
            };
            let what = Base::CreateFailedMissingReqProperties.message(&[missing]);
            return reply::error(StatusCode::BAD_REQUEST, what.about(missing));
        };
        let tried = acting
            .core
            .journal
            .salt
            .login(username.as_bytes(), password.as_bytes());
        let starting = acting.state.controller.rejects_login(acting.now);
        let account = (!starting).then(|| auth::log_in(call, acting, username, password));
        let Some(account) = account.flatten().filter(|_| !acting.rejects(call.asked)) else {
            return auth::unauthorized(call, acting, Some(tried));
        };
        auth::admitted(call, acting, Some(tried));
        if acting.state.sessions.ids().len() >= usize::from(acting.state.redfish.spec.session_limit) {
            return full(acting);
        }
        open(call, acting, account)
    })
}

/// No room for another session.
pub(in crate::redfish) fn full(acting: &Acting<'_>) -> Response<Body> {
    match acting.state.redfish.spec.session_limit_error {
        Some(error) => message::vendor_error(error),
        None => {
            let full = Base::SessionLimitExceeded.message(&[]);
            reply::error(StatusCode::SERVICE_UNAVAILABLE, full)
        }
    }
}

fn open(call: &Call<'_>, acting: &mut Acting<'_>, account: u64) -> Response<Body> {
    let (id, token) = acting.state.sessions.start(account, acting.now);
    let Some(mut session) = read::tagged(acting, &Route::Session(id.clone())) else {
        return reply::not_found(place(acting));
    };
    if let (Some(required), Some(body)) = (
        accounts::password_change(acting, account),
        session.body.as_object_mut(),
    ) {
        message::annotate(body, &[required]);
    }
    let mut response = reply::created(&format!("{}/{id}", place(acting)), &session);
    if let Ok(token) = HeaderValue::from_str(&token) {
        let name = HeaderName::from_static("x-auth-token");
        response.headers_mut().insert(name, token);
    }
    let mut sent = call.sends_head(acting, &mut response);
    if call.overwrites(&["x-auth-token", "location"]) {
        // Nobody can close a session without its token and its place.
        sent.delivery = Delivery::Lost;
    }
    let event = Event::SessionCreated {
        session: id,
        status: sent.status,
        delivery: sent.delivery,
    };
    call.entries.log(acting, event, sent.delivery);
    response
}
