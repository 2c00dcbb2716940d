//! Whether a peer holds the key of a certificate that webpki may refuse to read.
//!
//! webpki verifies handshake signatures by certificates of version 3 only, and by RSA keys of 2048 bits or more.
//! This takes the key alone, and is for pinned certificates: only their fingerprint says that the key is the BMC's.

use std::sync::Arc;

use ring::signature::{
    RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY, RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY,
    UnparsedPublicKey,
};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key};
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, PeerMisbehaved, SignatureScheme};

use super::TlsFailure;
use super::leaf::PublicKey;

/// What is offered to a BMC whose RSA key is short: for PSS and for SHA-384, ring has no algorithm below 2048
/// bits (`src/rsa/verification.rs` of ring 0.17), and SHA-1 is none that anybody should accept.
pub(super) const FOR_SHORT_RSA: [SignatureScheme; 2] = [
    SignatureScheme::RSA_PKCS1_SHA256,
    SignatureScheme::RSA_PKCS1_SHA512,
];

/// Fewest bits of an RSA key that every signature can be verified with.
const RSA_BITS: usize = 2048;
/// Fewest bits of an RSA key that some signatures can be verified with.
const SHORT_RSA_BITS: usize = 1024;

/// Verifies the signature of a TLS 1.2 handshake (RFC 5246, section 7.4.3).
///
/// # Errors
/// [`CertificateError::BadSignature`] if the peer does not hold the key; [`TlsFailure`] if nobody can tell.
pub(super) fn verify_tls12(
    message: &[u8],
    key: &PublicKey<'_>,
    signed: &DigitallySignedStruct,
    algorithms: &WebPkiSupportedAlgorithms,
) -> Result<HandshakeSignatureValid, Error> {
    if let Some(bits) = short_rsa(key) {
        return verify_short_rsa(message, key, bits, signed);
    }
    let (_, candidates) = algorithms
        .mapping
        .iter()
        .find(|(scheme, _)| *scheme == signed.scheme)
        .ok_or(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme)?;
    // In TLS 1.2 a scheme of ECDSA does not say which curve it is: the key does.
    let algorithm = candidates
        .iter()
        .find(|candidate| candidate.public_key_alg_id().as_ref() == key.algorithm)
        .ok_or_else(not_for_this_key)?;
    algorithm
        .verify_signature(key.bits, message, signed.signature())
        .map_err(|_| CertificateError::BadSignature)?;
    Ok(HandshakeSignatureValid::assertion())
}

/// Verifies the signature of a TLS 1.3 handshake (RFC 8446, section 4.4.3).
pub(super) fn verify_tls13(
    message: &[u8],
    key: &PublicKey<'_>,
    signed: &DigitallySignedStruct,
    algorithms: &WebPkiSupportedAlgorithms,
) -> Result<HandshakeSignatureValid, Error> {
    if let Some(bits) = short_rsa(key) {
        // TLS 1.3 has RSA by PSS only.
        return Err(cannot_verify(bits));
    }
    let spki = SubjectPublicKeyInfoDer::from(key.spki);
    use CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext as OtherKindOfKey;
    match verify_tls13_signature_with_raw_key(message, &spki, signed, algorithms) {
        Err(Error::InvalidCertificate(OtherKindOfKey { .. })) => Err(not_for_this_key()),
        verified => verified,
    }
}

fn verify_short_rsa(
    message: &[u8],
    key: &PublicKey<'_>,
    bits: usize,
    signed: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, Error> {
    let algorithm = if signed.scheme == SignatureScheme::RSA_PKCS1_SHA256 {
        &RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY
    } else if signed.scheme == SignatureScheme::RSA_PKCS1_SHA512 {
        &RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY
    } else {
        return Err(cannot_verify(bits));
    };
    if bits < SHORT_RSA_BITS {
        return Err(cannot_verify(bits));
    }
    UnparsedPublicKey::new(algorithm, key.bits)
        .verify(message, signed.signature())
        .map_err(|_| CertificateError::BadSignature)?;
    Ok(HandshakeSignatureValid::assertion())
}

/// The bits of an RSA key that webpki's algorithms refuse as too short.
pub(super) fn short_rsa(key: &PublicKey<'_>) -> Option<usize> {
    key.rsa_bits().filter(|bits| *bits < RSA_BITS)
}

fn cannot_verify(bits: usize) -> Error {
    refused(if bits < SHORT_RSA_BITS {
        TlsFailure::RsaKeyTooShort(bits)
    } else {
        TlsFailure::RsaKeyNeedsTls12(bits)
    })
}

fn not_for_this_key() -> Error {
    refused(TlsFailure::UnusableKey(
        "it is of another kind than the signature that the BMC made".to_owned(),
    ))
}

/// A refusal of ours, through rustls.
pub(super) fn refused(failure: TlsFailure) -> Error {
    let other = OtherError(Arc::new(failure));
    Error::InvalidCertificate(CertificateError::Other(other))
}
