//! Sealing and opening the packets of a session.

use super::{Confidentiality, Integrity, Keys, Suite, aes};
use crate::ipmi::wire::{self, Enveloped, PayloadType};

/// The keys of an open session and what they are used with.
pub(crate) struct SessionKeys {
    pub(crate) suite: Suite,
    pub(crate) keys: Keys,
}

impl SessionKeys {
    fn encrypts(&self) -> bool {
        self.suite.confidentiality != Confidentiality::None
    }

    fn authenticates(&self) -> bool {
        self.suite.integrity != Integrity::None
    }

    /// A packet to the console.
    pub(crate) fn seal(&self, console_id: u32, sequence: u32, iv: [u8; 16], payload: &[u8]) -> Vec<u8> {
        let envelope = wire::Envelope {
            payload_type: PayloadType::Message,
            encrypted: self.encrypts(),
            authenticated: self.authenticates(),
            session_id: console_id,
            sequence,
        };
        let mut bytes = match self.suite.confidentiality {
            Confidentiality::None => envelope.around(payload),
            Confidentiality::AesCbc128 => envelope.around(&aes::encrypt(&self.keys.aes, iv, payload)),
        };
        if self.authenticates() {
            wire::pad(&mut bytes);
            let covered = bytes.get(4..).unwrap_or_default();
            let code = self.code(covered);
            bytes.extend(code);
        }
        bytes
    }

    /// The payload of a packet from the console; absent when it is not the session's. Integrity and
    /// encryption are demanded where the suite has them: nothing may fall back to less.
    pub(crate) fn open(&self, packet: &Enveloped<'_>) -> Option<Vec<u8>> {
        if packet.authenticated != self.authenticates() || packet.encrypted != self.encrypts() {
            return None;
        }
        if self.authenticates() {
            let trailer = wire::trailer(packet, self.suite.integrity.code_length()).ok()?;
            if self.code(trailer.covered) != trailer.code {
                return None;
            }
        }
        match self.suite.confidentiality {
            Confidentiality::None => Some(packet.payload.to_vec()),
            Confidentiality::AesCbc128 => aes::decrypt(&self.keys.aes, packet.payload),
        }
    }

    fn code(&self, covered: &[u8]) -> Vec<u8> {
        super::digest::protect(self.suite.integrity, &self.keys.k1, &self.keys.password, covered)
    }
}
