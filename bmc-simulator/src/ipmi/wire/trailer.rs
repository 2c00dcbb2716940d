//! The trailer of an authenticated RMCP+ packet (section 13.6).

use super::{Enveloped, Malformed};

/// Value of the field Next Header.
const NEXT_HEADER: u8 = 0x07;
const PAD: u8 = 0xff;

/// A trailer as received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trailer<'a> {
    /// What the authentication code covers.
    pub covered: &'a [u8],
    /// The authentication code.
    pub code: &'a [u8],
}

/// Reads the trailer of a packet whose code is `length` bytes long, which is the session's to know.
///
/// # Errors
/// [`Malformed::TooShort`] when the code, the pad or its length is cut off.
pub fn trailer<'a>(packet: &Enveloped<'a>, length: usize) -> Result<Trailer<'a>, Malformed> {
    let split = |bytes: &'a [u8]| bytes.split_at_checked(bytes.len().checked_sub(length)?);
    let (before, code) = split(packet.trailer).ok_or(Malformed::TooShort)?;
    // The value of Next Header is not looked at: it is covered by the code, and clients differ.
    let [pad @ .., pad_length, _next] = before else {
        return Err(Malformed::TooShort);
    };
    if pad.len() != usize::from(*pad_length) {
        return Err(Malformed::Payload);
    }
    let (covered, _) = split(packet.covered).ok_or(Malformed::TooShort)?;
    Ok(Trailer { covered, code })
}

/// Appends pad, pad length and next header, so that what the code covers is a multiple of 4 bytes.
/// `bytes` begins with the RMCP header, which is not covered.
pub(crate) fn pad(bytes: &mut Vec<u8>) {
    // The RMCP header is 4 bytes, so it does not change the remainder.
    let missing = bytes.len().wrapping_add(2).wrapping_neg() % 4;
    bytes.extend(std::iter::repeat_n(PAD, missing));
    bytes.push(u8::try_from(missing).unwrap_or(0));
    bytes.push(NEXT_HEADER);
}
