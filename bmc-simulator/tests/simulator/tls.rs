//! Certificates and connections.

use bmc_simulator::{CertificateDefect, Event, Fault, Fleet, HostSpec, Simulator};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use sha2::{Digest, Sha256};

use crate::client::{Client, http, one, soon, status};

#[tokio::test]
async fn one_handshake_serves_many_requests_and_each_connection_makes_one() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    for _ in 0..5 {
        client.power_state().await;
    }
    assert_eq!(
        (host.counters().tls_handshakes, host.counters().tcp_connections),
        (1, 1)
    );
    Client::of(&host).power_state().await;
    assert_eq!(host.counters().tls_handshakes, 2);
}

#[tokio::test]
async fn another_authority_is_not_trusted() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let (other, _) = one(HostSpec::new("b")).await;
    let stranger = http(other.ca_pem());
    assert!(
        stranger
            .get(host.redfish_url())
            .send()
            .await
            .unwrap_err()
            .is_connect()
    );
    let failed = soon(host.wait_for_entry(0, |event| *event == Event::TlsFailed))
        .await
        .unwrap();
    assert_eq!(
        (host.counters().tls_failures, host.counters().requests),
        (1, 0),
        "{failed:?}"
    );
}

#[tokio::test]
async fn a_swapped_certificate_ends_connections_and_trust() {
    let (sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    client.power_state().await;
    let before = host.certificate_sha256_fingerprint();
    let after = host.swap_certificate().unwrap();
    assert_ne!(before, after);
    assert_eq!(host.certificate_sha256_fingerprint(), after);
    // The first may fail on the connection it had, the second has to make one.
    client.get(&host.system_path()).send().await.unwrap_err();
    assert!(
        client
            .get(&host.system_path())
            .send()
            .await
            .unwrap_err()
            .is_connect()
    );
    assert_eq!(host.counters().system_get, 1);
    assert_ne!(host.ca_pem(), sim.ca_pem());
    let renewed = Client::of(&host);
    assert_eq!(status(renewed.get(&host.system_path())).await, 200);
}

#[tokio::test]
async fn the_fingerprint_is_that_of_the_certificate_presented() {
    let (sim, host) = one(HostSpec::new("a")).await;
    let presented = presented_by(&host, sim.ca_pem()).await;
    let digest = format!("{:x}", Sha256::digest(&presented));
    assert_eq!(host.certificate_sha256_fingerprint(), digest);
}

async fn presented_by(host: &bmc_simulator::Host, ca_pem: &str) -> CertificateDer<'static> {
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(ca_pem.as_bytes()).unwrap())
        .unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = tokio_rustls::TlsConnector::from(std::sync::Arc::new(config));
    let tcp = tokio::net::TcpStream::connect(host.address()).await.unwrap();
    let stream = connector.connect(host.address().ip().into(), tcp).await.unwrap();
    stream.get_ref().1.peer_certificates().unwrap()[0]
        .clone()
        .into_owned()
}

#[tokio::test]
async fn a_swap_keeps_the_defect_that_a_fault_asks_for() {
    let (sim, host) = one(HostSpec::new("a")).await;
    host.inject(Fault::Certificate(CertificateDefect::Expired))
        .unwrap();
    let before = host.certificate_sha256_fingerprint();
    let after = host.swap_certificate().unwrap();
    assert_ne!(before, after);
    assert_eq!(host.certificate_sha256_fingerprint(), after, "what is presented");
    let swapped = Event::CertificateSwapped {
        sha256: after.clone(),
    };
    assert!(host.journal().iter().any(|entry| entry.event == swapped));
    assert_ne!(host.ca_pem(), sim.ca_pem());
    let refused = Client::of(&host).get(&host.system_path()).send().await;
    assert!(refused.unwrap_err().is_connect(), "it has expired");
    host.clear_faults();
    assert_ne!(host.certificate_sha256_fingerprint(), after);
    assert_eq!(status(Client::of(&host).get(&host.system_path())).await, 200);
    // A defect that comes later is in a certificate of the authority that is trusted now.
    host.inject(Fault::Certificate(CertificateDefect::WrongName))
        .unwrap();
    assert_ne!(host.ca_pem(), sim.ca_pem());
}

#[tokio::test]
async fn a_fleet_file_names_every_defect() {
    let named = [
        ("expired", CertificateDefect::Expired),
        ("not-yet-valid", CertificateDefect::NotYetValid),
        ("wrong-name", CertificateDefect::WrongName),
        ("self-signed", CertificateDefect::SelfSigned),
        ("self-signed-authority", CertificateDefect::SelfSignedAuthority),
        ("x509-v1", CertificateDefect::X509V1),
    ];
    let hosts: Vec<String> = named
        .iter()
        .map(|(name, _)| format!("- {{name: {name}, faults: [{{fault: {{certificate: {name}}}}}]}}"))
        .collect();
    let fleet = Fleet::from_yaml(&format!("hosts:\n{}", hosts.join("\n"))).unwrap();
    let sim = Simulator::builder().fleet(fleet).start().await.unwrap();
    for (name, defect) in named {
        let faults = sim.host(name).unwrap().faults();
        assert_eq!(faults, [Fault::Certificate(defect).into()], "{name}");
    }
}
