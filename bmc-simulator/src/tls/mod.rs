//! A certificate authority of our own and one certificate per BMC, which can be swapped while running.

mod version_1;

use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use sha2::{Digest, Sha256};

use crate::SimError;
use crate::fault::CertificateDefect;
use crate::server::SUFFIX;

/// How long a certificate lasts that expires soon.
const SOON: Duration = Duration::from_hours(7 * 24);

/// An authority that signs BMC certificates. Its key is fresh each time, whatever the seed.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not derived: its key is in there.
        formatter.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl Authority {
    pub(crate) fn new(common_name: &str) -> Result<Self, SimError> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(DnType::CommonName, common_name);
        let key = KeyPair::generate()?;
        let pem = params.self_signed(&key)?.pem();
        Ok(Self {
            issuer: Issuer::new(params, key),
            pem,
        })
    }

    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// A server certificate for one address, with a defect if one is asked for. CA:FALSE, or rustls
    /// clients refuse it as a server's.
    pub(crate) fn issue(
        &self,
        address: IpAddr,
        common_name: &str,
        defect: Option<CertificateDefect>,
    ) -> Result<Presented, SimError> {
        let names = vec![address.to_string(), format!("{common_name}{SUFFIX}")];
        let mut params = CertificateParams::new(names)?;
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        params.distinguished_name.push(DnType::CommonName, common_name);
        let key = KeyPair::generate()?;
        let mut self_signed = false;
        match defect {
            // Nothing of version 1 can be said in the parameters.
            None | Some(CertificateDefect::X509V1) => {}
            Some(CertificateDefect::Expired) => {
                params.not_before = date_time_ymd(2001, 1, 1);
                params.not_after = date_time_ymd(2002, 1, 1);
            }
            Some(CertificateDefect::ExpiresSoon) => {
                let end = SystemTime::now().checked_add(SOON);
                params.not_after = end.map_or(params.not_after, Into::into);
            }
            Some(CertificateDefect::NotYetValid) => {
                params.not_before = date_time_ymd(4000, 1, 1);
                params.not_after = date_time_ymd(4001, 1, 1);
            }
            Some(CertificateDefect::WrongName) => {
                let another = vec!["another.invalid".to_owned()];
                params.subject_alt_names = CertificateParams::new(another)?.subject_alt_names;
            }
            Some(CertificateDefect::SelfSigned) => self_signed = true,
            Some(CertificateDefect::SelfSignedAuthority) => {
                self_signed = true;
                params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            }
        }
        let certificate = if self_signed {
            params.self_signed(&key)?
        } else {
            params.signed_by(&key, &self.issuer)?
        };
        let ca_pem = if self_signed {
            certificate.pem()
        } else {
            self.pem.clone()
        };
        let mut certificate = certificate.der().clone();
        if defect == Some(CertificateDefect::X509V1) {
            certificate = version_1::of(&certificate, self.issuer.key())?;
        }
        Presented::new(certificate, &key, ca_pem)
    }
}

/// A certificate with its key, fingerprint and issuer.
#[derive(Debug, Clone)]
pub(crate) struct Presented {
    key: Arc<CertifiedKey>,
    pub(crate) sha256: String,
    pub(crate) ca_pem: String,
}

impl Presented {
    fn new(certificate: CertificateDer<'static>, key: &KeyPair, ca_pem: String) -> Result<Self, SimError> {
        let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let signing = ring::sign::any_supported_type(&private)?;
        Ok(Self {
            sha256: format!("{:x}", Sha256::digest(&certificate)),
            key: Arc::new(CertifiedKey::new(vec![certificate], signing)),
            ca_pem,
        })
    }
}

/// The certificate a BMC presents now.
#[derive(Debug)]
pub(crate) struct TlsSlot {
    certificates: RwLock<Certificates>,
}

#[derive(Debug)]
struct Certificates {
    /// Signs what is presented.
    authority: Arc<Authority>,
    proper: Presented,
    /// Presented instead while a fault says so.
    defective: Option<(CertificateDefect, Presented)>,
}

impl TlsSlot {
    pub(crate) fn new(authority: Arc<Authority>, presented: Presented) -> Self {
        Self {
            certificates: RwLock::new(Certificates {
                authority,
                proper: presented,
                defective: None,
            }),
        }
    }

    pub(crate) fn current(&self) -> Presented {
        let held = self.certificates.read().unwrap_or_else(PoisonError::into_inner);
        let defective = held.defective.as_ref().map(|(_, presented)| presented);
        defective.unwrap_or(&held.proper).clone()
    }

    /// Presents certificates of another authority from now on.
    pub(crate) fn swap(
        &self,
        authority: Authority,
        proper: Presented,
        defective: Option<(CertificateDefect, Presented)>,
    ) {
        *self.held() = Certificates {
            authority: Arc::new(authority),
            proper,
            defective,
        };
    }

    /// The authority that signs what is presented.
    pub(crate) fn authority(&self) -> Arc<Authority> {
        Arc::clone(&self.held().authority)
    }

    /// What is wrong with the certificate that is presented now.
    pub(crate) fn defect(&self) -> Option<CertificateDefect> {
        self.held().defective.as_ref().map(|(defect, _)| *defect)
    }

    pub(crate) fn set_defective(&self, defective: Option<(CertificateDefect, Presented)>) {
        self.held().defective = defective;
    }

    fn held(&self) -> RwLockWriteGuard<'_, Certificates> {
        self.certificates.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ResolvesServerCert for TlsSlot {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current().key)
    }
}

/// TLS 1.2, and 1.3 unless forbidden. No resumption: every handshake shows the certificate that is
/// current, and counts.
pub(crate) fn server_config(slot: Arc<TlsSlot>, only_1_2: bool) -> Result<Arc<ServerConfig>, SimError> {
    let versions: &[_] = if only_1_2 { &[&TLS12] } else { &[&TLS13, &TLS12] };
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(versions)?
        .with_no_client_auth()
        .with_cert_resolver(slot);
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
