//! What a session does to itself and to others (sections 22.18 to 22.20).

use std::net::IpAddr;

use super::{Completion, Done};
use crate::ipmi::session::Session;
use crate::ipmi::spec::Privilege;
use crate::ipmi::state::Bmc;

/// Set Session Privilege Level; 0 only asks.
pub(super) fn set_privilege(bmc: &mut Bmc<'_, '_>, id: u32, data: &[u8]) -> Done {
    let &[wanted] = data else {
        return Err(Completion::InvalidLength);
    };
    let session = bmc.ipmi.sessions.find(id).ok_or(Completion::UnknownSession)?;
    match wanted & 0x0f {
        0 => {}
        // Callback is not to be asked for, and OEM no user has.
        1 | 5.. => return Err(Completion::LevelNotAvailable),
        number => {
            let level = Privilege::of(number).ok_or(Completion::LevelNotAvailable)?;
            if level > session.limit {
                return Err(Completion::LevelExceedsLimit);
            }
            session.privilege = level;
        }
    }
    Ok(vec![session.privilege.number()])
}

/// Close Session, by id or, where that is 0, by handle. Others' are an administrator's to close.
pub(super) fn close(bmc: &mut Bmc<'_, '_>, own: u32, data: &[u8]) -> Done {
    let sessions = &bmc.ipmi.sessions;
    let (wanted, unknown) = match *data {
        [0, 0, 0, 0, handle] => {
            let found = sessions.open().iter().find(|session| session.handle == handle);
            (found, Completion::UnknownHandle)
        }
        [a, b, c, d] => {
            let id = u32::from_le_bytes([a, b, c, d]);
            let found = sessions.open().iter().find(|session| session.managed_id == id);
            (found, Completion::UnknownSession)
        }
        _ => return Err(Completion::InvalidLength),
    };
    let id = wanted.ok_or(unknown)?.managed_id;
    let caller = bmc.ipmi.sessions.find(own).map(|session| session.privilege);
    if id != own && caller < Some(Privilege::Administrator) {
        return Err(Completion::InsufficientPrivilege);
    }
    bmc.close(id);
    Ok(Vec::new())
}

/// Get Session Info: of the own session, the nth, or the one with a handle or an id.
pub(super) fn info(bmc: &mut Bmc<'_, '_>, own: u32, data: &[u8]) -> Done {
    let open = bmc.ipmi.sessions.open();
    let found = match data {
        [0x00] => open.iter().find(|session| session.managed_id == own),
        [0xfe, handle] => open.iter().find(|session| session.handle == *handle),
        &[0xff, a, b, c, d] => {
            let id = u32::from_le_bytes([a, b, c, d]);
            open.iter().find(|session| session.managed_id == id)
        }
        [0xfe | 0xff, ..] => return Err(Completion::InvalidLength),
        [nth] => open.get(usize::from(*nth).saturating_sub(1)),
        _ => return Err(Completion::InvalidLength),
    };
    let count = |number: usize| u8::try_from(number).unwrap_or(u8::MAX) & 0x3f;
    let (most, active) = (count(bmc.ipmi.sessions.limit()), count(open.len()));
    let mut info = vec![found.map_or(0, |session| session.handle), most, active];
    if let Some(session) = found {
        info.extend(describe(session));
    }
    Ok(info)
}

fn describe(session: &Session) -> Vec<u8> {
    const RMCP_PLUS_ON_CHANNEL_1: u8 = 0x11;
    let mut fields = vec![
        session.user_id,
        session.privilege.number(),
        RMCP_PLUS_ON_CHANNEL_1,
    ];
    // The field has room for IPv4 only.
    fields.extend(match session.peer.ip() {
        IpAddr::V4(address) => address.octets(),
        IpAddr::V6(_) => [0; 4],
    });
    // The MAC address is not known above UDP.
    fields.extend([0; 6]);
    fields.extend(session.peer.port().to_le_bytes());
    fields
}
