//! Ironic powers a host while the daemon acts on it: at the worst moments before, during and after the release.

use std::time::Duration;

use anyhow::{Context as _, Result};
use bmc_simulator::Power;
use remediator_core::journal::Journal;
use remediator_core::phase::{Phase, Reason};
use world::fault::calls::naming;
use world::holding::Holding;
use world::metal3::{self, BaremetalOperator, Ironic, Pace, TargetPower};
use world::pool::Setting;
use world::{World, daemon, objects};

use super::cycled::{DAEMON, ask_for, asked_for, ends_well, reaches, world_with_ironic};
use super::{LONG, truly};

/// Each story has a daemon of its own.
static SETTING: Setting = Setting::alone("metal3 re-powered").weighing(2).taking(120);

/// How old the newest Off may be at a release, and a moment.
const BELIEVED: Duration = Duration::from_secs(6);

/// Something stopped an attempt: the Node may report before the BMC is read once more.
fn was_stopped(journal: &Journal) {
    let stopped = [Reason::HostCameOn, Reason::NodeStillReporting].map(Reason::as_str);
    let entered = journal.timeline.iter().map(|entry| entry.reason.as_str());
    let failed = journal
        .failed_attempts
        .iter()
        .map(|failed| failed.reason.as_str());
    let mut reasons = entered.chain(failed);
    assert!(
        reasons.any(|reason| stopped.contains(&reason)),
        "{:#?}",
        journal.timeline
    );
}

/// A host that metal3 keeps online, with a pod that keeps its release from ending.
async fn with_a_clinging_pod(name: &str) -> Result<(World, Ironic, BaremetalOperator)> {
    let (world, ironic) = world_with_ironic(&SETTING, name).await?;
    let operator = BaremetalOperator::start(&world, &ironic, Pace::shortened()).await?;
    let host = world.hosts.first().context("the world has no host")?;
    metal3::keeps_online(&world, host).await?;
    world.create_clinging_pod("clings", &host.name).await?;
    Ok((world, ironic, operator))
}

/// Off is proven, and the entry that begins the release does not come through; meanwhile the host is powered on.
#[tokio::test]
async fn a_host_that_is_powered_on_through_ironic_just_before_the_release_is_not_released() -> world::Outcome
{
    let (world, ironic) = world_with_ironic(&SETTING, "before-release").await?;
    let mut operator = BaremetalOperator::start(&world, &ironic, Pace::shortened()).await?;
    let host = &world.hosts[0];
    metal3::keeps_online(&world, host).await?;
    daemon::set_policy(&world.client, daemon::permissive_policy()).await?;
    let front = Holding::start(&world.cluster, |request| {
        naming(request).is_some_and(|name| name == "journal-Fencing")
    })
    .await?;
    let _daemon = front.start_daemon(DAEMON)?;
    front.answers.send_replace(false);
    let remediation = ask_for(&world, host).await?;
    front.holds_one().await?;
    assert_eq!(host.transitions(), (1, 0), "it is off, and that is proven");

    operator.kill().await?;
    let node = metal3::node_name(&world, host);
    ironic.api().power(&node, TargetPower::On).await?.accepted()?;
    truly(host, Power::On, LONG).await?;
    // Nothing tells when Off is not believed any more, which was read before that.
    tokio::time::sleep(BELIEVED).await;
    front.answers.send_replace(true);
    operator.start_again().await?;
    was_stopped(&ends_well(&world, host, &remediation).await?);
    let found = objects::node(&world, &host.name).await?;
    assert!(!objects::has_out_of_service_taint(&found), "{found:#?}");
    Ok(())
}

#[tokio::test]
async fn a_host_that_is_powered_on_through_ironic_during_the_release_stops_it() -> world::Outcome {
    let (world, ironic, mut operator) = with_a_clinging_pod("re-powered").await?;
    let host = &world.hosts[0];
    let (_daemon, remediation) = asked_for(&world, host).await?;
    world.is_tainted(host, LONG).await?;
    operator.kill().await?;
    let node = metal3::node_name(&world, host);
    ironic.api().power(&node, TargetPower::On).await?.accepted()?;
    truly(host, Power::On, LONG).await?;
    world.is_untainted(host, LONG).await?;
    operator.start_again().await?;
    world.release_pod("clings").await?;
    was_stopped(&ends_well(&world, host, &remediation).await?);
    Ok(())
}

/// Ironic hangs while the host is held. It is powered on without it, and Ironic makes it what it has on record when it
/// goes on: off. Whoever is first brings it back, the daemon or the operator.
#[tokio::test]
async fn a_host_that_ironic_switches_off_once_more_after_it_hung_comes_back() -> world::Outcome {
    let (world, ironic, mut operator) = with_a_clinging_pod("frozen").await?;
    let host = &world.hosts[0];
    let (_daemon, remediation) = asked_for(&world, host).await?;
    world.is_tainted(host, LONG).await?;
    metal3::status_until(&world, &host.name, LONG, |status| {
        metal3::says_powered_on(status, false)
    })
    .await?;
    ironic.freeze()?;
    operator.kill().await?;
    world.release_pod("clings").await?;
    reaches(&world, &remediation, Phase::PoweringOn).await?;
    let powered = truly(host, Power::On, LONG).await;
    powered.context("the daemon waits for an Ironic that hangs")?;
    ironic.thaw()?;
    truly(host, Power::Off, LONG)
        .await
        .context("Ironic has Off on record")?;
    operator.start_again().await?;
    let journal = ends_well(&world, host, &remediation).await?;
    assert!(journal.release.is_some(), "it was released while it was held");
    // What Ironic does at its next rounds must not switch it once more, and nothing that must not come can be awaited.
    let kept = truly(host, Power::Off, Duration::from_secs(6)).await;
    assert!(kept.is_err(), "Ironic still switches the host off");
    Ok(())
}
