//! IPMI messages as LAN carries them (section 13.8).

use super::Malformed;
use super::reader::Reader;

/// A request as received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// Slave address of the responder; the BMC's is 0x20.
    pub rs_addr: u8,
    /// Network function, 6 bits; even for a request.
    pub net_fn: u8,
    /// The responder's logical unit, 2 bits.
    pub rs_lun: u8,
    /// Software id or slave address of the requester.
    pub rq_addr: u8,
    /// The requester's number for this request, 6 bits.
    pub rq_seq: u8,
    /// The requester's logical unit, 2 bits.
    pub rq_lun: u8,
    /// Command.
    pub command: u8,
    /// The command's data.
    pub data: &'a [u8],
}

/// Reads a request.
///
/// # Errors
/// [`Malformed`] when it is too short or a checksum is wrong.
pub fn request(message: &[u8]) -> Result<Request<'_>, Malformed> {
    let [body @ .., last] = message else {
        return Err(Malformed::TooShort);
    };
    let mut reader = Reader::new(body);
    let [responder, net_fn_lun, header_sum] = reader.array().ok_or(Malformed::TooShort)?;
    let second = reader.rest();
    let [requester, seq_lun, command] = reader.array().ok_or(Malformed::TooShort)?;
    if checksum(&[responder, net_fn_lun]) != header_sum || checksum(second) != *last {
        return Err(Malformed::Checksum);
    }
    Ok(Request {
        rs_addr: responder,
        net_fn: net_fn_lun >> 2,
        rs_lun: net_fn_lun & 0x03,
        rq_addr: requester,
        rq_seq: seq_lun >> 2,
        rq_lun: seq_lun & 0x03,
        command,
        data: reader.rest(),
    })
}

/// The response to a request, with any `rq_seq`: one that differs is a fault to inject.
pub fn response(request: &Request<'_>, rq_seq: u8, completion: u8, data: &[u8]) -> Vec<u8> {
    let net_fn = (request.net_fn | 0x01) << 2;
    let mut bytes = vec![request.rq_addr, net_fn | request.rq_lun];
    bytes.push(checksum(&bytes));
    let seq_lun = (rq_seq << 2) | request.rs_lun;
    let mut second = vec![request.rs_addr, seq_lun, request.command, completion];
    second.extend(data);
    second.push(checksum(&second));
    bytes.extend(second);
    bytes
}

/// The byte that makes the sum zero, modulo 256.
fn checksum(bytes: &[u8]) -> u8 {
    bytes
        .iter()
        .fold(0_u8, |sum, byte| sum.wrapping_add(*byte))
        .wrapping_neg()
}
