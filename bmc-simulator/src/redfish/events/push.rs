//! Push events (DSP0266, "Push style eventing"): POST of each event to the destination.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Request, Uri, header};
use hyper_util::rt::TokioIo;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;

use super::Sent;

/// How long one attempt may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where events go, and how often it is tried.
pub(super) struct Target {
    pub(super) destination: String,
    pub(super) headers: HeaderMap,
    /// Attempts after the first.
    pub(super) attempts: u64,
    pub(super) interval: Duration,
}

/// An attempt failed; why does not matter to a BMC.
#[derive(Debug)]
struct Failed;

/// Delivers events until the subscription ends, and with it the BMC or the simulator.
pub(super) async fn deliver(target: Target, mut events: mpsc::Receiver<Sent>, ended: CancellationToken) {
    loop {
        tokio::select! {
            () = ended.cancelled() => return,
            next = events.recv() => match next {
                Some(event) => tokio::select! {
                    () = ended.cancelled() => return,
                    () = attempt_all(&target, &event) => {}
                },
                None => return,
            },
        }
    }
}

/// An event that cannot be delivered in all attempts is lost.
async fn attempt_all(target: &Target, event: &Sent) {
    for attempt in 0..=target.attempts {
        if attempt > 0 {
            tokio::time::sleep(target.interval).await;
        }
        let posted = tokio::time::timeout(PATIENCE, post(target, event)).await;
        if matches!(posted, Ok(Ok(()))) {
            return;
        }
    }
}

async fn post(target: &Target, event: &Sent) -> Result<(), Failed> {
    let uri: Uri = target.destination.parse().map_err(|_| Failed)?;
    let host = uri.host().ok_or(Failed)?.trim_matches(['[', ']']).to_owned();
    let secure = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
    let stream = TcpStream::connect((host.as_str(), port))
        .await
        .map_err(|_| Failed)?;
    let request = request(target, event, &uri)?;
    if secure {
        let name = ServerName::try_from(host).map_err(|_| Failed)?;
        let connector = TlsConnector::from(trusting()?);
        let stream = connector.connect(name, stream).await.map_err(|_| Failed)?;
        exchange(stream, request).await
    } else {
        exchange(stream, request).await
    }
}

fn request(target: &Target, event: &Sent, uri: &Uri) -> Result<Request<Body>, Failed> {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let authority = uri.authority().ok_or(Failed)?.as_str();
    let mut request = Request::post(path)
        .header(header::HOST, authority)
        .body(Body::from(event.body.clone()))
        .map_err(|_| Failed)?;
    let headers = request.headers_mut();
    headers.extend(target.headers.clone());
    let json = HeaderValue::from_static("application/json;charset=utf-8");
    headers.insert(header::CONTENT_TYPE, json);
    headers.insert("OData-Version", HeaderValue::from_static("4.0"));
    Ok(request)
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Body>,
) -> Result<(), Failed> {
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(|_| Failed)?;
    let answer = tokio::select! {
        // Only polling the connection moves bytes; it ends before the answer only when it breaks.
        _ = connection => return Err(Failed),
        answer = sender.send_request(request) => answer,
    };
    let delivered = answer.is_ok_and(|answer| answer.status().is_success());
    if delivered { Ok(()) } else { Err(Failed) }
}

fn trusting() -> Result<Arc<ClientConfig>, Failed> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Arc::new(AnyCertificate(Arc::clone(&provider)));
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_| Failed)?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// Takes every certificate, as the property `VerifyCertificate` says: false is DSP0268's default.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
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
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
