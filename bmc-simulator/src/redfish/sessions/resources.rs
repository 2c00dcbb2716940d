//! `SessionService` and `Session`.

use serde_json::{Value, json};

use super::offered;
use crate::host::Acting;
use crate::redfish::body_of::{collection as collection_of, reference, resource};
use crate::redfish::patch::{Change, Plan, whole};
use crate::redfish::quirks::SessionsAt;
use crate::redfish::route::Route;
use crate::redfish::schema;
use crate::redfish::spec::SESSION_TIMEOUT_SECONDS;

pub(in crate::redfish) const SERVICE: &str = "/redfish/v1/SessionService";
const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";
const ROOT_SESSIONS: &str = "/redfish/v1/Sessions";

/// Where the sessions of this BMC are.
pub(in crate::redfish) fn place(acting: &Acting<'_>) -> &'static str {
    match acting.state.redfish.spec.sessions_at {
        SessionsAt::SessionService => SESSIONS,
        SessionsAt::Root => ROOT_SESSIONS,
    }
}

/// What a path to sessions means to this BMC: nothing where it has them elsewhere, but that the usual place
/// exists and takes no login.
pub(in crate::redfish) fn placed(acting: &Acting<'_>, route: Route, path: &str) -> Route {
    let at_root = path.starts_with(ROOT_SESSIONS);
    match acting.state.redfish.spec.sessions_at {
        SessionsAt::SessionService if at_root => Route::Unknown,
        SessionsAt::Root if !at_root && route == Route::Sessions => Route::NoSessions,
        SessionsAt::Root if !at_root => Route::Unknown,
        SessionsAt::SessionService | SessionsAt::Root => route,
    }
}

/// GET of the service; absent when there is none.
pub(in crate::redfish) fn service(acting: &Acting<'_>) -> Option<Value> {
    offered(acting).then(|| {
        resource(
            schema::SESSION_SERVICE,
            SERVICE,
            "SessionService",
            "Session Service",
            json!({
                "ServiceEnabled": true,
                "SessionTimeout": acting.state.sessions.timeout.as_secs(),
                "Status": {"State": "Enabled", "Health": "OK"},
                "Sessions": reference(place(acting)),
            }),
        )
    })
}

/// PATCH of the service.
pub(in crate::redfish) fn plan(plan: &mut Plan, name: &str, value: &Value) -> bool {
    if name != "SessionTimeout" {
        return false;
    }
    plan.take(
        whole(name, value, &SESSION_TIMEOUT_SECONDS),
        Change::SessionTimeout,
    );
    true
}

/// GET of the open sessions; absent when there is no such service.
pub(in crate::redfish) fn collection(acting: &Acting<'_>) -> Option<Value> {
    let ids = offered(acting).then(|| acting.state.sessions.ids())?;
    let place = place(acting);
    let uris = ids.iter().map(|id| format!("{place}/{id}"));
    Some(collection_of(schema::SESSIONS, place, "Sessions", uris))
}

/// GET of one session; absent when it is not open.
pub(in crate::redfish) fn member(acting: &Acting<'_>, id: &str) -> Option<Value> {
    let open = acting.state.sessions.find(id).filter(|_| offered(acting))?;
    let accounts = &acting.state.redfish.accounts;
    Some(resource(
        schema::SESSION,
        &format!("{}/{id}", place(acting)),
        id,
        &format!("Session {id}"),
        json!({
            "UserName": accounts.username(open.account, &acting.state.credentials),
            "Password": null,
            "SessionType": "Redfish",
            "CreatedTime": acting.date_time(open.created),
        }),
    ))
}
