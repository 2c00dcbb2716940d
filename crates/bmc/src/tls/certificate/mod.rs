//! What is known of a certificate that a BMC presented.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use rustls::pki_types::CertificateDer;

use super::Fingerprint;
use super::leaf::Leaf;

/// A certificate that a BMC presented, whether it is trusted or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresentedCertificate {
    /// Its SHA-256, to compare or to trust it by.
    pub fingerprint: Fingerprint,
    /// Its last moment (RFC 5280, 4.1.2.5). `None` if it cannot be read: BMCs present oddities that
    /// no strict reader takes.
    pub not_after: Option<Timestamp>,
}

impl PresentedCertificate {
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Self {
        Self {
            fingerprint: Fingerprint::of(certificate),
            not_after: not_after(certificate),
        }
    }
}

fn not_after(certificate: &[u8]) -> Option<Timestamp> {
    let seconds = Leaf::read(certificate).ok()?.not_after().ok()?;
    Timestamp::from_second(i64::try_from(seconds).ok()?).ok()
}
