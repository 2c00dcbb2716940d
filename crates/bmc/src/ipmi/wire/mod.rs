//! Datagrams: RMCP and RMCP+ headers (IPMI 2.0, sections 13.1 and 13.6), what is in them, and back.
//!
//! Pure. Every reader takes any bytes and answers [`Malformed`] for what is none of its messages.

mod handshake;
mod message;
mod reader;

use reader::Reader;

pub(super) use handshake::{Accepted, OpenSession, Rakp1, Reply};
pub(super) use handshake::{accepted, open_session, rakp1, rakp2, rakp3, reply};
pub(super) use message::{Request, net_fn, request, response};

/// Longest datagram that is read, in bytes. What we ask for is answered with less than 100.
pub(super) const MAX_DATAGRAM: usize = 1024;

/// RMCP 1.0, no acknowledgement asked for, class IPMI (section 13.1.3).
const RMCP: [u8; 4] = [0x06, 0x00, 0xff, 0x07];
/// The class without the bit for acknowledgements, which are never of use.
const CLASS: u8 = 0x1f;
/// Authentication type that says that an RMCP+ header follows (table 13-8).
const RMCP_PLUS: u8 = 0x06;
const ENCRYPTED: u8 = 0x80;
const AUTHENTICATED: u8 = 0x40;
/// Value of the field Next Header (section 13.6).
const NEXT_HEADER: u8 = 0x07;

/// Bytes that are none of the messages that a BMC sends us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// Payload types (table 13-16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PayloadType {
    /// An IPMI message.
    Message,
    /// RMCP+ Open Session Request.
    OpenSessionRequest,
    /// RMCP+ Open Session Response.
    OpenSessionResponse,
    /// RAKP Message 1.
    Rakp1,
    /// RAKP Message 2.
    Rakp2,
    /// RAKP Message 3.
    Rakp3,
    /// RAKP Message 4.
    Rakp4,
}

impl PayloadType {
    const ALL: [Self; 7] = [
        Self::Message,
        Self::OpenSessionRequest,
        Self::OpenSessionResponse,
        Self::Rakp1,
        Self::Rakp2,
        Self::Rakp3,
        Self::Rakp4,
    ];

    fn number(self) -> u8 {
        match self {
            Self::Message => 0x00,
            Self::OpenSessionRequest => 0x10,
            Self::OpenSessionResponse => 0x11,
            Self::Rakp1 => 0x12,
            Self::Rakp2 => 0x13,
            Self::Rakp3 => 0x14,
            Self::Rakp4 => 0x15,
        }
    }
}

/// A datagram with an RMCP+ header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet<'a> {
    pub(super) payload_type: PayloadType,
    pub(super) encrypted: bool,
    pub(super) authenticated: bool,
    /// Our id of the session; 0 outside of any.
    pub(super) session_id: u32,
    pub(super) sequence: u32,
    pub(super) payload: &'a [u8],
    /// Everything that follows the RMCP header.
    after_rmcp: &'a [u8],
    /// What follows the payload.
    trailer: &'a [u8],
}

impl<'a> Packet<'a> {
    /// What an authentication code of `length` bytes covers, and the code.
    ///
    /// Pad and Next Header are covered by the code and not looked at: implementations differ.
    pub(super) fn authentication(&self, length: usize) -> Result<(&'a [u8], &'a [u8]), Malformed> {
        let before = self.trailer.len().checked_sub(length).ok_or(Malformed)?;
        if before < 2 {
            return Err(Malformed);
        }
        let end = self.after_rmcp.len().checked_sub(length).ok_or(Malformed)?;
        self.after_rmcp.split_at_checked(end).ok_or(Malformed)
    }
}

/// Reads a datagram.
pub(super) fn packet(datagram: &[u8]) -> Result<Packet<'_>, Malformed> {
    let mut reader = Reader::new(datagram);
    let [version, _, _, class] = reader.array()?;
    if version != RMCP[0] || class & CLASS != RMCP[3] {
        return Err(Malformed);
    }
    let after_rmcp = reader.rest();
    let [authentication, kind] = reader.array()?;
    if authentication != RMCP_PLUS {
        return Err(Malformed);
    }
    let known = PayloadType::ALL.into_iter();
    let payload_type = known
        .into_iter()
        .find(|known| known.number() == kind & !(ENCRYPTED | AUTHENTICATED))
        .ok_or(Malformed)?;
    let session_id = reader.u32()?;
    let sequence = reader.u32()?;
    let length = reader.array().map(u16::from_le_bytes)?;
    Ok(Packet {
        payload_type,
        encrypted: kind & ENCRYPTED != 0,
        authenticated: kind & AUTHENTICATED != 0,
        session_id,
        sequence,
        payload: reader.bytes(usize::from(length))?,
        after_rmcp,
        trailer: reader.rest(),
    })
}

/// A message that belongs to no session.
pub(super) fn outside(payload_type: PayloadType, payload: &[u8]) -> Vec<u8> {
    enveloped(payload_type.number(), 0, 0, payload)
}

/// The part of a message of a session that its authentication code covers, RMCP header in front:
/// the caller appends the code of everything after the first 4 bytes.
pub(super) fn inside(session_id: u32, sequence: u32, sealed: &[u8]) -> Vec<u8> {
    let kind = PayloadType::Message.number() | ENCRYPTED | AUTHENTICATED;
    let mut bytes = enveloped(kind, session_id, sequence, sealed);
    // What is covered is a multiple of 4 bytes long, and so is the RMCP header, which is not.
    let missing = bytes.len().wrapping_add(2).wrapping_neg() % 4;
    bytes.extend(std::iter::repeat_n(0xff, missing));
    bytes.extend([u8::try_from(missing).unwrap_or_default(), NEXT_HEADER]);
    bytes
}

/// What [`inside`] made, without the RMCP header.
pub(super) fn covered(bytes: &[u8]) -> &[u8] {
    bytes.get(RMCP.len()..).unwrap_or_default()
}

fn enveloped(kind: u8, session_id: u32, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = RMCP.to_vec();
    bytes.extend([RMCP_PLUS, kind]);
    bytes.extend(session_id.to_le_bytes());
    bytes.extend(sequence.to_le_bytes());
    // Our own payloads are below 100 bytes.
    bytes.extend(u16::try_from(payload.len()).unwrap_or(u16::MAX).to_le_bytes());
    bytes.extend(payload);
    bytes
}
