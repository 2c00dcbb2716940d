//! Proxies in front of what the daemon talks to: the API server, the Redfish service of a BMC, its IPMI port. A [`Gate`]
//! decides what becomes of each call.

pub mod api;
pub mod ipmi;
pub mod reach;
pub mod redfish;
pub mod views;
pub mod workload;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use axum::body::{Body, Bytes};
use http::{Request, Response, StatusCode};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rcgen::{CertificateParams, KeyPair};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use views::View;

/// Decides what becomes of calls.
pub trait Gate: Send + Sync + 'static {
    /// Who calls now: every connection is opened in one life of the daemon.
    fn life(&self) -> u64 {
        0
    }

    /// How the daemon sees the events of its watches.
    fn view(&self) -> watch::Receiver<View> {
        watch::Sender::new(View::Live).subscribe()
    }

    /// Has a call made, sooner or later or never. `None` is no answer: its connection breaks.
    fn pass<A: Send>(
        &self,
        call: &Call,
        made: impl Future<Output = A> + Send,
    ) -> impl Future<Output = Option<A>> + Send;
}

/// A call that matters to a gate.
#[derive(Debug)]
pub struct Call {
    pub name: String,
    /// The life of the daemon in which its connection was opened.
    pub life: u64,
}

/// A proxy; it ends when this is dropped.
pub struct Front {
    pub address: SocketAddr,
    task: AbortHandle,
}

impl Drop for Front {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Where requests over HTTP go, and which of them are put to the gate.
pub(crate) trait Server: Send + Sync + 'static {
    /// The name of a call that is put to the gate.
    fn name(&self, request: &Request<Bytes>) -> Option<String>;

    fn answer(&self, request: Request<Bytes>) -> impl Future<Output = Result<Response<Body>>> + Send;
}

/// A certificate of a proxy's own, with which it speaks TLS.
pub(crate) struct Identity {
    pub(crate) acceptor: TlsAcceptor,
    /// The authority of the certificate, which is itself.
    pub(crate) ca_pem: String,
}

impl Identity {
    pub(crate) fn new() -> Result<Self> {
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()])?.self_signed(&key)?;
        let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)?;
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            ca_pem: certificate.pem(),
        })
    }
}

/// Serves until it is dropped; over TLS where there is an acceptor.
pub(crate) async fn serve<G: Gate, S: Server>(
    gate: Arc<G>,
    server: Arc<S>,
    tls: Option<TlsAcceptor>,
) -> Result<Front> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let accept = async move {
        // Connections end with the proxy.
        let mut connections = tokio::task::JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let (gate, server, tls) = (Arc::clone(&gate), Arc::clone(&server), tls.clone());
            connections.spawn(async move {
                // A connection that breaks is the daemon's end or what the gate wanted.
                let _ = connection(stream, gate, server, tls).await;
            });
        }
    };
    Ok(Front {
        address,
        task: tokio::spawn(accept).abort_handle(),
    })
}

async fn connection<G: Gate, S: Server>(
    stream: TcpStream,
    gate: Arc<G>,
    server: Arc<S>,
    tls: Option<TlsAcceptor>,
) -> Result<()> {
    let life = gate.life();
    stream.set_nodelay(true)?;
    match tls {
        Some(tls) => speak(tls.accept(stream).await?, life, gate, server).await,
        None => speak(stream, life, gate, server).await,
    }
}

async fn speak<G: Gate, S: Server>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send,
    life: u64,
    gate: Arc<G>,
    server: Arc<S>,
) -> Result<()> {
    let service = service_fn(|request: Request<hyper::body::Incoming>| {
        let (gate, server) = (Arc::clone(&gate), Arc::clone(&server));
        async move { request_through(life, &*gate, &*server, request.map(Body::new)).await }
    });
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    connection.await.context("the connection broke")
}

async fn request_through<G: Gate, S: Server>(
    life: u64,
    gate: &G,
    server: &S,
    request: Request<Body>,
) -> io::Result<Response<Body>> {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await;
    let request = Request::from_parts(head, body.map_err(io::Error::other)?);
    let name = server.name(&request);
    let made = async {
        let failed = |error: anyhow::Error| {
            let mut answer = Response::new(Body::from(format!("{error:#}")));
            *answer.status_mut() = StatusCode::BAD_GATEWAY;
            answer
        };
        server.answer(request).await.unwrap_or_else(failed)
    };
    match name {
        None => Ok(made.await),
        Some(name) => {
            let call = Call { name, life };
            let answer = gate.pass(&call, made).await;
            answer.ok_or_else(|| io::Error::other("the gate lets nothing back"))
        }
    }
}
