//! Reading resources: from a route to what is there at this instant.

use axum::body::Body;
use axum::http::Response;
use serde_json::{Value, json};

use super::body_of::set;
use super::query::{Query, Refused, expand, select};
use super::route::Route;
use super::{
    Call, accounts, chassis, conditional, events, logs, manager, message, network, reply, root, schema,
};
use super::{oem, sessions, shown, system, tasks, update};
use crate::host::Acting;
use crate::journal::Via;

/// A resource as it is served, and its entity tag.
pub(super) struct Tagged {
    pub(super) body: Value,
    pub(super) tag: String,
}

/// The resource, tagged; absent when there is none.
pub(super) fn tagged(acting: &Acting<'_>, route: &Route) -> Option<Tagged> {
    let mut body = render(acting, route)?;
    let salt = if let Route::Account(id) = route {
        acting.state.redfish.accounts.get(*id)?.revision
    } else {
        0
    };
    let tag = etag(acting, &body, salt);
    // The version document has one property and no more (DSP0266, "Redfish version").
    if *route != Route::Versions {
        set(&mut body, "@odata.etag", json!(tag));
    }
    Some(Tagged { body, tag })
}

fn etag(acting: &Acting<'_>, body: &Value, salt: u64) -> String {
    let strong = conditional::tag_of(body, salt);
    acting.state.redfish.spec.etags.dress(strong)
}

/// Answers GET and HEAD. Every system whose power state is in the answer is journalled as observed.
pub(super) fn get(call: &Call<'_>, via: Option<&Via>) -> Response<Body> {
    let query = match Query::parse(call.parts.uri.query()) {
        Ok(query) => query,
        Err(refused) => return reply::error(refused.status, *refused.message),
    };
    call.act(|acting| {
        let (mut answer, found) = answer(call, acting, &query, via);
        if let (Some(via), Some(found)) = (via, found) {
            shown::observe(call, acting, via, &found.body, &mut answer);
        }
        answer
    })
}

fn answer(
    call: &Call<'_>,
    acting: &Acting<'_>,
    query: &Query,
    via: Option<&Via>,
) -> (Response<Body>, Option<Tagged>) {
    let Some(mut found) = tagged(acting, call.route) else {
        return (reply::not_found(call.path()), None);
    };
    if !query.is_plain() {
        found = match queried(acting, found, query, via) {
            Ok(found) => found,
            Err(refused) => return (reply::error(refused.status, *refused.message), None),
        };
    }
    let answer = if conditional::is_known(&call.parts.headers, &found.tag) {
        reply::not_modified(&found)
    } else {
        reply::resource(call.route.allow(), &found)
    };
    (answer, Some(found))
}

fn queried(
    acting: &Acting<'_>,
    mut found: Tagged,
    query: &Query,
    via: Option<&Via>,
) -> Result<Tagged, Refused> {
    let follow = |uri: &str| {
        let route = Route::of(uri);
        // What cannot be asked for itself cannot be had by asking for another.
        if via.is_none() && !route.is_public() || system::is_unavailable(acting, &route) {
            return None;
        }
        // A registry is large, an event stream endless; neither is a resource to expand.
        tagged(acting, &route).filter(|found| found.body.get("@odata.id").is_some())
    };
    if query.only {
        let Some(members) = found.body.get("Members").and_then(Value::as_array) else {
            let message = message::Base::QueryNotSupportedOnResource.message(&[]);
            return Err(Refused::bad(message));
        };
        let only = match members.as_slice() {
            [one] => one.get("@odata.id").and_then(Value::as_str).and_then(follow),
            _ => None,
        };
        return Ok(only.unwrap_or(found));
    }
    if let Some(how) = query.expand {
        expand(&mut found.body, how, &mut |uri| Some(follow(uri)?.body));
        found.tag = etag(acting, &found.body, 0);
    }
    if let Some(paths) = &query.select {
        select(&mut found.body, paths);
    }
    Ok(found)
}

fn render(acting: &Acting<'_>, route: &Route) -> Option<Value> {
    match route {
        Route::Versions => Some(root::versions()),
        Route::ServiceRoot => Some(root::service_root(acting)),
        Route::Odata => Some(root::odata(acting)),
        Route::Systems => Some(system::collection(acting)),
        Route::System(id) => system::member(acting, id),
        Route::ResetInfo(id) => system::reset_info(acting, id),
        Route::Bios(id) => oem::bios(acting, id),
        Route::BiosSettings(id) => oem::settings(acting, id),
        Route::UpdateService => Some(update::service()),
        Route::FirmwareInventory => Some(update::inventory()),
        Route::Firmware(id) => update::firmware(id),
        Route::LogServices(id) => logs::services(acting, id),
        Route::Log(id) => logs::service(acting, id),
        Route::LogEntries(id) => logs::entries(acting, id),
        Route::LogEntry(id, entry) => logs::entry(acting, id, *entry),
        Route::AllChassis => Some(chassis::collection(acting)),
        Route::Chassis(id) => chassis::member(acting, id),
        Route::Managers => Some(manager::collection()),
        Route::Manager(id) => manager::member(acting, id),
        Route::NetworkProtocol(id) => network::protocol(acting, id),
        Route::Ethernets(id) => network::interfaces(id),
        Route::Ethernet(id, interface) => network::interface(acting, id, interface),
        Route::SessionService => sessions::service(acting),
        Route::Sessions => sessions::collection(acting),
        Route::Session(id) => sessions::member(acting, id),
        Route::AccountService => Some(accounts::service(acting)),
        Route::Accounts => Some(accounts::accounts(acting)),
        Route::Account(id) => accounts::account(acting, *id),
        Route::Roles => Some(accounts::roles()),
        Route::Role(id) => accounts::role(id),
        Route::TaskService => Some(tasks::service()),
        Route::Tasks => Some(tasks::collection(acting)),
        Route::Task(id) => tasks::member(acting, *id),
        Route::EventService => Some(events::service(acting)),
        Route::Subscriptions => Some(events::subscriptions(acting)),
        Route::Subscription(id) => events::subscription(acting, *id),
        Route::Registries => Some(message::files()),
        Route::Registry(id) => message::file(id),
        Route::RegistryDocument(id) => message::document(id).cloned(),
        Route::Schemas => Some(schema::files()),
        Route::Schema(id) => schema::file(id),
        // These are answered elsewhere, or are not there.
        Route::Metadata
        | Route::Reset(_)
        | Route::Oem(..)
        | Route::ManagerReset(_)
        | Route::TaskMonitor(_)
        | Route::EventStream
        | Route::SubmitTestEvent
        | Route::NoSessions
        | Route::Unknown => None,
    }
}
