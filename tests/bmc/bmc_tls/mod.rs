//! Certificates and protocols of real BMCs, served by a TLS implementation that we did not write: what is
//! trusted, what is refused, and in which words.

mod middle;
mod openssl;

mod impostors;
mod matrix;
mod simulated;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anyhow::{Result, bail, ensure};
use openssl::{Identity, SYSTEM};
use rcgen::{CertificateParams, IsCa, KeyPair};
use remediator_bmc::{
    AllowedNetworks, AuthMethod, Bmc, BmcError, BmcTarget, Credentials, Inspection, Protocol, ServerTrust,
    TlsFailure, TransportSecurity,
};
use remediator_core::power::PowerState;

const TLS_1_3: &[&str] = &["-tls1_3"];
const TLS_1_2: &[&str] = &["-tls1_2"];

async fn connect(address: SocketAddr, trust: ServerTrust) -> Result<Bmc> {
    let secret = BTreeMap::from([("username".to_owned(), "root"), ("password".to_owned(), "canary")]);
    let minimum_transport = if trust == ServerTrust::Unverified {
        TransportSecurity::UnverifiedTls
    } else {
        TransportSecurity::VerifiedTls
    };
    let target = BmcTarget {
        address: format!("redfish://{address}{SYSTEM}").parse()?,
        credentials: Credentials::from_secret(&secret, "1")?,
        trust,
        auth: AuthMethod::Basic,
        expected_uuid: None,
        known_system: None,
        allowed: AllowedNetworks::new(["127.0.0.0/8".parse()?]),
        protocols: vec![Protocol::Redfish],
        fallback: None,
        minimum_transport,
    };
    Ok(Bmc::connect(target).await?)
}

fn pins(identities: &[&Identity]) -> Result<ServerTrust> {
    let pins = identities.iter().map(|identity| identity.pin());
    Ok(ServerTrust::Fingerprints(pins.collect::<Result<_>>()?))
}

fn authority(identity: &Identity) -> Result<ServerTrust> {
    Ok(ServerTrust::CertificateAuthority(identity.pem()?))
}

async fn trusted(address: SocketAddr, trust: ServerTrust) -> Result<Inspection> {
    let inspection = connect(address, trust).await?.inspect().await?;
    ensure!(inspection.reading.power == PowerState::On, "{inspection:?}");
    Ok(inspection)
}

async fn refused(address: SocketAddr, trust: ServerTrust) -> Result<TlsFailure> {
    match connect(address, trust).await?.read().await {
        Ok(reading) => bail!("it was trusted: {reading:?}"),
        Err(BmcError::Tls(failure)) => Ok(failure),
        Err(error) => bail!("{error}"),
    }
}

/// Of version 3, self-signed by an ECDSA key, with changes.
fn made(change: impl FnOnce(&mut CertificateParams)) -> Result<Identity> {
    let key = KeyPair::generate()?;
    let mut parameters = CertificateParams::new(vec!["127.0.0.1".to_owned()])?;
    parameters.is_ca = IsCa::ExplicitNoCa;
    change(&mut parameters);
    Identity::of(&parameters.self_signed(&key)?.pem(), &key.serialize_pem())
}
