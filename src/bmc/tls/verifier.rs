//! Certificate verifiers for what webpki cannot do: pins, and nothing at all.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};

use super::Fingerprint;

/// Accepts a leaf certificate by its fingerprint, and proof that the peer holds its key.
///
/// Without the second half a pin is worthless: certificates are public, anybody can present one.
#[derive(Debug)]
pub(super) struct PinnedLeaf {
    pins: Vec<Fingerprint>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl PinnedLeaf {
    pub(super) fn new(pins: Vec<Fingerprint>, provider: &Arc<CryptoProvider>) -> Self {
        Self {
            pins,
            algorithms: provider.signature_verification_algorithms,
        }
    }
}

/// The leaf has another fingerprint.
#[derive(Debug, thiserror::Error)]
#[error("the certificate has the SHA-256 fingerprint {seen}")]
pub(super) struct OtherFingerprint {
    pub(super) seen: Fingerprint,
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
        let seen = Fingerprint::of(end_entity);
        if self.pins.contains(&seen) {
            Ok(ServerCertVerified::assertion())
        } else {
            let other = OtherError(Arc::new(OtherFingerprint { seen }));
            Err(Error::InvalidCertificate(CertificateError::Other(other)))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Accepts anything, signatures included: without trust in the certificate they prove nothing,
/// and RSA-1024 or X.509 v1 certificates of old BMCs would fail there.
#[derive(Debug)]
pub(super) struct AcceptAny {
    schemes: Vec<SignatureScheme>,
}

impl AcceptAny {
    pub(super) fn new(provider: &Arc<CryptoProvider>) -> Self {
        Self {
            schemes: provider.signature_verification_algorithms.supported_schemes(),
        }
    }
}

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
        self.schemes.clone()
    }
}
