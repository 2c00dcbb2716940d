//! The algorithms of a session, written a second time (IPMI 2.0 revision 1.1, sections 13.28 to 13.32).

use aes::cipher::{BlockDecryptMut, BlockEncryptMut, KeyIvInit, block_padding::NoPadding};
use hmac::{Hmac, Mac};
use md5::{Digest, Md5};

/// Authentication, integrity, confidentiality by their numbers.
pub(super) fn algorithms(suite: u8) -> [u8; 3] {
    match suite {
        0 => [0, 0, 0],
        1 => [1, 0, 0],
        2 => [1, 1, 0],
        3 => [1, 1, 1],
        6 => [2, 0, 0],
        7 => [2, 2, 0],
        8 => [2, 2, 1],
        11 => [2, 3, 0],
        12 => [2, 3, 1],
        15 => [3, 0, 0],
        16 => [3, 4, 0],
        17 => [3, 4, 1],
        other => panic!("suite {other}"),
    }
}

pub(super) fn hmac(authentication: u8, key: &[u8], data: &[u8]) -> Vec<u8> {
    match authentication {
        0 => Vec::new(),
        1 => Hmac::<sha1::Sha1>::new_from_slice(key)
            .unwrap()
            .chain_update(data)
            .finalize()
            .into_bytes()
            .to_vec(),
        2 => Hmac::<Md5>::new_from_slice(key)
            .unwrap()
            .chain_update(data)
            .finalize()
            .into_bytes()
            .to_vec(),
        3 => Hmac::<sha2::Sha256>::new_from_slice(key)
            .unwrap()
            .chain_update(data)
            .finalize()
            .into_bytes()
            .to_vec(),
        other => panic!("authentication algorithm {other}"),
    }
}

/// The code in a packet's trailer.
pub(super) fn integrity(algorithm: u8, k1: &[u8], password: &str, data: &[u8]) -> Vec<u8> {
    match algorithm {
        0 => Vec::new(),
        1 => hmac(1, k1, data)[..12].to_vec(),
        2 => hmac(2, k1, data),
        3 => {
            let mut key = password.as_bytes().to_vec();
            key.resize(20, 0);
            Md5::digest([key.as_slice(), data, key.as_slice()].concat()).to_vec()
        }
        4 => hmac(3, k1, data)[..16].to_vec(),
        other => panic!("integrity algorithm {other}"),
    }
}

pub(super) fn encrypt(key: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut plain = payload.to_vec();
    let mut pad = 0;
    while !(plain.len() + 1).is_multiple_of(16) {
        pad += 1;
        plain.push(pad);
    }
    plain.push(pad);
    let iv = [0x5a; 16];
    let encryptor = cbc::Encryptor::<aes::Aes128>::new_from_slices(&key[..16], &iv).unwrap();
    [iv.to_vec(), encryptor.encrypt_padded_vec_mut::<NoPadding>(&plain)].concat()
}

pub(super) fn decrypt(key: &[u8], payload: &[u8]) -> Vec<u8> {
    let (iv, sealed) = payload.split_at(16);
    let decryptor = cbc::Decryptor::<aes::Aes128>::new_from_slices(&key[..16], iv).unwrap();
    let mut plain = decryptor.decrypt_padded_vec_mut::<NoPadding>(sealed).unwrap();
    let pad = plain.pop().unwrap();
    let counted: Vec<u8> = (1..=pad).collect();
    assert!(plain.ends_with(&counted), "the pad counts: {plain:02x?}");
    plain.truncate(plain.len() - usize::from(pad));
    plain
}
