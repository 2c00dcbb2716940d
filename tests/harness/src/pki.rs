//! Our own certificate authority: the server's certificate, one per user, and the key that signs
//! service-account tokens.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// X.520 organizationName. rcgen keeps one value per attribute type, and this spelling of the type
/// counts as another one, so a certificate can carry two groups.
const ORGANIZATION: [u64; 4] = [2, 5, 4, 10];

/// The authority and the files that the API server reads.
pub(crate) struct Pki {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) ca_pem: String,
    pub(crate) ca_file: PathBuf,
    pub(crate) server_certificate: PathBuf,
    pub(crate) server_key: PathBuf,
    pub(crate) service_account_key: PathBuf,
    pub(crate) service_account_public_key: PathBuf,
}

/// A client certificate with its key, both PEM.
pub(crate) struct ClientCertificate {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Pki {
    /// Makes everything anew and writes the server's part into `folder`.
    pub(crate) fn create(folder: &Path) -> anyhow::Result<Self> {
        let mut authority = CertificateParams::new(Vec::new()).context("no certificate parameters")?;
        authority
            .distinguished_name
            .push(DnType::CommonName, "baremetal-remediator test authority");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().context("no key for the authority")?;
        let certificate = authority.self_signed(&key).context("cannot sign the authority")?;
        let issuer = Issuer::new(authority, key);

        let names = [
            "127.0.0.1",
            "localhost",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
        ];
        let mut server = CertificateParams::new(names.map(str::to_owned)).context("no server names")?;
        server
            .distinguished_name
            .push(DnType::CommonName, "kube-apiserver");
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let server_key = KeyPair::generate().context("no key for the server")?;
        let server = server
            .signed_by(&server_key, &issuer)
            .context("cannot sign the server")?;
        let accounts = KeyPair::generate().context("no key for service accounts")?;

        Ok(Self {
            ca_file: private(folder, "ca.crt", &certificate.pem())?,
            ca_pem: certificate.pem(),
            server_certificate: private(folder, "server.crt", &server.pem())?,
            server_key: private(folder, "server.key", &server_key.serialize_pem())?,
            service_account_key: private(folder, "service-account.key", &accounts.serialize_pem())?,
            service_account_public_key: private(folder, "service-account.pub", &accounts.public_key_pem())?,
            issuer,
        })
    }

    /// A certificate that the API server takes as this user in these groups, at most two.
    pub(crate) fn client(&self, user: &str, groups: &[&str]) -> anyhow::Result<ClientCertificate> {
        let mut client = CertificateParams::new(Vec::new()).context("no certificate parameters")?;
        client.distinguished_name = rcgen::DistinguishedName::new();
        client.distinguished_name.push(DnType::CommonName, user);
        match groups {
            [] => {}
            [one] => client.distinguished_name.push(DnType::OrganizationName, *one),
            [one, two] => {
                client.distinguished_name.push(DnType::OrganizationName, *one);
                client
                    .distinguished_name
                    .push(DnType::CustomDnType(ORGANIZATION.to_vec()), *two);
            }
            [..] => bail!("{user} has more than two groups; impersonate instead of signing"),
        }
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().with_context(|| format!("no key for {user}"))?;
        let certificate = client
            .signed_by(&key, &self.issuer)
            .with_context(|| format!("cannot sign {user}"))?;
        Ok(ClientCertificate {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }
}

/// Writes a file that only this user can read.
pub(crate) fn private(folder: &Path, name: &str, text: &str) -> anyhow::Result<PathBuf> {
    let path = folder.join(name);
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&path)
        .with_context(|| format!("cannot create {}; make its folder writable", path.display()))?;
    file.write_all(text.as_bytes())
        .with_context(|| format!("cannot write {}; is the disk full?", path.display()))?;
    Ok(path)
}
