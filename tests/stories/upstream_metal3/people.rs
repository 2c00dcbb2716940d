//! What people do to the BareMetalHost of a host that the daemon holds off.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::Power;
use futures::future::try_join_all;
use harness::await_condition;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, DynamicObject};
use remediator_core::journal::Journal;
use remediator_core::phase::{Phase, Reason};
use serde_json::json;
use world::metal3::{self, BaremetalOperator, Ironic, Pace, Settings, annotate};
use world::pool::{self, Setting};
use world::{World, WorldHost, daemon, objects};

use super::{LONG, truly};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
const PATIENCE: Duration = Duration::from_mins(6);
const PAUSED: &str = "baremetalhost.metal3.io/paused";
const DETACHED: &str = "baremetalhost.metal3.io/detached";
const OF_A_METAL3_REMEDIATION: &str = "reboot.metal3.io/metal3-remediation-2f0c";

const OURS: &str = "reboot.metal3.io/baremetal-remediator-";

static SETTING: Setting = Setting::alone("metal3 people").weighing(3).taking(140);

#[derive(Clone, Copy, Debug)]
enum Deed {
    /// Nobody of metal3 looks at the host for a while, and Ironic keeps it off.
    Pauses,
    /// metal3 lets go of the host, for good.
    Detaches,
    /// metal3 forgets the host.
    Deletes,
    /// A Metal3Remediation wants the host off, too.
    Remediates,
    TakesOffline,
    /// The host is held by nobody any more, and metal3 powers it on.
    TakesOurAnnotationOff,
}

const DEEDS: [Deed; 6] = [
    Deed::Pauses,
    Deed::Detaches,
    Deed::Deletes,
    Deed::Remediates,
    Deed::TakesOffline,
    Deed::TakesOurAnnotationOff,
];

#[tokio::test]
async fn whatever_a_person_does_to_a_host_that_is_held_off_it_comes_back() -> world::Outcome {
    let cluster = pool::lease(&SETTING).await?;
    let options = DEEDS.iter().map(|_| metal3::options()).collect();
    let world = World::new(&cluster, "people", options).await?;
    let ironic = Ironic::start(&Settings::shortened(world.simulator.ca_pem())).await?;
    let _operator = BaremetalOperator::start(&world, &ironic, Pace::shortened()).await?;
    try_join_all(world.hosts.iter().map(|host| metal3::keeps_online(&world, host))).await?;
    daemon::set_policy(&world.client, daemon::permissive_policy()).await?;
    let _daemon = daemon::start(&cluster, DAEMON, "info")?;

    let done = world.hosts.iter().zip(DEEDS).map(async |(host, deed)| {
        let done = comes_back(&world, host, deed).await;
        done.with_context(|| format!("a person {deed:?} {}", host.name))
    });
    try_join_all(done).await?;
    Ok(())
}

async fn comes_back(world: &World, host: &WorldHost, deed: Deed) -> Result<()> {
    let pod = format!("clings-to-{}", host.name);
    world.create_clinging_pod(&pod, &host.name).await?;
    world.falls_silent(host).await?;
    let strategy = json!({
        "deadlines": {"powerOff": "3m", "powerOn": "3m", "boot": "5m"}, "retries": {"attempts": 5, "backoff": "5s"},
    });
    let remediation = world.request(host, strategy).await?;
    world.is_tainted(host, LONG).await?;
    act(world, host, deed).await?;
    world.release_pod(&pod).await?;
    if let Deed::Pauses = deed {
        let is_on = |journal: &Journal| journal.phase == Phase::PoweringOn;
        world.remediation_until(&remediation, LONG, is_on).await?;
        annotate(world, &host.name, PAUSED, None).await?;
    }
    if let Some(reason) = leaves_it_to_them(deed) {
        let named = |journal: &Journal| journal.phase == Phase::PoweringOn && journal.is_because(reason);
        world.remediation_until(&remediation, LONG, named).await?;
        metal3::is_released(world, host).await?;
        objects::event(world, &host.name, "HostLeftToOthers").await?;
        truly(host, Power::Off, LONG).await?;
        finish(world, host, deed).await?;
    }
    let ended = world.remediation_ended(&remediation, PATIENCE).await?;
    let journal = world::journal(&ended);
    ensure!(
        journal.phase == Phase::Succeeded,
        "{:?}: {}",
        journal.phase,
        journal.message
    );
    truly(host, Power::On, LONG).await?;
    match deed {
        Deed::Pauses | Deed::TakesOurAnnotationOff => metal3::is_given_back(world, host).await,
        Deed::Detaches => {
            let found = objects::bare_metal_hosts(world).get(&host.name).await?;
            let (annotations, labels) = (found.annotations(), found.labels());
            ensure!(
                annotations.contains_key(DETACHED),
                "what a person wrote is gone: {annotations:?}"
            );
            let is_ours = |key: &&String| key.contains("baremetal-remediator");
            let ours: Vec<&String> = annotations.keys().chain(labels.keys()).filter(is_ours).collect();
            ensure!(ours.is_empty(), "{ours:?} stay");
            Ok(())
        }
        Deed::Deletes => Ok(()),
        Deed::Remediates | Deed::TakesOffline => {
            let switched = host.transitions();
            ensure!(
                switched == (1, 1),
                "the host was switched {switched:?} times, off and on"
            );
            metal3::is_given_back(world, host).await
        }
    }
}

/// What the daemon says while it leaves a host to others.
fn leaves_it_to_them(deed: Deed) -> Option<Reason> {
    match deed {
        Deed::Remediates => Some(Reason::HostHeldBySomeoneElse),
        Deed::TakesOffline => Some(Reason::HostOffline),
        Deed::Pauses | Deed::Detaches | Deed::Deletes | Deed::TakesOurAnnotationOff => None,
    }
}

/// They do not want the host off any more.
async fn finish(world: &World, host: &WorldHost, deed: Deed) -> Result<()> {
    match deed {
        Deed::Remediates => annotate(world, &host.name, OF_A_METAL3_REMEDIATION, None).await,
        Deed::TakesOffline => metal3::set_online(world, host, true).await,
        Deed::Pauses | Deed::Detaches | Deed::Deletes | Deed::TakesOurAnnotationOff => Ok(()),
    }
}

async fn act(world: &World, host: &WorldHost, deed: Deed) -> Result<()> {
    let hosts = objects::bare_metal_hosts(world);
    match deed {
        Deed::Pauses => annotate(world, &host.name, PAUSED, Some("a person")).await,
        Deed::Remediates => {
            let hard = r#"{"mode":"hard","force":false}"#;
            annotate(world, &host.name, OF_A_METAL3_REMEDIATION, Some(hard)).await
        }
        Deed::TakesOffline => metal3::set_online(world, host, false).await,
        Deed::TakesOurAnnotationOff => {
            let found = hosts.get(&host.name).await?;
            let ours = found.annotations().keys().find(|key| key.starts_with(OURS));
            annotate(world, &host.name, ours.context("it is not held")?, None).await
        }
        Deed::Detaches => {
            annotate(world, &host.name, DETACHED, Some(r#"{"deleteAction":"delay"}"#)).await?;
            let detached = |status: &serde_json::Value| status["operationalStatus"] == "detached";
            metal3::status_until(world, &host.name, LONG, detached).await?;
            Ok(())
        }
        Deed::Deletes => {
            hosts.delete(&host.name, &DeleteParams::default()).await?;
            let gone = await_condition(hosts, &host.name, |found: Option<&DynamicObject>| found.is_none());
            tokio::time::timeout(LONG, gone)
                .await
                .context("the BareMetalHost stays")??;
            Ok(())
        }
    }
}
