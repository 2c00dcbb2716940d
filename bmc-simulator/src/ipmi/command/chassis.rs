//! Power (chapter 28).

use super::{Completion, Done};
use crate::RequestClass;
use crate::fault::Asked;
use crate::ipmi::state::Bmc;
use crate::journal::{Event, Via};
use crate::per_machine::Slot;
use crate::power::{Command, Outcome, Power, PowerRestorePolicy};

const POWER_IS_ON: u8 = 0x01;
/// Last power event: power came on by a command over IPMI.
const ON_BY_COMMAND: u8 = 0x10;

/// Get Chassis Capabilities (section 28.1): no sensors of the chassis, all devices are the BMC.
pub(super) fn capabilities() -> Vec<u8> {
    vec![0x00, 0x20, 0x20, 0x20, 0x20]
}

/// Get Chassis Status (section 28.2).
pub(super) fn status(bmc: &mut Bmc<'_, '_>, id: u32) -> Vec<u8> {
    let truth = bmc.acting.truth(Slot::FIRST);
    let on = reported(bmc) == Power::On;
    let by_command = bmc.ipmi.chassis.commanded_on == Some(truth.off_to_on);
    let (system, via) = (
        bmc.acting.core.identities.real(Slot::FIRST).id.clone(),
        via(bmc, id),
    );
    bmc.tell(0, |status, delivery| Event::Observed {
        system,
        via,
        reported: Some(if on { "On" } else { "Off" }.to_owned()),
        truth: truth.power,
        status,
        delivery,
    });
    let power = if on { POWER_IS_ON } else { 0 } | (restore_bits(bmc) << 5);
    vec![power, if by_command { ON_BY_COMMAND } else { 0 }, 0]
}

/// IPMI has one bit for the power. A literal that is no power state of IPMI cannot be told, so then
/// it is the truth.
fn reported(bmc: &Bmc<'_, '_>) -> Power {
    match bmc.acting.chassis_power(Slot::FIRST).as_deref() {
        Some("Off" | "PoweringOn") => Power::Off,
        Some("On" | "PoweringOff") => Power::On,
        Some(_) | None => bmc.acting.truth(Slot::FIRST).power,
    }
}

/// Chassis Control (section 28.3); whether accepted or refused, it is journalled.
pub(super) fn control(
    bmc: &mut Bmc<'_, '_>,
    id: u32,
    permitted: Result<(), Completion>,
    data: &[u8],
) -> Done {
    let parsed = parse(bmc, data);
    let (system, via) = (
        bmc.acting.core.identities.real(Slot::FIRST).id.clone(),
        via(bmc, id),
    );
    match permitted.and(parsed) {
        Ok(command) => {
            let outcome = command_machine(bmc, command);
            bmc.tell(0, |status, delivery| Event::Command {
                system,
                command,
                via,
                outcome,
                status,
                delivery,
            });
            Ok(Vec::new())
        }
        Err(completion) => {
            bmc.tell(completion.number(), |status, delivery| Event::CommandRefused {
                system,
                command: asked(data),
                via,
                status,
                delivery,
                reason: reason(completion).to_owned(),
            });
            Err(completion)
        }
    }
}

/// The command that a request is about, whether it can be obeyed or not.
fn asked(data: &[u8]) -> Option<Command> {
    let &[control] = data else {
        return None;
    };
    match control & 0x0f {
        0 => Some(Command::ForceOff),
        1 => Some(Command::On),
        2 => Some(Command::PowerCycle),
        3 => Some(Command::ForceRestart),
        5 => Some(Command::GracefulShutdown),
        // 4 is the diagnostic interrupt, which this machine does not have.
        _ => None,
    }
}

fn parse(bmc: &Bmc<'_, '_>, data: &[u8]) -> Result<Command, Completion> {
    if data.len() != 1 {
        return Err(Completion::InvalidLength);
    }
    let off = reported(bmc) == Power::Off;
    match asked(data) {
        // Section 28.3 recommends this code for a cycle while off.
        Some(Command::PowerCycle) if off => Err(Completion::NotInPresentState),
        // While off this is accepted and does nothing, as on Supermicro (bmc-toolbox/bmclib#211).
        Some(Command::ForceRestart) if off && bmc.ipmi.settings.reset_while_off_refused => {
            Err(Completion::NotInPresentState)
        }
        Some(command) => Ok(command),
        None => Err(Completion::InvalidField),
    }
}

fn command_machine(bmc: &mut Bmc<'_, '_>, command: Command) -> Outcome {
    let ons = bmc.acting.truth(Slot::FIRST).off_to_on;
    let (core, now) = (bmc.acting.core, bmc.acting.now);
    let asked = Asked {
        class: RequestClass::IpmiChassisControl,
        http: None,
        system: Some(&core.identities.real(Slot::FIRST).id),
    };
    let reached = bmc.acting.rewired(asked, Slot::FIRST);
    let outcome = bmc.acting.power_mut(reached).command(command, now);
    let powers_on = matches!(command, Command::On | Command::PowerCycle);
    if powers_on && outcome == Outcome::Started {
        bmc.ipmi.chassis.commanded_on = Some(ons.saturating_add(1));
    }
    outcome
}

fn reason(completion: Completion) -> &'static str {
    match completion {
        Completion::InsufficientPrivilege => "the session's privilege is below OPERATOR",
        Completion::NotInPresentState => "a cycle or reset while the power is off",
        Completion::InvalidLength => "the request has a wrong length",
        Completion::InvalidField => "this chassis control is not served",
        Completion::LevelNotAvailable
        | Completion::LevelExceedsLimit
        | Completion::UnknownSession
        | Completion::UnknownHandle
        | Completion::Busy
        | Completion::InvalidCommand
        | Completion::InvalidForLun
        | Completion::DestinationUnavailable => "it cannot be served",
    }
}

/// Set Power Restore Policy (section 28.8); 3 changes nothing. The answer: all three are supported.
pub(super) fn set_restore_policy(bmc: &mut Bmc<'_, '_>, data: &[u8]) -> Done {
    let &[policy] = data else {
        return Err(Completion::InvalidLength);
    };
    match policy & 0x07 {
        0 => bmc
            .acting
            .set_restore_policy(Slot::FIRST, PowerRestorePolicy::AlwaysOff),
        1 => bmc
            .acting
            .set_restore_policy(Slot::FIRST, PowerRestorePolicy::LastState),
        2 => bmc
            .acting
            .set_restore_policy(Slot::FIRST, PowerRestorePolicy::AlwaysOn),
        3 => {}
        _ => return Err(Completion::InvalidField),
    }
    Ok(vec![0x07])
}

/// The power restore policy as Get Chassis Status tells it (table 28-3).
fn restore_bits(bmc: &Bmc<'_, '_>) -> u8 {
    match bmc.acting.state.machines.get(Slot::FIRST).restore {
        PowerRestorePolicy::AlwaysOff => 0,
        PowerRestorePolicy::LastState => 1,
        PowerRestorePolicy::AlwaysOn => 2,
    }
}

fn via(bmc: &mut Bmc<'_, '_>, id: u32) -> Via {
    let session = bmc.ipmi.sessions.find(id);
    Via::IpmiSession(session.map(|session| session.name()).unwrap_or_default())
}
