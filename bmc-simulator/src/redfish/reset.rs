//! The action `ComputerSystem.Reset`.

use axum::body::Body;
use axum::http::{Response, StatusCode, header};
use serde_json::Value;

use super::message::Base;
use super::spec::ResetAnswer;
use super::{Call, body, reply, tasks};
use crate::host::Acting;
use crate::journal::{Event, Via};
use crate::per_machine::Slot;
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
    IfMatch,
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
            Self::IfMatch => "If-Match is not taken here",
            Self::Body(_) => "the body is no JSON object",
            Self::Missing => "no ResetType",
            Self::NotAllowed => "ResetType not supported",
            Self::AlreadyThere => "already in the requested state",
            Self::TooSoon => "too soon after the power-off",
        }
    }

    fn into_response(self, path: &str) -> Response<Body> {
        const ACTION: &str = "ComputerSystem.Reset";
        const PARAMETER: &str = "ResetType";
        match self {
            Self::NoSuchSystem => reply::not_found(path),
            Self::Body(refusal) => *refusal,
            Self::IfMatch => {
                let message = Base::PreconditionFailed.message(&[]);
                reply::error(StatusCode::PRECONDITION_FAILED, message)
            }
            Self::Missing => {
                let message = Base::ActionParameterMissing.message(&[ACTION, PARAMETER]);
                reply::error(StatusCode::BAD_REQUEST, message.about(PARAMETER))
            }
            Self::NotAllowed => {
                let message = Base::ActionParameterNotSupported.message(&[PARAMETER, ACTION]);
                reply::error(StatusCode::BAD_REQUEST, message.about(PARAMETER))
            }
            Self::AlreadyThere => reply::error(StatusCode::CONFLICT, Base::NoOperation.message(&[])),
            Self::TooSoon => reply::error(StatusCode::CONFLICT, Base::ResourceInUse.message(&[])),
        }
    }
}

/// A reset that makes sense.
struct Wanted<'a> {
    system: &'a str,
    /// The machine that the system is; absent for a decoy.
    slot: Option<Slot>,
    command: Command,
    reset_type: String,
}

/// Accepts or refuses a reset; either way it is journalled.
pub(super) async fn post(call: &Call<'_>, id: &str, via: &Via, body: Body) -> Response<Body> {
    let parsed = parse(call, id, body).await;
    let done = parsed.and_then(|wanted| call.core.act(|acting| execute(call, acting, &wanted, via)));
    done.unwrap_or_else(|refused| {
        let reason = refused.reason();
        let response = refused.into_response(call.path());
        log_refusal(call, id, via, response.status(), reason);
        response
    })
}

/// Journals that a reset had no effect.
pub(super) fn log_refusal(call: &Call<'_>, id: &str, via: &Via, status: StatusCode, reason: &str) {
    let event = Event::CommandRefused {
        system: id.to_owned(),
        via: via.clone(),
        status: status.as_u16(),
        reason: reason.to_owned(),
    };
    call.core.act(|acting| acting.log(event));
}

async fn parse<'a>(call: &Call<'_>, id: &'a str, body: Body) -> Result<Wanted<'a>, Refused> {
    let identities = &call.core.identities;
    let slot = identities.find(id);
    if slot.is_none() && identities.decoy(id).is_none() {
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
    Ok(Wanted {
        system: id,
        slot,
        command: command(reset_type).ok_or(Refused::NotAllowed)?,
        reset_type: reset_type.to_owned(),
    })
}

fn execute(
    call: &Call<'_>,
    acting: &mut Acting<'_>,
    wanted: &Wanted<'_>,
    via: &Via,
) -> Result<Response<Body>, Refused> {
    // An action is no change of a resource that a client has read: If-Match is for nothing here.
    let refuses = acting.state.redfish.spec.reset_refuses_if_match;
    if refuses && call.parts.headers.contains_key(header::IF_MATCH) {
        return Err(Refused::IfMatch);
    }
    let condition = match wanted.slot {
        Some(slot) => acting.power(slot).condition(),
        None => Condition::Off,
    };
    if already_there(condition, wanted.command) && acting.state.faults.take_conflict(call.asked) {
        return Err(Refused::AlreadyThere);
    }
    let outcome = match wanted.slot {
        Some(slot) if wanted.command == Command::On && is_too_soon(call, acting, slot) => {
            return Err(Refused::TooSoon);
        }
        Some(slot) => {
            let restart_powers_on = acting.state.redfish.spec.restart_powers_on;
            let effective = effective(wanted.command, condition, restart_powers_on);
            let now = acting.now;
            acting.power_mut(slot).command(effective, now)
        }
        None => Outcome::Ignored,
    };
    let status = match acting.state.redfish.spec.reset_answer {
        ResetAnswer::NoContent => StatusCode::NO_CONTENT,
        ResetAnswer::Task | ResetAnswer::AcceptedWithoutTask => StatusCode::ACCEPTED,
    };
    acting.log(Event::Command {
        system: wanted.system.to_owned(),
        command: wanted.command,
        via: via.clone(),
        outcome,
        status: call.answered.then_some(status.as_u16()),
    });
    Ok(match acting.state.redfish.spec.reset_answer {
        ResetAnswer::NoContent | ResetAnswer::AcceptedWithoutTask => reply::bare(status, Body::empty()),
        ResetAnswer::Task => {
            let task = tasks::begin(acting, wanted.slot, call.path(), &wanted.reset_type);
            tasks::accepted(acting, task)
        }
    })
}

/// What the machine is told when a client wants this.
fn effective(wanted: Command, condition: Condition, restart_powers_on: bool) -> Command {
    match wanted {
        Command::GracefulRestart | Command::ForceRestart | Command::PowerCycle
            if restart_powers_on && condition == Condition::Off =>
        {
            Command::On
        }
        Command::On
        | Command::ForceOff
        | Command::GracefulShutdown
        | Command::GracefulRestart
        | Command::ForceRestart
        | Command::PowerCycle => wanted,
    }
}

fn is_too_soon(call: &Call<'_>, acting: &mut Acting<'_>, slot: Slot) -> bool {
    let truth = acting.truth(slot);
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
