//! Turns what rustls says into what an administrator can do.

#[cfg(test)]
mod tests;

use std::io;

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage, PeerIncompatible};

use super::Fingerprint;

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
        "the certificate has the fingerprint {0}, which is not trusted. Compare it with the BMC's console; add it only if they are equal."
    )]
    FingerprintMismatch(Fingerprint),
    /// The issuer's name is that of a trusted CA, the signature on the certificate is not.
    #[error(
        "the certificate is signed by another CA of the same name as the trusted one, or with a key or in a way that is too weak. Configure the certificate of the CA that signed it, or trust it by its fingerprint."
    )]
    IssuerSignature,
    /// The peer presents a certificate whose key it does not hold.
    #[error(
        "the BMC could not prove that it holds the key of its certificate. Find out whether something else answers at its address before you trust what does."
    )]
    BadSignature,
    /// An RSA key that no signature can be verified with: below 1024 bits, or, unless the certificate is
    /// pinned, below 2048.
    #[error(
        "the certificate has an RSA key of {0} bits, which is too short to verify it. Give the BMC one with an RSA key of 2048 bits or an ECDSA key; with 1024 bits or more it can also be trusted by its fingerprint."
    )]
    RsaKeyTooShort(usize),
    /// Pinned, with an RSA key of 1024 bits or more but below 2048, and TLS 1.2 did not come about.
    #[error(
        "the certificate is trusted, but has an RSA key of {0} bits, and with that the BMC can prove over TLS 1.2 only that it is its own. Enable TLS 1.2 with ECDHE on the BMC, or give it a certificate with an RSA key of 2048 bits or an ECDSA key."
    )]
    RsaKeyNeedsTls12(usize),
    /// A kind of key that we have no algorithm for, or that cannot be read.
    #[error(
        "the key of the certificate cannot be used ({0}). Give the BMC a certificate with an RSA key of 2048 bits or an ECDSA key on P-256."
    )]
    UnusableKey(String),
    /// X.509 v1, which cannot say what a certificate is for.
    #[error(
        "the certificate is not of X.509 version 3. Give the BMC a new certificate, or trust it by its fingerprint."
    )]
    OldVersion,
    /// Broken, of another purpose, with unknown critical extensions.
    #[error(
        "the certificate cannot be verified ({0}). Give the BMC a new certificate, or trust it by its fingerprint."
    )]
    BadCertificate(String),
    /// No cipher suite, group or signature algorithm in common. So answer BMCs that know RSA key exchange, DHE
    /// or CBC only.
    #[error(
        "the BMC agrees to nothing that we offer: TLS 1.2 or 1.3 with ECDHE and AES-GCM or ChaCha20, and a certificate with a key of RSA, or on P-256, P-384 or Ed25519. Update its firmware or change its TLS settings or its certificate, or give the host an ipmi:// address where the RemediationPolicy allows IPMI."
    )]
    HandshakeFailure,
    /// Only TLS 1.1 or older.
    #[error(
        "the BMC speaks no TLS 1.2 or later. Update its firmware or change its TLS settings, or give the host an ipmi:// address where the RemediationPolicy allows IPMI."
    )]
    ProtocolVersion,
    /// The port does not speak TLS.
    #[error(
        "the port does not speak TLS. Check the port; a BMC that only has clear-text HTTP needs a redfish+http:// address and permission for it."
    )]
    NotTls,
    /// Anything else.
    #[error("{0}. Try `openssl s_client` against the BMC to see more.")]
    Other(String),
}

impl TlsFailure {
    /// Reads the failure out of what tokio-rustls returns. `None`: the network failed, not TLS.
    pub(crate) fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref::<Error>().map(Self::from)
    }

    fn kind(&self) -> Kind {
        match self {
            Self::CaUsedAsEndEntity
            | Self::Expired
            | Self::NotYetValid
            | Self::NameMismatch
            | Self::UnknownIssuer
            | Self::FingerprintMismatch(_)
            | Self::IssuerSignature
            | Self::BadSignature
            | Self::RsaKeyTooShort(_)
            | Self::UnusableKey(_)
            | Self::OldVersion
            | Self::BadCertificate(_) => Kind::Trust,
            Self::RsaKeyNeedsTls12(_) | Self::HandshakeFailure | Self::ProtocolVersion | Self::NotTls => {
                Kind::Configuration
            }
            Self::Other(_) => Kind::Passing,
        }
    }

    /// Whether the peer's identity is in doubt, rather than the ability to speak TLS with it.
    pub fn is_about_trust(&self) -> bool {
        self.kind() == Kind::Trust
    }

    /// Whether it may pass by itself. A verdict about a certificate or a configuration does not.
    pub fn is_transient(&self) -> bool {
        self.kind() == Kind::Passing
    }
}

#[derive(PartialEq)]
enum Kind {
    Trust,
    Configuration,
    Passing,
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
            )
            | Error::InvalidMessage(
                InvalidMessage::UnsupportedCurveType | InvalidMessage::UnsupportedKeyExchangeAlgorithm(_),
            ) => Self::HandshakeFailure,
            // Not one record was read. What is wrong later on was said by something that speaks TLS.
            Error::InvalidMessage(
                InvalidMessage::InvalidContentType
                | InvalidMessage::UnknownProtocolVersion
                | InvalidMessage::MessageTooLarge
                | InvalidMessage::InvalidEmptyPayload,
            ) => Self::NotTls,
            other => Self::Other(other.to_string()),
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
            // Of the chain: what the BMC itself signs with is what we offered.
            CertificateError::UnsupportedSignatureAlgorithmContext { .. } => Self::IssuerSignature,
            CertificateError::Other(other) => match other.0.downcast_ref::<Self>() {
                Some(ours) => ours.clone(),
                None => in_words_of_webpki(&other.to_string()),
            },
            other => Self::BadCertificate(other.to_string()),
        }
    }
}

/// webpki's own error type is not ours to name; its words are its variants' names.
fn in_words_of_webpki(words: &str) -> TlsFailure {
    if words.contains("CaUsedAsEndEntity") {
        TlsFailure::CaUsedAsEndEntity
    } else if words.contains("UnsupportedCertVersion") {
        TlsFailure::OldVersion
    } else {
        TlsFailure::BadCertificate(words.to_owned())
    }
}
