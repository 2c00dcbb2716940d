//! Hosts that metal3 keeps online, power-cycled through it: by baremetal-operator, real or scripted, and a real Ironic.

use std::time::Duration;

use anyhow::{Context as _, Result};
use bmc_simulator::Power;
use harness::process::ChildDaemon;
use kube::api::{Patch, PatchParams};
use remediator_core::journal::{Journal, Verb};
use remediator_core::phase::Phase;
use serde_json::json;
use world::metal3::{self, BaremetalOperator, Ironic, Pace, Settings};
use world::pool::{self, Setting};
use world::{World, WorldHost, daemon, objects, record};

use super::{LONG, truly};

/// metal3 has a minute to power a host off, and another to let go of it; Ironic three rounds to give in.
const PATIENCE: Duration = Duration::from_mins(10);
pub(super) const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");

/// Each story has a daemon of its own.
static SETTING: Setting = Setting::alone("metal3 cycled").weighing(2).taking(110);
/// The same where the daemon has to give metal3 up first.
static GIVEN_UP: Setting = Setting::alone("metal3 given up").weighing(2).taking(200);

pub(super) async fn world_with_ironic(setting: &'static Setting, name: &str) -> Result<(World, Ironic)> {
    let (world, settings) = world(setting, name).await?;
    let ironic = Ironic::start(&settings).await?;
    Ok((world, ironic))
}

async fn world(setting: &'static Setting, name: &str) -> Result<(World, Settings)> {
    let cluster = pool::lease(setting).await?;
    let world = World::new(&cluster, name, vec![metal3::options()]).await?;
    let settings = Settings::shortened(world.simulator.ca_pem());
    Ok((world, settings))
}

/// Nothing of ours is on a BareMetalHost, or is not for long, and metal3 keeps the host on.
async fn is_given_back(world: &World, host: &WorldHost) -> Result<()> {
    metal3::is_given_back(world, host).await?;
    truly(host, Power::On, LONG).await
}

/// A daemon, and a remediation of the host that has been asked for.
pub(super) async fn asked_for(world: &World, host: &WorldHost) -> Result<(ChildDaemon, String)> {
    daemon::set_policy(&world.client, daemon::permissive_policy()).await?;
    let daemon = daemon::start(&world.cluster, DAEMON, "info")?;
    Ok((daemon, ask_for(world, host).await?))
}

/// The host falls silent, and its remediation is asked for.
pub(super) async fn ask_for(world: &World, host: &WorldHost) -> Result<String> {
    world.falls_silent(host).await?;
    let strategy = json!({
        "deadlines": {"powerOff": "3m", "powerOn": "3m", "boot": "5m"}, "retries": {"attempts": 5, "backoff": "5s"},
    });
    world.request(host, strategy).await
}

pub(super) async fn reaches(world: &World, remediation: &str, phase: Phase) -> Result<Journal> {
    let reached = world
        .remediation_until(remediation, LONG, |journal: &Journal| journal.phase == phase)
        .await?;
    Ok(world::journal(&reached))
}

/// The remediation ends well, the host is On in the end and nobody's but metal3's.
pub(super) async fn ends_well(world: &World, host: &WorldHost, remediation: &str) -> Result<Journal> {
    let ended = world.remediation_ended(remediation, PATIENCE).await?;
    let journal = world::journal(&ended);
    anyhow::ensure!(
        journal.phase == Phase::Succeeded,
        "{:?}: {}",
        journal.phase,
        journal.message
    );
    is_given_back(world, host).await?;
    Ok(journal)
}

