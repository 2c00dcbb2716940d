//! One host of the world: simulated BMC, Node, Machine, BMCEndpoint, Secret.

use std::net::IpAddr;

use anyhow::{Context as _, Result};
use bmc_simulator::{Change, Delays, Host, HostSpec, IpmiSpec, Machine};
use harness::kubelet::{HostEvent, NodeTemplate, ScriptedKubelet, random_uuid};
use remediator_bmc::Protocol;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{World, objects};

/// What is special about a host. The default is a good one.
pub struct HostOptions {
    /// Changes the simulated host before it is made.
    pub simulated: Box<dyn Fn(HostSpec) -> HostSpec + Send + Sync>,
    /// Changes the BMCEndpoint before it is made; `Null` makes none.
    pub endpoint: Box<dyn Fn(Value) -> Value + Send + Sync>,
    /// Changes the data of the Secret; `Null` makes none.
    pub secret: Box<dyn Fn(Value) -> Value + Send + Sync>,
    /// Changes the Machine before it is made; `Null` makes none.
    pub machine: Box<dyn Fn(Value) -> Value + Send + Sync>,
    /// Changes the Node before it registers.
    pub node: Box<dyn Fn(NodeTemplate) -> NodeTemplate + Send + Sync>,
    /// Whether the Machine has a Node.
    pub has_node: bool,
    /// How the simulated host takes its time.
    pub delays: Delays,
    /// Where it is one of several behind one BMC: that of which host of the world, made before, and which of its systems.
    pub behind: Option<(usize, &'static str)>,
    /// The protocol of the address that its BMC is found by. It speaks IPMI only where that is IPMI.
    pub protocol: Protocol,
}

impl Default for HostOptions {
    fn default() -> Self {
        Self {
            simulated: Box::new(|spec| spec),
            endpoint: Box::new(|endpoint| endpoint),
            secret: Box::new(|secret| secret),
            machine: Box::new(|machine| machine),
            node: Box::new(|node| node),
            has_node: true,
            delays: Delays {
                off: std::time::Duration::from_millis(500).into(),
                on: std::time::Duration::from_millis(500).into(),
                boot: std::time::Duration::from_secs(2).into(),
                ..Delays::default()
            },
            behind: None,
            protocol: Protocol::Redfish,
        }
    }
}

impl HostOptions {
    /// A good host whose BMC has an IPMI address.
    pub fn over_ipmi() -> Self {
        Self {
            protocol: Protocol::Ipmi,
            ..Self::default()
        }
    }

    pub fn spec(&self, name: &str, address: IpAddr) -> HostSpec {
        let spec = HostSpec::new(name)
            .bind(address)
            .credentials("admin", "canary-Pa55word")
            .delays(self.delays);
        let spec = match self.protocol {
            Protocol::Redfish => spec,
            Protocol::Ipmi => spec.ipmi(IpmiSpec::new()),
        };
        (self.simulated)(spec)
    }
}

/// A host with everything that belongs to it. Machine and Node have its name.
pub struct WorldHost {
    pub name: String,
    pub bmc: Host,
    /// What it is behind its BMC.
    pub system: Machine,
    /// Where its BMC is, as the objects that describe the host say it.
    pub bmc_address: String,
    pub kubelet: Option<ScriptedKubelet>,
}

impl WorldHost {
    pub(super) async fn create(world: &World, name: &str, options: HostOptions) -> Result<Self> {
        let (bmc, system) = match options.behind {
            None => {
                let bmc = world.simulator.host(name);
                let bmc = bmc.context("the simulator lacks the host")?;
                let first = bmc.machines().into_iter().next();
                (bmc, first.context("nothing is behind the BMC")?)
            }
            Some((index, id)) => {
                let bmc = world.hosts.get(index).context("no such host yet")?.bmc.clone();
                let system = bmc.machine(id)?;
                (bmc, system)
            }
        };
        let machine = (options.machine)(objects::machine(world, name, options.has_node));
        if !machine.is_null() {
            objects::create_machine(world, machine).await?;
        }
        let kubelet = if options.has_node {
            Some(start_kubelet(world, name, &system, &options).await?)
        } else {
            None
        };
        let credentials = bmc.credentials();
        let secret = json!({
            "username": credentials.username, "password": credentials.password, "ca.crt": bmc.ca_pem(),
        });
        objects::create_secret(world, name, (options.secret)(secret)).await?;
        let bmc_address = match options.protocol {
            Protocol::Redfish => format!("redfish+{}{}", bmc.redfish_url(), system.system_path()),
            Protocol::Ipmi => format!("ipmi://{}", bmc.ipmi_address().context("it speaks no IPMI")?),
        };
        let endpoint = json!({
            "machineName": name,
            "address": bmc_address,
            "credentialsSecret": {"name": format!("{name}-bmc")},
        });
        objects::create_endpoint(world, name, (options.endpoint)(endpoint)).await?;
        Ok(Self {
            name: name.to_owned(),
            bmc,
            system,
            bmc_address,
            kubelet,
        })
    }

    /// Name of the first remediation of this host.
    pub fn remediation(&self) -> String {
        super::remediation_name(&self.name, 1)
    }

    /// Listens to a host that has no Node; the future starts its kubelet at the next boot.
    pub fn joins_at_its_next_boot<'a>(
        &'a self,
        world: &'a World,
    ) -> impl Future<Output = Result<ScriptedKubelet>> + 'a {
        let (_, mut events) = self.bmc.follow();
        async move {
            loop {
                let event = events.recv().await?;
                if event.system == self.system.system() && matches!(event.change, Change::Booted { .. }) {
                    break;
                }
            }
            start_kubelet(world, &self.name, &self.system, &HostOptions::default()).await
        }
    }

    /// How often the host went off and on, in truth.
    pub fn transitions(&self) -> (u64, u64) {
        let truth = self.system.truth();
        (truth.on_to_off, truth.off_to_on)
    }
}

async fn start_kubelet(
    world: &World,
    name: &str,
    system: &Machine,
    options: &HostOptions,
) -> Result<ScriptedKubelet> {
    let (_, mut events) = system.host().follow();
    let truth = system.truth();
    let mut template = NodeTemplate::new(name);
    system.system_uuid().clone_into(&mut template.system_uuid);
    template.boot_id = truth.boot_id.unwrap_or_else(random_uuid);
    template.machine = Some(format!("{}/{name}", world.namespace));
    let (sender, receiver) = mpsc::unbounded_channel();
    let system = system.system().to_owned();
    tokio::spawn(async move {
        while let Ok(event) = events.recv().await {
            if event.system != system {
                continue;
            }
            let event = match event.change {
                Change::PoweredOff | Change::Reset => HostEvent::Off,
                Change::Booted { boot_id } => HostEvent::Booted { boot_id },
                Change::PoweredOn => continue,
            };
            if sender.send(event).is_err() {
                break;
            }
        }
    });
    ScriptedKubelet::start_on_host(world.nodes.clone(), (options.node)(template), receiver).await
}
