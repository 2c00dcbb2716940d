//! Redfish (DMTF DSP0266, DSP0268): what a power client, a fleet manager and the validators of DMTF ask
//! of a BMC. Resources are rendered from the host's state when they are asked for; nothing is kept.

mod access;
mod accounts;
mod auth;
mod body;
mod body_of;
mod boot;
mod broken;
mod chassis;
mod conditional;
mod dispatch;
mod events;
mod manager;
mod message;
mod network;
mod patch;
mod query;
mod read;
mod reply;
mod reset;
mod root;
mod route;
mod schema;
mod sessions;
mod spec;
mod state;
mod system;
mod tasks;

pub(crate) use sessions::Sessions;
pub use spec::{LockoutSpec, RedfishSpec, ResetAnswer, ResetValues};
pub(crate) use state::{RedfishState, changed, settle};

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, Response, request::Parts};

use crate::counters::RequestClass;
use crate::fault::{Aftermath, Answer};
use crate::host::HostCore;
use route::Route;

/// The connection is to be closed without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the connection is closed without an answer, as the injected fault asks")]
pub(crate) struct HangUp;

/// A request that has been understood so far.
struct Call<'a> {
    core: &'a Arc<HostCore>,
    parts: &'a Parts,
    route: &'a Route,
    class: RequestClass,
    /// Whether the answer will reach the client.
    answered: bool,
}

impl Call<'_> {
    fn path(&self) -> &str {
        self.parts.uri.path()
    }
}

/// Serves one request, faults included.
pub(crate) async fn serve(core: Arc<HostCore>, request: Request<Body>) -> Result<Response<Body>, HangUp> {
    let (parts, body) = request.into_parts();
    let route = Route::of_request(&parts.method, parts.uri.path());
    let class = route.class(&parts.method);
    match arrive(&core, class) {
        Some(Answer::Hang) => std::future::pending().await,
        Some(Answer::Html) => return Ok(broken::html()),
        Some(Answer::Status { status, retry_after }) => return Ok(broken::canned(status, retry_after)),
        Some(Answer::Redirect { to }) => return Ok(broken::redirect(&to)),
        None => {}
    }
    let aftermath = core.act(|acting| acting.state.faults.take_aftermath(class));
    let answered = aftermath
        .as_ref()
        .is_none_or(|(_, what)| *what != Aftermath::Drop);
    let call = Call {
        core: &core,
        parts: &parts,
        route: &route,
        class,
        answered,
    };
    let response = dispatch::dispatch(&call, body).await;
    let Some((fault, aftermath)) = aftermath else {
        return Ok(response);
    };
    core.act(|acting| acting.log_fault(fault, class));
    match aftermath {
        Aftermath::Truncate => Ok(broken::truncated(response).await),
        Aftermath::Drop => Err(HangUp),
    }
}

/// Counts the request and looks whether a fault answers it.
fn arrive(core: &HostCore, class: RequestClass) -> Option<Answer> {
    core.act(|acting| {
        acting.state.counters.count(class);
        let (fault, answer) = acting.state.faults.take_answer(class)?;
        acting.log_fault(fault, class);
        Some(answer)
    })
}

/// A refusal on its way up; boxed because it is rare and large.
type Refusal = Box<Response<Body>>;
