//! RMCP and session headers (sections 13.1 and 13.6) and the ASF ping (section 13.2, DSP0136).

use super::Malformed;
use super::reader::Reader;

/// Longest datagram that is read; the specification's messages are far shorter.
pub const MAX_DATAGRAM: usize = 1024;

const RMCP_VERSION: u8 = 0x06;
/// Asks for no RMCP acknowledgement; IPMI messages are never acknowledged (section 13.1.3).
const RMCP_NO_ACK: u8 = 0xff;
const CLASS_ASF: u8 = 0x06;
const CLASS_IPMI: u8 = 0x07;
const ASF_IANA: [u8; 4] = [0x00, 0x00, 0x11, 0xbe];
const ASF_PING: u8 = 0x80;
const ASF_PONG: u8 = 0x40;
/// Authentication type that means the RMCP+ header (table 13-8).
const RMCP_PLUS: u8 = 0x06;
const ENCRYPTED: u8 = 0x80;
const AUTHENTICATED: u8 = 0x40;

/// Payload types (table 13-16) that a BMC receives or sends here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayloadType {
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
    fn of(number: u8) -> Option<Self> {
        match number {
            0x00 => Some(Self::Message),
            0x10 => Some(Self::OpenSessionRequest),
            0x11 => Some(Self::OpenSessionResponse),
            0x12 => Some(Self::Rakp1),
            0x13 => Some(Self::Rakp2),
            0x14 => Some(Self::Rakp3),
            0x15 => Some(Self::Rakp4),
            _ => None,
        }
    }

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

/// A datagram, as far as it can be understood without a session's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Datagram<'a> {
    /// ASF Presence Ping.
    Ping {
        /// To be repeated in the pong.
        tag: u8,
    },
    /// An IPMI message in the session header of IPMI 1.5.
    Ipmi15 {
        /// 0 = none; every other type needs an IPMI 1.5 session.
        authentication_type: u8,
        /// 0 outside of a session.
        session_id: u32,
        /// The IPMI message.
        payload: &'a [u8],
    },
    /// A payload in the session header of RMCP+.
    RmcpPlus(Enveloped<'a>),
}

/// An RMCP+ packet as received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enveloped<'a> {
    /// What the payload is.
    pub payload_type: PayloadType,
    /// Whether the payload is encrypted.
    pub encrypted: bool,
    /// Whether the trailer carries an authentication code.
    pub authenticated: bool,
    /// Id that the receiver gave the session; 0 outside of one.
    pub session_id: u32,
    /// Number within the session; 0 outside of one.
    pub sequence: u32,
    /// The payload, still encrypted.
    pub payload: &'a [u8],
    /// What comes after the payload; see [`trailer`](super::trailer).
    pub trailer: &'a [u8],
    /// From the authentication type to the end: what the code covers, and the code.
    pub covered: &'a [u8],
}

/// Reads the headers of a datagram.
///
/// # Errors
/// [`Malformed`] when it is none that an IPMI LAN interface answers.
pub fn parse(datagram: &[u8]) -> Result<Datagram<'_>, Malformed> {
    let mut reader = Reader::new(datagram);
    let [version, _, _, class] = reader.array().ok_or(Malformed::TooShort)?;
    match (version, class) {
        (RMCP_VERSION, CLASS_ASF) => ping(reader),
        (RMCP_VERSION, CLASS_IPMI) => session(reader),
        _ => Err(Malformed::NotRmcp),
    }
}

