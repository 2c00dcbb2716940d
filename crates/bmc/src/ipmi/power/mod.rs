//! What the answers about power mean.

#[cfg(test)]
mod tests;

use super::error::IpmiError;
use super::session::Answer;
use super::status;
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
        return Err(status::complaint(step, answer.completion).into());
    }
    let [power, _, _, ..] = answer.data.as_slice() else {
        return Err(IpmiError::Malformed {
            found: format!("{step} with {} bytes", answer.data.len()),
        }
        .into());
    };
    Ok(if power & ON != 0 {
        (PowerState::On, "On")
    } else if power & FAULT != 0 {
        (PowerState::Unknown, "Off, power fault")
    } else if power & CONTROL_FAULT != 0 {
        (PowerState::Unknown, "Off, power control fault")
    } else {
        (PowerState::Off, "Off")
    })
}

/// What the answer to Chassis Control means (table 5-2).
pub(super) fn verdict(completion: u8) -> Result<CommandAnswer, BmcError> {
    let text = status::completed("Chassis Control", completion);
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
        0xc3 | 0xce => Err(BmcError::UnknownOutcome { cause: text }),
        code if status::is_denial(code) => Err(IpmiError::PrivilegeDenied { text }.into()),
        0xd5 => Ok(CommandAnswer::AlreadyThereOrConflict { text }),
        code if status::is_busy(code) => refused(Refusal::Busy, text),
        0xc1 | 0xc2 | 0xc7 | 0xc9 | 0xcc | 0xd6 => refused(Refusal::Unsupported, text),
        _ => refused(Refusal::Failed, text),
    }
}
