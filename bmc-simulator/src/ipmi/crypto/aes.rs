//! AES-CBC-128 payloads (section 13.29): a fresh initialization vector, the ciphertext, and inside of
//! it a pad that counts 1, 2, 3 ... and its length.

use aes::Aes128;
use aes::cipher::block_padding::NoPadding;
use aes::cipher::{BlockDecryptMut as _, BlockEncryptMut as _, KeyIvInit as _};

const BLOCK: usize = 16;

pub(super) fn encrypt(key: &[u8; 16], iv: [u8; BLOCK], payload: &[u8]) -> Vec<u8> {
    let mut plain = payload.to_vec();
    let missing = payload.len().wrapping_add(1).wrapping_neg() % BLOCK;
    let missing = u8::try_from(missing).unwrap_or(0);
    plain.extend(1..=missing);
    plain.push(missing);
    let sealed =
        cbc::Encryptor::<Aes128>::new(&(*key).into(), &iv.into()).encrypt_padded_vec_mut::<NoPadding>(&plain);
    let mut bytes = iv.to_vec();
    bytes.extend(sealed);
    bytes
}

/// The payload; absent when it cannot have been encrypted so.
pub(super) fn decrypt(key: &[u8; 16], bytes: &[u8]) -> Option<Vec<u8>> {
    let (iv, sealed) = bytes.split_first_chunk::<BLOCK>()?;
    let mut plain = cbc::Decryptor::<Aes128>::new(&(*key).into(), &(*iv).into())
        .decrypt_padded_vec_mut::<NoPadding>(sealed)
        .ok()?;
    let pad = plain.pop()?;
    // Only the length is looked at: the bytes of the pad are covered by the authentication code.
    plain.truncate(plain.len().checked_sub(usize::from(pad))?);
    Some(plain)
}
