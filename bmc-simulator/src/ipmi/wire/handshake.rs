//! What a console sends to open a session (sections 13.17, 13.20 and 13.22).

use super::Malformed;
use super::reader::Reader;

/// One proposed algorithm of an Open Session Request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proposed {
    /// The length field is 0: the BMC may choose.
    Any,
    /// This algorithm, 6 bits.
    Number(u8),
    /// The record is of another type or length than its place asks for.
    Illegal,
}

/// RMCP+ Open Session Request (table 13-9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenSession {
    /// To be repeated in the response.
    pub tag: u8,
    /// Highest privilege asked for, 4 bits; 0 = the highest that the algorithms allow.
    pub privilege: u8,
    /// Id that the console gives the session.
    pub console_id: u32,
    /// Authentication algorithm.
    pub authentication: Proposed,
    /// Integrity algorithm.
    pub integrity: Proposed,
    /// Confidentiality algorithm.
    pub confidentiality: Proposed,
}

/// Reads an Open Session Request.
///
/// # Errors
/// [`Malformed::TooShort`] when a field is cut off.
pub fn open_session(payload: &[u8]) -> Result<OpenSession, Malformed> {
    let mut reader = Reader::new(payload);
    let mut fields = || {
        let [tag, privilege, _, _] = reader.array()?;
        Some(OpenSession {
            tag,
            privilege: privilege & 0x0f,
            console_id: reader.u32_le()?,
            authentication: proposed(0, reader.array()?),
            integrity: proposed(1, reader.array()?),
            confidentiality: proposed(2, reader.array()?),
        })
    };
    fields().ok_or(Malformed::TooShort)
}

fn proposed(place: u8, record: [u8; 8]) -> Proposed {
    match record {
        [kind, _, _, 0, ..] if kind == place => Proposed::Any,
        [kind, _, _, 8, number, ..] if kind == place => Proposed::Number(number & 0x3f),
        _ => Proposed::Illegal,
    }
}

/// RAKP Message 1 (table 13-11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rakp1<'a> {
    /// To be repeated in RAKP Message 2.
    pub tag: u8,
    /// Id that the BMC gave the session.
    pub managed_id: u32,
    /// The console's random number.
    pub random: [u8; 16],
    /// Requested privilege and the bit for the kind of look-up; goes into the codes as it is.
    pub role: u8,
    /// Length of the user name as the message says.
    pub name_length: u8,
    /// What follows the length: the name, perhaps padded, perhaps cut off.
    pub name_field: &'a [u8],
}

impl<'a> Rakp1<'a> {
    /// The user name, at most 16 bytes; absent when the length field is wrong.
    pub fn name(&self) -> Option<&'a [u8]> {
        let length = usize::from(self.name_length);
        self.name_field.get(..length).filter(|name| name.len() <= 16)
    }

    /// Whether the user is looked up by name alone (1b) and not by name and privilege (0b).
    pub fn name_only(&self) -> bool {
        self.role & 0x10 != 0
    }
}

/// Reads RAKP Message 1.
///
/// # Errors
/// [`Malformed::TooShort`] when a field before the name is cut off.
pub fn rakp1(payload: &[u8]) -> Result<Rakp1<'_>, Malformed> {
    let mut reader = Reader::new(payload);
    let mut fields = || {
        let [tag, _, _, _] = reader.array()?;
        let managed_id = reader.u32_le()?;
        let random = reader.array()?;
        let [role, _, _, name_length] = reader.array()?;
        Some(Rakp1 {
            tag,
            managed_id,
            random,
            role,
            name_length,
            name_field: reader.rest(),
        })
    };
    fields().ok_or(Malformed::TooShort)
}

/// RAKP Message 3 (table 13-13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rakp3<'a> {
    /// To be repeated in RAKP Message 4.
    pub tag: u8,
    /// The console's verdict on RAKP Message 2; 0 = go on.
    pub status: u8,
    /// Id that the BMC gave the session.
    pub managed_id: u32,
    /// Key exchange authentication code; its length depends on the algorithm.
    pub code: &'a [u8],
}

/// Reads RAKP Message 3.
///
/// # Errors
/// [`Malformed::TooShort`] when a field before the code is cut off.
pub fn rakp3(payload: &[u8]) -> Result<Rakp3<'_>, Malformed> {
    let mut reader = Reader::new(payload);
    let mut fields = || {
        let [tag, status, _, _] = reader.array()?;
        Some(Rakp3 {
            tag,
            status,
            managed_id: reader.u32_le()?,
            code: reader.rest(),
        })
    };
    fields().ok_or(Malformed::TooShort)
}
