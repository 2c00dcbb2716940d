//! Certificate verifiers: webpki's with better words, and what webpki cannot do: pins, and nothing at all.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

use super::leaf::{Leaf, PublicKey};
use super::signature::{refused, short_rsa, verify_tls12, verify_tls13};
use super::{Fingerprint, TlsFailure};

/// Accepts what webpki accepts, and nothing else. Where webpki refuses, says more.
#[derive(Debug)]
pub(super) struct Chained(pub(super) Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for Chained {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.0
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
            .map_err(|error| in_detail(error, end_entity, &TlsFailure::IssuerSignature))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0
            .verify_tls12_signature(message, certificate, signed)
            .map_err(|error| in_detail(error, certificate, &TlsFailure::BadSignature))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0
            .verify_tls13_signature(message, certificate, signed)
            .map_err(|error| in_detail(error, certificate, &TlsFailure::BadSignature))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// For ring a signature by a short key is as bad as a forged one; the certificate tells them apart.
fn in_detail(error: Error, certificate: &CertificateDer<'_>, otherwise: &TlsFailure) -> Error {
    let Error::InvalidCertificate(CertificateError::BadSignature) = error else {
        return error;
    };
    let key = Leaf::read(certificate).and_then(|leaf| PublicKey::read(leaf.spki));
    match key.ok().and_then(|key| short_rsa(&key)) {
        Some(bits) => refused(TlsFailure::RsaKeyTooShort(bits)),
        None => refused(otherwise.clone()),
    }
}

/// Accepts a leaf certificate by its fingerprint, and proof that the peer holds its key: certificates are public.
#[derive(Debug)]
pub(super) struct PinnedLeaf {
    pub(super) pins: Vec<Fingerprint>,
    pub(super) algorithms: WebPkiSupportedAlgorithms,
    /// What the peer is asked to sign with.
    pub(super) schemes: Vec<SignatureScheme>,
}

impl PinnedLeaf {
    /// The key of a certificate, if that is pinned: of no other certificate is a field worth reading.
    fn pinned_key<'a>(&self, certificate: &'a CertificateDer<'_>) -> Result<PublicKey<'a>, Error> {
        let seen = Fingerprint::of(certificate);
        if !self.pins.contains(&seen) {
            return Err(refused(TlsFailure::FingerprintMismatch(seen)));
        }
        Leaf::read(certificate)
            .and_then(|leaf| PublicKey::read(leaf.spki))
            .map_err(|error| refused(TlsFailure::UnusableKey(format!("it cannot be read: {error}"))))
    }
}

impl ServerCertVerifier for PinnedLeaf {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.pinned_key(end_entity)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12(message, &self.pinned_key(certificate)?, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13(message, &self.pinned_key(certificate)?, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}

/// Accepts anything, signatures included: without trust in the certificate they prove nothing,
/// and RSA-1024 or X.509 v1 certificates of old BMCs would fail there.
#[derive(Debug)]
pub(super) struct AcceptAny(pub(super) WebPkiSupportedAlgorithms);

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
