//! What hosts without a Node cost together: the last look at each lists all Nodes of the cluster, and all
//! BMCEndpoints, which is done once for all that look at the same time.

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
use harness::process::DaemonCommand;
use kube::Client;
use remediator_core::phase::Phase;
use serde_json::json;
use tokio::sync::watch;
use world::pool::{self, Setting};
use world::{DAEMON_GROUPS, DAEMON_USER, World, nodeless};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("nodeless cost");
const LONG: Duration = Duration::from_mins(2);
/// Hosts that are looked at together.
const RACK: usize = 10;
/// Lists of one kind that their looks may cost: two for all that ask at once, and some for those that ask a moment
/// later, or again because a look took too long on a slow machine.
const LISTS: usize = RACK / 2;

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// An API server that keeps lists of Nodes waiting while it is told to.
struct Holding {
    /// Whether one waits, or did.
    waits: watch::Receiver<bool>,
    answers: watch::Sender<bool>,
    kubeconfig: PathBuf,
}

impl Holding {
    /// In front of the cluster, as the daemon's ServiceAccount.
    async fn start(cluster: &harness::Cluster) -> Result<Self> {
        let server = cluster.client_as(DAEMON_USER, &DAEMON_GROUPS).await?;
        let (waited, waits) = watch::channel(false);
        let (answers, may_answer) = watch::channel(true);
        let waited = Arc::new(waited);
        let answer = move |request: Request| {
            let (server, waited, mut may_answer) = (server.clone(), Arc::clone(&waited), may_answer.clone());
            async move {
                if is_list_of_nodes(&request) && !*may_answer.borrow() {
                    waited.send_replace(true);
                    // Where nobody could tell it any more, the test is over.
                    let _ = may_answer.wait_for(|may| *may).await;
                }
                passed_on(&server, request).await
            }
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "held",
            "clusters": [{"name": "held", "cluster": {"server": format!("http://{address}")}}],
            "users": [{"name": "held", "user": {}}],
            "contexts": [{"name": "held", "context": {"cluster": "held", "user": "held"}}],
        });
        let file = std::env::temp_dir().join(format!("held-{}.json", address.port()));
        std::fs::write(&file, kubeconfig.to_string())?;
        Ok(Self {
            waits,
            answers,
            kubeconfig: file,
        })
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        // It is among temporary files.
        let _ = std::fs::remove_file(&self.kubeconfig);
    }
}

fn is_list_of_nodes(request: &Request) -> bool {
    let query = request.uri().query().unwrap_or_default();
    request.uri().path() == "/api/v1/nodes" && query.contains("limit=")
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

#[tokio::test]
async fn looks_at_many_hosts_at_once_share_their_lists() -> world::Outcome {
    let cluster = &control_plane().await?;
    let mut policy = world::daemon::permissive_policy();
    policy["healthChecker"] = json!("Always");
    world::set_policy(&cluster.client().await?, policy).await?;
    let holding = Holding::start(cluster).await?;
    let options = std::iter::repeat_with(nodeless::never_joined).take(RACK);
    let world = World::new(cluster, "rack", options.collect()).await?;
    for host in &world.hosts {
        nodeless::state_uuid(&world, host).await?;
    }
    nodeless::provisioned_an_hour_ago(&world).await?;
    let _daemon = DaemonCommand::new("baremetal-remediator", DAEMON)
        .arg("run")
        .env("KUBECONFIG", holding.kubeconfig.clone())
        .spawn()?;
    world.is_judged().await?;
    let cursor = cluster.audit_cursor()?;
    holding.answers.send_replace(false);

    nodeless::check(&world).await?;
    let reach = async |phase: Phase| {
        let names: Vec<String> = world.hosts.iter().map(world::WorldHost::remediation).collect();
        let reached = names
            .iter()
            .map(|name| world.remediation_until(name, LONG, move |journal| journal.phase == phase));
        futures::future::try_join_all(reached).await
    };
    // All have journalled that they are about to power off, and the first has begun to look.
    reach(Phase::PoweringOff).await?;
    let mut waits = holding.waits.clone();
    tokio::time::timeout(LONG, waits.wait_for(|waits| *waits)).await??;
    holding.answers.send_replace(true);
    reach(Phase::Booting).await?;

    let events = cluster.audit_of(DAEMON_USER, cursor).await?;
    for resource in ["nodes", "bmcendpoints"] {
        let lists = events
            .iter()
            .filter(|event| event.verb == "list" && event.resource.resource == resource);
        let lists = lists.count();
        println!("{lists} lists of {resource} for {RACK} hosts");
        assert!((1..=LISTS).contains(&lists), "{lists} lists of {resource}");
    }
    for host in &world.hosts {
        assert_eq!(host.transitions(), (1, 1), "{}", host.name);
    }
    Ok(())
}
