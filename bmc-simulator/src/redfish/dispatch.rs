//! From a request to its answer: what is checked, in which order, and who answers.

use axum::body::Body;
use axum::http::{Method, Response, StatusCode};
use serde_json::{Map, Value};

use super::auth::{self, Caller};
use super::message::{Base, vendor_error};
use super::route::Route;
use super::{Call, Refusal, access, accounts, body, events, manager, patch, read, reply, reset, schema};
use super::{oem, sessions, system, tasks};
use crate::counters::RequestClass;
use crate::host::Acting;
use crate::journal::Ended;

/// Methods that DSP0266 knows; any other is answered 501.
const METHODS: [Method; 6] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PATCH,
    Method::PUT,
    Method::DELETE,
];

/// Answers a request. Whether the caller may ask comes before whether the request makes sense (DSP0266,
/// "Security details"), so nobody learns by errors what is there.
pub(super) async fn dispatch(call: &Call<'_>, body: Body) -> Response<Body> {
    if let Err(refusal) = understand(call) {
        return *refusal;
    }
    // iDRAC8 says so to whoever asks, for it is where somebody without a login would log in.
    if *call.route == Route::NoSessions {
        return reply::wrong_method(StatusCode::METHOD_NOT_ALLOWED, call.route.allow());
    }
    if call.class == RequestClass::SessionCreate {
        return match body::json_object(&call.parts.headers, body).await {
            Ok(object) => sessions::create(call, &object),
            Err(refusal) => *refusal,
        };
    }
    // Links are followed for those only who may see what is behind them.
    let follows = *call.route == Route::ServiceRoot && call.parts.uri.query().is_some();
    let follows = follows && auth::has_credentials(&call.parts.headers);
    if call.route.is_public() && !follows {
        return match allow(call) {
            Ok(()) => public(call),
            Err(refusal) => *refusal,
        };
    }
    let caller = match auth::authenticate(call).and_then(|caller| admit(call, caller)) {
        Ok(caller) => caller,
        Err(refusal) => return *refusal,
    };
    act(call, &caller, body).await
}

/// Refuses what no resource could answer.
fn understand(call: &Call<'_>) -> Result<(), Refusal> {
    if !METHODS.contains(&call.parts.method) {
        let refusal = reply::wrong_method(StatusCode::NOT_IMPLEMENTED, call.route.allow());
        return Err(Box::new(refusal));
    }
    let version = call.parts.headers.get("OData-Version");
    if version.is_some_and(|version| version != "4.0") {
        let message = Base::HeaderInvalid.message(&["OData-Version"]);
        return Err(Box::new(reply::error(StatusCode::PRECONDITION_FAILED, message)));
    }
    Ok(())
}

/// Refuses a caller that may not ask this.
fn admit(call: &Call<'_>, caller: Caller) -> Result<Caller, Refusal> {
    let refused = call.core.act(|acting| {
        let mut refusal = refusal(call, acting, &caller)?;
        if let (Route::Reset(system), &Method::POST) = (call.route, &call.parts.method) {
            let reason = "not allowed to this account";
            reset::log_refusal(call, acting, (system, None), &caller.via, &mut refusal, reason);
        }
        Some(refusal)
    });
    match refused {
        Some(refusal) => Err(Box::new(refusal)),
        None => allow(call).map(|()| caller),
    }
}

fn refusal(call: &Call<'_>, acting: &Acting<'_>, caller: &Caller) -> Option<Response<Body>> {
    let method = &call.parts.method;
    let required = accounts::password_change(acting, caller.account);
    if let Some(message) = required
        && !access::permits_before_password_change(caller, call.route, method)
    {
        return Some(reply::error(StatusCode::FORBIDDEN, message));
    }
    let known = call.route.method_allowed(method) && *call.route != Route::Unknown;
    (known && !access::permits(acting, caller, call.route, method)).then(reply::forbidden)
}

