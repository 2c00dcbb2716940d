//! Cipher suites, the keys of a session, and sealing and opening its packets.

mod aes;
mod digest;
mod keys;
mod packet;
mod suite;

pub(crate) use keys::{Keys, Transcript};
pub(crate) use packet::SessionKeys;
pub(crate) use suite::{Authentication, Confidentiality, Integrity, Suite, find};
