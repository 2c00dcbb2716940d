//! Faults of TCP and TLS, as a client sees them.

use std::io::ErrorKind;
use std::time::Duration;

use bmc_simulator::{CertificateDefect, Event, Fault, Host, HostSpec, RequestClass};
use rustls::pki_types::ServerName;
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::{Client, listens, one, soon, status};

/// More than a connection on loopback takes, less than the kernel's first repetition of a SYN.
const UNANSWERED: Duration = Duration::from_millis(500);

async fn connect(host: &Host) -> std::io::Result<TcpStream> {
    soon(TcpStream::connect(host.address())).await
}

/// Everything up to the end, or the kind of error that came instead.
async fn read_out(stream: &mut TcpStream) -> Result<Vec<u8>, ErrorKind> {
    let mut bytes = Vec::new();
    match soon(stream.read_to_end(&mut bytes)).await {
        Ok(_) => Ok(bytes),
        Err(error) => Err(error.kind()),
    }
}

#[tokio::test]
async fn refused_connections_are_refused_until_cleared() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    client.power_state().await;
    host.inject(Fault::RefuseConnections).unwrap();
    let refused = async {
        loop {
            // What was in the queue when the listener went is reset.
            if let Err(error) = connect(&host).await
                && error.kind() == ErrorKind::ConnectionRefused
            {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    soon(refused).await;
    client.power_state().await;

    host.clear_faults();

    listens(&host).await;
    Client::of(&host).power_state().await;
}

#[tokio::test]
async fn in_a_blackhole_connections_neither_open_nor_fail() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    host.inject(Fault::Blackhole).unwrap();
    let unanswered = async {
        // Until the hole is dug some are still taken.
        while tokio::time::timeout(UNANSWERED, TcpStream::connect(host.address()))
            .await
            .is_ok()
        {}
    };
    soon(unanswered).await;

    host.clear_faults();

    let client = Client::of(&host);
    assert_eq!(status(client.get(&host.system_path())).await, 200);
}

#[tokio::test]
async fn a_connection_that_is_reset_or_half_closed_at_once() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    host.inject(Fault::ResetOnConnect.times(1)).unwrap();
    let mut stream = connect(&host).await.unwrap();
    assert_eq!(read_out(&mut stream).await, Err(ErrorKind::ConnectionReset));

    host.set_faults(vec![Fault::HalfClose.times(1)]).unwrap();
    let mut stream = connect(&host).await.unwrap();
    assert_eq!(read_out(&mut stream).await, Ok(Vec::new()));
    stream.write_all(b"still read").await.unwrap();

    assert!(host.faults().is_empty());
    assert_eq!(status(Client::of(&host).get(&host.system_path())).await, 200);
}

#[tokio::test]
async fn a_bmc_that_takes_the_connection_and_says_nothing() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    host.inject(Fault::AcceptThenHang).unwrap();
    let mut stream = connect(&host).await.unwrap();
    stream.write_all(b"\x16\x03\x01\x00\x05").await.unwrap();
    let applied = |event: &Event| {
        *event
            == Event::FaultApplied {
                fault: "accept-then-hang".to_owned(),
                class: RequestClass::Connect,
            }
    };
    soon(host.wait_for_entry(0, applied)).await.unwrap();
    let silent = tokio::time::timeout(UNANSWERED, stream.read_u8()).await;
    assert!(silent.is_err(), "{silent:?}");
    assert_eq!(host.counters().requests, 0);
}

#[tokio::test]
async fn clear_text_and_alerts_where_tls_is_expected() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    host.inject(Fault::PlaintextOnTls.times(1)).unwrap();
    let mut stream = connect(&host).await.unwrap();
    stream.write_all(b"\x16\x03\x01\x00\x05\r\n\r\n").await.unwrap();
    let answer = read_out(&mut stream).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 400"), "{answer:?}");

    host.inject(Fault::TlsAlert.times(1)).unwrap();
    let error = handshake(&host, &host.ca_pem()).await.unwrap_err();
    assert!(error.contains("HandshakeFailure"), "{error}");
}

/// Completes a TLS handshake: version and error as rustls says them.
async fn handshake(host: &Host, trusted: &str) -> Result<String, String> {
    use rustls::pki_types::pem::PemObject as _;
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(rustls::pki_types::CertificateDer::from_pem_slice(trusted.as_bytes()).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = connect(host).await.unwrap();
    let name = ServerName::IpAddress(host.address().ip().into());
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    match soon(connector.connect(name, stream)).await {
        Ok(stream) => Ok(format!("{:?}", stream.get_ref().1.protocol_version())),
        Err(error) => Err(format!("{error:?}")),
    }
}

#[tokio::test]
async fn certificates_have_the_defect_that_is_asked_for() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let authority = host.ca_pem();
    for (defect, says) in [
        (CertificateDefect::Expired, "Expired"),
        (CertificateDefect::NotYetValid, "NotValidYet"),
        (CertificateDefect::WrongName, "NotValidForName"),
        (CertificateDefect::SelfSignedAuthority, "CaUsedAsEndEntity"),
        (CertificateDefect::X509V1, "UnsupportedCertVersion"),
    ] {
        host.set_faults(vec![Fault::Certificate(defect).into()]).unwrap();
        let error = handshake(&host, &host.ca_pem()).await.unwrap_err();
        assert!(error.contains(says), "{defect:?}: {error}");
    }
    host.set_faults(vec![Fault::Certificate(CertificateDefect::SelfSigned).into()])
        .unwrap();
    let error = handshake(&host, &authority).await.unwrap_err();
    assert!(error.contains("UnknownIssuer"), "{error}");
    handshake(&host, &host.ca_pem())
        .await
        .expect("trusted itself it is good");

    host.set_faults(vec![Fault::Certificate(CertificateDefect::ExpiresSoon).into()])
        .unwrap();
    handshake(&host, &authority).await.expect("good for another week");

    let defective = host.certificate_sha256_fingerprint();
    host.clear_faults();
    assert_ne!(host.certificate_sha256_fingerprint(), defective);
    handshake(&host, &host.ca_pem())
        .await
        .expect("its own certificate is back");
}

#[tokio::test]
async fn old_bmcs_speak_tls_1_2_only() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    assert_eq!(handshake(&host, &host.ca_pem()).await.unwrap(), "Some(TLSv1_3)");
    host.inject(Fault::Tls12Only).unwrap();
    assert_eq!(handshake(&host, &host.ca_pem()).await.unwrap(), "Some(TLSv1_2)");
}

#[tokio::test]
async fn a_connection_that_is_reset_when_it_is_used_again() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    host.inject(Fault::ResetOnReuse).unwrap();
    let client = Client::of(&host);
    assert_eq!(status(client.get(&host.system_path())).await, 200);
    let again = client.reset("ForceOff").send().await.unwrap_err();
    assert!(!again.is_connect() && !again.is_timeout(), "{again:?}");
    assert_eq!(host.truth().on_to_off, 0, "nothing was executed");
    assert_eq!(host.counters().tcp_connections, 1);
}
