//! `SessionService` and `Session`.

use serde_json::{Value, json};

use super::offered;
use crate::host::Acting;
use crate::redfish::body_of::{collection as collection_of, reference, resource};
use crate::redfish::patch::{Change, Plan, whole};
use crate::redfish::schema;
use crate::redfish::spec::SESSION_TIMEOUT_SECONDS;

pub(in crate::redfish) const SERVICE: &str = "/redfish/v1/SessionService";
pub(in crate::redfish) const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";

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
                "Sessions": reference(SESSIONS),
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
    let uris = ids.iter().map(|id| format!("{SESSIONS}/{id}"));
    Some(collection_of(schema::SESSIONS, SESSIONS, "Sessions", uris))
}

/// GET of one session; absent when it is not open.
pub(in crate::redfish) fn member(acting: &Acting<'_>, id: &str) -> Option<Value> {
    let open = acting.state.sessions.find(id).filter(|_| offered(acting))?;
    let accounts = &acting.state.redfish.accounts;
    Some(resource(
        schema::SESSION,
        &format!("{SESSIONS}/{id}"),
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
