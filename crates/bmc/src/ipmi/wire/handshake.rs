//! The messages that open a session (IPMI 2.0, sections 13.17 to 13.23).

use super::{Malformed, PayloadType, Reader, outside};

/// What the answers to all three requests begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ipmi) struct Reply<'a> {
    pub(in crate::ipmi) tag: u8,
    /// RMCP+ status code (table 13-15); 0 = no errors.
    pub(in crate::ipmi) status: u8,
    /// Our id of the session. Some BMCs cut refusals off in front of it.
    pub(in crate::ipmi) console_id: Option<u32>,
    pub(in crate::ipmi) rest: &'a [u8],
}

/// What follows in RAKP Message 2 (table 13-12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ipmi) struct Rakp2<'a> {
    pub(in crate::ipmi) random: [u8; 16],
    pub(in crate::ipmi) guid: [u8; 16],
    /// Key exchange authentication code.
    pub(in crate::ipmi) code: &'a [u8],
}

/// RMCP+ Open Session Request (table 13-9): the highest privilege that the session will ask for, and exactly one
/// proposal for each of authentication, integrity and confidentiality (tables 13-17 to 13-19).
pub(in crate::ipmi) fn open_session(tag: u8, privilege: u8, console_id: u32, algorithms: [u8; 3]) -> Vec<u8> {
    let mut payload = vec![tag, privilege, 0, 0];
    payload.extend(console_id.to_le_bytes());
    for (kind, number) in (0_u8..).zip(algorithms) {
        payload.extend([kind, 0, 0, 8, number, 0, 0, 0]);
    }
    outside(PayloadType::OpenSessionRequest, &payload)
}

/// RAKP Message 1 (table 13-11). The name has at most 16 bytes.
pub(in crate::ipmi) fn rakp1(tag: u8, managed_id: u32, random: &[u8; 16], role: u8, name: &[u8]) -> Vec<u8> {
    let mut payload = vec![tag, 0, 0, 0];
    payload.extend(managed_id.to_le_bytes());
    payload.extend(random);
    let length = u8::try_from(name.len()).unwrap_or(u8::MAX);
    payload.extend([role, 0, 0, length]);
    payload.extend(name);
    outside(PayloadType::Rakp1, &payload)
}

/// RAKP Message 3 (table 13-13), which says that RAKP Message 2 was right.
pub(in crate::ipmi) fn rakp3(tag: u8, managed_id: u32, code: &[u8]) -> Vec<u8> {
    let mut payload = vec![tag, 0, 0, 0];
    payload.extend(managed_id.to_le_bytes());
    payload.extend(code);
    outside(PayloadType::Rakp3, &payload)
}

/// Reads the beginning of an answer: Open Session Response, RAKP Message 2 or 4.
pub(in crate::ipmi) fn reply(payload: &[u8]) -> Result<Reply<'_>, Malformed> {
    let mut reader = Reader::new(payload);
    let [tag, status] = reader.array()?;
    let mut console_id = || {
        let [_, _] = reader.array()?;
        reader.u32()
    };
    let console_id = console_id().ok();
    Ok(Reply {
        tag,
        status,
        console_id,
        rest: reader.rest(),
    })
}

/// The BMC's id of the session, and the algorithms, of an RMCP+ Open Session Response that agrees (table 13-10).
pub(in crate::ipmi) fn accepted(rest: &[u8]) -> Result<(u32, [u8; 3]), Malformed> {
    let mut reader = Reader::new(rest);
    let managed_id = reader.u32()?;
    let mut algorithms = [0; 3];
    for (kind, algorithm) in (0_u8..).zip(&mut algorithms) {
        let [found, _, _, length, number, _, _, _] = reader.array()?;
        if found != kind || length != 8 {
            return Err(Malformed);
        }
        *algorithm = number & 0x3f;
    }
    Ok((managed_id, algorithms))
}

pub(in crate::ipmi) fn rakp2(rest: &[u8]) -> Result<Rakp2<'_>, Malformed> {
    let mut reader = Reader::new(rest);
    Ok(Rakp2 {
        random: reader.array()?,
        guid: reader.array()?,
        code: reader.rest(),
    })
}
