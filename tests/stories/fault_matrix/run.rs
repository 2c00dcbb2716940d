//! One plan, from its world to what must be true in the end.
#![allow(
    clippy::indexing_slicing,
    reason = "there is one host, and what is indexed was built here"
)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::Cluster;
use harness::kubelet::{NodeTemplate, ScriptedKubelet};
use harness::process::{ChildDaemon, Signal};
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams};
use remediator_api::PowerCycleRemediation;
use tokio::sync::Semaphore;
use world::World;
use world::fault::calls::naming;
use world::fault::stage::Stage;
use world::fault::{Fault, What, When};
use world::front::api::{ApiFront, Only};
use world::metal3::{self, Ironic, Settings};

use super::plans::Plan;
use super::scenario::{BmcFront, Props, Scenario};
use super::{DAEMON, end};

/// Plans at once: each waits most of the time.
const AT_ONCE: usize = 12;
/// How long anything may take on a busy machine.
const LONG: Duration = Duration::from_secs(90);
/// How long what comes after the end of a remediation takes.
const AFTERWARDS: Duration = Duration::from_secs(30);
/// How long an answer takes from the proxy into the daemon.
const TAKEN: Duration = Duration::from_millis(50);

/// What all plans of a control plane share.
pub(super) struct Setup {
    cluster: Cluster,
    /// A Node that goes on reporting: a zone without any is not judged, nor Nodes of which none is a Machine's.
    _witness: ScriptedKubelet,
    /// Keeps the power of the hosts of all plans that are beside metal3.
    ironic: Option<Ironic>,
}

impl Setup {
    pub(super) async fn new(cluster: &Cluster, scenario: Scenario) -> Result<Self> {
        let client = cluster.client().await?;
        scenario.equip(cluster).await?;
        let policy = world::daemon::policy_for(&["Redfish", "IPMI"]);
        world::set_policy(&client, policy).await?;
        let mut witness = NodeTemplate::new(cluster.unique("witness"));
        witness.machine = Some("elsewhere/witness".to_owned());
        Ok(Self {
            cluster: cluster.clone(),
            _witness: ScriptedKubelet::start(client, witness).await?,
            ironic: if scenario == Scenario::Metal3 {
                Some(Ironic::start(&Settings::shortened("")).await?)
            } else {
                None
            },
        })
    }
}

/// What came of a plan that ended well.
pub(super) struct Outcome {
    /// What each of its daemons called.
    pub(super) calls: Vec<Vec<String>>,
    /// The first fault that never came.
    pub(super) unmet: Option<Fault>,
}

/// Runs a plan, as soon as not too many others are.
pub(super) async fn run(setup: &Setup, plan: &Plan) -> Result<Outcome> {
    static RUNNING: Semaphore = Semaphore::const_new(AT_ONCE);
    let _one = RUNNING.acquire().await?;
    let stage = Arc::new(Stage::default());
    let (options, bmc) = plan.scenario.host(&stage).await?;
    let namespace = setup.cluster.namespace("plan").await?;
    let prefix = setup.cluster.unique("plan");
    let world = World::named(&setup.cluster, namespace, prefix, vec![options]).await?;
    if plan.scenario.holds_secrets() {
        world::allow_holding_secrets(&world.client, &world.namespace).await?;
    }
    let only = plan.scenario.only(&world);
    let api = ApiFront::start(&setup.cluster, Arc::clone(&stage), naming, Some(only.clone())).await?;
    let cursor = setup.cluster.audit_cursor()?;
    let daemon = api.start_daemon(DAEMON)?;
    let mut actors = Actors::new(api, daemon, stage);
    let ended = Box::pin(actors.play(plan, &world, only, setup.ironic.as_ref(), bmc.as_ref())).await;
    let checked = async {
        let (ended, props) = ended?;
        end::check(&world, plan, &ended, cursor).await?;
        actors.end_is_told(plan, &ended).await?;
        let calls = actors.calls();
        end::goes(&world, &ended).await?;
        drop(props.operator);
        if let Some(ironic) = &setup.ironic {
            forget(ironic, &world).await?;
        }
        anyhow::Ok(calls)
    };
    let checked = Box::pin(checked)
        .await
        .with_context(|| format!("logs {:?}", actors.logs));
    let Actors { daemon, unmet, .. } = actors;
    daemon.kill().await?;
    let nodes = Api::<Node>::all(world.nodes.clone());
    // There may be none; the others do not look at it.
    let _ = nodes.delete(&world.hosts[0].name, &DeleteParams::default()).await;
    // The judge waits for the API server, and would keep everybody else from going on.
    tokio::task::spawn_blocking(move || drop(world)).await?;
    Ok(Outcome {
        calls: checked?,
        unmet,
    })
}

