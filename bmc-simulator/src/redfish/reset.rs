//! The action `ComputerSystem.Reset`.

use axum::body::Body;
use axum::http::{Response, StatusCode, header};
use serde_json::Value;

use super::message::Base;
use super::quirks::ResetType;
use super::refused::Refused;
use super::spec::{RedfishSpec, ResetAnswer};
use super::{Call, body, reply, tasks};
use crate::host::Acting;
use crate::journal::{Event, Via};
use crate::per_machine::Slot;
use crate::power::{Command, Condition, Outcome, Power};

/// A reset that makes sense.
struct Wanted<'a> {
    system: &'a str,
    /// The machine that the system is; absent for a decoy.
    slot: Option<Slot>,
    reset_type: ResetType,
}

/// Accepts or refuses a reset; either way it is journalled.
pub(super) async fn post(call: &Call<'_>, id: &str, via: &Via, body: Body) -> Response<Body> {
    let parsed = parse(call, id, body).await;
    call.act(|acting| {
        let done = parsed.and_then(|wanted| execute(call, acting, &wanted, via));
        done.unwrap_or_else(|refused| {
            let reason = refused.reason();
            let response = refused.into_response(call.path());
            acting.log(refusal(id, via, response.status(), reason));
            response
        })
    })
}

/// That a reset had no effect, for the journal.
pub(super) fn refusal(id: &str, via: &Via, status: StatusCode, reason: &str) -> Event {
    Event::CommandRefused {
        system: id.to_owned(),
        via: via.clone(),
        status: status.as_u16(),
        reason: reason.to_owned(),
    }
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
    let reset_type = ResetType::of(reset_type).ok_or(Refused::NotAllowed)?;
    Ok(Wanted {
        system: id,
        slot,
        reset_type,
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
    offered(&acting.state.redfish.spec, wanted.reset_type)?;
    let condition = match wanted.slot {
        Some(slot) => acting.power(slot).condition(),
        None => Condition::Off,
    };
    let command = wanted.reset_type.command(condition);
    if already_there(condition, command) {
        let fault = acting.state.faults.take_conflict(call.asked);
        if acting.log_hit(fault, call.class) {
            return Err(Refused::AlreadyThere(
                acting.state.redfish.spec.already_there_error,
            ));
        }
    }
    let mut reached = wanted.slot;
    let outcome = match wanted.slot {
        Some(slot) if command == Command::On && is_too_soon(call, acting, slot) => {
            return Err(Refused::TooSoon);
        }
        Some(slot) => {
            pause(acting, slot)?;
            let effective = effective(command, condition, &acting.state.redfish.spec);
            let (now, shown) = (acting.now, acting.faults_of(slot).on_shows_powering_on());
            let machine = acting.state.machines.get_mut(slot);
            if let (Command::On, Condition::On, Some(during)) = (effective, condition, shown) {
                machine.shows_powering_on = now.saturating_add(during);
            }
            let rewired = acting.rewired(call.asked, slot);
            reached = Some(rewired);
            acting.power_mut(rewired).command(effective, now)
        }
        None => Outcome::Ignored,
    };
    let status = match acting.state.redfish.spec.reset_answer {
        ResetAnswer::NoContent => StatusCode::NO_CONTENT,
        ResetAnswer::SuccessAsError => StatusCode::OK,
        ResetAnswer::Task | ResetAnswer::AcceptedWithoutTask => StatusCode::ACCEPTED,
    };
    acting.log(Event::Command {
        system: wanted.system.to_owned(),
        command,
        via: via.clone(),
        outcome,
        status: call.answered.then_some(status.as_u16()),
    });
    Ok(match acting.state.redfish.spec.reset_answer {
        ResetAnswer::NoContent | ResetAnswer::AcceptedWithoutTask => reply::bare(status, Body::empty()),
        ResetAnswer::SuccessAsError => reply::error(status, Base::Success.message(&[])),
        ResetAnswer::Task => {
            let task = tasks::begin(acting, reached, call.path(), wanted.reset_type);
            tasks::accepted(acting, task)
        }
    })
}

/// Refuses what is not offered, and what is offered in vain.
fn offered(spec: &RedfishSpec, wanted: ResetType) -> Result<(), Refused> {
    if !spec.reset_types.contains(&wanted) {
        Err(Refused::NotAllowed)
    } else if spec.broken_reset_types.contains(&wanted) {
        Err(Refused::Broken)
    } else {
        Ok(())
    }
}

/// Refuses a reset that follows another too closely, and remembers one that does not.
fn pause(acting: &mut Acting<'_>, slot: Slot) -> Result<(), Refused> {
    let redfish = &mut acting.state.redfish;
    let notes = redfish.systems.get_mut(slot);
    let since = notes.last_reset.map(|last| acting.now.saturating_sub(last));
    if since.is_some_and(|since| since < redfish.spec.reset_pause) {
        return Err(Refused::Busy);
    }
    notes.last_reset = Some(acting.now);
    Ok(())
}

/// What the machine is told when a client wants this.
fn effective(wanted: Command, condition: Condition, spec: &RedfishSpec) -> Command {
    let off = condition == Condition::Off;
    match wanted {
        Command::GracefulRestart | Command::ForceRestart | Command::PowerCycle
            if spec.restart_powers_on && off =>
        {
            Command::On
        }
        Command::GracefulRestart if spec.graceful_restart_forces => Command::ForceRestart,
        Command::PowerCycle if spec.power_cycle_restarts => Command::GracefulRestart,
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
    if !went_off {
        return false;
    }
    let fault = acting.state.faults.take_too_soon(call.asked, off_for);
    acting.log_hit(fault, call.class)
}

fn already_there(condition: Condition, command: Command) -> bool {
    match command {
        Command::On => condition == Condition::On,
        Command::ForceOff | Command::GracefulShutdown => condition == Condition::Off,
        Command::GracefulRestart | Command::ForceRestart | Command::PowerCycle => false,
    }
}
