//! Who a BMC has to prove to be before it gets credentials.

mod client;
mod failure;
mod leaf;
mod signature;
#[cfg(test)]
mod tests;
mod verifier;

use std::fmt;
use std::str::FromStr;

use rustls::pki_types::CertificateDer;

pub(super) use client::{ClientSide, Offer};
pub use failure::TlsFailure;
pub use leaf::{PresentedCertificate, read_certificate};

/// How the certificate of a BMC is verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerTrust {
    /// It chains to one of these certificates (PEM, one or more) and has the host's name or
    /// address as subject alternative name.
    CertificateAuthority(String),
    /// Its SHA-256 is one of these; name, dates and issuer do not matter. For the self-signed certificates that
    /// BMCs are delivered with; several allow a certificate to be exchanged.
    Fingerprints(Vec<Fingerprint>),
    /// As [`Self::CertificateAuthority`], with the operating system's roots.
    SystemRoots,
    /// Anything goes. Counts as [`super::TransportSecurity::UnverifiedTls`].
    Unverified,
}

/// SHA-256 over the DER form of a leaf certificate, as `openssl x509 -fingerprint -sha256` prints.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(pub [u8; 32]);

/// The text is not a SHA-256 fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a certificate fingerprint is 64 hexadecimal digits (SHA-256), with or without colons. Take it from `openssl x509 -noout -fingerprint -sha256`."
)]
pub struct BadFingerprint;

impl Fingerprint {
    pub(super) fn of(certificate: &CertificateDer<'_>) -> Self {
        use sha2::Digest as _;
        Self(sha2::Sha256::digest(certificate).into())
    }
}

impl FromStr for Fingerprint {
    type Err = BadFingerprint;

    /// Reads 64 hexadecimal digits of any case, with colons between all bytes or none, and
    /// `sha256:` or `SHA256 Fingerprint=` in front allowed.
    fn from_str(text: &str) -> Result<Self, BadFingerprint> {
        let text = text.trim().to_ascii_lowercase();
        let text = text
            .strip_prefix("sha256 fingerprint=")
            .or(text.strip_prefix("sha256:"))
            .unwrap_or(&text);
        let digits = match text.len() {
            64 => text.to_owned(),
            95 if text.split(':').all(|byte| byte.len() == 2) => text.replace(':', ""),
            _ => return Err(BadFingerprint),
        };
        let bytes = crate::credentials::hexadecimal(&digits).ok_or(BadFingerprint)?;
        let bytes = bytes.as_slice().try_into().map_err(|_| BadFingerprint)?;
        Ok(Self(bytes))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.map(|byte| format!("{byte:02X}"));
        formatter.write_str(&bytes.join(":"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}
