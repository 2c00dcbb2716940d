//! Cipher suites 17 and 3: the codes of the login, the keys of a session, sealing and opening its packets
//! (IPMI 2.0, sections 13.28 to 13.32 and 22.15.2). Suites 0, 1 and 2 are not there: they leave out the
//! password's proof, the authentication of packets, or their encryption.

use aes::Aes128;
use aes::cipher::block_padding::NoPadding;
use aes::cipher::{BlockDecryptMut as _, BlockEncryptMut as _, KeyIvInit as _};
use hmac::digest::core_api::BlockSizeUser;
use hmac::digest::generic_array::GenericArray;
use hmac::digest::{Digest, KeyInit};
use hmac::{Mac as _, SimpleHmac};
use sha1::Sha1;
use sha2::Sha256;
use subtle::ConstantTimeEq as _;
use zeroize::{Zeroize as _, Zeroizing};

use super::wire::{self, Packet, PayloadType};

const BLOCK: usize = 16;
/// Length of the constants that K1 and K2 are made of, whatever the hash (section 13.32).
const CONSTANT: usize = 20;

/// A cipher suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CipherSuite {
    /// RAKP-HMAC-SHA256, HMAC-SHA256-128, AES-CBC-128.
    Seventeen,
    /// RAKP-HMAC-SHA1, HMAC-SHA1-96, AES-CBC-128.
    Three,
}

impl CipherSuite {
    /// Best first.
    pub(super) const ALL: [Self; 2] = [Self::Seventeen, Self::Three];

    pub(super) fn id(self) -> u8 {
        match self {
            Self::Seventeen => 17,
            Self::Three => 3,
        }
    }

    /// Numbers of authentication, integrity and confidentiality (tables 13-17 to 13-19).
    pub(super) fn algorithms(self) -> [u8; 3] {
        match self {
            Self::Seventeen => [3, 4, 1],
            Self::Three => [1, 1, 1],
        }
    }

    /// Length of the codes of packets and of RAKP Message 4.
    fn code_length(self) -> usize {
        match self {
            Self::Seventeen => 16,
            Self::Three => 12,
        }
    }

    fn hmac(self, key: &[u8], pieces: &[&[u8]]) -> Zeroizing<Vec<u8>> {
        match self {
            Self::Seventeen => hmac::<Sha256>(key, pieces),
            Self::Three => hmac::<Sha1>(key, pieces),
        }
    }

    fn short_hmac(self, key: &[u8], pieces: &[&[u8]]) -> Zeroizing<Vec<u8>> {
        let mut code = self.hmac(key, pieces);
        code.truncate(self.code_length());
        code
    }
}

/// HMAC (RFC 2104). No key here is longer than a block (at most 32 bytes of 64), so it is only padded.
fn hmac<D: Digest + BlockSizeUser>(key: &[u8], pieces: &[&[u8]]) -> Zeroizing<Vec<u8>> {
    let mut block = GenericArray::<u8, D::BlockSize>::default();
    for (to, from) in block.iter_mut().zip(key) {
        *to = *from;
    }
    let mut mac = <SimpleHmac<D> as KeyInit>::new(&block);
    block.as_mut_slice().zeroize();
    for piece in pieces {
        mac.update(piece);
    }
    Zeroizing::new(mac.finalize().into_bytes().to_vec())
}

/// What both sides said while the session was opened: SIDM, SIDC, RM, RC, GUIDC, RoleM (the whole byte), UNameM.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transcript<'a> {
    pub(super) suite: CipherSuite,
    pub(super) console_id: u32,
    pub(super) managed_id: u32,
    pub(super) console_random: [u8; 16],
    pub(super) managed_random: [u8; 16],
    pub(super) guid: [u8; 16],
    pub(super) role: u8,
    pub(super) name: &'a [u8],
}

