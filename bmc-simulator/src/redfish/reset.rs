//! The action `ComputerSystem.Reset`.

use axum::body::Body;
use axum::http::{Response, StatusCode, header};
use serde_json::Value;

use super::message::Base;
use super::quirks::ResetType;
use super::refused::Refused;
use super::spec::{RedfishSpec, ResetAnswer};
use super::{Call, body, reply, tasks};
use crate::fault::TaskCourse;
use crate::host::Acting;
use crate::journal::{Event, Via};
use crate::per_machine::Slot;
use crate::power::{Command, Condition, Outcome, Power};

/// Ids are shorter; of what is none this much is journalled.
const LONGEST_ID: usize = 64;

/// A reset that makes sense.
struct Wanted<'a> {
    system: &'a str,
    /// The machine that the system is; absent for a decoy.
    slot: Option<Slot>,
    reset_type: ResetType,
}

impl Wanted<'_> {
    fn condition(&self, acting: &Acting<'_>) -> Condition {
        match self.slot {
            Some(slot) => acting.power(slot).condition(),
            None => Condition::Off,
        }
    }

    /// The command that it is in the present condition.
    fn command(&self, acting: &Acting<'_>) -> Command {
        self.reset_type.command(self.condition(acting))
    }
}

/// Accepts or refuses a reset; either way it is journalled.
pub(super) async fn post(call: &Call<'_>, id: &str, via: &Via, body: Body) -> Response<Body> {
    match parse(call, id, body).await {
        Ok(wanted) => call.act(|acting| {
            let command = wanted.command(acting);
            let done = execute(call, acting, (&wanted, command), via);
            done.unwrap_or_else(|refused| refuse(call, acting, (id, Some(command)), via, refused))
        }),
        Err(refused) => call.act(|acting| refuse(call, acting, (id, None), via, refused)),
    }
}

fn refuse(
    call: &Call<'_>,
    acting: &mut Acting<'_>,
    about: (&str, Option<Command>),
    via: &Via,
    refused: Refused,
) -> Response<Body> {
    let reason = refused.reason();
    let mut response = refused.into_response(call.path());
    log_refusal(call, acting, about, via, &mut response, reason);
    response
}

/// Journals that a reset had no effect.
pub(super) fn log_refusal(
    call: &Call<'_>,
    acting: &mut Acting<'_>,
    (system, command): (&str, Option<Command>),
    via: &Via,
    response: &mut Response<Body>,
    reason: &str,
) {
    let sent = call.sends_head(acting, response);
    let event = Event::CommandRefused {
        // It is as the client wrote it, and the journal keeps many.
        system: system.chars().take(LONGEST_ID).collect(),
        command,
        via: via.clone(),
        status: sent.status,
        delivery: sent.delivery,
        reason: reason.to_owned(),
    };
    call.entries.log(acting, event, sent.delivery);
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
    (wanted, command): (&Wanted<'_>, Command),
    via: &Via,
) -> Result<Response<Body>, Refused> {
    // An action is no change of a resource that a client has read: If-Match is for nothing here.
    let refuses = acting.state.redfish.spec.reset_refuses_if_match;
    if refuses && call.parts.headers.contains_key(header::IF_MATCH) {
        return Err(Refused::IfMatch);
    }
    offered(&acting.state.redfish.spec, wanted.reset_type)?;
    let condition = wanted.condition(acting);
    if already_there(condition, command) {
        let fault = acting.state.faults.take_conflict(call.asked);
        if acting.log_hit(fault, call.class) {
            return Err(Refused::AlreadyThere(
                acting.state.redfish.spec.already_there_error,
            ));
        }
    }
    if let Some(slot) = wanted.slot {
        if command == Command::On && is_too_soon(call, acting, slot) {
            return Err(Refused::TooSoon);
        }
        pause(acting, slot)?;
    }
    let course = task_course(call, acting);
    let told = wanted.slot.filter(|_| course.is_none_or(TaskCourse::executes));
    let (reached, outcome) = match told {
        Some(slot) => {
            let (reached, outcome) = obey(call, acting, slot, (command, condition));
            (Some(reached), outcome)
        }
        None => (wanted.slot, Outcome::Ignored),
    };
    let answer = match course {
        None => acting.state.redfish.spec.reset_answer,
        Some(_) => ResetAnswer::Task,
    };
    let mut response = match answer {
        ResetAnswer::NoContent => reply::no_content(),
        ResetAnswer::AcceptedWithoutTask => reply::bare(StatusCode::ACCEPTED, Body::empty()),
        ResetAnswer::SuccessAsError => reply::error(StatusCode::OK, Base::Success.message(&[])),
        ResetAnswer::Task => {
            let request = (call.path(), wanted.reset_type);
            let task = tasks::begin(acting, reached, request, course);
            tasks::accepted(acting, task)
        }
    };
    log_accepted(
        call,
        acting,
        (wanted.system, command, outcome),
        via,
        &mut response,
    );
    Ok(response)
}

/// What a fault makes of the task of a reset.
fn task_course(call: &Call<'_>, acting: &mut Acting<'_>) -> Option<TaskCourse> {
    let (fault, course) = acting.state.faults.take_task(call.asked)?;
    acting.log_fault(fault, call.class);
    Some(course)
}

/// Tells a machine to do what was asked of this one; which it was, and what came of it.
fn obey(
    call: &Call<'_>,
    acting: &mut Acting<'_>,
    slot: Slot,
    (command, condition): (Command, Condition),
) -> (Slot, Outcome) {
    let effective = effective(command, condition, &acting.state.redfish.spec);
    let (now, shown) = (acting.now, acting.faults_of(slot).on_shows_powering_on());
    let machine = acting.state.machines.get_mut(slot);
    if let (Command::On, Condition::On, Some(during)) = (effective, condition, shown) {
        machine.shows_powering_on = now.saturating_add(during);
    }
    let reached = acting.rewired(call.asked, slot);
    (reached, acting.power_mut(reached).command(effective, now))
}

/// Journals that a power command was accepted.
pub(super) fn log_accepted(
    call: &Call<'_>,
    acting: &mut Acting<'_>,
    (system, command, outcome): (&str, Command, Outcome),
    via: &Via,
    response: &mut Response<Body>,
) {
    let sent = call.sends_head(acting, response);
    let event = Event::Command {
        system: system.to_owned(),
        command,
        via: via.clone(),
        outcome,
        status: sent.status,
        delivery: sent.delivery,
    };
    call.entries.log(acting, event, sent.delivery);
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
