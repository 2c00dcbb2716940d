//! What a host in each of the other phases was found by is deleted, and then another daemon takes over.

use std::time::Duration;

use anyhow::{Context as _, Result};
use bmc_simulator::{Command, Event};
use harness::Cluster;
use harness::process::ChildDaemon;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, DeleteParams};
use kube::runtime::wait::await_condition;
use remediator_api::{PowerCycleRemediation, RemediationPolicy};
use remediator_bmc::Protocol;
use remediator_core::journal::Journal;
use remediator_core::phase::Phase;
use serde_json::json;
use world::{HostOptions, World, WorldHost, objects};

use super::shared::{put_back, secret_of, secrets};
use super::{DAEMON, Gone, LONG, begun, control_plane, is_on};

const PROTOCOLS: [Protocol; 2] = [Protocol::Redfish, Protocol::Ipmi];

/// How long a host stays in its phase.
const HELD: Duration = Duration::from_secs(15);

/// Phases that a host is held in, in which the objects go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    PoweringOff,
    PoweringOn,
    Booting,
}

impl Held {
    pub(super) fn options(self, mut options: HostOptions) -> HostOptions {
        let delay = match self {
            Self::PoweringOff => &mut options.delays.off,
            Self::PoweringOn => &mut options.delays.on,
            Self::Booting => &mut options.delays.boot,
        };
        *delay = HELD.into();
        options
    }

    /// Waits until the host is held.
    pub(super) async fn begins(self, world: &World, host: &WorldHost) -> Result<()> {
        let wanted = match self {
            Self::PoweringOff => Command::ForceOff,
            Self::PoweringOn => Command::On,
            Self::Booting => {
                let boots = |journal: &Journal| journal.phase == Phase::Booting;
                return world
                    .remediation_until(&host.remediation(), LONG, boots)
                    .await
                    .map(drop);
            }
        };
        let told = |event: &Event| matches!(event, Event::Command { command, .. } if *command == wanted);
        host.sees("the command", LONG, told).await
    }
}

/// What goes from a host that is found over a protocol. A Secret, where nothing else does, comes back later, as nothing
/// else can stand in for it.
#[derive(Clone, Copy)]
struct Row {
    protocol: Protocol,
    gone: Option<Gone>,
}

impl Row {
    fn all() -> Vec<Self> {
        let everywhere = [
            Some(Gone::Machine),
            Some(Gone::Node),
            Some(Gone::Endpoint),
            Some(Gone::MachineAndEndpoint),
            Some(Gone::Remediation),
            None,
        ];
        let of = |protocol| move |gone| Self { protocol, gone };
        // IPMI has no certificates.
        let authorities = [Gone::EndpointWithAuthority, Gone::AuthorityConfigMap].map(Some);
        let rows = PROTOCOLS.map(|protocol| everywhere.map(of(protocol)));
        let authorities = authorities.map(of(Protocol::Redfish));
        rows.into_iter().flatten().chain(authorities).collect()
    }

    fn options(self) -> HostOptions {
        HostOptions {
            protocol: self.protocol,
            ..self.gone.map(Gone::options).unwrap_or_default()
        }
    }

    async fn prepare(self, world: &World, host: &WorldHost) -> Result<()> {
        match self.gone {
            Some(gone) => gone.prepare(world, host).await,
            None => Ok(()),
        }
    }

    async fn go(self, world: &World, host: &WorldHost) -> Result<()> {
        if let Some(gone) = self.gone {
            return gone.go(world, host).await;
        }
        secrets(world)
            .delete(&secret_of(host), &DeleteParams::default())
            .await?;
        Ok(())
    }

    async fn come_back(self, world: &World, host: &WorldHost) -> Result<()> {
        match self.gone {
            Some(_) => Ok(()),
            None => put_back(world, host).await,
        }
    }
}

/// Hosts of each protocol lose what they were found by as soon as they are held, and another daemon takes over.
async fn lost_while(cluster: &Cluster, name: &str, held: Held) -> Result<(World, ChildDaemon)> {
    let rows = Row::all();
    let options = rows.iter().map(|row| held.options(row.options())).collect();
    let mut policy = world::daemon::policy_for(&["Redfish", "IPMI"]);
    if held == Held::Booting {
        // Whose Node is gone fails, and is not power-cycled again.
        policy["triggers"] = json!({"deadlines": {"boot": "60s"}, "retries": {"attempts": 1}});
    }
    let (world, daemon) = begun(cluster, name, options, policy, async |world| {
        for (host, row) in world.hosts.iter().zip(&rows) {
            row.prepare(world, host).await?;
        }
        Ok(())
    })
    .await?;
    let lost = world.hosts.iter().zip(&rows).map(async |(host, row)| {
        held.begins(&world, host).await?;
        row.go(&world, host).await
    });
    futures::future::try_join_all(lost).await?;

    daemon.kill().await?;
    let successor = world::daemon::start(cluster, DAEMON, "info")?;
    for (host, row) in world.hosts.iter().zip(&rows) {
        row.come_back(&world, host).await?;
    }
    let on = world.hosts.iter().map(|host| is_on(&world, host));
    futures::future::try_join_all(on).await?;
    Ok((world, successor))
}

