//! What is on the wire: pure functions from bytes to fields and back. None panics on any input.
//!
//! Sections are those of the IPMI specification, version 2.0, revision 1.1.

mod datagram;
mod handshake;
mod message;
mod reader;
mod trailer;

pub use datagram::{Datagram, Enveloped, MAX_DATAGRAM, PayloadType, asf_pong, parse};
pub use handshake::{OpenSession, Proposed, Rakp1, Rakp3, open_session, rakp1, rakp3};
pub use message::{Request, request, response};
pub use trailer::{Trailer, trailer};

pub(crate) use datagram::{Envelope, rmcp_ipmi15};
pub(crate) use trailer::pad;

/// Why bytes are not what they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// It ends before its fields do.
    #[error("the datagram ends too early")]
    TooShort,
    /// The RMCP header is of another version, of a class that is not served, or an acknowledgement.
    #[error("not an RMCP datagram of class ASF or IPMI")]
    NotRmcp,
    /// An ASF message other than Presence Ping.
    #[error("not an ASF Presence Ping")]
    NotPing,
    /// An authentication type of the session header that IPMI does not define.
    #[error("unknown authentication type")]
    AuthenticationType,
    /// A payload type that is not served, or a length field that points past the end.
    #[error("unknown payload type or wrong length")]
    Payload,
    /// A checksum of an IPMI message is wrong.
    #[error("wrong checksum")]
    Checksum,
}

/// Reads bytes as everything that they could be; for tests of the readers.
#[doc(hidden)]
pub fn read_all(bytes: &[u8]) {
    let nested = match parse(bytes) {
        Ok(Datagram::RmcpPlus(packet)) => {
            for length in [0, 12, 16] {
                let _ = trailer(&packet, length);
            }
            packet.payload
        }
        Ok(Datagram::Ipmi15 { payload, .. }) => payload,
        Ok(Datagram::Ping { tag }) => {
            let _ = asf_pong(tag);
            bytes
        }
        Err(_) => bytes,
    };
    for part in [bytes, nested] {
        let _ = open_session(part);
        let _ = rakp1(part).map(|message| (message.name(), message.name_only()));
        let _ = rakp3(part);
        let _ = request(part).map(|request| response(&request, request.rq_seq, 0, request.data));
    }
}
