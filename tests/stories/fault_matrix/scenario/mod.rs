//! What is remediated, and by which way.
#![allow(
    clippy::indexing_slicing,
    reason = "there is one host, and what is indexed was built here"
)]

mod hosts;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Error, Result};
use harness::Cluster;
use harness::kubelet::ScriptedKubelet;
use serde_json::{Value, json};
use world::acts::{create_template, patient};
use world::fault::calls::naming;
use world::fault::stage::Stage;
use world::front::api::Only;
use world::front::workload::WorkloadFront;
use world::metal3::{self, BaremetalOperator, Ironic, LettingGo, Pace};
use world::{World, cluster_api, decoration, escalation, node_lease, nodeless, objects};

pub(super) use self::hosts::BmcFront;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scenario {
    /// The main path: released by taint, over Redfish.
    Taint,
    /// The same over IPMI.
    Ipmi,
    /// Released by deletion of the Node.
    NodeDeletion,
    /// The Machine has no Node before the power cycle.
    Nodeless,
    /// Actors agree by the Leases of medik8s.
    NodeLease,
    /// The Node is in a workload cluster of Cluster API.
    Workload,
    /// The host does not come back, and its Machine is deleted.
    Escalation,
    /// metal3 keeps the host online, and powers it off and on for us.
    Metal3,
    /// metal3 does not power the host off, and lets go of it when it is asked to.
    Metal3LetsGo,
    /// metal3 forbids to power the host off, and it is reset.
    Reset,
}

const ALL: [Scenario; 10] = [
    Scenario::Taint,
    Scenario::Ipmi,
    Scenario::NodeDeletion,
    Scenario::Nodeless,
    Scenario::NodeLease,
    Scenario::Workload,
    Scenario::Escalation,
    Scenario::Metal3,
    Scenario::Metal3LetsGo,
    Scenario::Reset,
];

/// The Cluster of the Machines of Cluster API.
const CLUSTER: &str = "blue";

impl fmt::Display for Scenario {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Taint => "taint",
            Self::Ipmi => "ipmi",
            Self::NodeDeletion => "node-deletion",
            Self::Nodeless => "nodeless",
            Self::NodeLease => "node-lease",
            Self::Workload => "workload",
            Self::Escalation => "escalation",
            Self::Metal3 => "metal3",
            Self::Metal3LetsGo => "metal3-lets-go",
            Self::Reset => "reset",
        })
    }
}

impl FromStr for Scenario {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = ALL.into_iter().find(|one| one.to_string() == text);
        found.with_context(|| format!("{text} is none of {ALL:?}"))
    }
}

/// What lives as long as a plan runs.
#[derive(Default)]
pub(super) struct Props {
    workload: Option<WorkloadFront>,
    pub(super) kubelet: Option<ScriptedKubelet>,
    pub(super) operator: Option<BaremetalOperator>,
    letting_go: Option<LettingGo>,
}

impl Scenario {
    /// What has to be in the cluster for all its plans.
    pub(super) async fn equip(self, cluster: &Cluster) -> Result<()> {
        let client = cluster.client().await?;
        match self {
            Self::NodeDeletion => world::allow_node_deletion(&client).await,
            Self::NodeLease => node_lease::agree_by_leases(&client).await,
            Self::Escalation => world::allow_machine_deletion(&client).await,
            Self::Taint
            | Self::Ipmi
            | Self::Nodeless
            | Self::Workload
            | Self::Metal3
            | Self::Metal3LetsGo
            | Self::Reset => Ok(()),
        }
    }

    /// What is there before the remediation is asked for.
    pub(super) async fn prepare(
        self,
        world: &World,
        stage: &Arc<Stage>,
        only: Only,
        ironic: Option<&Ironic>,
        bmc: Option<&BmcFront>,
    ) -> Result<Props> {
        let (host, mut props) = (&world.hosts[0], Props::default());
        match self {
            Self::Taint | Self::Ipmi | Self::NodeLease => {
                objects::create_health_check(world, "workers", at_once).await?;
            }
            Self::NodeDeletion => decoration::decorate(world, host).await?,
            Self::Nodeless => {
                nodeless::state_uuid(world, host).await?;
                nodeless::provisioned_an_hour_ago(world).await?;
                nodeless::check(world).await?;
                return Ok(props);
            }
            Self::Workload => {
                let front = WorkloadFront::start(&world.cluster, Arc::clone(stage), naming, only).await?;
                cluster_api::create_cluster(world, CLUSTER).await?;
                cluster_api::put_kubeconfig(world, CLUSTER, &front.kubeconfig).await?;
                let template = cluster_api::template("cycle");
                cluster_api::create_health_check(world, "workers", CLUSTER, template).await?;
                props.workload = Some(front);
            }
            Self::Escalation => escalation::owned_by_machine_set(world, host).await?,
            Self::Metal3 => {
                let ironic = ironic.context("Ironic runs for these plans")?;
                ironic.trust(world.simulator.ca_pem())?;
                let operator = BaremetalOperator::start(world, ironic, Pace::shortened()).await?;
                metal3::keeps_online(world, host).await?;
                objects::create_health_check(world, "workers", at_once).await?;
                props.operator = Some(operator);
            }
            Self::Metal3LetsGo => {
                let bmc = bmc.context("the BMC is behind the stage")?;
                let address = bmc.instead_of(&host.bmc_address);
                props.letting_go = Some(LettingGo::start(world, host, &address).await?);
                objects::create_health_check(world, "workers", at_once).await?;
            }
            Self::Reset => {
                let bmc = bmc.context("the BMC is behind the stage")?;
                let address = bmc.instead_of(&host.bmc_address);
                let spec = json!({"bmc": {"address": address}, "disablePowerOff": true});
                metal3::describe(world, host, spec).await?;
            }
        }
        world.falls_silent(host).await?;
        Ok(props)
    }

