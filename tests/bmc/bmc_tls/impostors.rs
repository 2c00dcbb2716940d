//! Whoever presents a BMC's certificate without its key.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Result, ensure};
use rcgen::{BasicConstraints, IsCa, date_time_ymd};
use remediator_bmc::TlsFailure;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};

use super::middle::Middle;
use super::openssl::Identity;
use super::{TLS_1_2, made, pins, refused, trusted};

/// Each kind of certificate, and of its key another.
fn twins() -> Result<Vec<(Identity, Identity)>> {
    let factory = || made(|leaf| leaf.is_ca = IsCa::Ca(BasicConstraints::Unconstrained));
    let expired = || made(|leaf| leaf.not_after = date_time_ymd(2020, 1, 1));
    let mut twins = vec![(factory()?, factory()?), (expired()?, expired()?)];
    for key in ["rsa:2048", "ec:P-256", "ec:P-384"] {
        twins.push((Identity::version_3(key, &[])?, Identity::version_3(key, &[])?));
        twins.push((Identity::version_1(key)?, Identity::version_1(key)?));
    }
    Ok(twins)
}

#[tokio::test]
async fn who_only_forwards_is_not_noticed() -> Result<()> {
    // Or else what is refused below could be refused for what the middle does.
    let identity = Identity::version_1("rsa:1024")?;
    let server = identity.serve(TLS_1_2)?;
    let certificate = CertificateDer::from_pem_slice(identity.pem()?.as_bytes())?;
    let middle = Middle::presenting(certificate.to_vec(), server.address).await?;
    trusted(middle.address, pins(&[&identity])?).await.map(|_| ())
}

#[tokio::test]
async fn a_pinned_certificate_without_its_key_is_refused_over_tls_1_2() -> Result<()> {
    let mut twins = twins()?;
    twins.push((
        Identity::version_3("rsa:1024", &[])?,
        Identity::version_3("rsa:1024", &[])?,
    ));
    twins.push((Identity::version_1("rsa:1024")?, Identity::version_1("rsa:1024")?));
    for (honest, thief) in twins {
        for options in [
            TLS_1_2,
            &["-tls1_2", "-sigalgs", "RSA+SHA512:RSA+SHA256:ECDSA+SHA256"],
        ] {
            let server = thief.serve(options)?;
            let certificate = CertificateDer::from_pem_slice(honest.pem()?.as_bytes())?;
            let middle = Middle::presenting(certificate.to_vec(), server.address).await?;
            let failure = refused(middle.address, pins(&[&honest])?).await?;
            ensure!(failure == TlsFailure::BadSignature, "{failure:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_pinned_certificate_without_its_key_is_refused_over_tls_1_3() -> Result<()> {
    for (honest, thief) in twins()? {
        let server = serve_with_key_of(&honest, &thief).await?;
        let failure = refused(server, pins(&[&honest])?).await?;
        ensure!(failure == TlsFailure::BadSignature, "{failure:?}");
    }
    Ok(())
}

/// OpenSSL sees to it that certificate and key belong together; rustls can be had without that.
async fn serve_with_key_of(honest: &Identity, thief: &Identity) -> Result<SocketAddr> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificate = CertificateDer::from_pem_slice(honest.pem()?.as_bytes())?;
    let key = PrivateKeyDer::from_pem_slice(thief.key_pem()?.as_bytes())?;
    let key = CertifiedKey::new(vec![certificate], provider.key_provider.load_private_key(key)?);
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(key)));
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // The client hangs up, if it is right.
            acceptor.accept(stream).await.ok();
        }
    });
    Ok(address)
}
