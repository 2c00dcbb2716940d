//! The action `ComputerSystem.Reset`.

use axum::body::Body;
use axum::http::{Response, StatusCode};
use serde_json::Value;

use super::{Call, body, reply};
use crate::host::{Acting, HostCore};
use crate::journal::{Event, Via};
use crate::power::{Command, Condition, Outcome, Power};

/// `ResetType@Redfish.AllowableValues` (DSP0268, `Resource.ResetType`).
pub(super) const ALLOWABLE: [&str; 7] = [
    "On",
    "ForceOn",
    "ForceOff",
    "GracefulShutdown",
    "GracefulRestart",
    "ForceRestart",
    "PowerCycle",
];

fn command(reset_type: &str) -> Option<Command> {
    match reset_type {
        "On" | "ForceOn" => Some(Command::On),
        "ForceOff" => Some(Command::ForceOff),
        "GracefulShutdown" => Some(Command::GracefulShutdown),
        "GracefulRestart" => Some(Command::GracefulRestart),
        "ForceRestart" => Some(Command::ForceRestart),
        "PowerCycle" => Some(Command::PowerCycle),
        _ => None,
    }
}

/// Why a reset is refused.
enum Refused {
    NoSuchSystem,
    Body(super::Refusal),
    Missing,
    NotAllowed,
    AlreadyThere,
    TooSoon,
}

impl Refused {
    fn reason(&self) -> &'static str {
        match self {
            Self::NoSuchSystem => "no such system",
            Self::Body(_) => "the body is no JSON object",
            Self::Missing => "no ResetType",
            Self::NotAllowed => "ResetType not supported",
            Self::AlreadyThere => "already in the requested state",
            Self::TooSoon => "too soon after the power-off",
        }
    }

    fn into_response(self) -> Response<Body> {
        match self {
            Self::NoSuchSystem => reply::not_found(),
            Self::Body(refusal) => *refusal,
            Self::Missing => {
                let text = "The action needs the parameter ResetType, as a string.";
                reply::error(StatusCode::BAD_REQUEST, "ActionParameterMissing", text)
            }
            Self::NotAllowed => {
                let text = "The value of ResetType is not one of the allowable values.";
                reply::error(StatusCode::BAD_REQUEST, "ActionParameterNotSupported", text)
            }
            Self::AlreadyThere => {
                let text = "The system is in the requested power state already.";
                reply::error(StatusCode::CONFLICT, "NoOperation", text)
            }
            Self::TooSoon => {
                let text = "The system cannot be powered on so soon after it was powered off.";
                reply::error(StatusCode::CONFLICT, "ResourceInUse", text)
            }
        }
    }
}

/// Accepts or refuses a reset; either way it is journalled.
pub(super) async fn post(call: &Call<'_>, id: &str, via: &Via, body: Body) -> Response<Body> {
    let parsed = parse(call, id, body).await;
    let done = parsed.and_then(|command| call.core.act(|acting| execute(call, acting, id, command, via)));
    match done {
        Ok(()) => reply::no_content(),
        Err(refused) => {
            let reason = refused.reason().to_owned();
            let response = refused.into_response();
            let status = response.status().as_u16();
            let event = Event::CommandRefused {
                system: id.to_owned(),
                via: via.clone(),
                status,
                reason,
            };
            call.core.act(|acting| acting.log(event));
            response
        }
    }
}

async fn parse(call: &Call<'_>, id: &str, body: Body) -> Result<Command, Refused> {
    if !is_decoy(call.core, id) && call.core.identities.real.id != id {
        return Err(Refused::NoSuchSystem);
    }
    let object = body::json_object(&call.parts.headers, body)
        .await
        .map_err(Refused::Body)?;
    // DSP0266 lets a BMC choose when ResetType is missing; to guess would hide a client's mistake.
    let reset_type = object
        .get("ResetType")
        .and_then(Value::as_str)
        .ok_or(Refused::Missing)?;
    command(reset_type).ok_or(Refused::NotAllowed)
}

fn execute(
    call: &Call<'_>,
    acting: &mut Acting<'_>,
    id: &str,
    command: Command,
    via: &Via,
) -> Result<(), Refused> {
    let decoy = is_decoy(call.core, id);
    let condition = if decoy {
        Condition::Off
    } else {
        acting.state.machine.condition()
    };
    if already_there(condition, command) && acting.state.faults.take_conflict(call.asked) {
        return Err(Refused::AlreadyThere);
    }
    if !decoy && command == Command::On && is_too_soon(call, acting) {
        return Err(Refused::TooSoon);
    }
    let outcome = if decoy {
        Outcome::Ignored
    } else {
        acting.state.machine.command(command, acting.now)
    };
    acting.log(Event::Command {
        system: id.to_owned(),
        command,
        via: via.clone(),
        outcome,
        status: call.answered.then_some(StatusCode::NO_CONTENT.as_u16()),
    });
    Ok(())
}

fn is_too_soon(call: &Call<'_>, acting: &mut Acting<'_>) -> bool {
    let truth = acting.state.machine.truth();
    let off_for = acting.now.saturating_sub(truth.since);
    let went_off = truth.power == Power::Off && truth.on_to_off > 0;
    went_off && acting.state.faults.take_too_soon(call.asked, off_for)
}

fn already_there(condition: Condition, command: Command) -> bool {
    match command {
        Command::On => condition == Condition::On,
        Command::ForceOff | Command::GracefulShutdown => condition == Condition::Off,
        Command::GracefulRestart | Command::ForceRestart | Command::PowerCycle => false,
    }
}

fn is_decoy(core: &HostCore, id: &str) -> bool {
    core.identities.decoys.iter().any(|decoy| decoy.id == id)
}
