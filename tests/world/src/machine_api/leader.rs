//! machine-healthcheck where it is deployed, as far as others tell that it runs.

use std::time::Duration;

use anyhow::Result;
use harness::Cluster;
use harness::process::ChildDaemon;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::Api;
use serde_json::json;
use tokio::task::JoinHandle;

use super::super::upstream::Upstream;
use super::super::{ensure_namespace, install};
use super::{ACCOUNT, VARIABLE};

/// Runs as the leader that its Lease names, in a cluster that is nobody else's.
pub struct Leader {
    _real: Option<ChildDaemon>,
    script: Option<JoinHandle<()>>,
}

impl Leader {
    /// Starts it where it is deployed.
    pub async fn start(cluster: &Cluster) -> Result<Self> {
        let client = cluster.client().await?;
        ensure_namespace(&client, ACCOUNT.namespace).await?;
        let Some(program) = Upstream::named(VARIABLE)? else {
            let leases = Api::namespaced(client, ACCOUNT.namespace);
            return Ok(Self {
                _real: None,
                script: Some(tokio::spawn(renew(leases))),
            });
        };
        program.install(cluster).await?;
        program.allow_in(&client, ACCOUNT.namespace, ACCOUNT).await?;
        let arguments = [
            format!("--namespace={}", ACCOUNT.namespace),
            format!("--leader-elect-resource-namespace={}", ACCOUNT.namespace),
            "--leader-elect=true".to_owned(),
            "--leader-elect-lease-duration=120s".to_owned(),
            "--metrics-bind-address=0".to_owned(),
            "--health-addr=0".to_owned(),
        ];
        let real = program.start(cluster, ACCOUNT, &arguments, &[])?;
        Ok(Self {
            _real: Some(real),
            script: None,
        })
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        if let Some(script) = &self.script {
            script.abort();
        }
    }
}

/// Renews the Lease again and again. Source: machine-api-operator `cmd/machine-healthcheck/main.go`.
async fn renew(leases: Api<Lease>) {
    let mut often = tokio::time::interval(Duration::from_millis(500));
    loop {
        often.tick().await;
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "cluster-api-provider-healthcheck-leader"},
            "spec": {
                "holderIdentity": "leader", "leaseDurationSeconds": 137,
                "renewTime": format!("{:.6}", jiff::Timestamp::now()),
            },
        });
        // Whoever waits for what comes of it says that it did not.
        install::apply(&leases, lease).await.ok();
    }
}
