//! Each way in which TLS fails has its class, and each class says what to do.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustls::{InvalidMessage, OtherError};

use super::*;
use crate::BmcError;

/// A number for each class, so that none can be left out below, and words that its advice needs.
fn number_and_advice(failure: &TlsFailure) -> (usize, &'static [&'static str]) {
    const PIN: &str = "trust it by its fingerprint";
    const WAYS_OUT: &[&str] = &[
        "Update its firmware",
        "TLS settings",
        "ipmi://",
        "RemediationPolicy",
    ];
    match failure {
        TlsFailure::CaUsedAsEndEntity => (0, &["Trust it by its fingerprint"]),
        TlsFailure::Expired => (1, &["Renew it", PIN]),
        TlsFailure::NotYetValid => (2, &["Correct the clock", PIN]),
        TlsFailure::NameMismatch => (3, &["subject alternative name", PIN]),
        TlsFailure::UnknownIssuer => (4, &["Configure its CA certificate", PIN]),
        TlsFailure::FingerprintMismatch(_) => (5, &["Compare it with the BMC's console"]),
        TlsFailure::IssuerSignature => (6, &["Configure the certificate of the CA", PIN]),
        TlsFailure::BadSignature => (7, &["Find out whether something else answers"]),
        TlsFailure::RsaKeyTooShort(_) => (8, &["2048 bits or an ECDSA key", "fingerprint"]),
        TlsFailure::RsaKeyNeedsTls12(_) => (9, &["Enable TLS 1.2", "2048 bits or an ECDSA key"]),
        TlsFailure::UnusableKey(_) => (10, &["2048 bits or an ECDSA key on P-256"]),
        TlsFailure::OldVersion => (11, &["Give the BMC a new certificate", PIN]),
        TlsFailure::BadCertificate(_) => (12, &["Give the BMC a new certificate", PIN]),
        TlsFailure::HandshakeFailure => (13, WAYS_OUT),
        TlsFailure::ProtocolVersion => (14, WAYS_OUT),
        TlsFailure::NotTls => (15, &["Check the port", "redfish+http://"]),
        TlsFailure::Other(_) => (16, &["openssl s_client"]),
    }
}

fn ours(failure: &TlsFailure) -> Error {
    Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(failure.clone()))))
}

/// What webpki's variants of these names look like through rustls.
#[derive(Debug, thiserror::Error)]
enum Webpki {
    #[error("CaUsedAsEndEntity")]
    CaUsedAsEndEntity,
    #[error("UnsupportedCertVersion")]
    UnsupportedCertVersion,
    #[error("UnsupportedCriticalExtension")]
    UnsupportedCriticalExtension,
}

fn theirs(error: Webpki) -> Error {
    Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(error))))
}

const UNTRUSTED: &str = "BmcTlsUntrusted";
const FAILED: &str = "BmcTlsFailed";

fn about_certificates() -> Vec<(Error, TlsFailure, &'static str)> {
    let seen = Fingerprint([7; 32]);
    let detail = |text: &str| text.to_owned();
    let mut cases = vec![
        (
            theirs(Webpki::CaUsedAsEndEntity),
            TlsFailure::CaUsedAsEndEntity,
            UNTRUSTED,
        ),
        (CertificateError::Expired.into(), TlsFailure::Expired, UNTRUSTED),
        (
            CertificateError::NotValidYet.into(),
            TlsFailure::NotYetValid,
            UNTRUSTED,
        ),
        (
            CertificateError::NotValidForName.into(),
            TlsFailure::NameMismatch,
            UNTRUSTED,
        ),
        (
            CertificateError::UnknownIssuer.into(),
            TlsFailure::UnknownIssuer,
            UNTRUSTED,
        ),
        (
            CertificateError::BadSignature.into(),
            TlsFailure::BadSignature,
            UNTRUSTED,
        ),
        (
            CertificateError::UnsupportedSignatureAlgorithmContext {
                signature_algorithm_id: vec![],
                supported_algorithms: vec![],
            }
            .into(),
            TlsFailure::IssuerSignature,
            UNTRUSTED,
        ),
        (
            theirs(Webpki::UnsupportedCertVersion),
            TlsFailure::OldVersion,
            UNTRUSTED,
        ),
        (
            theirs(Webpki::UnsupportedCriticalExtension),
            TlsFailure::BadCertificate(detail("UnsupportedCriticalExtension")),
            UNTRUSTED,
        ),
    ];
    for (failure, reason) in [
        (TlsFailure::FingerprintMismatch(seen), UNTRUSTED),
        (TlsFailure::IssuerSignature, UNTRUSTED),
        (TlsFailure::BadSignature, UNTRUSTED),
        (TlsFailure::RsaKeyTooShort(1024), UNTRUSTED),
        (TlsFailure::RsaKeyNeedsTls12(1024), FAILED),
        (TlsFailure::UnusableKey(detail("odd")), UNTRUSTED),
    ] {
        cases.push((ours(&failure), failure, reason));
    }
    cases
}

fn about_protocols() -> Vec<(Error, TlsFailure, &'static str)> {
    vec![
        (
            Error::AlertReceived(AlertDescription::HandshakeFailure),
            TlsFailure::HandshakeFailure,
            FAILED,
        ),
        (
            Error::AlertReceived(AlertDescription::InsufficientSecurity),
            TlsFailure::HandshakeFailure,
            FAILED,
        ),
        (
            Error::InvalidMessage(InvalidMessage::UnsupportedCurveType),
            TlsFailure::HandshakeFailure,
            FAILED,
        ),
        (
            Error::AlertReceived(AlertDescription::ProtocolVersion),
            TlsFailure::ProtocolVersion,
            FAILED,
        ),
        (
            Error::PeerIncompatible(PeerIncompatible::ServerDoesNotSupportTls12Or13),
            TlsFailure::ProtocolVersion,
            FAILED,
        ),
        (
            Error::InvalidMessage(InvalidMessage::InvalidContentType),
            TlsFailure::NotTls,
            FAILED,
        ),
        (
            Error::AlertReceived(AlertDescription::InternalError),
            TlsFailure::Other("received fatal alert: InternalError".to_owned()),
            FAILED,
        ),
    ]
}

fn cases() -> Vec<(Error, TlsFailure, &'static str)> {
    [about_certificates(), about_protocols()].concat()
}

#[test]
fn every_failure_has_its_class_its_reason_and_says_what_to_do() {
    let mut classes = BTreeSet::new();
    for (error, expected, reason) in cases() {
        let failure = TlsFailure::from(&error);
        assert_eq!(failure, expected, "{error:?}");
        let (class, advice) = number_and_advice(&failure);
        classes.insert(class);
        let said = BmcError::Tls(failure);
        assert_eq!(said.reason(), reason, "{said}");
        let said = said.to_string();
        assert!(said.ends_with('.') && !said.ends_with(".."), "{said}");
        for words in advice {
            assert!(said.contains(words), "{said} lacks {words:?}");
        }
    }
    assert_eq!(classes, (0..=16).collect(), "a class without a case");
}

#[test]
fn only_what_has_no_class_may_pass_by_itself() {
    for (_, failure, _) in cases() {
        let other = matches!(failure, TlsFailure::Other(_));
        assert_eq!(failure.is_transient(), other, "{failure}");
    }
}
