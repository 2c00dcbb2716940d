//! A BMC made of one function from requests to answers, over TLS on a loopback port.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, Response};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::Fingerprint;

/// A request as the server saw it.
pub(super) struct Seen {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Seen {
    pub(super) fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// A certificate to serve with, and what to trust it by.
pub(super) struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    /// PEM of the issuer, or of itself.
    pub(super) authority: String,
    pub(super) pin: Fingerprint,
}

impl Identity {
    /// Issued by a CA of its own for `names`, with changes.
    pub(super) fn issued(names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Self {
        let authority_key = KeyPair::generate().unwrap();
        let mut authority = CertificateParams::new(vec![]).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = authority.self_signed(&authority_key).unwrap().pem();
        let issuer = Issuer::new(authority, authority_key);
        let key = KeyPair::generate().unwrap();
        let mut leaf = params(names);
        change(&mut leaf);
        let leaf = leaf.signed_by(&key, &issuer).unwrap();
        Self::new(leaf.der().clone(), &key, pem)
    }

    /// As BMCs make them at the factory: self-signed, and a CA.
    pub(super) fn self_signed_authority() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut leaf = params(&["127.0.0.1"]);
        leaf.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let leaf = leaf.self_signed(&key).unwrap();
        Self::new(leaf.der().clone(), &key, leaf.pem())
    }

    /// Presents the certificate of another with a key that does not belong to it.
    pub(super) fn presenting(self, other: Self) -> Self {
        Self {
            key: self.key,
            ..other
        }
    }

    fn new(leaf: CertificateDer<'static>, key: &KeyPair, authority: String) -> Self {
        Self {
            pin: Fingerprint::of(&leaf),
            chain: vec![leaf],
            key: PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            authority,
        }
    }
}

fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    CertificateParams::new(names).unwrap()
}

/// The server. Stops when dropped.
pub(super) struct Fake {
    pub(super) address: SocketAddr,
    pub(super) authority: String,
    pub(super) pin: Fingerprint,
    log: Arc<Mutex<Vec<String>>>,
    accepted: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Fake {
    /// Starts a server that answers by `respond`, and hangs where that has no answer.
    pub(super) async fn start(
        respond: impl Fn(Seen) -> Option<Response<Body>> + Clone + Send + Sync + 'static,
    ) -> Self {
        Self::start_as(Identity::issued(&["127.0.0.1", "localhost"], |_| {}), respond).await
    }

    pub(super) async fn start_as(
        identity: Identity,
        respond: impl Fn(Seen) -> Option<Response<Body>> + Clone + Send + Sync + 'static,
    ) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        // Not through `with_single_cert`, which would notice a key that does not belong.
        let key = provider.key_provider.load_private_key(identity.key).unwrap();
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(CertifiedKey::new(
                identity.chain,
                key,
            ))));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let accepted = Arc::new(AtomicUsize::new(0));
        let log = Arc::new(Mutex::new(Vec::new()));
        let listener = Listener {
            tcp: listener,
            acceptor: TlsAcceptor::from(Arc::new(config)),
            accepted: Arc::clone(&accepted),
        };
        let seen_by = Arc::clone(&log);
        let router = Router::new().fallback(move |request: Request| {
            let (respond, log) = (respond.clone(), Arc::clone(&seen_by));
            async move {
                let (head, body) = request.into_parts();
                let body = to_bytes(body, 1 << 20).await.unwrap();
                let seen = Seen {
                    method: head.method.to_string(),
                    path: head
                        .uri
                        .path_and_query()
                        .map_or_else(String::new, ToString::to_string),
                    headers: head.headers,
                    body: String::from_utf8(body.to_vec()).unwrap(),
                };
                log.lock().unwrap().push(seen.line());
                match respond(seen) {
                    Some(response) => response,
                    None => std::future::pending().await,
                }
            }
        });
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            address,
            authority: identity.authority,
            pin: identity.pin,
            log,
            accepted,
            task,
        }
    }

    /// Requests seen, as "METHOD path".
    pub(super) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    /// TCP connections accepted.
    pub(super) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

struct Listener {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
    accepted: Arc<AtomicUsize>,
}

impl axum::serve::Listener for Listener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, peer) = self.tcp.accept().await.unwrap();
            self.accepted.fetch_add(1, Ordering::SeqCst);
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, peer);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}

/// An answer with a JSON body.
pub(super) fn json(status: u16, body: &serde_json::Value) -> Option<Response<Body>> {
    reply(status, &[("content-type", "application/json")], &body.to_string())
}

/// Any answer, as a server function returns it: `None` there means to hang.
#[allow(clippy::unnecessary_wraps)]
pub(super) fn reply(status: u16, headers: &[(&str, &str)], body: &str) -> Option<Response<Body>> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    Some(response.body(Body::from(body.to_owned())).unwrap())
}
