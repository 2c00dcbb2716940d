//! IPMI 2.0 over LAN (RMCP+), as far as power control needs it.
//!
//! Exchanges of a whole conversation: Open Session, RAKP Messages 1 and 3, Set Session Privilege
//! Level, Get System GUID, then one for each reading and each command, and Close Session.
//!
//! IPMI has one bit for the power: a host on its way off is On until it is off.

mod crypto;
mod driver;
mod error;
mod guid;
mod handshake;
mod link;
mod login;
mod rakp;
mod session;
mod status;
#[cfg(test)]
mod tests;
mod wire;

use std::io;

pub(super) use driver::Ipmi;
pub use error::IpmiError;

/// Random bytes of the operating system.
fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| io::Error::other(format!("the operating system has no random numbers: {error}")))?;
    Ok(bytes)
}

/// Reads any bytes as everything that a BMC could send, for fuzzing: whatever they are, this must
/// not panic. Answers whether they were any message at all.
pub fn read_datagram(bytes: &[u8]) -> bool {
    let session = [0x2a; 32];
    let packet = wire::packet(bytes);
    let payload = packet.map_or(bytes, |packet| packet.payload);
    let opened = crypto::CipherSuite::ALL.into_iter().filter_map(|suite| {
        let keys = crypto::SessionKeys::new(suite, &session);
        packet.ok().and_then(|packet| keys.open(&packet))
    });
    let messages = opened.filter(|message| wire::response(message).is_ok()).count();
    let reply = wire::reply(payload);
    let rest = reply.map_or(payload, |reply| reply.rest);
    let known = [
        wire::accepted(rest).is_ok(),
        wire::rakp2(rest).is_ok(),
        wire::response(payload).is_ok(),
        reply.is_ok(),
        messages > 0,
    ];
    known.contains(&true)
}