/// Hosts whose BMCs refuse to power them on until their remediations have failed.
#[tokio::test]
async fn a_host_comes_back_when_its_objects_go_after_its_remediation_has_failed() -> world::Outcome {
    let cluster = &control_plane().await?;
    let rows = Row::all();
    let options = rows.iter().copied().map(Row::options);
    let world = World::new(cluster, "lost-failed", options.collect()).await?;
    for (host, row) in world.hosts.iter().zip(&rows) {
        row.prepare(&world, host).await?;
        host.refuses_power_after(1, row.protocol)?;
    }
    world.health_check().await?;
    let mut policy = world::daemon::policy_for(&["Redfish", "IPMI"]);
    policy["triggers"] = json!({"deadlines": {"powerOn": "10s"}, "retries": {"attempts": 1}});
    world::set_policy(&world.client, policy).await?;
    let daemon = world::daemon::start(cluster, DAEMON, "info")?;
    let lost = world.hosts.iter().zip(&rows).map(async |(host, row)| {
        let remediation = world.falls_silent_and_is_reported(host).await?;
        let failed = |journal: &Journal| journal.phase == Phase::Failed;
        world.remediation_until(&remediation, LONG, failed).await?;
        row.go(&world, host).await
    });
    futures::future::try_join_all(lost).await?;

    daemon.kill().await?;
    let _successor = world::daemon::start(cluster, DAEMON, "info")?;
    for (host, row) in world.hosts.iter().zip(&rows) {
        host.bmc.clear_faults();
        row.come_back(&world, host).await?;
    }
    let on = world.hosts.iter().map(|host| is_on(&world, host));
    futures::future::try_join_all(on).await?;
    Ok(())
}

/// What several hosts need goes when one is being powered off and another on, over each protocol.
#[tokio::test]
async fn hosts_come_back_when_policy_and_health_check_go_as_they_are_powered() -> world::Outcome {
    let cluster = &control_plane().await?;
    let held = [Held::PoweringOff, Held::PoweringOn];
    let rows = held.map(|held| PROTOCOLS.map(|protocol| (held, protocol)));
    let rows = rows.as_flattened();
    let options = rows.iter().map(|(held, protocol)| {
        held.options(HostOptions {
            protocol: *protocol,
            ..HostOptions::default()
        })
    });
    let policy = world::daemon::policy_for(&["Redfish", "IPMI"]);
    let nothing = async |_: &World| Ok(());
    let (world, daemon) = begun(cluster, "lost-rules-now", options.collect(), policy, nothing).await?;
    let hosts = world.hosts.iter().zip(rows);
    let reached = hosts.map(|(host, (held, _))| held.begins(&world, host));
    futures::future::try_join_all(reached).await?;
    let gone = DeleteParams::default();
    let policies = Api::<RemediationPolicy>::all(world.client.clone());
    policies.delete("default", &gone).await?;
    objects::health_checks(&world).delete("workers", &gone).await?;
    daemon.kill().await?;
    let _successor = world::daemon::start(cluster, DAEMON, "info")?;
    let on = world.hosts.iter().map(|host| is_on(&world, host));
    futures::future::try_join_all(on).await?;
    Ok(())
}

/// The namespace of each goes, and with it what lets the daemon read the Secret: the line to the BMC is kept.
#[tokio::test]
async fn hosts_come_back_whose_namespace_goes_as_they_are_powered() -> world::Outcome {
    let cluster = &control_plane().await?;
    let all = [Held::PoweringOff, Held::PoweringOn];
    let mut worlds = Vec::new();
    for (held, name) in all.into_iter().zip(["gone-off", "gone-on"]) {
        let options = vec![held.options(HostOptions::default())];
        let world = World::new(cluster, name, options).await?;
        world::allow_holding_secrets(&world.client, &world.namespace).await?;
        world.health_check().await?;
        worlds.push(world);
    }
    world::set_policy(&cluster.client().await?, world::daemon::permissive_policy()).await?;
    let _daemon = world::daemon::start(cluster, DAEMON, "info")?;
    let played = worlds.iter().zip(all).map(async |(world, held)| {
        let host = &world.hosts[0];
        world.falls_silent_and_is_reported(host).await?;
        held.begins(world, host).await?;
        let namespaces = Api::<Namespace>::all(world.client.clone());
        namespaces
            .delete(&world.namespace, &DeleteParams::default())
            .await?;
        is_on(world, host).await
    });
    futures::future::try_join_all(played).await?;
    Ok(())
}

#[tokio::test]
async fn a_host_comes_back_when_its_objects_go_as_it_is_powered_off() -> world::Outcome {
    let cluster = &control_plane().await?;
    lost_while(cluster, "lost-off", Held::PoweringOff).await?;
    Ok(())
}

#[tokio::test]
async fn a_host_comes_back_when_its_objects_go_as_it_is_powered_on() -> world::Outcome {
    let cluster = &control_plane().await?;
    lost_while(cluster, "lost-on", Held::PoweringOn).await?;
    Ok(())
}

/// It is on already, and nobody switches it off again; each remediation ends, or is gone with its Machine.
#[tokio::test]
async fn a_host_stays_on_when_its_objects_go_as_it_boots() -> world::Outcome {
    let cluster = &control_plane().await?;
    let (world, _successor) = lost_while(cluster, "lost-boot", Held::Booting).await?;
    let ended = world.hosts.iter().map(async |host| {
        let ended = |found: Option<&PowerCycleRemediation>| {
            found.is_none_or(|found| world::journal(found).phase.is_final())
        };
        let (remediations, name) = (world.remediations(), host.remediation());
        let waited = tokio::time::timeout(LONG, await_condition(remediations, &name, ended)).await;
        waited.with_context(|| format!("{name} does not end"))??;
        anyhow::ensure!(host.transitions() == (1, 1), "{name}: {:?}", host.transitions());
        Ok(())
    });
    futures::future::try_join_all(ended).await?;
    Ok(())
}
