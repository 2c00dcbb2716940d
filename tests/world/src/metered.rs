//! A daemon whose metrics are read.

use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::Cluster;
use harness::process::ChildDaemon;

use super::daemon::alone;
use super::{DAEMON_GROUPS, DAEMON_USER, pool};

/// How long any one thing may take.
const PATIENCE: Duration = Duration::from_mins(2);

/// A daemon whose metrics are read.
pub struct Daemon {
    pub child: ChildDaemon,
    /// URL of the server of its metrics.
    pub metrics: String,
}

impl Daemon {
    /// Starts it as its ServiceAccount.
    pub async fn start(cluster: &Cluster, program: &str) -> Result<Self> {
        let child = alone(program)
            .args(["--metrics-address", "127.0.0.1:0"])
            .env("KUBECONFIG", cluster.kubeconfig_for(DAEMON_USER, &DAEMON_GROUPS)?)
            .env("LOG_FILTER", "debug")
            .spawn()?;
        pool::note_log(cluster, child.log_path());
        Self::of(child).await
    }

    /// One that was started so that it serves metrics.
    pub async fn of(child: ChildDaemon) -> Result<Self> {
        let line = child.wait_for_line("serving metrics", PATIENCE).await?;
        let (_, address) = line.split_once("address=").context("names no address")?;
        let address = address.split_whitespace().next().unwrap_or_default();
        let metrics = format!("http://{address}");
        Ok(Self { child, metrics })
    }

    /// What a probe answers: status and body.
    pub async fn probe(&self, path: &str) -> Result<(u16, String)> {
        let answer = reqwest::get(format!("{}/{path}", self.metrics)).await?;
        Ok((answer.status().as_u16(), answer.text().await?))
    }

    /// All metrics as lines.
    pub async fn scrape(&self) -> Result<Vec<String>> {
        let answer = reqwest::get(format!("{}/metrics", self.metrics)).await?;
        let text = answer.error_for_status()?.text().await?;
        Ok(text.lines().map(ToOwned::to_owned).collect())
    }

    /// The value of one metric.
    pub async fn metric(&self, name: &str) -> Result<Option<String>> {
        let lines = self.scrape().await?;
        let value = lines.iter().find_map(|line| line.strip_prefix(name));
        Ok(value.map(|value| value.trim().to_owned()))
    }

    /// Waits until a metric is there.
    pub async fn metric_appears(&self, name: &str) -> Result<()> {
        let wait = async {
            while self.metric(name).await?.is_none() {
                // There is no event for a number that nobody pushes.
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            anyhow::Ok(())
        };
        match tokio::time::timeout(PATIENCE, wait).await {
            Ok(done) => done,
            Err(_) => anyhow::bail!("{name} did not appear: {:#?}", self.scrape().await?),
        }
    }

    /// Waits until a metric has a value, or is gone.
    pub async fn metric_becomes(&self, name: &str, wanted: Option<&str>) -> Result<()> {
        let wait = async {
            while self.metric(name).await?.as_deref() != wanted {
                // There is no event for a number that nobody pushes.
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            anyhow::Ok(())
        };
        match tokio::time::timeout(PATIENCE, wait).await {
            Ok(done) => done,
            Err(_) => anyhow::bail!("{name} did not become {wanted:?}: {:#?}", self.scrape().await?),
        }
    }
}