    /// Asks for the remediation. Answers its name.
    pub(super) async fn begin(self, world: &World) -> Result<String> {
        let host = &world.hosts[0];
        match self {
            Self::Taint
            | Self::Ipmi
            | Self::Nodeless
            | Self::NodeLease
            | Self::Metal3
            | Self::Metal3LetsGo => {
                objects::trigger(world, &host.name).await?;
                Ok(host.remediation())
            }
            Self::NodeDeletion => {
                let mut strategy = patient();
                strategy["fencingMode"] = json!("NodeDeletion");
                world.request(host, strategy).await
            }
            Self::Workload => {
                let template = create_template(world, "cycle", Value::Null, patient()).await?;
                cluster_api::request(world, host, &template).await?;
                Ok(host.name.clone())
            }
            Self::Reset => {
                // Where a crash leaves it open whether it was sent, only the Node tells that it was not, by its silence.
                let mut strategy = patient();
                strategy["deadlines"]["boot"] = json!("30s");
                strategy["retries"] = json!({"attempts": 2, "backoff": "1s"});
                world.request(host, strategy).await
            }
            Self::Escalation => {
                let mut strategy = patient();
                strategy["deadlines"]["boot"] = json!("10s");
                strategy["escalation"] = json!("MachineDeletion");
                world.request(host, strategy).await
            }
        }
    }

    /// What others do while the host is power-cycled.
    pub(super) async fn meanwhile(self, world: &World) -> Result<Option<ScriptedKubelet>> {
        if self != Self::Nodeless {
            return Ok(None);
        }
        let host = &world.hosts[0];
        let kubelet = host.joins_at_its_next_boot(world).await?;
        let joined = json!({"phase": "Running", "nodeRef": {"kind": "Node", "name": host.name}});
        nodeless::status(world, host, joined).await?;
        Ok(Some(kubelet))
    }

    /// What the daemon of a plan sees. One of a Machine without a Node looks at all Nodes.
    pub(super) fn only(self, world: &World) -> Only {
        let node = world.hosts[0].name.clone();
        Only {
            namespace: world.namespace.clone(),
            node: (self != Self::Nodeless).then_some(node),
        }
    }

    /// Whether a BareMetalHost describes the host.
    pub(super) fn is_beside_metal3(self) -> bool {
        matches!(self, Self::Metal3 | Self::Metal3LetsGo | Self::Reset)
    }

    /// How long the power cycle may take on a busy machine. metal3 is given a minute for what it does not do.
    pub(super) fn takes(self) -> Duration {
        match self {
            Self::Metal3LetsGo => Duration::from_mins(4),
            Self::Reset => Duration::from_mins(2),
            Self::Taint
            | Self::Ipmi
            | Self::NodeDeletion
            | Self::Nodeless
            | Self::NodeLease
            | Self::Workload
            | Self::Escalation
            | Self::Metal3 => Duration::from_secs(90),
        }
    }

    /// Whether the daemon may hold the Secret of the BMC for as long as it needs it.
    pub(super) fn holds_secrets(self) -> bool {
        self == Self::Ipmi
    }

    /// Who the daemon is to the API server that has the Node.
    pub(super) fn user(self) -> &'static str {
        if self == Self::Workload {
            world::DAEMON_IN_WORKLOAD_CLUSTERS
        } else {
            world::DAEMON_USER
        }
    }
}

/// Without a grace period, which would be over sometimes before and sometimes after the first look.
fn at_once(check: &mut Value) {
    for condition in [0, 1] {
        check["spec"]["unhealthyConditions"][condition]["timeout"] = json!("0s");
    }
}