impl Transcript<'_> {
    /// Whether the code of RAKP Message 2 shows that the BMC knows the password.
    pub(super) fn rakp2_proves(&self, password: &[u8], code: &[u8]) -> bool {
        let pieces: [&[u8]; 6] = [
            &self.console_id.to_le_bytes(),
            &self.managed_id.to_le_bytes(),
            &self.console_random,
            &self.managed_random,
            &self.guid,
            &self.user(),
        ];
        self.suite.hmac(password, &pieces).ct_eq(code).into()
    }

    /// The code of RAKP Message 3, with which we show that we know it.
    pub(super) fn rakp3_code(&self, password: &[u8]) -> Zeroizing<Vec<u8>> {
        let pieces: [&[u8]; 3] = [&self.managed_random, &self.console_id.to_le_bytes(), &self.user()];
        self.suite.hmac(password, &pieces)
    }

    /// The session integrity key (SIK), out of the BMC's key KG or else the password (section 13.31).
    pub(super) fn session_integrity_key(&self, key: &[u8]) -> Zeroizing<Vec<u8>> {
        let pieces: [&[u8]; 3] = [&self.console_random, &self.managed_random, &self.user()];
        self.suite.hmac(key, &pieces)
    }

    /// Whether the integrity check value of RAKP Message 4 shows that the BMC has the same SIK.
    pub(super) fn rakp4_proves(&self, sik: &[u8], code: &[u8]) -> bool {
        let pieces: [&[u8]; 3] = [&self.console_random, &self.managed_id.to_le_bytes(), &self.guid];
        self.suite.short_hmac(sik, &pieces).ct_eq(code).into()
    }

    /// Role, length of the name, and the name.
    fn user(&self) -> Vec<u8> {
        let length = u8::try_from(self.name.len()).unwrap_or(u8::MAX);
        [&[self.role, length], self.name].concat()
    }
}

/// The keys of a session (section 13.32).
pub(super) struct SessionKeys {
    suite: CipherSuite,
    /// For the codes of packets.
    k1: Zeroizing<Vec<u8>>,
    /// For their encryption: the first bytes of K2.
    aes: Zeroizing<[u8; BLOCK]>,
}

impl SessionKeys {
    pub(super) fn new(suite: CipherSuite, sik: &[u8]) -> Self {
        let k2 = suite.hmac(sik, &[&[0x02; CONSTANT]]);
        Self {
            suite,
            k1: suite.hmac(sik, &[&[0x01; CONSTANT]]),
            aes: Zeroizing::new(k2.first_chunk().copied().unwrap_or_default()),
        }
    }

    /// Encrypts and authenticates a message to the BMC.
    pub(super) fn seal(&self, managed_id: u32, sequence: u32, iv: [u8; BLOCK], message: &[u8]) -> Vec<u8> {
        let mut plain = message.to_vec();
        let missing = plain.len().wrapping_add(1).wrapping_neg() % BLOCK;
        let missing = u8::try_from(missing).unwrap_or_default();
        plain.extend(1..=missing);
        plain.push(missing);
        let cipher = cbc::Encryptor::<Aes128>::new((&*self.aes).into(), &iv.into());
        let mut sealed = iv.to_vec();
        sealed.extend(cipher.encrypt_padded_vec_mut::<NoPadding>(&plain));
        let mut datagram = wire::inside(managed_id, sequence, &sealed);
        let code = self.suite.short_hmac(&self.k1, &[wire::covered(&datagram)]);
        datagram.extend(code.as_slice());
        datagram
    }

    /// The message in a packet of the BMC; `None` unless it is authentic and encrypted, as was agreed.
    pub(super) fn open(&self, packet: &Packet<'_>) -> Option<Vec<u8>> {
        if !packet.authenticated || !packet.encrypted || packet.payload_type != PayloadType::Message {
            return None;
        }
        let (covered, code) = packet.authentication(self.suite.code_length()).ok()?;
        let expected = self.suite.short_hmac(&self.k1, &[covered]);
        if !bool::from(expected.ct_eq(code)) {
            return None;
        }
        let (iv, sealed) = packet.payload.split_first_chunk::<BLOCK>()?;
        let cipher = cbc::Decryptor::<Aes128>::new((&*self.aes).into(), iv.into());
        let mut plain = cipher.decrypt_padded_vec_mut::<NoPadding>(sealed).ok()?;
        let pad = plain.pop()?;
        plain.truncate(plain.len().checked_sub(usize::from(pad))?);
        Some(plain)
    }
}
