//! Redfish (DMTF DSP0266) as a power client sees it: service root, systems, reset, sessions.

mod aftermath;
mod auth;
mod body;
mod reply;
mod reset;
mod resources;
mod route;
mod sessions;

pub(crate) use sessions::Sessions;

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Method, Request, Response, StatusCode, request::Parts};

use crate::counters::RequestClass;
use crate::fault::{Aftermath, Answer, Asked};
use crate::host::{HostCore, Stage};
use crate::journal::Via;
use route::Route;

/// The connection is to be closed without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the connection is closed without an answer, as the injected fault asks")]
pub(crate) struct HangUp;

/// A request that has been understood so far.
struct Call<'a> {
    core: &'a HostCore,
    parts: &'a Parts,
    route: &'a Route,
    class: RequestClass,
    /// The same, for the selectors of faults.
    asked: Asked<'a>,
    /// Whether the answer will reach the client.
    answered: bool,
}

/// Serves one request, faults included.
///
/// `reused`: a request came over this connection before.
///
/// # Errors
/// [`HangUp`] when the connection is to be closed without an answer.
pub(crate) async fn serve(
    core: Arc<HostCore>,
    request: Request<Body>,
    reused: bool,
) -> Result<Response<Body>, HangUp> {
    let (parts, body) = request.into_parts();
    let route = Route::of(parts.uri.path());
    let class = route.class(&parts.method);
    let asked = Asked {
        class,
        http: Some((parts.method.as_str(), parts.uri.path())),
    };
    if let Some(answer) = arrive(&core, asked, reused)? {
        return Ok(instead(answer).await);
    }
    let aftermath = core.act(|acting| acting.state.faults.take_aftermath(asked));
    let answered = aftermath
        .as_ref()
        .is_none_or(|(_, what)| *what != Aftermath::Drop);
    let call = Call {
        core: &core,
        parts: &parts,
        route: &route,
        class,
        asked,
        answered,
    };
    let response = dispatch(&call, body).await;
    let Some((fault, aftermath)) = aftermath else {
        return Ok(response);
    };
    core.act(|acting| acting.log_fault(fault, class));
    aftermath::apply(response, aftermath).await
}

/// Counts the request and looks whether the BMC's state or a fault answers it.
fn arrive(core: &HostCore, asked: Asked<'_>, reused: bool) -> Result<Option<Answer>, HangUp> {
    core.act(|acting| {
        acting.state.counters.count(asked.class);
        let reset = reused.then(|| acting.state.faults.take_reuse(asked)).flatten();
        if let Some(fault) = reset {
            acting.log_fault(fault, asked.class);
            return Err(HangUp);
        }
        if acting.is_overwhelmed() {
            acting.log_fault("crash-above", asked.class);
            acting.reboot_bmc();
        } else if let Some(fault) = acting.state.faults.take_reboot(asked) {
            acting.log_fault(fault, asked.class);
            acting.reboot_bmc();
        }
        match acting.stage() {
            Stage::Dead => return Err(HangUp),
            Stage::NotReady => return Ok(Some(Answer::not_ready())),
            Stage::Rejecting | Stage::Up => {}
        }
        let answer = acting.state.faults.take_answer(asked);
        Ok(answer.map(|(fault, answer)| {
            acting.log_fault(fault, asked.class);
            answer
        }))
    })
}

/// The answer that a fault gives instead of the real one.
async fn instead(answer: Answer) -> Response<Body> {
    match answer {
        Answer::Hang => std::future::pending().await,
        Answer::Html => reply::html(),
        Answer::Status { status, retry_after } => reply::canned(status, retry_after),
        Answer::Redirect { to } => reply::redirect(&to),
        Answer::Endless => aftermath::endless(),
        Answer::Deep { depth } => aftermath::deep(depth),
        Answer::ErrorIn200 => {
            let text = "An injected fault gave this error with a status of success.";
            reply::error(StatusCode::OK, "GeneralError", text)
        }
        Answer::SessionsFull => {
            let text = "The number of sessions is at its limit.";
            reply::error(StatusCode::SERVICE_UNAVAILABLE, "SessionLimitExceeded", text)
        }
    }
}

async fn dispatch(call: &Call<'_>, body: Body) -> Response<Body> {
    if call.class == RequestClass::SessionCreate {
        return match body::json_object(&call.parts.headers, body).await {
            Ok(object) => sessions::create(call, &object),
            Err(refusal) => *refusal,
        };
    }
    if call.route.is_public() {
        return public(call);
    }
    let via = match auth::authenticate(call) {
        Ok(via) => via,
        Err(refusal) => return *refusal,
    };
    if call.route.method_allowed(&call.parts.method) {
        private(call, &via, body).await
    } else {
        reply::method_not_allowed(call.route.allow())
    }
}

fn public(call: &Call<'_>) -> Response<Body> {
    if !call.route.method_allowed(&call.parts.method) {
        return reply::method_not_allowed(call.route.allow());
    }
    let resource = match call.route {
        Route::Versions => resources::versions(),
        Route::ServiceRoot => resources::service_root(call.core),
        // Not public: `dispatch` asks for a login first.
        Route::Systems
        | Route::System(_)
        | Route::Reset(_)
        | Route::SessionService
        | Route::Sessions
        | Route::Session(_)
        | Route::Unknown => return reply::not_found(),
    };
    reply::resource(call.route.allow(), &resource)
}

async fn private(call: &Call<'_>, via: &Via, body: Body) -> Response<Body> {
    let found = match call.route {
        Route::Versions | Route::ServiceRoot => return public(call),
        Route::Systems => Some(resources::systems(call.core)),
        Route::System(id) => resources::system(call.core, id, via),
        Route::Reset(id) => return reset::post(call, id, via, body).await,
        Route::SessionService => sessions::service(call.core),
        Route::Sessions => sessions::collection(call.core),
        Route::Session(id) if call.parts.method == Method::DELETE => return sessions::delete(call.core, id),
        Route::Session(id) => sessions::member(call.core, id),
        Route::Unknown => None,
    };
    found.map_or_else(reply::not_found, |resource| {
        reply::resource(call.route.allow(), &resource)
    })
}

/// A refusal on its way up; boxed because it is rare and large.
type Refusal = Box<Response<Body>>;
