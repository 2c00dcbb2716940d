//! An API server that keeps some of the daemon's requests waiting while it is told to, or is away altogether.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use harness::Cluster;
use harness::process::{ChildDaemon, DaemonCommand};
use kube::Client;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::{DAEMON_GROUPS, DAEMON_USER, pool};

/// What becomes of connections to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// They lead to the API server.
    Through,
    /// There are none: those that were are cut, and new ones are refused.
    Refused,
    /// They are accepted and stay, and nothing passes.
    Silent,
}

/// Stands in front of a cluster, as the daemon's ServiceAccount.
pub struct Holding {
    cluster: Cluster,
    /// Whether a request waits, or did.
    waits: watch::Receiver<bool>,
    /// Whether those are answered.
    pub answers: watch::Sender<bool>,
    /// Of everything, not only of what it holds.
    pub reach: watch::Sender<Reach>,
    pub kubeconfig: PathBuf,
}

impl Holding {
    /// It holds what `holds` says, and nothing as long as it answers.
    pub async fn start(cluster: &Cluster, holds: fn(&Request) -> bool) -> Result<Self> {
        Self::slow(cluster, holds, Duration::MAX).await
    }

    /// The same, and each for so long at the most.
    pub async fn slow(cluster: &Cluster, holds: fn(&Request) -> bool, longest: Duration) -> Result<Self> {
        let server = cluster.client_as(DAEMON_USER, &DAEMON_GROUPS).await?;
        let (waited, waits) = watch::channel(false);
        let (answers, may_answer) = watch::channel(true);
        let waited = Arc::new(waited);
        let answer = move |request: Request| {
            let (server, waited, mut may_answer) = (server.clone(), Arc::clone(&waited), may_answer.clone());
            async move {
                if holds(&request) && !*may_answer.borrow() {
                    waited.send_replace(true);
                    // Where nobody could tell it any more, the test is over.
                    let _ = tokio::time::timeout(longest, may_answer.wait_for(|may| *may)).await;
                }
                passed_on(&server, request).await
            }
        };
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let behind = listener.local_addr()?;
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
        let (reach, may_reach) = watch::channel(Reach::Through);
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        tokio::spawn(stand_before(behind, listener, may_reach));
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "held",
            "clusters": [{"name": "held", "cluster": {"server": format!("http://{address}")}}],
            "users": [{"name": "held", "user": {}}],
            "contexts": [{"name": "held", "context": {"cluster": "held", "user": "held"}}],
        });
        let file = std::env::temp_dir().join(format!("held-{}.json", address.port()));
        std::fs::write(&file, kubeconfig.to_string())?;
        Ok(Self {
            cluster: cluster.clone(),
            waits,
            answers,
            reach,
            kubeconfig: file,
        })
    }

    /// Starts a daemon that takes this for the API server.
    pub fn start_daemon(&self, program: &str) -> Result<ChildDaemon> {
        let daemon = DaemonCommand::new("baremetal-remediator", program)
            .arg("run")
            .env("KUBECONFIG", self.kubeconfig.clone())
            .spawn()?;
        pool::note_log(&self.cluster, daemon.log_path());
        Ok(daemon)
    }

    /// Waits until a request is held.
    pub async fn holds_one(&self) -> Result<()> {
        self.waits.clone().wait_for(|waits| *waits).await?;
        Ok(())
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        // It is among temporary files.
        let _ = std::fs::remove_file(&self.kubeconfig);
    }
}

/// Takes connections for `behind` for as long as anybody may say what becomes of them.
async fn stand_before(
    behind: SocketAddr,
    mut listener: TcpListener,
    reach: watch::Receiver<Reach>,
) -> Result<()> {
    let address = listener.local_addr()?;
    let mut changes = reach.clone();
    loop {
        tokio::select! {
            refused = changes.wait_for(|now| *now == Reach::Refused) => drop(refused?),
            accepted = listener.accept() => {
                let (daemon, _) = accepted?;
                tokio::spawn(relay(daemon, behind, reach.clone()));
                continue;
            }
        }
        drop(listener);
        changes.wait_for(|now| *now != Reach::Refused).await?;
        listener = TcpListener::bind(address).await?;
    }
}

async fn relay(daemon: TcpStream, behind: SocketAddr, mut reach: watch::Receiver<Reach>) -> io::Result<()> {
    let server = TcpStream::connect(behind).await?;
    let ((daemon_says, to_daemon), (server_says, to_server)) = (daemon.into_split(), server.into_split());
    tokio::select! {
        ended = pass(daemon_says, to_server, reach.clone()) => ended,
        ended = pass(server_says, to_daemon, reach.clone()) => ended,
        _ = reach.wait_for(|now| *now == Reach::Refused) => Ok(()),
    }
}

async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut reach: watch::Receiver<Reach>,
) -> io::Result<()> {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let count = from.read(&mut bytes).await?;
        // Where nobody could tell it any more, the test is over.
        let _ = reach.wait_for(|now| *now != Reach::Silent).await;
        let Some(said) = bytes.get(..count).filter(|said| !said.is_empty()) else {
            return Ok(());
        };
        to.write_all(said).await?;
    }
}

async fn passed_on(server: &Client, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let answered = async {
        let body = axum::body::to_bytes(body, usize::MAX).await?;
        let request = Request::from_parts(head, kube::client::Body::from(body.to_vec()));
        anyhow::Ok(server.send(request).await?.map(Body::new))
    };
    let failed = |error: anyhow::Error| (StatusCode::BAD_GATEWAY, error.to_string()).into_response();
    answered.await.unwrap_or_else(failed)
}
