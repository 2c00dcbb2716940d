//! Redfish (DMTF DSP0266, DSP0268): what a power client, a fleet manager and the validators of DMTF ask
//! of a BMC. Resources are rendered from the host's state when they are asked for; nothing is kept.

mod access;
mod accounts;
mod aftermath;
mod auth;
mod body;
mod body_of;
mod boot;
mod broken;
mod chassis;
mod class;
mod conditional;
mod dispatch;
mod events;
mod fate;
mod late;
mod logs;
mod manager;
mod message;
mod network;
mod oem;
mod patch;
mod query;
mod quirks;
mod read;
mod refused;
mod reply;
mod reset;
mod root;
mod route;
mod schema;
mod sessions;
mod shown;
mod spec;
mod state;
mod system;
mod tasks;
mod update;

pub(crate) use body::is_too_large;
pub(crate) use class::{SEGMENT, class_of, is_public, methods, templates};
pub(crate) use network::discoverable;
pub use oem::OemAction;
pub use quirks::{ETags, ExtendedInfo, LastResetTime, LockoutBy, ResetType, ServiceRootSpec, SessionsAt};
pub(crate) use sessions::{Sessions, end_all as end_sessions};
pub use spec::{LockoutSpec, RedfishSpec, ResetAnswer, ResetValues};
pub(crate) use state::{RedfishState, changed, respecify, settle};
pub(crate) use system::SystemNotes;

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use axum::body::Body;
use axum::http::{Request, Response, StatusCode, request::Parts};

use crate::counters::RequestClass;
use crate::fault::{Answer, Asked};
use crate::host::{Acting, HostCore, Stage};
use crate::journal::Tried;
use crate::server::Line;
use fate::Decision;
use late::Entries;
use message::Base;
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
    /// The connection that it came over.
    line: Line,
    /// The same, for the selectors of faults.
    asked: Asked<'a>,
    /// Whether a fault closes the connection instead of answering.
    dropped: bool,
    /// What another one does to the answer.
    decision: Decision,
    /// Entries of the journal whose answer takes long.
    entries: Entries,
    /// Stands for the credentials that were accepted, if there were any.
    admitted: OnceLock<Tried>,
}

impl Call<'_> {
    fn path(&self) -> &str {
        self.parts.uri.path()
    }

    /// Answers under the host's lock, unless the BMC went down since the request came: then nothing is done,
    /// and what is returned reaches nobody.
    fn act(&self, answer: impl FnOnce(&mut Acting<'_>) -> Response<Body>) -> Response<Body> {
        self.core.act(|acting| {
            if acting.lives_in(self.line.life) {
                answer(acting)
            } else {
                reply::bare(StatusCode::SERVICE_UNAVAILABLE, Body::empty())
            }
        })
    }
}

/// Serves one request, faults included.
///
/// # Errors
/// [`HangUp`] when the connection is to be closed without an answer.
pub(crate) async fn serve(
    core: Arc<HostCore>,
    request: Request<Body>,
    line: Line,
) -> Result<Response<Body>, HangUp> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    let route = Route::of_request(&parts.method, path);
    let route = if matches!(route, Route::Sessions | Route::Session(_)) {
        core.act(|acting| sessions::placed(acting, route, path))
    } else {
        route
    };
    let class = route.class(&parts.method);
    let asked = Asked {
        class,
        http: Some((parts.method.as_str(), parts.uri.path())),
        system: route.system(),
    };
    if blocks(&core, line.peer) {
        return Err(HangUp);
    }
    if let Some(answer) = arrive(&core, asked, line)? {
        if matches!(answer, Answer::Status { status: 401, .. }) {
            auth::told_unauthorized(&core, &parts.headers, class, body).await;
        }
        let mut response = instead(&core, answer).await;
        core.act(|acting| finish(acting, &mut response));
        return Ok(response);
    }
    let dropped = core.act(|acting| acting.state.faults.take_drop(asked));
    let call = Call {
        core: &core,
        parts: &parts,
        route: &route,
        class,
        line,
        asked,
        dropped: dropped.is_some(),
        decision: Decision::default(),
        entries: Entries::default(),
        admitted: OnceLock::new(),
    };
    let mut response = dispatch::dispatch(&call, body).await;
    let hangs_up = core.act(|acting| !acting.lives_in(line.life) || acting.log_hit(dropped, class));
    if hangs_up {
        return Err(HangUp);
    }
    core.act(|acting| finish(acting, &mut response));
    Ok(aftermath::apply(&call, response).await)
}

/// Whether the BMC answers nothing from this address.
pub(crate) fn blocks(core: &HostCore, peer: Option<IpAddr>) -> bool {
    core.act(|acting| acting.state.redfish.accounts.blocks(peer, acting.now))
}

/// Counts the request and looks whether the BMC's state or a fault answers it.
fn arrive(core: &HostCore, asked: Asked<'_>, line: Line) -> Result<Option<Answer>, HangUp> {
    core.act(|acting| {
        if !acting.lives_in(line.life) {
            return Err(HangUp);
        }
        acting.state.counters.count(asked.class);
        let reset = line
            .reused
            .then(|| acting.state.faults.take_reuse(asked))
            .flatten();
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
            Stage::NotReady => {
                let error = acting.state.redfish.spec.not_ready_error;
                return Ok(Some(error.map_or(Answer::not_ready(), Answer::Vendor)));
            }
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
async fn instead(core: &HostCore, answer: Answer) -> Response<Body> {
    match answer {
        Answer::Hang => std::future::pending().await,
        Answer::Html(page) => broken::html(page),
        Answer::Status { status, retry_after } => broken::canned(status, retry_after),
        Answer::Redirect { to } => broken::redirect(&to),
        Answer::Endless => aftermath::endless(),
        Answer::Deep { depth } => aftermath::deep(depth),
        Answer::ErrorIn200 => {
            let message = Base::GeneralError.message(&[]);
            reply::error(StatusCode::OK, message)
        }
        Answer::SessionsFull => core.act(|acting| sessions::full(acting)),
        Answer::Vendor(error) => message::vendor_error(error),
    }
}

/// Gives an error the form that this service has for its messages.
fn finish(acting: &Acting<'_>, response: &mut Response<Body>) {
    let status = response.status();
    if !(status.is_client_error() || status.is_server_error()) {
        return;
    }
    match acting.state.redfish.spec.extended_info {
        ExtendedInfo::List => {}
        ExtendedInfo::Object => aftermath::first_message_alone(response),
    }
}

/// Reads the query of a URI, for tests of its reader.
pub(crate) fn read_query(text: &str) {
    let _ = query::Query::parse(Some(text));
}

/// A refusal on its way up; boxed because it is rare and large.
type Refusal = Box<Response<Body>>;
