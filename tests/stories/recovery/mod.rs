//! Whatever is deleted while a host is off because of us, the host gets its power back: what that takes stands in the
//! journal.
//!
//! Hosts are held off by a pod that does not go from a Node whose workloads are released. Then the objects go, and
//! either a read of each BMC fails or another daemon takes over.

#![allow(clippy::indexing_slicing, reason = "a test that fails says so")]

mod phases;
mod shared;
mod unlisted;
mod vanished;

use std::time::Duration;

use anyhow::Result;
use bmc_simulator::{Event, Fault, MachineSpec, RequestClass};
use harness::Cluster;
use harness::process::ChildDaemon;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kube::api::{Api, DeleteParams, DynamicObject};
use serde_json::{Value, json};
use world::pool::{self, Setting};
use world::{HostOptions, World, WorldHost, objects, record};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("recovery").taking(60);
const LONG: Duration = Duration::from_mins(2);
/// When a host is on again, after nothing keeps it off any more.
const BACK: Duration = Duration::from_mins(1);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// What goes while the host is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gone {
    Machine,
    Node,
    Endpoint,
    /// With the CA that is in it.
    EndpointWithAuthority,
    /// By which the certificate of the BMC was verified.
    AuthorityConfigMap,
    MachineAndEndpoint,
    /// Whoever asked for it takes it back.
    Remediation,
    /// By which it was told from another host behind its BMC, whose address names none.
    SystemUuid,
}

impl Gone {
    const ALL: [Self; 8] = [
        Self::Machine,
        Self::Node,
        Self::Endpoint,
        Self::EndpointWithAuthority,
        Self::AuthorityConfigMap,
        Self::MachineAndEndpoint,
        Self::Remediation,
        Self::SystemUuid,
    ];

    fn options(self) -> HostOptions {
        let mut options = HostOptions::default();
        match self {
            Self::EndpointWithAuthority => {
                options.endpoint = Box::new(|mut endpoint| {
                    // Put in once it is known.
                    endpoint["tls"] = json!({"caBundle": "later"});
                    endpoint
                });
                options.secret = Box::new(without_authority);
            }
            Self::AuthorityConfigMap => {
                options.endpoint = Box::new(|mut endpoint| {
                    let ca = format!("{}-ca", endpoint["machineName"].as_str().unwrap_or_default());
                    endpoint["tls"] = json!({"caBundleFrom": {"kind": "ConfigMap", "name": ca}});
                    endpoint
                });
                options.secret = Box::new(without_authority);
            }
            Self::SystemUuid => {
                options.simulated = Box::new(|spec| {
                    let ids = ["1", "2"].into_iter();
                    ids.fold(spec, |spec, id| spec.machine(MachineSpec::new(id)))
                });
                options.endpoint = Box::new(|mut endpoint| {
                    let address = endpoint["address"].as_str().unwrap_or_default();
                    let service = address.split("/redfish/").next().unwrap_or_default();
                    endpoint["address"] = json!(service);
                    endpoint
                });
            }
            Self::Machine | Self::Node | Self::Endpoint | Self::MachineAndEndpoint | Self::Remediation => {}
        }
        options
    }

    async fn prepare(self, world: &World, host: &WorldHost) -> Result<()> {
        let ca = host.bmc.ca_pem();
        match self {
            Self::EndpointWithAuthority => {
                objects::patch_endpoint(world, &host.name, json!({"tls": {"caBundle": ca}})).await
            }
            Self::AuthorityConfigMap => {
                objects::create_config_map(world, &format!("{}-ca", host.name), json!({"ca.crt": ca})).await
            }
            Self::Machine
            | Self::Node
            | Self::Endpoint
            | Self::MachineAndEndpoint
            | Self::Remediation
            | Self::SystemUuid => Ok(()),
        }
    }

    async fn go(self, world: &World, host: &WorldHost) -> Result<()> {
        let name = &host.name;
        let gone = DeleteParams::default();
        let delete = async |objects: Api<DynamicObject>| objects.delete(name, &gone).await.map(drop);
        match self {
            Self::Machine => delete(objects::machines(world)).await?,
            Self::Endpoint | Self::EndpointWithAuthority => {
                delete(objects::ours(world, "BMCEndpoint")).await?;
            }
            Self::MachineAndEndpoint => {
                delete(objects::machines(world)).await?;
                delete(objects::ours(world, "BMCEndpoint")).await?;
            }
            Self::Node => {
                let nodes = Api::<Node>::all(world.nodes.clone());
                nodes.delete(name, &gone).await?;
            }
            Self::SystemUuid => {
                let without = Fault::JsonRemove {
                    pointer: "/UUID".to_owned(),
                };
                host.bmc.inject(without.on(RequestClass::SystemGet))?;
            }
            Self::Remediation => world.take_back(&host.remediation()).await?,
            Self::AuthorityConfigMap => {
                let maps = Api::<ConfigMap>::namespaced(world.client.clone(), &world.namespace);
                maps.delete(&format!("{name}-ca"), &gone).await?;
            }
        }
        Ok(())
    }
}

fn without_authority(mut secret: Value) -> Value {
    if let Some(fields) = secret.as_object_mut() {
        fields.remove("ca.crt");
    }
    secret
}

