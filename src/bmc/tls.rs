//! Who a BMC has to prove to be before it gets credentials.

mod certificate;
mod failure;
mod verifier;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use super::error::BmcError;
pub use certificate::PresentedCertificate;
pub use failure::TlsFailure;
use verifier::{AcceptAny, PinnedLeaf};

/// How the certificate of a BMC is verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerTrust {
    /// It chains to one of these certificates (PEM, one or more) and has the host's name or
    /// address as subject alternative name.
    CertificateAuthority(String),
    /// Its SHA-256 is one of these; name, dates and issuer do not matter. Several allow a
    /// certificate to be exchanged. This is the mode for the self-signed certificates that BMCs
    /// are delivered with.
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
        let mut digits = digits.chars().map(|digit| digit.to_digit(16));
        let mut bytes = [0_u8; 32];
        for byte in &mut bytes {
            let (Some(Some(high)), Some(Some(low))) = (digits.next(), digits.next()) else {
                return Err(BadFingerprint);
            };
            *byte = u8::try_from((high << 4) | low).map_err(|_| BadFingerprint)?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            if index > 0 {
                formatter.write_str(":")?;
            }
            write!(formatter, "{byte:02X}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}

/// Builds the TLS side of a connection: TLS 1.2 or later, ring, HTTP/1.1 only.
///
/// # Errors
/// [`BmcError::TrustUnusable`] when the PEM holds no certificate, no fingerprint is given, or the
/// system has no roots.
pub(super) async fn client_config(trust: &ServerTrust) -> Result<Arc<ClientConfig>, BmcError> {
    let unusable = |cause: String| BmcError::TrustUnusable { cause };
    // Passed explicitly: whether a process-wide default exists is not our business here.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match trust {
        ServerTrust::CertificateAuthority(pem) => webpki(roots_of(pem)?, &provider)?,
        ServerTrust::SystemRoots => webpki(system_roots().await?, &provider)?,
        ServerTrust::Fingerprints(pins) if pins.is_empty() => {
            return Err(unusable("no fingerprint is given".to_owned()));
        }
        ServerTrust::Fingerprints(pins) => Arc::new(PinnedLeaf::new(pins.clone(), &provider)),
        ServerTrust::Unverified => Arc::new(AcceptAny::new(&provider)),
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(|error| unusable(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // One BMC per config: room for the tickets of one server, not for the 256 of the default.
    config.resumption = rustls::client::Resumption::in_memory_sessions(2);
    Ok(Arc::new(config))
}

fn webpki(
    roots: RootCertStore,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, BmcError> {
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map_err(|error| BmcError::TrustUnusable {
            cause: error.to_string(),
        })
}

fn roots_of(pem: &str) -> Result<RootCertStore, BmcError> {
    let unusable = |cause: &dyn fmt::Display| BmcError::TrustUnusable {
        cause: format!("the CA certificate cannot be read ({cause})"),
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate.map_err(|error| unusable(&error))?;
        roots.add(certificate).map_err(|error| unusable(&error))?;
    }
    if roots.is_empty() {
        Err(unusable(&"it holds no CERTIFICATE block"))
    } else {
        Ok(roots)
    }
}

async fn system_roots() -> Result<RootCertStore, BmcError> {
    let unusable = |cause: &str| BmcError::TrustUnusable {
        cause: cause.to_owned(),
    };
    // Reads files: not on a thread that others wait for.
    let found = tokio::task::spawn_blocking(rustls_native_certs::load_native_certs)
        .await
        .map_err(|_| unusable("the system's root certificates could not be loaded"))?;
    let mut roots = RootCertStore::empty();
    // Stores hold oddities that webpki refuses; those certificates are simply not trusted.
    let (added, _ignored) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        Err(unusable("the system has no root certificates"))
    } else {
        Ok(roots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_read_in_every_usual_form() {
        let plain = "ab".repeat(32);
        let colons = vec!["AB"; 32].join(":");
        for text in [
            plain.clone(),
            plain.to_uppercase(),
            colons.clone(),
            format!(" sha256:{plain}\n"),
            format!("SHA256 Fingerprint={colons}"),
        ] {
            assert_eq!(text.parse(), Ok(Fingerprint([0xab; 32])), "{text}");
        }
        assert_eq!(Fingerprint([0xab; 32]).to_string(), colons);
        for text in [
            "",
            "ab",
            &"zz".repeat(32),
            &"ab".repeat(20),
            &plain.replacen('a', "é", 1),
        ] {
            assert_eq!(text.parse::<Fingerprint>(), Err(BadFingerprint), "{text}");
        }
    }

    #[tokio::test]
    async fn unusable_trust_is_an_error() {
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        for trust in [
            ServerTrust::CertificateAuthority(String::new()),
            ServerTrust::CertificateAuthority(broken.to_owned()),
            ServerTrust::Fingerprints(vec![]),
        ] {
            let error = client_config(&trust).await.unwrap_err();
            assert_eq!(error.reason(), "BmcTrustUnusable", "{error}");
        }
    }
}
