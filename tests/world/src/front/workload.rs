//! A proxy in front of the API server of a workload cluster, and the kubeconfig that leads to it.

use std::sync::Arc;

use anyhow::Result;
use axum::body::Bytes;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use harness::{AUDITED_GROUP, Cluster};
use http::Request;
use serde_json::json;

use super::api::{ApiServer, Only};
use super::{Front, Gate, Identity};
use crate::DAEMON_IN_WORKLOAD_CLUSTERS;

pub struct WorkloadFront {
    _front: Front,
    /// Whoever goes by it may do everything, and is audited.
    pub kubeconfig: String,
}

impl WorkloadFront {
    /// `naming` names the requests that are put to the gate.
    pub async fn start<G: Gate>(
        cluster: &Cluster,
        gate: Arc<G>,
        naming: impl Fn(&Request<Bytes>) -> Option<String> + Send + Sync + 'static,
        only: Only,
    ) -> Result<Self> {
        let groups = [AUDITED_GROUP, "system:masters"];
        let server = ApiServer {
            client: cluster.client_as(DAEMON_IN_WORKLOAD_CLUSTERS, &groups).await?,
            naming,
            only: Some(only),
            view: gate.view(),
        };
        let identity = Identity::new()?;
        let front = super::serve(gate, Arc::new(server), Some(identity.acceptor)).await?;
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "front",
            "clusters": [{"name": "front", "cluster": {
                "server": format!("https://{}", front.address),
                "certificate-authority-data": STANDARD.encode(identity.ca_pem),
            }}],
            "users": [{"name": "front", "user": {"token": "the-proxy-does-not-ask"}}],
            "contexts": [{"name": "front", "context": {"cluster": "front", "user": "front"}}],
        });
        Ok(Self {
            _front: front,
            kubeconfig: kubeconfig.to_string(),
        })
    }
}
