//! What the answers about power mean.

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

#[cfg(test)]
mod tests {
    use super::*;

    fn status(completion: u8, data: &[u8]) -> Result<(PowerState, &'static str), BmcError> {
        chassis_status(&Answer {
            completion,
            data: data.to_vec(),
        })
    }

    #[test]
    fn only_a_host_without_power_and_without_a_fault_is_off() {
        for (bits, expected) in [
            (0x00, (PowerState::Off, "Off")),
            (0x01, (PowerState::On, "On")),
            // Restore policy, overload and interlock do not belie it.
            (0x66, (PowerState::Off, "Off")),
            (0x61, (PowerState::On, "On")),
            (0x08, (PowerState::Unknown, "Off, power fault")),
            (0x10, (PowerState::Unknown, "Off, power control fault")),
            (0x19, (PowerState::On, "On")),
        ] {
            assert_eq!(status(0, &[bits, 0, 0]), Ok(expected), "{bits:#04x}");
        }
        for short in [&[][..], &[0], &[0, 0]] {
            let error = status(0, short).unwrap_err();
            assert_eq!(error.reason(), "BmcNotIpmi", "{short:?}");
        }
        for completion in 1..=u8::MAX {
            assert!(status(completion, &[0, 0, 0]).is_err(), "{completion:#04x}");
        }
    }

    #[test]
    fn completion_codes_of_commands_are_told_apart() {
        for (completion, expected) in [
            (0x00, "accepted"),
            (0xc0, "Busy"),
            (0xc1, "Unsupported"),
            (0xc3, "BmcOutcomeUnknown"),
            (0xc4, "Busy"),
            (0xcc, "Unsupported"),
            (0xce, "BmcOutcomeUnknown"),
            (0xd2, "Busy"),
            (0xd4, "BmcForbidden"),
            (0xd5, "already"),
            (0xff, "Failed"),
            (0x7f, "Failed"),
        ] {
            let found = match verdict(completion) {
                Ok(CommandAnswer::Accepted) => "accepted".to_owned(),
                Ok(CommandAnswer::AlreadyThereOrConflict { .. }) => "already".to_owned(),
                Ok(CommandAnswer::Refused { class, .. }) => format!("{class:?}"),
                Err(error) => error.reason().to_owned(),
            };
            assert_eq!(found, expected, "{completion:#04x}");
        }
    }
}
