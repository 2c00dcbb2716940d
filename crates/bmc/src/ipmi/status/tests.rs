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
fn the_last_power_event_is_told_in_words_that_fit_the_journal() {
    let told = |data: &[u8]| {
        last_power_event(&Answer {
            completion: 0,
            data: data.to_vec(),
        })
    };
    for (bits, expected) in [
        (0x00, None),
        (0xe0, None),
        (0x01, Some("AC failed")),
        (0x08, Some("off by a power fault")),
        (0x12, Some("on by IPMI, off by a power overload")),
    ] {
        assert_eq!(told(&[0x01, bits, 0]).as_deref(), expected, "{bits:#04x}");
    }
    assert!(told(&[0x01, 0xff, 0]).is_some_and(|words| words.len() <= 128));
    assert_eq!(told(&[0x01]), None);
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
