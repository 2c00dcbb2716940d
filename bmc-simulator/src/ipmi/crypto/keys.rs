//! The codes of the handshake and the keys that come of it (sections 13.28, 13.31 and 13.32).

use super::digest::authenticate;
use super::{Authentication, Suite};

/// Length of the constants that K1 and K2 are made of, whatever the hash (section 13.32).
const CONSTANT: usize = 20;
/// Length of AES-CBC-128's key: the first bytes of K2 (section 13.29).
const AES_KEY: usize = 16;

/// What both sides said while the session was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Transcript {
    /// SIDM: the console's id of the session.
    pub(crate) console_id: u32,
    /// SIDC: the BMC's id of the session.
    pub(crate) managed_id: u32,
    /// RM.
    pub(crate) console_random: [u8; 16],
    /// RC.
    pub(crate) managed_random: [u8; 16],
    /// GUIDC.
    pub(crate) guid: [u8; 16],
    /// RoleM: the whole byte, look-up bit included.
    pub(crate) role: u8,
    /// UNameM.
    pub(crate) name: Vec<u8>,
}

/// A session's keys, and the codes that were exchanged for them.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Keys {
    /// Key exchange authentication code of RAKP Message 2.
    pub(crate) rakp2: Vec<u8>,
    /// The same of RAKP Message 3, as the console has to send it.
    pub(crate) rakp3: Vec<u8>,
    /// Integrity check value of RAKP Message 4.
    pub(crate) rakp4: Vec<u8>,
    pub(super) k1: Vec<u8>,
    pub(super) aes: [u8; AES_KEY],
    pub(super) password: [u8; 20],
}

impl Transcript {
    /// Everything that follows from the password, the BMC's key and the transcript. `kg: None` is
    /// the one-key login, in which the password takes KG's place (section 13.31).
    pub(crate) fn keys(&self, suite: Suite, password: [u8; 20], kg: Option<&[u8]>) -> Keys {
        let algorithm = suite.authentication;
        let name_length = [u8::try_from(self.name.len()).unwrap_or(u8::MAX)];
        let role: [&[u8]; 3] = [&[self.role], &name_length, &self.name];
        let (console_id, managed_id) = (self.console_id.to_le_bytes(), self.managed_id.to_le_bytes());
        let code = |key: &[u8], pieces: &[&[u8]]| authenticate(algorithm, key, pieces);
        let [role_byte, length, name] = role;

        let rakp2: [&[u8]; 8] = [
            &console_id,
            &managed_id,
            &self.console_random,
            &self.managed_random,
            &self.guid,
            role_byte,
            length,
            name,
        ];
        let rakp3: [&[u8]; 5] = [&self.managed_random, &console_id, role_byte, length, name];
        let session: [&[u8]; 5] = [
            &self.console_random,
            &self.managed_random,
            role_byte,
            length,
            name,
        ];
        let sik = code(kg.unwrap_or(&password), &session);
        let mut rakp4 = code(&sik, &[&self.console_random, &managed_id, &self.guid]);
        rakp4.truncate(check_value_length(algorithm));
        let k2 = code(&sik, &[&[0x02; CONSTANT]]);
        Keys {
            rakp2: code(&password, &rakp2),
            rakp3: code(&password, &rakp3),
            rakp4,
            k1: code(&sik, &[&[0x01; CONSTANT]]),
            aes: k2.first_chunk().copied().unwrap_or_default(),
            password,
        }
    }
}

/// RAKP Message 4 carries the code as the integrity algorithm of the same hash does (section 13.28.1).
fn check_value_length(algorithm: Authentication) -> usize {
    match algorithm {
        Authentication::None => 0,
        Authentication::HmacSha1 => 12,
        Authentication::HmacMd5 | Authentication::HmacSha256 => 16,
    }
}