fn ping(mut reader: Reader<'_>) -> Result<Datagram<'_>, Malformed> {
    let iana: [u8; 4] = reader.array().ok_or(Malformed::TooShort)?;
    let [kind, tag, _, _] = reader.array().ok_or(Malformed::TooShort)?;
    if iana == ASF_IANA && kind == ASF_PING {
        Ok(Datagram::Ping { tag })
    } else {
        Err(Malformed::NotPing)
    }
}

fn session(reader: Reader<'_>) -> Result<Datagram<'_>, Malformed> {
    match reader.rest().first() {
        None => Err(Malformed::TooShort),
        Some(&RMCP_PLUS) => rmcp_plus(reader),
        // None, MD2, MD5, straight password, OEM (table 13-8).
        Some(0x00 | 0x01 | 0x02 | 0x04 | 0x05) => ipmi15(reader),
        Some(_) => Err(Malformed::AuthenticationType),
    }
}

fn ipmi15(mut reader: Reader<'_>) -> Result<Datagram<'_>, Malformed> {
    let fields = |reader: &mut Reader<'_>| {
        let authentication_type = reader.u8()?;
        let _sequence = reader.u32_le()?;
        let session_id = reader.u32_le()?;
        if authentication_type != 0 {
            reader.bytes(16)?;
        }
        Some((authentication_type, session_id, reader.u8()?))
    };
    let (authentication_type, session_id, length) = fields(&mut reader).ok_or(Malformed::TooShort)?;
    // Some clients append a byte so that the length avoids a defect of old network chips.
    let payload = reader.bytes(usize::from(length)).ok_or(Malformed::Payload)?;
    Ok(Datagram::Ipmi15 {
        authentication_type,
        session_id,
        payload,
    })
}

fn rmcp_plus(mut reader: Reader<'_>) -> Result<Datagram<'_>, Malformed> {
    let covered = reader.rest();
    let fields = |reader: &mut Reader<'_>| {
        let [_, kind] = reader.array()?;
        Some((kind, reader.u32_le()?, reader.u32_le()?, reader.u16_le()?))
    };
    let (kind, session_id, sequence, length) = fields(&mut reader).ok_or(Malformed::TooShort)?;
    let payload_type = PayloadType::of(kind & !(ENCRYPTED | AUTHENTICATED)).ok_or(Malformed::Payload)?;
    let payload = reader.bytes(usize::from(length)).ok_or(Malformed::Payload)?;
    Ok(Datagram::RmcpPlus(Enveloped {
        payload_type,
        encrypted: kind & ENCRYPTED != 0,
        authenticated: kind & AUTHENTICATED != 0,
        session_id,
        sequence,
        payload,
        trailer: reader.rest(),
        covered,
    }))
}

/// The answer to a ping: "IPMI is here" (section 13.2.4).
pub fn asf_pong(tag: u8) -> Vec<u8> {
    let mut bytes = vec![RMCP_VERSION, 0, RMCP_NO_ACK, CLASS_ASF];
    bytes.extend(ASF_IANA);
    bytes.extend([ASF_PONG, tag, 0, 16]);
    bytes.extend(ASF_IANA);
    // No OEM data; IPMI is supported, by ASF version 1.0; no interactions; reserved.
    bytes.extend([0, 0, 0, 0, 0x81, 0, 0, 0, 0, 0, 0, 0]);
    bytes
}

/// An IPMI message outside of any session, in the header of IPMI 1.5.
pub(crate) fn rmcp_ipmi15(message: &[u8]) -> Vec<u8> {
    let mut bytes = vec![RMCP_VERSION, 0, RMCP_NO_ACK, CLASS_IPMI];
    bytes.extend([0; 9]);
    bytes.push(u8::try_from(message.len()).unwrap_or(u8::MAX));
    bytes.extend(message);
    bytes
}

/// An RMCP+ header to be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Envelope {
    pub(crate) payload_type: PayloadType,
    pub(crate) encrypted: bool,
    pub(crate) authenticated: bool,
    pub(crate) session_id: u32,
    pub(crate) sequence: u32,
}

impl Envelope {
    /// The header of what belongs to no session.
    pub(crate) fn outside(payload_type: PayloadType) -> Self {
        Self {
            payload_type,
            encrypted: false,
            authenticated: false,
            session_id: 0,
            sequence: 0,
        }
    }

    /// RMCP header, session header and payload, without a trailer.
    pub(crate) fn around(self, payload: &[u8]) -> Vec<u8> {
        let flags = [(self.encrypted, ENCRYPTED), (self.authenticated, AUTHENTICATED)];
        let set = flags.iter().filter(|(set, _)| *set);
        let kind = set.fold(self.payload_type.number(), |kind, (_, flag)| kind | flag);
        let mut bytes = vec![RMCP_VERSION, 0, RMCP_NO_ACK, CLASS_IPMI, RMCP_PLUS, kind];
        bytes.extend(self.session_id.to_le_bytes());
        bytes.extend(self.sequence.to_le_bytes());
        bytes.extend(u16::try_from(payload.len()).unwrap_or(u16::MAX).to_le_bytes());
        bytes.extend(payload);
        bytes
    }
}
