//! What the daemon offers to a BMC, and whom it trusts.

use std::fmt;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};

use super::signature::FOR_SHORT_RSA;
use super::verifier::{AcceptAny, Chained, PinnedLeaf};
use super::{ServerTrust, TlsFailure};
use crate::error::BmcError;

/// What a BMC is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    /// TLS 1.3 and 1.2, with every signature that we can verify.
    Full,
    /// TLS 1.2 with signatures by PKCS #1 v1.5: the only ones that can be verified with an RSA key below 2048
    /// bits. Where a BMC is offered PSS or TLS 1.3, it takes that, whatever its key (OpenSSL since 1.1.1).
    Pkcs1,
}

/// The TLS side of connections to one BMC.
pub(crate) struct ClientSide {
    full: Arc<ClientConfig>,
    /// For pinned certificates only.
    pkcs1: Option<Arc<ClientConfig>>,
}

impl ClientSide {
    /// Builds it: TLS 1.2 or later, ring, HTTP/1.1 only; or [`BmcError::TrustUnusable`].
    pub(crate) async fn new(trust: &ServerTrust) -> Result<Self, BmcError> {
        // Passed explicitly: whether a process-wide default exists is not our business here.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let algorithms = provider.signature_verification_algorithms;
        let mut pkcs1 = None;
        let verifier: Arc<dyn ServerCertVerifier> = match trust {
            ServerTrust::CertificateAuthority(pem) => webpki(roots_of(pem)?, &provider)?,
            ServerTrust::SystemRoots => webpki(system_roots().await?, &provider)?,
            ServerTrust::Fingerprints(pins) if pins.is_empty() => {
                return Err(unusable(&"no fingerprint is given"));
            }
            ServerTrust::Fingerprints(pins) => {
                let pinned = |schemes| {
                    let pins = pins.clone();
                    Arc::new(PinnedLeaf {
                        pins,
                        algorithms,
                        schemes,
                    })
                };
                // What is accepted is the same.
                pkcs1 = Some(config(&provider, &[&TLS12], pinned(FOR_SHORT_RSA.to_vec()))?);
                pinned(algorithms.supported_schemes())
            }
            ServerTrust::Unverified => Arc::new(AcceptAny(algorithms)),
        };
        let full = config(&provider, &[&TLS13, &TLS12], verifier)?;
        Ok(Self { full, pkcs1 })
    }

    /// How to make an offer.
    pub(crate) fn config(&self, offer: Offer) -> Arc<ClientConfig> {
        let pkcs1 = self.pkcs1.as_ref().filter(|_| offer == Offer::Pkcs1);
        Arc::clone(pkcs1.unwrap_or(&self.full))
    }

    /// What to offer instead of what came to this.
    pub(crate) fn instead(&self, offer: Offer, failure: &TlsFailure) -> Option<Offer> {
        self.pkcs1.as_ref()?;
        match (offer, failure) {
            (Offer::Full, TlsFailure::RsaKeyNeedsTls12(_)) => Some(Offer::Pkcs1),
            // The BMC may have got another key since.
            (Offer::Pkcs1, failure) if !failure.is_about_trust() => Some(Offer::Full),
            (Offer::Full | Offer::Pkcs1, _) => None,
        }
    }
}

fn config(
    provider: &Arc<CryptoProvider>,
    versions: &[&'static SupportedProtocolVersion],
    verifier: Arc<dyn ServerCertVerifier>,
) -> Result<Arc<ClientConfig>, BmcError> {
    let mut config = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(versions)
        .map_err(|error| unusable(&error))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // One BMC per config: room for the tickets of one server, not for the 256 of the default.
    config.resumption = rustls::client::Resumption::in_memory_sessions(2);
    Ok(Arc::new(config))
}

fn webpki(roots: RootCertStore, provider: &Arc<CryptoProvider>) -> Result<Arc<Chained>, BmcError> {
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map(|verifier| Arc::new(Chained(verifier)))
        .map_err(|error| unusable(&error))
}

fn roots_of(pem: &str) -> Result<RootCertStore, BmcError> {
    let unreadable =
        |cause: &dyn fmt::Display| unusable(&format!("the CA certificate cannot be read ({cause})"));
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate.map_err(|error| unreadable(&error))?;
        roots.add(certificate).map_err(|error| unreadable(&error))?;
    }
    if roots.is_empty() {
        return Err(unreadable(&"it holds no CERTIFICATE block"));
    }
    Ok(roots)
}

async fn system_roots() -> Result<RootCertStore, BmcError> {
    // Reads files: not on a thread that others wait for.
    let found = tokio::task::spawn_blocking(rustls_native_certs::load_native_certs)
        .await
        .map_err(|_| unusable(&"the system's root certificates could not be loaded"))?;
    let mut roots = RootCertStore::empty();
    // Stores hold oddities that webpki refuses; those certificates are simply not trusted.
    let (added, _ignored) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        return Err(unusable(&"the system has no root certificates"));
    }
    Ok(roots)
}

fn unusable(cause: &dyn fmt::Display) -> BmcError {
    BmcError::TrustUnusable(cause.to_string())
}
