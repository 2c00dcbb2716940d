//! SessionService (DSP0266 section 13.3.4): open, list and close sessions.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use serde_json::{Map, Value, json};

use super::{Call, auth, reply};
use crate::fault::Fault;
use crate::host::{Acting, HostCore, Stage};
use crate::journal::Event;
use crate::seed::Seeded;

const SERVICE: &str = "/redfish/v1/SessionService";
pub(super) const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";

/// Open sessions of one BMC.
#[derive(Debug)]
pub(crate) struct Sessions {
    tokens: Seeded,
    opened: u64,
    /// Token by id.
    open: BTreeMap<u64, String>,
}

impl Sessions {
    pub(crate) fn new(tokens: Seeded) -> Self {
        Self {
            tokens,
            opened: 0,
            open: BTreeMap::new(),
        }
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        self.open.keys().map(u64::to_string).collect()
    }

    pub(crate) fn end_all(&mut self) {
        self.open.clear();
    }

    pub(super) fn owner_of(&self, token: &str) -> Option<String> {
        self.open
            .iter()
            .find(|(_, open)| *open == token)
            .map(|(id, _)| id.to_string())
    }

    fn start(&mut self) -> (String, String) {
        self.opened = self.opened.saturating_add(1);
        let token = self.tokens.hex();
        self.open.insert(self.opened, token.clone());
        (self.opened.to_string(), token)
    }

    fn has(&self, id: &str) -> bool {
        self.open.keys().any(|open| open.to_string() == id)
    }

    fn end(&mut self, id: &str) -> bool {
        let before = self.open.len();
        self.open.retain(|open, _| open.to_string() != id);
        self.open.len() < before
    }
}

fn offered(acting: &Acting<'_>) -> bool {
    !acting.state.faults.has(&Fault::NoSessionService)
}

pub(super) fn is_offered(core: &HostCore) -> bool {
    core.act(|acting| offered(acting))
}

/// POST of `{UserName, Password}`: 201 with the token and the session's location.
pub(super) fn create(call: &Call<'_>, body: &Map<String, Value>) -> Response<Body> {
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    call.core.act(|acting| {
        if !offered(acting) {
            return reply::not_found();
        }
        let (Some(username), Some(password)) = (text("UserName"), text("Password")) else {
            let what = "The properties UserName and Password are required, as strings.";
            return reply::error(StatusCode::BAD_REQUEST, "CreateFailedMissingReqProperties", what);
        };
        let login = &acting.state.credentials;
        let right = login.username == username && login.password == password;
        if acting.stage() == Stage::Rejecting || acting.state.faults.take_rejection(call.asked) || !right {
            return auth::unauthorized(acting, call.class);
        }
        let (id, token) = acting.state.sessions.start();
        acting.log(Event::SessionCreated { session: id.clone() });
        created(&id, &token, username)
    })
}

fn created(id: &str, token: &str, username: &str) -> Response<Body> {
    let location = format!("{SESSIONS}/{id}");
    let mut body = session(id);
    if let Some(object) = body.as_object_mut() {
        object.insert("UserName".to_owned(), json!(username));
    }
    let mut response = reply::with_json(StatusCode::CREATED, &body);
    let headers = response.headers_mut();
    for (name, value) in [
        (header::LOCATION, location.as_str()),
        (HeaderName::from_static("x-auth-token"), token),
    ] {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
    response
}

/// GET of the service; absent when there is none.
pub(super) fn service(core: &HostCore) -> Option<Value> {
    is_offered(core).then(|| {
        json!({
            "@odata.id": SERVICE,
            "@odata.type": "#SessionService.v1_1_9.SessionService",
            "Id": "SessionService",
            "Name": "Session Service",
            "ServiceEnabled": true,
            "Status": {"State": "Enabled", "Health": "OK"},
            "Sessions": {"@odata.id": SESSIONS},
        })
    })
}

/// GET of the open sessions; absent when there is no such service.
pub(super) fn collection(core: &HostCore) -> Option<Value> {
    let ids = core.act(|acting| offered(acting).then(|| acting.state.sessions.ids()))?;
    let members: Vec<Value> = ids
        .iter()
        .map(|id| json!({"@odata.id": format!("{SESSIONS}/{id}")}))
        .collect();
    Some(json!({
        "@odata.id": SESSIONS,
        "@odata.type": "#SessionCollection.SessionCollection",
        "Name": "Sessions",
        "Members@odata.count": members.len(),
        "Members": members,
    }))
}

/// GET of one session; absent when it is not open.
pub(super) fn member(core: &HostCore, id: &str) -> Option<Value> {
    core.act(|acting| {
        let open = offered(acting) && acting.state.sessions.has(id);
        open.then(|| {
            let mut body = session(id);
            if let Some(object) = body.as_object_mut() {
                object.insert("UserName".to_owned(), json!(acting.state.credentials.username));
            }
            body
        })
    })
}

/// DELETE of one session.
pub(super) fn delete(core: &HostCore, id: &str) -> Response<Body> {
    core.act(|acting| {
        if !offered(acting) || !acting.state.sessions.end(id) {
            return reply::not_found();
        }
        acting.log(Event::SessionDeleted {
            session: id.to_owned(),
        });
        reply::no_content()
    })
}

fn session(id: &str) -> Value {
    json!({
        "@odata.id": format!("{SESSIONS}/{id}"),
        "@odata.type": "#Session.v1_7_1.Session",
        "Id": id,
        "Name": format!("Session {id}"),
        "Password": null,
    })
}
