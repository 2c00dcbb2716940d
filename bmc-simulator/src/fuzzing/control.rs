//! Bodies of the control API.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Method, Request};
use futures::FutureExt as _;

use super::http::{ask, log_in};
use super::{bmc, runtime};
use crate::control::{Change, Controlled, change};
use crate::host::{Host, HostCore};
use crate::limits::OpenFiles;
use crate::server::Room;

/// The first byte chooses a request of the control API and the rest is its body; whether it was taken. What
/// is set so is then met by requests of a client.
pub fn control(bytes: &[u8]) -> Option<bool> {
    let (choice, body) = bytes.split_first()?;
    let chosen = Change::ALL.get(usize::from(*choice).checked_rem(Change::ALL.len())?)?;
    let (core, runtime) = (bmc()?, runtime()?);
    let _context = runtime.enter();
    let host = Host {
        core: Arc::clone(&core),
    };
    let controlled = Controlled {
        hosts: vec![host.clone()],
        by_name: BTreeMap::from([("a".to_owned(), host)]),
        journal: Arc::clone(&core.journal),
        room: Room::new(OpenFiles::now().share(0, 1)),
        ca_pem: String::new(),
    };
    let changed = change(Arc::new(controlled), "a", *chosen, Body::from(body.to_vec()));
    let taken = changed.now_or_never()?;
    meet(&core);
    Some(taken)
}

/// Reads and resets, as a power client does.
fn meet(core: &Arc<HostCore>) {
    let reset = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset";
    for (method, path, body) in [
        (Method::GET, "/redfish/v1/", ""),
        (Method::GET, "/redfish/v1/Systems/1", ""),
        (Method::POST, reset, r#"{"ResetType":"ForceOff"}"#),
        (Method::POST, reset, r#"{"ResetType":"On"}"#),
        (Method::GET, "/redfish/v1/Chassis?$expand=*", ""),
    ] {
        let mut request = Request::new(Body::from(body));
        *request.method_mut() = method;
        *request.uri_mut() = path.parse().unwrap_or_default();
        log_in(&mut request);
        ask(core, request);
    }
}