/// Has Ironic forget a host whose plan is over: it would go on asking a BMC that is gone.
async fn forget(ironic: &Ironic, world: &World) -> Result<()> {
    let name = metal3::node_name(world, &world.hosts[0]);
    let node = ironic.api().node(&name).await?;
    let node = node.context("Ironic has no node of the host")?;
    metal3::let_go(ironic.api(), &node.uuid).await
}

struct Actors {
    api: ApiFront,
    daemon: ChildDaemon,
    stage: Arc<Stage>,
    /// What daemons that are dead have called.
    calls: Vec<Vec<String>>,
    logs: Vec<PathBuf>,
    unmet: Option<Fault>,
}

impl Actors {
    fn new(api: ApiFront, daemon: ChildDaemon, stage: Arc<Stage>) -> Self {
        let logs = vec![daemon.log_path().to_owned()];
        Self {
            api,
            daemon,
            stage,
            calls: Vec::new(),
            logs,
            unmet: None,
        }
    }

    /// Has the remediation asked for and the faults happen, until it has ended.
    async fn play(
        &mut self,
        plan: &Plan,
        world: &World,
        only: Only,
        ironic: Option<&Ironic>,
        bmc: Option<&BmcFront>,
    ) -> Result<(PowerCycleRemediation, Props)> {
        let ready = self.daemon.wait_for_line(" ready ", LONG);
        let (mut props, _) = tokio::try_join!(
            plan.scenario.prepare(world, &self.stage, only, ironic, bmc),
            ready
        )?;
        self.stage.begin(plan.faults.clone());
        let remediation = plan.scenario.begin(world).await?;
        let is_over = async {
            let meanwhile = plan.scenario.meanwhile(world);
            let ended = world.remediation_ended(&remediation, plan.takes());
            tokio::try_join!(ended, meanwhile)
        };
        let suffered = async {
            for (number, fault) in (1..).zip(&plan.faults) {
                self.suffer(number, fault).await?;
            }
            anyhow::Ok(())
        };
        tokio::pin!(is_over, suffered);
        let ended = tokio::select! {
            ended = &mut is_over => {
                let ended = ended?;
                // What comes after the end comes soon.
                if let Ok(suffered) = tokio::time::timeout(AFTERWARDS, suffered).await {
                    suffered?;
                }
                ended
            }
            suffered = &mut suffered => {
                suffered?;
                is_over.await?
            }
        };
        let (ended, kubelet) = ended;
        props.kubelet = kubelet;
        Ok((ended, props))
    }

    async fn suffer(&mut self, number: usize, fault: &Fault) -> Result<()> {
        self.unmet = Some(fault.clone());
        self.stage.struck(number).await;
        self.unmet = None;
        if fault.when == When::After {
            tokio::time::sleep(TAKEN).await;
        }
        match fault.what {
            What::Kill => self.kill().await?,
            What::Freeze => {
                self.daemon.signal(Signal::Stop)?;
                tokio::time::sleep(fault.what.lasts()).await;
                self.daemon.signal(Signal::Cont)?;
                self.stage.thawed();
            }
            What::Drop | What::Delay | What::See(_) => {}
        }
        Ok(())
    }

    /// The log tells how the remediation ended, whatever became of the answer to the write. One that is killed tells
    /// nothing any more.
    async fn end_is_told(&self, plan: &Plan, ended: &PowerCycleRemediation) -> Result<()> {
        if plan.faults.iter().any(|fault| fault.what == What::Kill) {
            return Ok(());
        }
        let end = format!("phase={:?}", world::journal(ended).phase.as_str());
        self.daemon
            .wait_for_line(&end, LONG)
            .await
            .context("the end is not told")?;
        Ok(())
    }

    fn calls(&self) -> Vec<Vec<String>> {
        let mut calls = self.calls.clone();
        calls.push(self.stage.calls());
        calls
    }

    async fn kill(&mut self) -> Result<()> {
        self.daemon.signal(Signal::Kill)?;
        self.daemon.exited(LONG).await?;
        self.calls.push(self.stage.next_life());
        self.daemon = self.api.start_daemon(DAEMON)?;
        self.logs.push(self.daemon.log_path().to_owned());
        Ok(())
    }
}
