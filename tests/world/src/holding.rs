//! An API server that keeps some of the daemon's requests waiting while it is told to, or is away altogether.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use axum::body::Bytes;
use harness::Cluster;
use harness::process::ChildDaemon;
use http::Request;
use tokio::sync::watch;

use super::front::api::{ApiFront, Kubeconfig};
use super::front::{Call, Front, Gate, reach};
use super::{daemon, pool};

pub use super::front::reach::Reach;

/// Stands in front of a cluster, as the daemon's ServiceAccount.
pub struct Holding {
    cluster: Cluster,
    _fronts: (ApiFront, Front),
    /// Whether a request waits, or did.
    waits: watch::Receiver<bool>,
    /// Whether those are answered.
    pub answers: watch::Sender<bool>,
    /// Of everything, not only of what it holds.
    pub reach: watch::Sender<Reach>,
    pub kubeconfig: Kubeconfig,
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
        let before = reach::serve(front.address(), may_reach).await?;
        Ok(Self {
            cluster: cluster.clone(),
            kubeconfig: Kubeconfig::leading_to(before.address)?,
            _fronts: (front, before),
            waits,
            answers,
            reach,
        })
    }

    /// Starts a daemon that takes this for the API server.
    pub fn start_daemon(&self, program: &str) -> Result<ChildDaemon> {
        let daemon = self.kubeconfig.start_daemon(program)?;
        pool::note_log(&self.cluster, daemon.log_path());
        Ok(daemon)
    }

    /// The same of one that acts while it leads, in the namespace of deploy/base.
    pub fn start_replica(&self, program: &str, name: &str) -> Result<ChildDaemon> {
        let command = daemon::replica(program).env("POD_NAME", name);
        let daemon = command.env("KUBECONFIG", self.kubeconfig.0.clone()).spawn()?;
        pool::note_log(&self.cluster, daemon.log_path());
        Ok(daemon)
    }

    /// Waits until a request is held.
    pub async fn holds_one(&self) -> Result<()> {
        self.waits.clone().wait_for(|waits| *waits).await?;
        Ok(())
    }
}