#[tokio::test]
async fn a_host_is_held_off_by_metal3_and_given_back() -> world::Outcome {
    let (world, ironic) = world_with_ironic(&SETTING, "cycled").await?;
    let _operator = BaremetalOperator::start(&world, &ironic, Pace::shortened()).await?;
    let host = &world.hosts[0];
    metal3::keeps_online(&world, host).await?;
    world.health_check().await?;
    daemon::set_policy(&world.client, daemon::permissive_policy()).await?;
    let _daemon = daemon::start(&world.cluster, DAEMON, "info")?;

    let remediation = world.falls_silent_and_is_reported(host).await?;
    let reached = world
        .remediation_until(&remediation, LONG, |journal: &Journal| {
            journal.phase == Phase::PoweringOff
        })
        .await?;
    let hold = world::journal(&reached).hold.context("the host is held")?;
    let annotated = objects::bare_metal_hosts(&world).get(&host.name).await?;
    let annotations = annotated.metadata.annotations.unwrap_or_default();
    assert!(annotations.contains_key(&hold.annotation), "{annotations:?}");

    let ended = world.remediation_ended(&remediation, LONG).await?;
    let journal = world::journal(&ended);
    assert_eq!(journal.phase, Phase::Succeeded, "{}", journal.message);
    assert!(journal.timeline.iter().any(|entry| entry.phase == Phase::Holding));
    assert!(journal.hold.is_some_and(|hold| hold.released.is_some()));
    assert_eq!(host.transitions(), (1, 1), "one power cycle");
    is_given_back(&world, host).await?;
    // What Ironic does at its next rounds must not be a second one, and nothing that must not come can be awaited.
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(host.transitions(), (1, 1), "nobody reverts anything");
    assert!(!record::is_contended(host), "{:?}", record::commands(host));
    // Ironic keeps one, and the daemon has one while it needs it.
    let most = record::most_sessions(host);
    assert!((1..=2).contains(&most), "{most} sessions at once");
    Ok(())
}

/// Ironic follows the power of such a host, and its operator turns a power-off into a reset that nobody can count.
#[tokio::test]
async fn a_host_that_must_not_be_powered_off_is_reset_once_and_nothing_of_it_is_released() -> world::Outcome {
    let (world, ironic) = world_with_ironic(&SETTING, "only-reset").await?;
    let _operator = BaremetalOperator::start(&world, &ironic, Pace::shortened()).await?;
    let host = &world.hosts[0];
    metal3::keeps_online(&world, host).await?;
    let only_reset = json!({"spec": {"disablePowerOff": true}});
    objects::bare_metal_hosts(&world)
        .patch(&host.name, &PatchParams::default(), &Patch::Merge(only_reset))
        .await?;

    let (_daemon, remediation) = asked_for(&world, host).await?;
    let ended = world.remediation_ended(&remediation, LONG).await?;

    let journal = world::journal(&ended);
    assert_eq!(journal.phase, Phase::Succeeded, "{}", journal.message);
    assert_eq!(
        (journal.attempt, &journal.release, &journal.hold),
        (1, &None, &None)
    );
    // Nothing that must not come can be awaited: some rounds of Ironic.
    tokio::time::sleep(Duration::from_secs(6)).await;
    let (sent, foreign) = record::commands(host);
    let verbs: Vec<Verb> = sent.iter().map(|sent| sent.verb).collect();
    assert_eq!((verbs, foreign), (vec![Verb::Restart], Vec::new()));
    assert_eq!((host.system.truth().resets, host.transitions()), (1, (0, 0)));
    truly(host, Power::On, LONG).await?;
    Ok(())
}

#[tokio::test]
async fn without_an_operator_the_host_is_power_cycled_against_ironic_and_given_back() -> world::Outcome {
    let (world, mut settings) = world(&GIVEN_UP, "no-operator").await?;
    // Within a round Off can be proven and the workloads released; in metal3 it is two minutes.
    settings.sync_power_state_interval = Duration::from_mins(1);
    let ironic = Ironic::start(&settings).await?;
    let mut operator = BaremetalOperator::start(&world, &ironic, Pace::shortened()).await?;
    let host = &world.hosts[0];
    metal3::keeps_online(&world, host).await?;
    operator.kill().await?;

    let (_daemon, remediation) = asked_for(&world, host).await?;
    let held = reaches(&world, &remediation, Phase::PoweringOff).await?;
    assert_eq!(held.hold.context("it is held")?.detached, None);
    world
        .remediation_until(&remediation, PATIENCE, |journal: &Journal| {
            journal.hold.as_ref().is_some_and(|hold| hold.direct.is_some())
        })
        .await?;
    // Ironic reverts what nobody told it at its next round, and the attempt after that may come first.
    let journal = world.remediation_ended(&remediation, PATIENCE).await?;
    assert_eq!(world::phase(&journal), Phase::Succeeded, "{:?}", journal.status);
    operator.start_again().await?;
    is_given_back(&world, host).await?;
    Ok(())
}

