//! Datagrams: RMCP and RMCP+ headers (IPMI 2.0, sections 13.1 and 13.6), what is in them, and back.
//!
//! Pure. Every reader takes any bytes and answers [`Malformed`] for what is none of its messages.

mod handshake;

pub(super) use handshake::{Reply, accepted, open_session, rakp1, rakp2, rakp3, reply};

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
    Message = 0x00,
    OpenSessionRequest = 0x10,
    OpenSessionResponse = 0x11,
    Rakp1 = 0x12,
    Rakp2 = 0x13,
    Rakp3 = 0x14,
    Rakp4 = 0x15,
}

impl PayloadType {
    fn of(number: u8) -> Option<Self> {
        Some(match number {
            0x00 => Self::Message,
            0x10 => Self::OpenSessionRequest,
            0x11 => Self::OpenSessionResponse,
            0x12 => Self::Rakp1,
            0x13 => Self::Rakp2,
            0x14 => Self::Rakp3,
            0x15 => Self::Rakp4,
            _ => return None,
        })
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
    /// What an authentication code of `length` bytes covers, and the code. Pad and Next Header are not looked at:
    /// implementations differ.
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
    let payload_type = PayloadType::of(kind & !(ENCRYPTED | AUTHENTICATED)).ok_or(Malformed)?;
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
    enveloped(payload_type as u8, 0, 0, payload)
}

/// The part of a message of a session that its authentication code covers, RMCP header in front:
/// the caller appends the code of everything after the first 4 bytes.
pub(super) fn inside(session_id: u32, sequence: u32, sealed: &[u8]) -> Vec<u8> {
    let kind = PayloadType::Message as u8 | ENCRYPTED | AUTHENTICATED;
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

/// Slave address of a BMC.
const BMC: u8 = 0x20;
/// Software id of a remote console (section 5.5).
const CONSOLE: u8 = 0x81;

/// Network functions of requests (table 5-1).
pub(super) mod net_fn {
    pub(in crate::ipmi) const CHASSIS: u8 = 0x00;
    pub(in crate::ipmi) const APP: u8 = 0x06;
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request<'a> {
    /// Network function, even (section 5.1).
    pub(super) net_fn: u8,
    pub(super) command: u8,
    pub(super) data: &'a [u8],
}

/// What is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Response<'a> {
    /// Network function of the request plus one.
    pub(super) net_fn: u8,
    pub(super) command: u8,
    /// Number of the request, 6 bits.
    pub(super) rq_seq: u8,
    /// Completion code (table 5-2).
    pub(super) completion: u8,
    pub(super) data: &'a [u8],
}

impl<'a> Request<'a> {
    pub(super) const fn new(net_fn: u8, command: u8, data: &'a [u8]) -> Self {
        Self {
            net_fn,
            command,
            data,
        }
    }
}

/// Writes a request to the BMC itself.
pub(super) fn request(request: &Request<'_>, rq_seq: u8) -> Vec<u8> {
    let mut bytes = vec![BMC, request.net_fn.wrapping_shl(2)];
    bytes.push(checksum(&bytes));
    let mut body = vec![CONSOLE, rq_seq.wrapping_shl(2), request.command];
    body.extend(request.data);
    body.push(checksum(&body));
    bytes.extend(body);
    bytes
}

/// Reads a response. Its checksums are not compared: the authentication code protects more, and there are BMCs
/// that get them wrong (FreeIPMI's workaround `nochecksumcheck`).
pub(super) fn response(payload: &[u8]) -> Result<Response<'_>, Malformed> {
    let (_checksum, payload) = payload.split_last().ok_or(Malformed)?;
    let mut reader = Reader::new(payload);
    let [_, net_fn, _, _, rq_seq, command, completion] = reader.array()?;
    Ok(Response {
        net_fn: net_fn >> 2,
        command,
        rq_seq: rq_seq >> 2,
        completion,
        data: reader.rest(),
    })
}

/// What makes the sum of all bytes 0 (section 13.8).
fn checksum(bytes: &[u8]) -> u8 {
    let sum = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    sum.wrapping_neg()
}

/// Takes fields off the front of bytes that somebody else wrote.
#[derive(Clone, Copy, Debug)]
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (field, rest) = self.0.split_first_chunk::<N>().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*field)
    }

    fn bytes(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (field, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        Ok(field)
    }

    fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    fn rest(self) -> &'a [u8] {
        self.0
    }
}
