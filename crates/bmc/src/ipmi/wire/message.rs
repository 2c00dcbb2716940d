//! IPMI messages (section 13.8).

use super::Malformed;
use super::reader::Reader;

/// Slave address of a BMC.
const BMC: u8 = 0x20;
/// Software id of a remote console (section 5.5).
const CONSOLE: u8 = 0x81;

/// Network functions of requests (table 5-1).
pub(in crate::ipmi) mod net_fn {
    pub(in crate::ipmi) const CHASSIS: u8 = 0x00;
    pub(in crate::ipmi) const APP: u8 = 0x06;
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ipmi) struct Request<'a> {
    /// Network function, even (section 5.1).
    pub(in crate::ipmi) net_fn: u8,
    pub(in crate::ipmi) command: u8,
    pub(in crate::ipmi) data: &'a [u8],
}

/// What is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ipmi) struct Response<'a> {
    /// Network function of the request plus one.
    pub(in crate::ipmi) net_fn: u8,
    pub(in crate::ipmi) command: u8,
    /// Number of the request, 6 bits.
    pub(in crate::ipmi) rq_seq: u8,
    /// Completion code (table 5-2).
    pub(in crate::ipmi) completion: u8,
    pub(in crate::ipmi) data: &'a [u8],
}

/// Writes a request to the BMC itself.
pub(in crate::ipmi) fn request(request: &Request<'_>, rq_seq: u8) -> Vec<u8> {
    let mut bytes = vec![BMC, request.net_fn.wrapping_shl(2)];
    bytes.push(checksum(&bytes));
    let mut body = vec![CONSOLE, rq_seq.wrapping_shl(2), request.command];
    body.extend(request.data);
    body.push(checksum(&body));
    bytes.extend(body);
    bytes
}

/// Reads a response.
///
/// Its checksums are not compared: the authentication code protects more, and there are BMCs that
/// get them wrong (FreeIPMI's workaround `nochecksumcheck`).
pub(in crate::ipmi) fn response(payload: &[u8]) -> Result<Response<'_>, Malformed> {
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
    bytes
        .iter()
        .fold(0_u8, |sum, byte| sum.wrapping_add(*byte))
        .wrapping_neg()
}
