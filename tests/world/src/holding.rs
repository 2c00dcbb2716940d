//! An API server that keeps some of the daemon's requests waiting while it is told to.

use std::ops::Deref;
use std::sync::Arc;

use anyhow::Result;
use axum::body::Bytes;
use harness::Cluster;
use harness::process::ChildDaemon;
use http::Request;
use tokio::sync::watch;

use super::front::api::ApiFront;
use super::front::{Call, Gate};
use super::pool;

/// Stands in front of a cluster, as the daemon's ServiceAccount.
pub struct Holding {
    cluster: Cluster,
    front: ApiFront,
    /// Whether a request waits, or did.
    waits: watch::Receiver<bool>,
    /// Whether those are answered.
    pub answers: watch::Sender<bool>,
}

struct Held {
    waited: watch::Sender<bool>,
    may_answer: watch::Receiver<bool>,
}

impl Gate for Held {
    async fn pass<A: Send>(&self, _: &Call, made: impl Future<Output = A> + Send) -> Option<A> {
        let mut may_answer = self.may_answer.clone();
        if !*may_answer.borrow() {
            self.waited.send_replace(true);
            // Where nobody could tell it any more, the test is over.
            may_answer.wait_for(|may| *may).await.ok()?;
        }
        Some(made.await)
    }
}

impl Holding {
    /// It holds what `holds` says, and nothing as long as it answers.
    pub async fn start(cluster: &Cluster, holds: fn(&Request<Bytes>) -> bool) -> Result<Self> {
        let (waited, waits) = watch::channel(false);
        let (answers, may_answer) = watch::channel(true);
        let held = Arc::new(Held { waited, may_answer });
        let naming = move |request: &Request<Bytes>| holds(request).then(|| "held".to_owned());
        Ok(Self {
            cluster: cluster.clone(),
            front: ApiFront::start(cluster, held, naming, None).await?,
            waits,
            answers,
        })
    }

    /// Starts a daemon that takes this for the API server.
    pub fn start_daemon(&self, program: &str) -> Result<ChildDaemon> {
        let daemon = self.front.start_daemon(program)?;
        pool::note_log(&self.cluster, daemon.log_path());
        Ok(daemon)
    }

    /// Waits until a request is held.
    pub async fn holds_one(&self) -> Result<()> {
        self.waits.clone().wait_for(|waits| *waits).await?;
        Ok(())
    }
}

impl Deref for Holding {
    type Target = ApiFront;

    fn deref(&self) -> &ApiFront {
        &self.front
    }
}
