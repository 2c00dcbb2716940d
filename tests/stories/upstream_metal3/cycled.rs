//! Hosts that metal3 keeps online, power-cycled through it: by baremetal-operator, real or scripted, and a real Ironic.

use std::time::Duration;

use anyhow::{Context as _, Result};
use bmc_simulator::Power;
use remediator_api::keys;
use remediator_core::journal::Journal;
use remediator_core::phase::Phase;
use serde_json::{Value, json};
use world::metal3::{self, BaremetalOperator, Pace, is_managed, says_powered_on, status_until};
use world::{World, WorldHost, daemon, objects};

use super::{LONG, truly, world_with_ironic};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");

/// The BareMetalHost of a host, on which its Machine runs, under the management of metal3.
async fn managed(world: &World, host: &WorldHost) -> Result<()> {
    metal3::create_bare_metal_host(world, host).await?;
    let id = format!("baremetalhost:///{}/{}", world.namespace, host.name);
    objects::patch_machine(world, &host.name, json!({"spec": {"providerID": id}})).await?;
    let is = |status: &Value| is_managed(status) && says_powered_on(status, true);
    status_until(world, &host.name, LONG, is).await?;
    Ok(())
}

/// Nothing of ours is on a BareMetalHost, and metal3 keeps the host on.
async fn is_given_back(world: &World, host: &WorldHost) -> Result<()> {
    let found = objects::bare_metal_hosts(world).get(&host.name).await?;
    let metadata = serde_json::to_value(&found.metadata)?;
    for ours in [keys::HOLD_LABEL, keys::DETACHED_FOR_ANNOTATION, keys::BARE_METAL_HOST_DETACHED, "reboot.metal3.io"] {
        assert!(!metadata.to_string().contains(ours), "{ours} stays: {metadata:#}");
    }
    truly(host, Power::On, LONG).await
}

#[tokio::test]
async fn a_host_is_held_off_by_metal3_and_given_back() -> world::Outcome {
    let (world, ironic) = world_with_ironic("cycled").await?;
    let _operator = BaremetalOperator::start(&world, &ironic, Pace::shortened()).await?;
    let host = &world.hosts[0];
    managed(&world, host).await?;
    world.health_check().await?;
    daemon::set_policy(&world.client, daemon::permissive_policy()).await?;
    let _daemon = daemon::start(&world.cluster, DAEMON, "info")?;

    let remediation = world.falls_silent_and_is_reported(host).await?;
    let held = world
        .remediation_until(&remediation, LONG, |journal: &Journal| journal.phase == Phase::PoweringOff)
        .await?;
    let hold = world::journal(&held).hold.context("the host is held")?;
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
    Ok(())
}
