//! PATCH (DSP0266, "PATCH (update)"): all changes of one request happen at once or not at all; what
//! cannot be written is told beside what was.

mod value;

pub(super) use value::{flag, text, whole};

use axum::body::Body;
use axum::http::{Response, StatusCode, header};
use serde_json::{Map, Value};

use super::auth::Caller;
use super::message::{self, Base, Message};
use super::route::Route;
use super::{Call, Refusal, access, body, conditional, events, read, reply, sessions};
use super::{accounts, network, oem, shown, system};
use crate::host::Acting;
use crate::per_machine::Slot;
use crate::power::PowerRestorePolicy;

/// One property that can be written, and its new value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Change {
    System(Slot, system::SystemChange),
    RestorePolicy(Slot, PowerRestorePolicy),
    Network(network::NetworkChange),
    SessionTimeout(u64),
    AccountService(accounts::ServiceChange),
    Account(u64, accounts::AccountChange),
    EventService(events::ServiceChange),
    SubscriptionContext(u64, String),
}

/// What a request asks for, property by property.
#[derive(Debug, Default)]
pub(super) struct Plan {
    changes: Vec<Change>,
    /// Properties that do not exist or are read-only: told, and left out.
    refused: Vec<Message>,
    /// Values that cannot be: nothing at all is changed.
    wrong: Vec<Message>,
}

impl Plan {
    /// Takes the value of a property, or says that it cannot be.
    pub(super) fn take<T>(&mut self, value: Result<T, Message>, change: impl FnOnce(T) -> Change) {
        match value {
            Ok(value) => self.changes.push(change(value)),
            Err(message) => self.wrong.push(message),
        }
    }

    pub(super) fn wrong(&mut self, message: Message) {
        self.wrong.push(message);
    }

    /// A property that cannot be written: read-only if the resource has it, else unknown.
    pub(super) fn refuse(&mut self, resource: &Value, name: &str) {
        // Annotations of the resource itself are ignored (DSP0266, "PATCH (update)").
        if name.starts_with("@odata.") {
            return;
        }
        let known = resource.get(name).is_some();
        let base = if known {
            Base::PropertyNotWritable
        } else {
            Base::PropertyUnknown
        };
        self.refused.push(base.message(&[name]).about(name));
    }
}

/// Answers a PATCH of a resource that can be changed.
pub(super) async fn patch(call: &Call<'_>, caller: &Caller, body: Body) -> Response<Body> {
    let object = match body::json_object(&call.parts.headers, body).await {
        Ok(object) => object,
        Err(refusal) => return *refusal,
    };
    call.act(|acting| change(call, caller, acting, &object).unwrap_or_else(|refusal| *refusal))
}

fn change(
    call: &Call<'_>,
    caller: &Caller,
    acting: &mut Acting<'_>,
    object: &Map<String, Value>,
) -> Result<Response<Body>, Refusal> {
    let before = read::tagged(acting, call.route).ok_or_else(|| Box::new(reply::not_found(call.path())))?;
    if !access::permits_change(acting, caller, call.route, object) {
        return Err(Box::new(reply::forbidden()));
    }
    precondition(call, acting, &before.tag)?;
    let plan = plan(call.route, &before.body, object, acting);
    if !plan.wrong.is_empty() {
        return Err(Box::new(reply::errors(StatusCode::BAD_REQUEST, &plan.wrong)));
    }
    if plan.changes.is_empty() {
        let mut messages = plan.refused;
        if messages.is_empty() {
            messages.push(Base::NoOperation.message(&[]));
        }
        return Err(Box::new(reply::errors(StatusCode::BAD_REQUEST, &messages)));
    }
    for change in plan.changes {
        apply(acting, change, caller.session());
    }
    let mut after =
        read::tagged(acting, call.route).ok_or_else(|| Box::new(reply::not_found(call.path())))?;
    if let Some(body) = after.body.as_object_mut() {
        message::annotate(body, &plan.refused);
    }
    let mut answer = reply::resource(call.route.allow(), &after);
    shown::observe(call, acting, &caller.via, &after.body, &mut answer);
    Ok(answer)
}

/// Checks the preconditions of a PATCH against the resource as it is at this instant.
fn precondition(call: &Call<'_>, acting: &Acting<'_>, tag: &str) -> Result<(), Refusal> {
    let given = call.parts.headers.contains_key(header::IF_MATCH);
    if acting.state.redfish.spec.patch_needs_if_match && !given {
        let missing = Base::PreconditionRequired.message(&[]);
        return Err(Box::new(reply::error(StatusCode::PRECONDITION_REQUIRED, missing)));
    }
    unchanged(call, acting, tag)
}

/// Refuses a request whose `If-Match` names another state of the resource.
pub(super) fn unchanged(call: &Call<'_>, acting: &Acting<'_>, tag: &str) -> Result<(), Refusal> {
    let (headers, spec) = (&call.parts.headers, &acting.state.redfish.spec);
    let any_refused = spec.refuses_if_match_any && conditional::is_any(headers);
    if conditional::may_change(headers, tag, spec.etags) && !any_refused {
        return Ok(());
    }
    let failed = Base::PreconditionFailed.message(&[]);
    Err(Box::new(reply::error(StatusCode::PRECONDITION_FAILED, failed)))
}

fn plan(route: &Route, resource: &Value, object: &Map<String, Value>, acting: &Acting<'_>) -> Plan {
    let mut plan = Plan::default();
    for (name, value) in object {
        let known = if let Route::Account(id) = route {
            accounts::plan_account(&mut plan, acting, *id, name, value)
        } else if let Route::Subscription(id) = route {
            events::plan_subscription(&mut plan, *id, name, value)
        } else if let Route::System(id) = route {
            // A decoy has nothing that can be written.
            match acting.core.identities.find(id) {
                Some(slot) => system::plan(&mut plan, slot, name, value),
                None => false,
            }
        } else if let Route::BiosSettings(id) = route {
            oem::plan_bios(&mut plan, acting, id, (name, value))
        } else if matches!(route, Route::NetworkProtocol(_)) {
            network::plan(&mut plan, acting, name, value)
        } else if *route == Route::SessionService {
            sessions::plan(&mut plan, name, value)
        } else if *route == Route::AccountService {
            accounts::plan_service(&mut plan, name, value)
        } else if *route == Route::EventService {
            events::plan_service(&mut plan, name, value)
        } else {
            false
        };
        if !known {
            plan.refuse(resource, name);
        }
    }
    plan
}

fn apply(acting: &mut Acting<'_>, change: Change, session: Option<&str>) {
    let redfish = &mut acting.state.redfish;
    match change {
        Change::RestorePolicy(slot, policy) => acting.set_restore_policy(slot, policy),
        Change::System(slot, change) => redfish.systems.get_mut(slot).apply(change),
        Change::Network(change) => redfish.network.apply(change),
        Change::SessionTimeout(seconds) => {
            acting.state.sessions.timeout = std::time::Duration::from_secs(seconds);
        }
        Change::AccountService(change) => change.apply(&mut redfish.accounts.policy),
        Change::Account(id, change) => accounts::AccountChange::apply(change, acting, id, session),
        Change::EventService(change) => redfish.events.apply(change),
        Change::SubscriptionContext(id, context) => redfish.events.set_context(id, context),
    }
}
