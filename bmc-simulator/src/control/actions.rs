//! Requests that change something.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Path, Refusal, Shared, input};
use crate::fault::Injection;
use crate::host::Snapshot;
use crate::power::{Delays, Power};
use crate::redfish::RedfishSpec;

type Changed = Result<Json<Snapshot>, Refusal>;

pub(super) async fn delays(State(controlled): Shared, Path(name): Path<String>, body: Body) -> Changed {
    let host = controlled.host(&name)?;
    host.set_delays(merged(host.snapshot().delays, body).await?);
    Ok(Json(host.snapshot()))
}

/// The delays that a body asks for; fields that are absent keep their value.
pub(super) async fn merged(current: Delays, body: Body) -> Result<Delays, Refusal> {
    let given: Map<String, Value> = input::json(body).await?;
    let mut merged = serde_json::to_value(current).unwrap_or_default();
    if let Some(fields) = merged.as_object_mut() {
        fields.extend(given);
    }
    input::from_value(merged)
}

/// The switches of the Redfish service.
pub(super) async fn redfish(
    State(controlled): Shared,
    Path(name): Path<String>,
) -> Result<Json<RedfishSpec>, Refusal> {
    Ok(Json(controlled.host(&name)?.redfish()))
}

/// Switches that are absent stay as they are.
pub(super) async fn set_redfish(State(controlled): Shared, Path(name): Path<String>, body: Body) -> Changed {
    let host = controlled.host(&name)?;
    let given: Map<String, Value> = input::json(body).await?;
    let mut merged = serde_json::to_value(host.redfish()).unwrap_or_default();
    if let Some(fields) = merged.as_object_mut() {
        fields.extend(given);
    }
    let wanted = input::from_value::<RedfishSpec>(merged)?;
    host.change_redfish(|_| wanted)
        .map_err(|error| Refusal::from_sim(&error, ""))?;
    Ok(Json(host.snapshot()))
}

pub(super) async fn set_faults(State(controlled): Shared, Path(name): Path<String>, body: Body) -> Changed {
    let host = controlled.host(&name)?;
    let faults: Vec<Injection> = input::json(body).await?;
    for (index, fault) in faults.iter().enumerate() {
        fault
            .check_at(&host.core.target)
            .map_err(|error| Refusal::from_sim(&error, &format!("[{index}].")))?;
    }
    host.set_faults(faults)
        .map_err(|error| Refusal::from_sim(&error, ""))?;
    Ok(Json(host.snapshot()))
}

pub(super) async fn clear_faults(State(controlled): Shared, Path(name): Path<String>) -> Changed {
    let host = controlled.host(&name)?;
    host.clear_faults();
    Ok(Json(host.snapshot()))
}

pub(super) async fn clear_personality_faults(State(controlled): Shared, Path(name): Path<String>) -> Changed {
    let host = controlled.host(&name)?;
    host.clear_personality_faults();
    Ok(Json(host.snapshot()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Press {
    pub(super) to: Power,
}

pub(super) async fn power(State(controlled): Shared, Path(name): Path<String>, body: Body) -> Changed {
    let host = controlled.host(&name)?;
    let Press { to } = input::json(body).await?;
    host.press_power(to)
        .map_err(|error| Refusal::from_sim(&error, ""))?;
    Ok(Json(host.snapshot()))
}

/// What happens to a BMC itself.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum BmcAction {
    Reboot,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToBmc {
    action: BmcAction,
}

pub(super) async fn bmc(State(controlled): Shared, Path(name): Path<String>, body: Body) -> Changed {
    let host = controlled.host(&name)?;
    let ToBmc { action } = input::json(body).await?;
    match action {
        BmcAction::Reboot => host.reboot_bmc(),
    }
    Ok(Json(host.snapshot()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Switch {
    to: Power,
}

pub(super) async fn mains(State(controlled): Shared, Path(name): Path<String>, body: Body) -> Changed {
    let host = controlled.host(&name)?;
    let Switch { to } = input::json(body).await?;
    match to {
        Power::On => host.restore_mains(),
        Power::Off => host.cut_mains(),
    }
    Ok(Json(host.snapshot()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Login {
    username: String,
    password: String,
}

pub(super) async fn credentials(State(controlled): Shared, Path(name): Path<String>, body: Body) -> Changed {
    let host = controlled.host(&name)?;
    let Login { username, password } = input::json(body).await?;
    host.rotate_credentials(username, password)
        .map_err(|error| Refusal::from_sim(&error, ""))?;
    Ok(Json(host.snapshot()))
}

pub(super) async fn certificate(
    State(controlled): Shared,
    Path(name): Path<String>,
) -> Result<Json<Value>, Refusal> {
    let host = controlled.host(&name)?;
    let sha256 = host
        .swap_certificate()
        .map_err(|error| Refusal::from_sim(&error, ""))?;
    Ok(Json(json!({"certificateSha256": sha256, "caPem": host.ca_pem()})))
}
