//! An API server that keeps some of the daemon's requests waiting while it is told to, or is away altogether.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use axum::body::Bytes;
use harness::Cluster;
use harness::process::ChildDaemon;
use http::Request;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::front::api::{ApiFront, kubeconfig_for, start_daemon};
use super::front::{Call, Gate};
use super::pool;
use super::reach::{Reach, stand_before};

/// Stands in front of a cluster, as the daemon's ServiceAccount.
pub struct Holding {
    cluster: Cluster,
    _front: ApiFront,
    /// Whether a request waits, or did.
    waits: watch::Receiver<bool>,
    /// Whether those are answered.
    pub answers: watch::Sender<bool>,
    /// Of everything, not only of what it holds.
    pub reach: watch::Sender<Reach>,
    pub kubeconfig: PathBuf,
}

struct Held {
    waited: watch::Sender<bool>,
    may_answer: watch::Receiver<bool>,
    longest: Duration,
}

impl Gate for Held {
    async fn pass<A: Send>(&self, _: &Call, made: impl Future<Output = A> + Send) -> Option<A> {
        let mut may_answer = self.may_answer.clone();
        if !*may_answer.borrow() {
            self.waited.send_replace(true);
            // Where nobody could tell it any more, the test is over.
            let _ = tokio::time::timeout(self.longest, may_answer.wait_for(|may| *may)).await;
        }
        Some(made.await)
    }
}

impl Holding {
    /// It holds what `holds` says, and nothing as long as it answers.
    pub async fn start(cluster: &Cluster, holds: fn(&Request<Bytes>) -> bool) -> Result<Self> {
        Self::slow(cluster, holds, Duration::MAX).await
    }

    /// The same, and each for so long at the most.
    pub async fn slow(
        cluster: &Cluster,
        holds: fn(&Request<Bytes>) -> bool,
        longest: Duration,
    ) -> Result<Self> {
        let (waited, waits) = watch::channel(false);
        let (answers, may_answer) = watch::channel(true);
        let held = Arc::new(Held {
            waited,
            may_answer,
            longest,
        });
        let naming = move |request: &Request<Bytes>| holds(request).then(|| "held".to_owned());
        let front = ApiFront::start(cluster, held, naming, None).await?;
        let (reach, may_reach) = watch::channel(Reach::Through);
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let kubeconfig = kubeconfig_for(listener.local_addr()?)?;
        tokio::spawn(stand_before(front.address(), listener, may_reach));
        Ok(Self {
            cluster: cluster.clone(),
            _front: front,
            waits,
            answers,
            reach,
            kubeconfig,
        })
    }

    /// Starts a daemon that takes this for the API server.
    pub fn start_daemon(&self, program: &str) -> Result<ChildDaemon> {
        let daemon = start_daemon(program, &self.kubeconfig)?;
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
