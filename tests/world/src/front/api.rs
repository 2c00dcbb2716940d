//! A proxy in front of an API server, which is the daemon's ServiceAccount there.

use std::net::SocketAddr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use axum::body::{Body, Bytes};
use harness::Cluster;
use harness::process::ChildDaemon;
use http::{Method, Request, Response, Uri};
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::views::{self, View};
use super::{Front, Gate, Server};
use crate::daemon::{alone, replica};
use crate::install::SYSTEM;
use crate::{DAEMON_GROUPS, DAEMON_USER};

/// Kinds of namespaces that the daemon watches everywhere.
const NAMESPACED: [&str; 7] = [
    "baremetalhosts",
    "bmcendpoints",
    "clusters",
    "machinehealthchecks",
    "machines",
    "powercycleremediations",
    "powercycleremediationtemplates",
];

/// What a daemon sees of the cluster. It takes a taint of another one's remediation for one that was left behind.
#[derive(Debug, Clone)]
pub struct Only {
    pub namespace: String,
    /// All of them where there is none.
    pub node: Option<String>,
}

/// The proxy, and how a daemon comes to it.
pub struct ApiFront {
    front: Front,
    kubeconfig: Kubeconfig,
}

impl ApiFront {
    /// `naming` names the requests that are put to the gate; `only` is what a daemon sees, so that many can be at work
    /// in one cluster.
    pub async fn start<G: Gate>(
        cluster: &Cluster,
        gate: Arc<G>,
        naming: impl Fn(&Request<Bytes>) -> Option<String> + Send + Sync + 'static,
        only: Option<Only>,
    ) -> Result<Self> {
        let server = ApiServer {
            client: cluster.client_as(DAEMON_USER, &DAEMON_GROUPS).await?,
            naming,
            only,
            view: gate.view(),
        };
        let front = super::serve(gate, Arc::new(server), None).await?;
        Ok(Self {
            kubeconfig: Kubeconfig::leading_to(front.address)?,
            front,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.front.address
    }

    /// Starts a daemon that takes this for the API server.
    pub fn start_daemon(&self, program: &str) -> Result<ChildDaemon> {
        self.kubeconfig.start_daemon(program)
    }

    /// Starts a replica that takes this for the API server, with the Lease in a namespace.
    pub fn start_replica(&self, program: &str, name: &str, namespace: &str) -> Result<ChildDaemon> {
        let mut kubeconfig: Value = serde_json::from_slice(&std::fs::read(&*self.kubeconfig)?)?;
        let context = kubeconfig
            .pointer_mut("/contexts/0/context")
            .context("a context")?;
        context["namespace"] = namespace.into();
        std::fs::write(&*self.kubeconfig, kubeconfig.to_string())?;
        replica(program)
            .env("KUBECONFIG", self.kubeconfig.0.clone())
            .env("POD_NAME", name)
            .env("NODE_NAME", "")
            .spawn()
    }
}

/// A file among temporary ones, which goes with this.
pub struct Kubeconfig(pub PathBuf);

impl Kubeconfig {
    pub fn leading_to(address: SocketAddr) -> Result<Self> {
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "front",
            "clusters": [{"name": "front", "cluster": {"server": format!("http://{address}")}}],
            "users": [{"name": "front", "user": {}}],
            "contexts": [{"name": "front", "context": {"cluster": "front", "user": "front", "namespace": SYSTEM}}],
        });
        let file = std::env::temp_dir().join(format!("front-{}.json", address.port()));
        std::fs::write(&file, kubeconfig.to_string())?;
        Ok(Self(file))
    }

    /// Starts a daemon that goes by it.
    pub fn start_daemon(&self, program: &str) -> Result<ChildDaemon> {
        let daemon = alone(program).env("KUBECONFIG", self.0.clone());
        daemon.env("METRICS_ADDRESS", "127.0.0.1:0").spawn()
    }
}

impl Deref for Kubeconfig {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Kubeconfig {
    fn drop(&mut self) {
        // It is among temporary files.
        let _ = std::fs::remove_file(&self.0);
    }
}

pub(super) struct ApiServer<N> {
    pub(super) client: Client,
    pub(super) naming: N,
    pub(super) only: Option<Only>,
    pub(super) view: watch::Receiver<View>,
}

impl<N> Server for ApiServer<N>
where
    N: Fn(&Request<Bytes>) -> Option<String> + Send + Sync + 'static,
{
    fn name(&self, request: &Request<Bytes>) -> Option<String> {
        (self.naming)(request)
    }

    async fn answer(&self, request: Request<Bytes>) -> Result<Response<Body>> {
        let (mut head, body) = request.into_parts();
        let is_watch = head.uri.query().is_some_and(|query| query.contains("watch=true"));
        if let Some(only) = &self.only {
            head.uri = match head.method {
                Method::GET => narrowed(&head.uri, only)?,
                Method::PATCH => tried(&head.uri)?,
                _ => head.uri,
            };
        }
        let request = Request::from_parts(head, kube::client::Body::from(body.to_vec()));
        let answer = self.client.send(request).await?.map(Body::new);
        Ok(if is_watch {
            answer.map(|events| views::seen(events, self.view.clone()))
        } else {
            answer
        })
    }
}

/// What is said of the policy is only tried: all daemons have the same one, each would write over what another said
/// of its own part of the cluster, and be told of it again.
fn tried(uri: &Uri) -> Result<Uri> {
    if !uri.path().ends_with("/remediationpolicies/default/status") {
        return Ok(uri.clone());
    }
    let query = uri.query().unwrap_or_default();
    Ok(format!("{}?dryRun=All&{query}", uri.path()).parse()?)
}

/// The same question about what the daemon is to see, where it was about all.
fn narrowed(uri: &Uri, only: &Only) -> Result<Uri> {
    let path: Vec<&str> = uri.path().trim_start_matches('/').split('/').collect();
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let narrowed = match (&path[..], &only.node) {
        (["apis", group, version, kind], _) if NAMESPACED.contains(kind) => {
            let namespace = &only.namespace;
            format!("/apis/{group}/{version}/namespaces/{namespace}/{kind}{query}")
        }
        (["api", "v1", "nodes"], Some(node)) if !query.contains("fieldSelector") => {
            let begin = if query.is_empty() { "?" } else { "&" };
            format!("/api/v1/nodes{query}{begin}fieldSelector=metadata.name%3D{node}")
        }
        _ => return Ok(uri.clone()),
    };
    Ok(narrowed.parse()?)
}