#[tokio::test]
async fn without_ironic_the_host_is_power_cycled_directly_and_given_back() -> world::Outcome {
    let (world, mut ironic) = world_with_ironic(&GIVEN_UP, "no-ironic").await?;
    let _operator = BaremetalOperator::start(&world, &ironic, Pace::shortened()).await?;
    let host = &world.hosts[0];
    metal3::keeps_online(&world, host).await?;
    ironic.kill().await?;

    let (_daemon, remediation) = asked_for(&world, host).await?;
    let journal = world.remediation_ended(&remediation, PATIENCE).await?;
    assert_eq!(world::phase(&journal), Phase::Succeeded, "{:?}", journal.status);
    assert_eq!(host.transitions(), (1, 1), "one power cycle");
    for told in ["HostDetachRequested", "HostPoweredDirectly"] {
        let why = objects::event(&world, &host.name, told).await?;
        assert!(why.contains("metal3"), "{why}");
    }
    ironic.start_again().await?;
    is_given_back(&world, host).await?;
    assert!(!record::is_contended(host), "{:?}", record::commands(host));
    Ok(())
}

/// Ironic that dies puts a host back to what it has on record when it comes back, and its operator tells it again.
#[tokio::test]
async fn an_operator_and_ironic_that_start_anew_in_the_middle_change_nothing_in_the_end() -> world::Outcome {
    let (world, mut ironic) = world_with_ironic(&SETTING, "restarted").await?;
    let mut operator = BaremetalOperator::start(&world, &ironic, Pace::shortened()).await?;
    let host = &world.hosts[0];
    metal3::keeps_online(&world, host).await?;

    let (_daemon, remediation) = asked_for(&world, host).await?;
    truly(host, Power::Off, LONG).await?;
    ironic.kill().await?;
    operator.kill().await?;
    ironic.start_again().await?;
    operator.start_again().await?;
    ends_well(&world, host, &remediation).await?;
    Ok(())
}

#[tokio::test]
async fn whoever_takes_the_remediation_away_at_any_point_leaves_the_host_on_and_free() -> world::Outcome {
    let (world, ironic) = world_with_ironic(&SETTING, "taken-away").await?;
    let _operator = BaremetalOperator::start(&world, &ironic, Pace::shortened()).await?;
    let host = &world.hosts[0];
    metal3::keeps_online(&world, host).await?;
    world.create_clinging_pod("clings", &host.name).await?;

    let (_daemon, remediation) = asked_for(&world, host).await?;
    world.is_tainted(host, LONG).await?;
    world.take_back(&remediation).await?;
    world.release_pod("clings").await?;
    world.remediation_gone(&remediation, PATIENCE).await?;
    is_given_back(&world, host).await?;

    // The next one is removed by force, finalizer and all.
    world.create_clinging_pod("clings", &host.name).await?;
    host.kubelet
        .as_ref()
        .context("has a Node")?
        .stop_reporting()
        .await?;
    objects::node_becomes(&world, &host.name, "Unknown").await?;
    let remediation = world.request(host, json!({})).await?;
    world.is_tainted(host, LONG).await?;
    world.take_back(&remediation).await?;
    let none = Patch::Merge(json!({"metadata": {"finalizers": []}}));
    world
        .remediations()
        .patch(&remediation, &PatchParams::default(), &none)
        .await?;
    world.remediation_gone(&remediation, LONG).await?;
    is_given_back(&world, host).await?;
    Ok(())
}
