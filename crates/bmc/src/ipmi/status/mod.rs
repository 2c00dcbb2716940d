//! What the numbers in answers mean, those about power first of all.

#[cfg(test)]
mod tests;

use super::error::IpmiError;
use super::session::Answer;
use crate::error::BmcError;
use crate::{CommandAnswer, Refusal};
use remediator_core::power::PowerState;

/// Reads Get Chassis Status (section 28.2). A BMC that reports a fault of the power or of its control
/// does not know that the host is off, whatever it says in the bit for it.
pub(super) fn chassis_status(answer: &Answer) -> Result<(PowerState, &'static str), BmcError> {
    const ON: u8 = 0x01;
    const FAULT: u8 = 0x08;
    const CONTROL_FAULT: u8 = 0x10;
    let step = "Get Chassis Status";
    if answer.completion != 0 {
        return Err(complaint(step, answer.completion).into());
    }
    let [power, _, _, ..] = answer.data.as_slice() else {
        let found = format!("{step} with {} bytes", answer.data.len());
        return Err(IpmiError::Malformed(found).into());
    };
    Ok(match power {
        power if power & ON != 0 => (PowerState::On, "On"),
        power if power & FAULT != 0 => (PowerState::Unknown, "Off, power fault"),
        power if power & CONTROL_FAULT != 0 => (PowerState::Unknown, "Off, power control fault"),
        _ => (PowerState::Off, "Off"),
    })
}

/// What switched the host last, as Get Chassis Status tells it (section 28.2, "Last Power Event"), for people.
pub(super) fn last_power_event(answer: &Answer) -> Option<String> {
    const EVENTS: [(u8, &str); 5] = [
        (0x10, "on by IPMI"),
        (0x08, "off by a power fault"),
        (0x04, "off by an interlock"),
        (0x02, "off by a power overload"),
        (0x01, "AC failed"),
    ];
    let [_, event, _, ..] = answer.data.as_slice() else {
        return None;
    };
    let told = EVENTS.iter().filter(|(bit, _)| event & bit != 0);
    let told: Vec<_> = told.map(|(_, what)| *what).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// What the answer to Chassis Control means (table 5-2).
pub(super) fn verdict(completion: u8) -> Result<CommandAnswer, BmcError> {
    let text = completed("Chassis Control", completion);
    let refused = |class, text| {
        Ok(CommandAnswer::Refused {
            class,
            text,
            retry_after: None,
        })
    };
    match completion {
        0x00 => Ok(CommandAnswer::Accepted),
        // It took too long or lost its response, but may have acted.
        0xc3 | 0xce => Err(BmcError::UnknownOutcome(text)),
        code if is_denial(code) => Err(IpmiError::PrivilegeDenied(text).into()),
        0xd5 => Ok(CommandAnswer::AlreadyThereOrConflict { text }),
        code if is_busy(code) => refused(Refusal::Busy, text),
        0xc1 | 0xc2 | 0xc7 | 0xc9 | 0xcc | 0xd6 => refused(Refusal::Unsupported, text),
        _ => refused(Refusal::Failed, text),
    }
}

/// Whether a BMC that refuses a session with this RMCP+ status code (table 13-15) may agree to another cipher
/// suite. BMCs are known to send others than 0x11 (FreeIPMI, "LAN Authentication" notes 19 and 20).
pub(super) fn is_about_the_suite(status: u8) -> bool {
    matches!(status, 0x04 | 0x05 | 0x0a | 0x10 | 0x11 | 0x12)
}

/// The error that an RMCP+ status code other than 0 amounts to.
pub(super) fn refusal(step: &str, status: u8) -> IpmiError {
    let text = format!("{step}: RMCP+ status {status:#04x}, {}", rmcp_plus(status));
    match status {
        0x09 | 0x0a => IpmiError::PrivilegeDenied(text),
        0x0c..=0x0f => IpmiError::LoginRejected(text),
        // Out of sessions, or our half-open one is forgotten: both pass.
        0x01 | 0x02 | 0x08 | 0x0b => IpmiError::Refused { text, busy: true },
        _ => IpmiError::Refused { text, busy: false },
    }
}

/// The error that a completion code other than 0 amounts to, in answer to anything but a power
/// command.
pub(super) fn complaint(step: &str, completion: u8) -> IpmiError {
    let text = completed(step, completion);
    let busy = is_busy(completion);
    if is_denial(completion) {
        IpmiError::PrivilegeDenied(text)
    } else {
        IpmiError::Refused { text, busy }
    }
}

/// The codes that pass by themselves: busy, time-out, out of space, BMC initialising (as Ironic's
/// `ipmitool.py` has it).
pub(super) fn is_busy(completion: u8) -> bool {
    matches!(completion, 0xc0 | 0xc3 | 0xc4 | 0xd2)
}

/// Privilege too low.
pub(super) fn is_denial(completion: u8) -> bool {
    completion == 0xd4
}

/// A completion code in words.
pub(super) fn completed(step: &str, completion: u8) -> String {
    format!("{step}: completion code {completion:#04x}, {}", word(completion))
}

/// Table 13-15.
fn rmcp_plus(status: u8) -> &'static str {
    match status {
        0x01 => "insufficient resources to create a session",
        0x02 => "invalid session id",
        0x03 => "invalid payload type",
        0x04 => "invalid authentication algorithm",
        0x05 => "invalid integrity algorithm",
        0x06 => "no matching authentication payload",
        0x07 => "no matching integrity payload",
        0x08 => "inactive session id",
        0x09 => "invalid role",
        0x0a => "unauthorized role or privilege level requested",
        0x0b => "insufficient resources to create a session at the requested role",
        0x0c => "invalid name length",
        0x0d => "unauthorized name",
        0x0e => "unauthorized GUID",
        0x0f => "invalid integrity check value",
        0x10 => "invalid confidentiality algorithm",
        0x11 => "no cipher suite match with proposed security algorithms",
        0x12 => "illegal or unrecognized parameter",
        _ => "reserved",
    }
}

/// Table 5-2.
fn word(completion: u8) -> &'static str {
    match completion {
        0xc0 => "node busy",
        0xc1 => "invalid command",
        0xc2 => "command invalid for the given LUN",
        0xc3 => "time-out while processing the command",
        0xc4 => "out of space",
        0xc5 => "reservation cancelled",
        0xc6 => "request data truncated",
        0xc7 => "request data length invalid",
        0xc8 => "request data field length limit exceeded",
        0xc9 => "parameter out of range",
        0xca => "cannot return that many bytes",
        0xcb => "sensor, data or record not present",
        0xcc => "invalid data field in the request",
        0xcd => "command illegal for this sensor or record",
        0xce => "response could not be provided",
        0xcf => "cannot execute a duplicated request",
        0xd0 => "SDR repository in update mode",
        0xd1 => "device in firmware update mode",
        0xd2 => "BMC initialization in progress",
        0xd3 => "destination unavailable",
        0xd4 => "insufficient privilege level",
        0xd5 => "not supported in the present state",
        0xd6 => "sub-function disabled or unavailable",
        0xff => "unspecified error",
        0x01..=0x7e => "an OEM code",
        0x80..=0xbe => "a code of this command alone",
        _ => "reserved",
    }
}
