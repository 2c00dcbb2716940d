//! `Manager`: the BMC itself, and the action that restarts it.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Response, StatusCode, header};
use serde_json::{Value, json};

use super::body_of::{collection as collection_of, reference, resource};
use super::message::Base;
use super::{Call, body, chassis, reply, schema, system};
use crate::host::Acting;
use crate::per_machine::Slot;

pub(super) const MANAGERS: &str = "/redfish/v1/Managers";
pub(super) const ID: &str = "BMC";
pub(super) const PATH: &str = "/redfish/v1/Managers/BMC";
/// From the answer to the restart: who asked gets the answer and can log out, as on real BMCs.
const GRACE: Duration = Duration::from_secs(1);
/// Both restart the BMC.
const RESETS: [&str; 2] = ["GracefulRestart", "ForceRestart"];

/// `/redfish/v1/Managers`.
pub(super) fn collection() -> Value {
    let members = std::iter::once(PATH.to_owned());
    collection_of(schema::MANAGERS, MANAGERS, "Manager Collection", members)
}

/// `/redfish/v1/Managers/{id}`.
pub(super) fn member(acting: &Acting<'_>, id: &str) -> Option<Value> {
    let identities = &acting.core.identities;
    let product = identities.real(Slot::FIRST);
    let systems: Vec<Value> = system::uris(acting).map(|uri| reference(&uri)).collect();
    (id == ID).then(|| {
        resource(
            schema::MANAGER,
            PATH,
            ID,
            "Manager",
            json!({
                "ManagerType": "BMC",
                "Manufacturer": product.manufacturer,
                "Model": product.model,
                "FirmwareVersion": env!("CARGO_PKG_VERSION"),
                "UUID": identities.service_uuid,
                "ServiceEntryPointUUID": identities.service_uuid,
                "PowerState": "On",
                "Status": {"State": "Enabled", "Health": "OK"},
                "LastResetTime": acting.date_time(acting.state.redfish.restarted),
                "NetworkProtocol": reference(&format!("{PATH}/NetworkProtocol")),
                "EthernetInterfaces": reference(&format!("{PATH}/EthernetInterfaces")),
                "Links": {
                    "ManagerForServers": systems,
                    "ManagerForChassis": chassis::all(acting),
                    "ManagerInChassis": chassis::of_manager(acting),
                },
                "Actions": {"#Manager.Reset": {
                    "target": format!("{PATH}/Actions/Manager.Reset"),
                    "ResetType@Redfish.AllowableValues": RESETS,
                }},
            }),
        )
    })
}

/// POST of `Manager.Reset`.
pub(super) async fn reset(call: &Call<'_>, id: &str, body: Body) -> Response<Body> {
    if id != ID {
        return reply::not_found(call.path());
    }
    let headers = &call.parts.headers;
    let needs_tag = call
        .core
        .act(|acting| acting.state.redfish.spec.manager_reset_needs_if_match);
    if needs_tag && !headers.contains_key(header::IF_MATCH) {
        let missing = Base::PreconditionRequired.message(&[]);
        return reply::error(StatusCode::PRECONDITION_REQUIRED, missing);
    }
    let object = match body::optional_object(&call.parts.headers, body).await {
        Ok(object) => object,
        Err(refusal) => return *refusal,
    };
    let kind = match object.get("ResetType") {
        // The parameter is optional (DMTF `Manager_v1.xml`, action Reset).
        None => Some("GracefulRestart"),
        Some(kind) => kind.as_str(),
    };
    if !kind.is_some_and(|kind| RESETS.contains(&kind)) {
        let message = Base::ActionParameterNotSupported.message(&["ResetType", "Manager.Reset"]);
        return reply::error(StatusCode::BAD_REQUEST, message.about("ResetType"));
    }
    let (core, life) = (Arc::clone(call.core), call.line.life);
    tokio::spawn(async move {
        tokio::select! {
            () = core.stop.cancelled() => {}
            () = tokio::time::sleep(GRACE) => core.act(|acting| {
                // Not again, when it went down by something else meanwhile.
                if acting.lives_in(life) {
                    acting.reboot_bmc();
                }
            }),
        }
    });
    reply::no_content()
}