/// Refuses a method that the resource does not have, and a media type that it cannot be served in.
fn allow(call: &Call<'_>) -> Result<(), Refusal> {
    let method = &call.parts.method;
    if !call.route.method_allowed(method) {
        let refusal = reply::wrong_method(StatusCode::METHOD_NOT_ALLOWED, call.route.allow());
        return Err(Box::new(refusal));
    }
    let media = if *call.route == Route::Metadata {
        "application/xml"
    } else if *call.route == Route::EventStream {
        events::STREAM_TYPE
    } else {
        "application/json"
    };
    // What is not there is not there in any media type.
    let read = *call.route != Route::Unknown && (method == Method::GET || method == Method::HEAD);
    if read && !body::accepts(&call.parts.headers, media) {
        let message = Base::HeaderInvalid.message(&["Accept"]);
        return Err(Box::new(reply::error(StatusCode::NOT_ACCEPTABLE, message)));
    }
    Ok(())
}

fn public(call: &Call<'_>) -> Response<Body> {
    if *call.route == Route::Metadata {
        reply::xml(call.route.allow(), &schema::METADATA)
    } else {
        read::get(call, None)
    }
}

async fn act(call: &Call<'_>, caller: &Caller, body: Body) -> Response<Body> {
    match call.parts.method {
        Method::POST => post(call, caller, body).await,
        Method::PATCH => patch::patch(call, caller, body).await,
        Method::DELETE => delete(call),
        _ => get(call, caller),
    }
}

fn get(call: &Call<'_>, caller: &Caller) -> Response<Body> {
    if let Route::TaskMonitor(id) = call.route {
        tasks::monitor(call, *id)
    } else if *call.route == Route::EventStream {
        events::open(call)
    } else if call.core.act(|acting| system::is_unavailable(acting, call.route)) {
        unavailable(call)
    } else {
        read::get(call, Some(&caller.via))
    }
}

fn unavailable(call: &Call<'_>) -> Response<Body> {
    match call.core.act(|acting| acting.state.redfish.spec.decoy_error) {
        Some(error) => vendor_error(error),
        None => reply::error(StatusCode::SERVICE_UNAVAILABLE, Base::GeneralError.message(&[])),
    }
}

async fn post(call: &Call<'_>, caller: &Caller, body: Body) -> Response<Body> {
    if let Route::Reset(id) = call.route {
        return reset::post(call, id, &caller.via, body).await;
    }
    if let Route::Oem(action, id) = call.route {
        return oem::post(call, (*action, id), &caller.via, body).await;
    }
    if let Route::ManagerReset(id) = call.route {
        return manager::reset(call, id, body).await;
    }
    let answer: fn(&mut Acting<'_>, &Map<String, Value>) -> Response<Body> = if *call.route == Route::Accounts
    {
        accounts::create
    } else if *call.route == Route::Subscriptions {
        events::create
    } else if *call.route == Route::SubmitTestEvent {
        events::submit_test_event
    } else {
        return reply::not_found(call.path());
    };
    match body::json_object(&call.parts.headers, body).await {
        Ok(object) => call.act(|acting| answer(acting, &object)),
        Err(refusal) => *refusal,
    }
}

fn delete(call: &Call<'_>) -> Response<Body> {
    call.act(|acting| {
        let Some(found) = read::tagged(acting, call.route) else {
            return reply::not_found(call.path());
        };
        if let Err(refusal) = patch::unchanged(call, acting, &found.tag) {
            return *refusal;
        }
        let redfish = &mut acting.state.redfish;
        let deleted = if let Route::Session(id) = call.route {
            sessions::end(acting, id)
        } else if let Route::Task(id) = call.route {
            redfish.tasks.remove(*id)
        } else if let Route::Subscription(id) = call.route {
            redfish.events.remove(*id)
        } else if let Route::Account(id) = call.route {
            let removed = redfish.accounts.remove(*id);
            if !removed {
                let message = Base::ResourceCannotBeDeleted.message(&[]);
                return reply::error(StatusCode::FORBIDDEN, message);
            }
            sessions::end_of(acting, *id, None, Ended::AccountDeleted);
            removed
        } else {
            false
        };
        if deleted {
            reply::no_content()
        } else {
            reply::not_found(call.path())
        }
    })
}
