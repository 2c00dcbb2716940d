//! Who the BMC is and what its LAN channel can do (chapters 20 and 22).

use super::{Completion, Done};
use crate::ipmi::crypto::Suite;
use crate::ipmi::spec::Privilege;
use crate::ipmi::state::{Bmc, guid};

/// The one LAN channel.
const LAN_CHANNEL: u8 = 1;
/// Means the channel that the request came by.
const THIS_CHANNEL: u8 = 0x0e;
/// Bytes of records in one response of Get Channel Cipher Suites (section 22.15).
const PAGE: usize = 16;
/// IANA number of the IPMI forum, for want of a vendor (section 22.24).
const IPMI_FORUM: [u8; 3] = [0xf2, 0x1b, 0x00];

/// Get Device ID (section 20.1): firmware 0.1, IPMI 2.0, a chassis device of no vendor.
pub(super) fn device_id() -> Vec<u8> {
    let (major, minor) = (0x00, 0x01);
    vec![0x20, 0x01, major, minor, 0x02, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0]
}

/// Get Self Test Results (section 20.4): no error.
pub(super) fn self_test() -> Vec<u8> {
    vec![0x55, 0x00]
}

/// Get Device GUID (section 20.8): the BMC's own, which Redfish shows as the service's.
pub(super) fn device_guid(bmc: &Bmc<'_, '_>) -> Vec<u8> {
    let uuid = &bmc.acting.core.identities.service_uuid;
    guid(uuid).unwrap_or_default().to_vec()
}

/// Get Channel Authentication Capabilities (section 22.13).
pub(super) fn authentication_capabilities(bmc: &Bmc<'_, '_>, data: &[u8]) -> Done {
    let &[channel, privilege] = data else {
        return Err(Completion::InvalidLength);
    };
    own_channel(channel)?;
    Privilege::of(privilege & 0x0f).ok_or(Completion::InvalidField)?;
    // Bit 7 asks for the data of IPMI 2.0; who does not is told of IPMI 1.5, which is not offered.
    let extended = channel & 0x80;
    let only_rmcp_plus = if extended == 0 { 0x00 } else { 0x02 };
    let two_key = if bmc.ipmi.settings.kg.is_some() {
        0x20
    } else {
        0x00
    };
    let named_users = 0x04;
    let status = if extended == 0 {
        named_users
    } else {
        named_users | two_key
    };
    Ok(vec![LAN_CHANNEL, extended, status, only_rmcp_plus, 0, 0, 0, 0])
}

/// Get Channel Cipher Suites (section 22.15): 16 bytes of the list, from the index on.
pub(super) fn cipher_suites(bmc: &Bmc<'_, '_>, data: &[u8]) -> Done {
    let &[channel, payload_type, list] = data else {
        return Err(Completion::InvalidLength);
    };
    own_channel(channel)?;
    if payload_type & 0x3f != 0 {
        return Err(Completion::InvalidField);
    }
    let suites = &bmc.ipmi.settings.suites;
    let records = if list & 0x80 == 0 {
        algorithms(suites)
    } else {
        by_suite(suites)
    };
    let start = usize::from(list & 0x3f).saturating_mul(PAGE);
    let page = records.into_iter().skip(start).take(PAGE);
    Ok(std::iter::once(LAN_CHANNEL).chain(page).collect())
}

/// A record per suite: start of record, id, and its algorithms, tagged by kind (section 22.15.1).
fn by_suite(suites: &[Suite]) -> Vec<u8> {
    suites
        .iter()
        .flat_map(|suite| {
            let [authentication, integrity, confidentiality] = tagged(*suite);
            [0xc0, suite.id, authentication, integrity, confidentiality]
        })
        .collect()
}

/// Each algorithm once, without saying which go together.
fn algorithms(suites: &[Suite]) -> Vec<u8> {
    let mut all: Vec<u8> = suites.iter().flat_map(|suite| tagged(*suite)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn tagged(suite: Suite) -> [u8; 3] {
    [
        suite.authentication.number(),
        0x40 | suite.integrity.number(),
        0x80 | suite.confidentiality.number(),
    ]
}

/// Get Channel Info (section 22.24): 802.3 LAN, IPMB messages, several sessions.
pub(super) fn channel_info(bmc: &Bmc<'_, '_>, data: &[u8]) -> Done {
    let &[channel] = data else {
        return Err(Completion::InvalidLength);
    };
    own_channel(channel)?;
    let active = u8::try_from(bmc.ipmi.sessions.open().len()).unwrap_or(u8::MAX) & 0x3f;
    let mut info = vec![LAN_CHANNEL, 0x04, 0x01, 0x80 | active];
    info.extend(IPMI_FORUM);
    info.extend([0, 0]);
    Ok(info)
}

fn own_channel(channel: u8) -> Result<(), Completion> {
    match channel & 0x0f {
        LAN_CHANNEL | THIS_CHANNEL => Ok(()),
        _ => Err(Completion::InvalidField),
    }
}