/// Hosts whose Nodes have fallen silent.
async fn begun(
    cluster: &Cluster,
    name: &str,
    options: Vec<HostOptions>,
    policy: Value,
    prepare: impl AsyncFn(&World) -> Result<()>,
) -> Result<(World, ChildDaemon)> {
    let world = World::new(cluster, name, options).await?;
    prepare(&world).await?;
    world.health_check().await?;
    world::set_policy(&world.client, policy).await?;
    let daemon = world::daemon::start(cluster, DAEMON, "info")?;
    let reported = world
        .hosts
        .iter()
        .map(|host| world.falls_silent_and_is_reported(host));
    futures::future::try_join_all(reported).await?;
    Ok((world, daemon))
}

/// Hosts that are off, with their workloads released, for as long as a pod clings to each Node.
async fn held_off(
    cluster: &Cluster,
    name: &str,
    options: Vec<HostOptions>,
    prepare: impl AsyncFn(&World) -> Result<()>,
) -> Result<(World, ChildDaemon)> {
    // A Node that is gone loses its taint, and that is waited for.
    held_off_within(cluster, name, options, json!({"fencing": "60s"}), prepare).await
}

/// The same with these deadlines.
async fn held_off_within(
    cluster: &Cluster,
    name: &str,
    options: Vec<HostOptions>,
    deadlines: Value,
    prepare: impl AsyncFn(&World) -> Result<()>,
) -> Result<(World, ChildDaemon)> {
    let mut policy = world::daemon::permissive_policy();
    policy["triggers"] = json!({"deadlines": deadlines});
    let (world, daemon) = begun(cluster, name, options, policy, async |world| {
        prepare(world).await?;
        for host in &world.hosts {
            world.create_clinging_pod(&host.name, &host.name).await?;
        }
        Ok(())
    })
    .await?;
    let tainted = world.hosts.iter().map(|host| world.is_tainted(host, LONG));
    futures::future::try_join_all(tainted).await?;
    Ok((world, daemon))
}

/// One read of each BMC fails.
async fn reads_fail_once(world: &World) -> Result<()> {
    for host in &world.hosts {
        host.bmc.inject(
            Fault::CutAnswer { after: 10 }
                .on(RequestClass::SystemGet)
                .times(1),
        )?;
    }
    let failed = |event: &Event| matches!(event, Event::FaultApplied { .. });
    let fail = world
        .hosts
        .iter()
        .map(|host| host.sees("a read that fails", LONG, failed));
    futures::future::try_join_all(fail).await?;
    Ok(())
}

/// Nothing keeps the hosts off any more, and they come on.
async fn come_back(world: &World) -> Result<()> {
    let pods = Api::<Pod>::namespaced(world.nodes.clone(), &world.namespace);
    for host in &world.hosts {
        world.release_pod(&host.name).await?;
        // Of a Node that is gone, the collector of garbage takes a minute to delete a pod.
        match pods
            .delete(&host.name, &DeleteParams::default().grace_period(0))
            .await
        {
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            deleted => drop(deleted?),
        }
    }
    let on = world.hosts.iter().map(|host| is_on(world, host));
    futures::future::try_join_all(on).await?;
    Ok(())
}

async fn is_on(world: &World, host: &WorldHost) -> Result<()> {
    let on = host.bmc.wait_for(|_| host.transitions() == (1, 1));
    let Ok(waited) = tokio::time::timeout(BACK, on).await else {
        let found = world.remediations().get_opt(&host.remediation()).await?;
        let status = found.map(|found| world::journal(&found));
        anyhow::bail!(
            "{} has {:?} power changes: {status:#?}",
            host.name,
            host.transitions()
        );
    };
    waited?;
    anyhow::ensure!(record::blind_repeats(host).is_empty(), "of {}", host.name);
    Ok(())
}

#[tokio::test]
async fn a_host_comes_back_when_its_objects_are_gone_and_a_read_fails() -> world::Outcome {
    let cluster = &control_plane().await?;
    let (world, _daemon) = lost(cluster, "lost-read").await?;
    reads_fail_once(&world).await?;
    Ok(come_back(&world).await?)
}

#[tokio::test]
async fn a_host_comes_back_when_its_objects_are_gone_and_the_daemon_is_another() -> world::Outcome {
    let cluster = &control_plane().await?;
    let (world, daemon) = lost(cluster, "lost-crash").await?;
    daemon.kill().await?;
    let _successor = world::daemon::start(cluster, DAEMON, "info")?;
    Ok(come_back(&world).await?)
}

/// A host for each, which loses that.
async fn lost(cluster: &Cluster, name: &str) -> Result<(World, ChildDaemon)> {
    let options = Gone::ALL.map(Gone::options).into();
    let (world, daemon) = held_off(cluster, name, options, async |world| {
        for (host, gone) in world.hosts.iter().zip(Gone::ALL) {
            gone.prepare(world, host).await?;
        }
        Ok(())
    })
    .await?;
    for (host, gone) in world.hosts.iter().zip(Gone::ALL) {
        gone.go(&world, host).await?;
    }
    Ok((world, daemon))
}
