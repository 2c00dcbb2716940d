//! Everything the story needs: control plane, hosts, daemon, workload, and who plays what is missing.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use bmc_simulator::{Delay, Delays};
use harness::kubelet::NodeTemplate;
use harness::process::ChildDaemon;
use harness::scheduler::ScriptedScheduler;
use harness::{ControlPlane, await_condition};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{Node, Pod, ServiceAccount};
use kube::api::{Api, PostParams};
use serde_json::json;
use world::{HostOptions, World, WorldHost, objects};

use crate::follow::{self, Followed};
use crate::metal3::{self, Metal3};
use crate::narrate::{Narrator, Who, print};
use crate::scenario::Scenario;

pub(crate) const NAMESPACE: &str = "demo";
/// Name of the workload's only pod.
pub(crate) const POD: &str = "database-0";
/// How long a Node has to be unhealthy before its health check asks for a remediation.
pub(crate) const HEALTH_CHECK_TIMEOUT: &str = "3s";

/// How the simulated hosts take their time.
const DELAYS: Delays = Delays {
    off: Delay::Fixed(Duration::from_secs(2)),
    on: Delay::Fixed(Duration::from_millis(500)),
    boot: Delay::Fixed(Duration::from_secs(4)),
    graceful_shutdown: None,
};

/// The stage with everything on it. Dropping it ends every process.
pub(crate) struct Stage {
    pub(crate) narrator: Arc<Narrator>,
    pub(crate) world: Arc<World>,
    pub(crate) daemon: ChildDaemon,
    pub(crate) control_plane: ControlPlane,
    pub(crate) followed: Followed,
    /// Index of the host that runs the workload.
    pub(crate) victim: usize,
    _scheduler: ScriptedScheduler,
    metal3: Option<Metal3>,
}

impl Stage {
    pub(crate) async fn build(scenario: Scenario, narrator: Arc<Narrator>) -> Result<Self> {
        let program = daemon_program()?;
        narrator.say(
            Who::Demo,
            "starting etcd, kube-apiserver and kube-controller-manager",
        );
        let control_plane = ControlPlane::start(harness::Options::default()).await?;
        narrator.log_is_at("control plane", control_plane.log_folder());
        let world = Arc::new(build_world(scenario, &control_plane).await?);
        let version = world.client.apiserver_version().await?.git_version;
        narrator.say(
            Who::Demo,
            &format!(
                "Kubernetes {version} is up; three hosts behind simulated BMCs (Redfish, TLS), each with \
                 Machine, Node, {} and Secret",
                if scenario.is_beside_metal3() {
                    "BareMetalHost"
                } else {
                    "BMCEndpoint"
                }
            ),
        );
        let metal3 = if scenario.is_beside_metal3() {
            Some(metal3::start(&world, &narrator).await?)
        } else {
            None
        };
        let daemon = world::start_daemon(&control_plane, &program)?;
        narrator.log_is_at("daemon", daemon.log_path());
        daemon.wait_for_line(" ready ", Duration::from_mins(1)).await?;
        narrator.say(
            Who::Demo,
            &format!(
                "the daemon runs as its own process ({}), with its shipped role only",
                daemon.pid()
            ),
        );
        let page = world::daemon::status_page(&daemon).await?;
        narrator.say(Who::Demo, &format!("its status page, live: {page}/"));
        let scheduler = ScriptedScheduler::start(world.client.clone());
        let node = start_workload(&world).await?;
        let victim = world
            .hosts
            .iter()
            .position(|host| host.name == node)
            .with_context(|| format!("the workload went to {node}, which is no host of this demo"))?;
        untainted(&world).await?;
        scenario.prepare(&world, victim)?;
        let followed = follow::start(&world, &narrator);
        narrator.say(
            Who::Kubernetes,
            &format!("pod {POD} (StatefulSet, so never two at once) runs on {node}"),
        );
        Ok(Self {
            narrator,
            world,
            daemon,
            control_plane,
            followed,
            victim,
            _scheduler: scheduler,
            metal3,
        })
    }

    /// The host that everything is about.
    pub(crate) fn host(&self) -> Result<&WorldHost> {
        self.world.hosts.get(self.victim).context("the host has vanished")
    }

    /// Whether metal3 keeps the hosts online.
    pub(crate) fn is_beside_metal3(&self) -> bool {
        self.metal3.is_some()
    }

    /// The operating system of a host stops answering, with its power on.
    pub(crate) async fn hang(&self) -> Result<()> {
        hang(&self.world, &self.narrator, &self.host()?.name).await
    }

    /// Ends everything in order.
    pub(crate) async fn end(self) {
        let Self {
            daemon,
            control_plane,
            followed,
            world,
            ..
        } = self;
        drop(followed);
        drop(world);
        let daemon = daemon.stop(Duration::from_secs(5)).await.map(|_| ());
        for ended in [daemon, control_plane.stop().await] {
            if let Err(error) = ended {
                print(&format!("while stopping: {error:#}"));
            }
        }
    }
}

