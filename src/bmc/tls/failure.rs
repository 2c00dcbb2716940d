//! Turns what rustls says into what an administrator can do.

use std::io;

use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};

use super::Fingerprint;
use super::verifier::OtherFingerprint;

/// Why TLS did not come about. Each message ends with what to set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsFailure {
    /// Self-signed with CA:TRUE. webpki refuses it as a leaf even if exactly it is trusted.
    #[error(
        "the certificate is a CA certificate used by the server itself. Trust it by its fingerprint instead."
    )]
    CaUsedAsEndEntity,
    /// Past its date.
    #[error("the certificate has expired. Renew it on the BMC, or trust it by its fingerprint.")]
    Expired,
    /// Before its date.
    #[error(
        "the certificate is not valid yet. Correct the clock of the BMC or of this machine, or trust it by its fingerprint."
    )]
    NotYetValid,
    /// No subject alternative name fits.
    #[error(
        "the certificate is for another name or address, or only has a common name. Issue one with the BMC's host as subject alternative name, or trust it by its fingerprint."
    )]
    NameMismatch,
    /// Does not chain to what is trusted.
    #[error(
        "the certificate is signed by an unknown issuer. Configure its CA certificate, or trust it by its fingerprint."
    )]
    UnknownIssuer,
    /// Not a pinned one.
    #[error(
        "the certificate has the fingerprint {seen}, which is not trusted. Compare it with the BMC's console; add it only if they are equal."
    )]
    FingerprintMismatch {
        /// The SHA-256 of the certificate that was presented.
        seen: Fingerprint,
    },
    /// The peer does not hold the key, or the key is of a kind that cannot be checked (RSA-1024).
    #[error(
        "the BMC could not prove that it holds the key of its certificate, or the key is too weak to check. Give the BMC a certificate with an RSA-2048 or ECDSA key."
    )]
    BadSignature,
    /// Broken, X.509 v1, unknown critical extensions.
    #[error("the certificate cannot be verified ({detail}). Give the BMC a new certificate.")]
    BadCertificate {
        /// What rustls says.
        detail: String,
    },
    /// No cipher suite in common.
    #[error(
        "the BMC has no cipher suite in common with us; we need ECDHE with AES-GCM or ChaCha20. Update its firmware, or use IPMI."
    )]
    HandshakeFailure,
    /// Only TLS 1.1 or older.
    #[error(
        "the BMC speaks no TLS 1.2 or later. Update its firmware or raise its minimum TLS version, or use IPMI."
    )]
    ProtocolVersion,
    /// The port does not speak TLS.
    #[error(
        "the port does not speak TLS. Check the port; a BMC that only has clear-text HTTP needs a redfish+http:// address and permission for it."
    )]
    NotTls,
    /// Anything else.
    #[error("{detail}. Try `openssl s_client` against the BMC to see more.")]
    Other {
        /// What rustls says.
        detail: String,
    },
}

impl TlsFailure {
    /// Reads the failure out of what tokio-rustls returns. `None`: the network failed, not TLS.
    pub(in crate::bmc) fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref::<Error>().map(Self::from)
    }

    /// Whether the peer's identity is in doubt, rather than the ability to speak TLS with it.
    pub fn is_about_trust(&self) -> bool {
        match self {
            Self::CaUsedAsEndEntity
            | Self::Expired
            | Self::NotYetValid
            | Self::NameMismatch
            | Self::UnknownIssuer
            | Self::FingerprintMismatch { .. }
            | Self::BadSignature
            | Self::BadCertificate { .. } => true,
            Self::HandshakeFailure | Self::ProtocolVersion | Self::NotTls | Self::Other { .. } => false,
        }
    }

    /// Whether it may pass by itself. A verdict about a certificate or a configuration does not.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Other { .. })
    }
}

impl From<&Error> for TlsFailure {
    // rustls' enums are non-exhaustive: what it adds lands in the last arm, with its own words.
    #[allow(clippy::wildcard_enum_match_arm)]
    fn from(error: &Error) -> Self {
        match error {
            Error::InvalidCertificate(certificate) => Self::from(certificate),
            Error::AlertReceived(AlertDescription::ProtocolVersion)
            | Error::PeerIncompatible(
                PeerIncompatible::ServerDoesNotSupportTls12Or13
                | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
            ) => Self::ProtocolVersion,
            Error::AlertReceived(
                AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity,
            )
            | Error::PeerIncompatible(
                PeerIncompatible::NoCipherSuitesInCommon
                | PeerIncompatible::NoKxGroupsInCommon
                | PeerIncompatible::NoSignatureSchemesInCommon,
            ) => Self::HandshakeFailure,
            Error::InvalidMessage(_) => Self::NotTls,
            other => Self::Other {
                detail: other.to_string(),
            },
        }
    }
}

impl From<&CertificateError> for TlsFailure {
    #[allow(clippy::wildcard_enum_match_arm)] // as above
    fn from(error: &CertificateError) -> Self {
        match error {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => Self::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => Self::NotYetValid,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Self::NameMismatch
            }
            CertificateError::UnknownIssuer => Self::UnknownIssuer,
            CertificateError::BadSignature => Self::BadSignature,
            CertificateError::Other(other) => match other.0.downcast_ref::<OtherFingerprint>() {
                Some(OtherFingerprint { seen }) => Self::FingerprintMismatch { seen: *seen },
                // webpki's own error type is not ours to name; its words are its variants' names.
                None if other.to_string().contains("CaUsedAsEndEntity") => Self::CaUsedAsEndEntity,
                None => Self::BadCertificate {
                    detail: other.to_string(),
                },
            },
            other => Self::BadCertificate {
                detail: other.to_string(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rustls_failures_become_advice() {
        for (error, expected) in [
            (
                Error::AlertReceived(AlertDescription::ProtocolVersion),
                TlsFailure::ProtocolVersion,
            ),
            (
                Error::AlertReceived(AlertDescription::HandshakeFailure),
                TlsFailure::HandshakeFailure,
            ),
            (
                Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType),
                TlsFailure::NotTls,
            ),
            (
                Error::InvalidCertificate(CertificateError::Expired),
                TlsFailure::Expired,
            ),
            (
                Error::InvalidCertificate(CertificateError::NotValidYet),
                TlsFailure::NotYetValid,
            ),
            (
                Error::InvalidCertificate(CertificateError::NotValidForName),
                TlsFailure::NameMismatch,
            ),
            (
                Error::InvalidCertificate(CertificateError::UnknownIssuer),
                TlsFailure::UnknownIssuer,
            ),
            (
                Error::InvalidCertificate(CertificateError::BadSignature),
                TlsFailure::BadSignature,
            ),
        ] {
            let failure = TlsFailure::from(&error);
            assert_eq!(failure, expected, "{error}");
            assert!(failure.to_string().ends_with('.'), "{failure}");
        }
    }
}
