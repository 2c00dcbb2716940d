//! Message authentication codes over several pieces.

use hmac::digest::core_api::BlockSizeUser;
use hmac::digest::{Digest, KeyInit, generic_array::GenericArray};
use hmac::{Mac, SimpleHmac};
use md5::Md5;
use sha1::Sha1;
use sha2::Sha256;

use super::{Authentication, Integrity};

/// HMAC (RFC 2104) of the hash that the authentication algorithm names; empty for none.
pub(super) fn authenticate(algorithm: Authentication, key: &[u8], pieces: &[&[u8]]) -> Vec<u8> {
    match algorithm {
        Authentication::None => Vec::new(),
        Authentication::HmacSha1 => hmac::<Sha1>(key, pieces),
        Authentication::HmacMd5 => hmac::<Md5>(key, pieces),
        Authentication::HmacSha256 => hmac::<Sha256>(key, pieces),
    }
}

/// The code of a packet's trailer. MD5-128 is keyed with the password (section 13.28.4) and every
/// other with K1.
pub(super) fn protect(algorithm: Integrity, k1: &[u8], password: &[u8; 20], covered: &[u8]) -> Vec<u8> {
    let mut code = match algorithm {
        Integrity::None => Vec::new(),
        Integrity::HmacSha1_96 => hmac::<Sha1>(k1, &[covered]),
        Integrity::HmacMd5_128 => hmac::<Md5>(k1, &[covered]),
        Integrity::HmacSha256_128 => hmac::<Sha256>(k1, &[covered]),
        Integrity::Md5_128 => Md5::new()
            .chain_update(password)
            .chain_update(covered)
            .chain_update(password)
            .finalize()
            .to_vec(),
    };
    code.truncate(algorithm.code_length());
    code
}

/// No key here is longer than a block (20 and 32 bytes against 64), so it is only padded.
fn hmac<D: Digest + BlockSizeUser>(key: &[u8], pieces: &[&[u8]]) -> Vec<u8> {
    let mut block = GenericArray::<u8, D::BlockSize>::default();
    block.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    let mut mac = <SimpleHmac<D> as KeyInit>::new(&block);
    for piece in pieces {
        mac.update(piece);
    }
    mac.finalize().into_bytes().to_vec()
}