/// The operating system of a host stops answering, with its power on.
pub(crate) async fn hang(world: &World, narrator: &Narrator, name: &str) -> Result<()> {
    let host = world.hosts.iter().find(|host| host.name == name);
    let kubelet = host.and_then(|host| host.kubelet.as_ref());
    let kubelet = kubelet.with_context(|| format!("{name} has no kubelet"))?;
    kubelet.stop_reporting().await?;
    narrator.say(
        Who::Truth,
        &format!("{name}: the operating system hangs; power is On, the kubelet is silent"),
    );
    Ok(())
}

/// The daemon is built beside us: we are in `target/debug/examples`, it is in `target/debug`.
fn daemon_program() -> Result<PathBuf> {
    let own = std::env::current_exe().context("cannot find our own program")?;
    let folder = own.parent().and_then(std::path::Path::parent);
    let program = folder
        .context("our own program is in no folder")?
        .join("baremetal-remediator");
    if !program.is_file() {
        bail!(
            "expected: the daemon at {}\nseen:     nothing there; build it with: cargo build --bin baremetal-remediator",
            program.display()
        );
    }
    Ok(program)
}

async fn build_world(scenario: Scenario, control_plane: &ControlPlane) -> Result<World> {
    world::install(control_plane).await?;
    let client = control_plane.client().await?;
    world::ensure_namespace(&client, NAMESPACE).await?;
    // Pods are refused until their service account is there.
    let accounts = Api::<ServiceAccount>::namespaced(client, NAMESPACE);
    await_condition(accounts, "default", |account: Option<&ServiceAccount>| {
        account.is_some()
    })
    .await?;
    let hosts = (0..3).map(|_| HostOptions {
        delays: DELAYS,
        node: Box::new(|mut node: NodeTemplate| {
            node.labels
                .insert("node-role.kubernetes.io/worker".to_owned(), String::new());
            node
        }),
        ..if scenario.is_beside_metal3() {
            world::metal3::options()
        } else {
            HostOptions::default()
        }
    });
    let world = World::named(
        control_plane,
        NAMESPACE.to_owned(),
        "worker".to_owned(),
        hosts.collect(),
    )
    .await?;
    objects::create_health_check(&world, "workers", |check| {
        if let Some(spec) = check.get_mut("spec") {
            spec["unhealthyConditions"] = json!([
                {"type": "Ready", "status": "Unknown", "timeout": HEALTH_CHECK_TIMEOUT},
                {"type": "Ready", "status": "False", "timeout": HEALTH_CHECK_TIMEOUT},
            ]);
        }
    })
    .await?;
    // BMCs are not checked in the background: what reaches them is counted.
    world::set_policy(&world.client, world::daemon::permissive_policy()).await?;
    Ok(world)
}

/// Waits until the node lifecycle controller has found every Node in order.
async fn untainted(world: &World) -> Result<()> {
    for host in &world.hosts {
        let clean = |node: Option<&Node>| {
            let taints = node
                .and_then(|node| node.spec.as_ref())
                .and_then(|spec| spec.taints.as_ref());
            taints.is_none_or(Vec::is_empty)
        };
        let wait = await_condition(Api::<Node>::all(world.client.clone()), &host.name, clean);
        let wait = tokio::time::timeout(Duration::from_mins(1), wait).await;
        wait.with_context(|| {
            format!(
                "expected: no taint on Node {}\nseen:     one after 30 s",
                host.name
            )
        })??;
    }
    Ok(())
}

/// Creates the workload and says on which Node it runs.
async fn start_workload(world: &World) -> Result<String> {
    let set: StatefulSet = serde_json::from_value(json!({
        "metadata": {"name": "database", "namespace": NAMESPACE},
        "spec": {
            "replicas": 1, "serviceName": "database",
            "selector": {"matchLabels": {"app": "database"}},
            "template": {
                "metadata": {"labels": {"app": "database"}},
                "spec": {"containers": [{"name": "database", "image": "registry.invalid/database:1"}]},
            },
        },
    }))?;
    let sets = Api::<StatefulSet>::namespaced(world.client.clone(), NAMESPACE);
    sets.create(&PostParams::default(), &set).await?;
    let runs = |pod: Option<&Pod>| pod.is_some_and(|pod| phase_of(pod) == "Running");
    let pods = Api::<Pod>::namespaced(world.client.clone(), NAMESPACE);
    let wait = await_condition(pods, POD, runs);
    let pod = tokio::time::timeout(Duration::from_mins(1), wait)
        .await
        .context("expected: a running pod database-0\nseen:     none within 30 s")??;
    let node = pod.and_then(|pod| pod.spec).and_then(|spec| spec.node_name);
    node.context("the workload has no Node")
}

fn phase_of(pod: &Pod) -> &str {
    let status = pod.status.as_ref();
    status
        .and_then(|status| status.phase.as_deref())
        .unwrap_or_default()
}
