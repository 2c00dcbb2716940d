//! The system's GUID, in whatever order of bytes a BMC sends it.
//!
//! IPMI 2.0 (section 20.8) wants the whole of it reversed, and OpenBMC does so
//! (openbmc/phosphor-host-ipmid `apphandler.cpp`, `rfc4122ToIpmi`); most others send it as SMBIOS has
//! it, with the first three groups reversed, and some as RFC 4122 does (ipmitool
//! `include/ipmitool/ipmi_mc.h`, `ipmi_guid_mode_t`).

#[cfg(test)]
mod tests;

use remediator_core::identity::{SystemUuid, UnusableUuid};

/// The GUID as the text of a UUID; `None` where the BMC has none to give. The order in which it is the expected
/// UUID wins, else the first, in ipmitool's precedence, in which it carries a version in use (RFC 9562, 4.2).
pub(super) fn uuid_of(bytes: [u8; 16], expected: Option<&SystemUuid>) -> Option<String> {
    if bytes == [0; 16] {
        return None;
    }
    let orders = [smbios(bytes), reversed(bytes), bytes];
    let matching = orders.into_iter().map(text).find(|text| {
        let found = SystemUuid::parse(text);
        // Said as it is: whoever compares finds the placeholder in it.
        found == Err(UnusableUuid::Placeholder) || found.is_ok() && found.as_ref().ok() == expected
    });
    let plausible = || orders.into_iter().find(has_version).map(text);
    Some(matching.or_else(plausible).unwrap_or_else(|| text(bytes)))
}

fn reversed(mut bytes: [u8; 16]) -> [u8; 16] {
    bytes.reverse();
    bytes
}

fn smbios(mut bytes: [u8; 16]) -> [u8; 16] {
    for group in [0..4, 4..6, 6..8] {
        if let Some(group) = bytes.get_mut(group) {
            group.reverse();
        }
    }
    bytes
}

fn has_version([_, _, _, _, _, _, version, _, variant, ..]: &[u8; 16]) -> bool {
    (1..=8).contains(&(version >> 4)) && variant >> 6 == 0b10
}

fn text(bytes: [u8; 16]) -> String {
    let mut text = format!("{:032x}", u128::from_be_bytes(bytes));
    for place in [20, 16, 12, 8] {
        text.insert(place, '-');
    }
    text
}
