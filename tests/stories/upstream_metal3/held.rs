//! baremetal-operator's rules for the power of a host, real or scripted, through a real Ironic.

use std::time::Duration;

use anyhow::{Context as _, Result};
use bmc_simulator::{Fault, Power, RequestClass};
use serde_json::Value;
use world::metal3::{self, BaremetalOperator, Pace, annotate, is_managed, says_powered_on, status_until};
use world::{World, WorldHost};

use super::{LONG, truly, world_with_ironic};

/// The real operator waits for up to two minutes after an error, and four after the next.
const TRIED_AGAIN_WITHIN: Duration = Duration::from_mins(8);
const KEY: &str = "reboot.metal3.io/story";
const HARD: &str = r#"{"mode":"hard","force":false}"#;
const PAUSED: &str = "baremetalhost.metal3.io/paused";
const DETACHED: &str = "baremetalhost.metal3.io/detached";

/// Creates the BareMetalHost of a host and waits until it is managed and said to be on.
async fn managed(world: &World, host: &WorldHost) -> Result<()> {
    metal3::create_bare_metal_host(world, host).await?;
    let is = |status: &Value| is_managed(status) && says_powered_on(status, true);
    status_until(world, &host.name, LONG, is).await?;
    Ok(())
}

#[tokio::test]
async fn a_key_holds_a_host_off_and_a_detached_host_is_nobodys() -> world::Outcome {
    let (world, ironic) = world_with_ironic("held").await?;
    let operator = BaremetalOperator::start(&world, &ironic, Pace::shortened()).await?;
    let host = &world.hosts[0];
    managed(&world, host).await?;
    let node = ironic.api().node(&metal3::node_name(&world, host)).await?;
    let first = node.context("Ironic has no node")?.uuid;

    annotate(&world, &host.name, KEY, Some(HARD)).await?;
    truly(host, Power::Off, LONG).await?;
    status_until(&world, &host.name, LONG, |status| says_powered_on(status, false)).await?;
    let kept = truly(host, Power::On, Duration::from_secs(8)).await;
    assert!(kept.is_err(), "a host that is held was powered on");

    annotate(&world, &host.name, KEY, None).await?;
    truly(host, Power::On, LONG).await?;
    status_until(&world, &host.name, LONG, |status| says_powered_on(status, true)).await?;

    annotate(&world, &host.name, DETACHED, Some(r#"{"deleteAction":"delay"}"#)).await?;
    status_until(&world, &host.name, LONG, |status| {
        status["operationalStatus"] == "detached"
    })
    .await?;
    assert_eq!(ironic.api().node(&metal3::node_name(&world, host)).await?, None);
    host.system.press_power(Power::Off)?;
    truly(host, Power::Off, LONG).await?;
    let left_alone = truly(host, Power::On, Duration::from_secs(6)).await;
    assert!(left_alone.is_err(), "a detached host was powered on");

    annotate(&world, &host.name, DETACHED, None).await?;
    // The status says OK and on before anybody has asked the BMC again. Another node tells that somebody has.
    status_until(&world, &host.name, LONG, |status| {
        let id = status.pointer("/provisioning/ID").and_then(Value::as_str);
        is_managed(status) && id.is_some_and(|id| id != first)
    })
    .await?;
    truly(host, Power::On, LONG).await?;
    status_until(&world, &host.name, LONG, |status| says_powered_on(status, true)).await?;
    drop(operator);
    Ok(())
}

#[tokio::test]
async fn a_paused_host_is_not_asked_after_and_ironic_still_keeps_its_power() -> world::Outcome {
    let (world, ironic) = world_with_ironic("paused").await?;
    let _operator = BaremetalOperator::start(&world, &ironic, Pace::shortened()).await?;
    let host = &world.hosts[0];
    managed(&world, host).await?;

    annotate(&world, &host.name, PAUSED, Some("a person")).await?;
    annotate(&world, &host.name, KEY, Some(HARD)).await?;
    let ignored = truly(host, Power::Off, Duration::from_secs(6)).await;
    assert!(ignored.is_err(), "a paused host was powered off");
    host.system.press_power(Power::Off)?;
    truly(host, Power::Off, LONG).await?;
    truly(host, Power::On, LONG).await?;

    annotate(&world, &host.name, PAUSED, None).await?;
    truly(host, Power::Off, LONG).await?;
    Ok(())
}

#[tokio::test]
async fn an_operator_that_died_obeys_the_key_when_it_is_back() -> world::Outcome {
    let (world, ironic) = world_with_ironic("dead").await?;
    let mut operator = BaremetalOperator::start(&world, &ironic, Pace::shortened()).await?;
    let host = &world.hosts[0];
    managed(&world, host).await?;

    operator.kill().await?;
    annotate(&world, &host.name, KEY, Some(HARD)).await?;
    let ignored = truly(host, Power::Off, Duration::from_secs(6)).await;
    assert!(
        ignored.is_err(),
        "somebody powered the host off for an operator that is dead"
    );
    operator.start_again().await?;
    truly(host, Power::Off, LONG).await?;
    Ok(())
}

#[tokio::test]
async fn ironic_that_died_in_the_middle_of_a_power_off_puts_the_host_on_until_it_is_told_again()
-> world::Outcome {
    let (world, mut ironic) = world_with_ironic("middle").await?;
    let mut operator = BaremetalOperator::start(&world, &ironic, Pace::shortened()).await?;
    let host = &world.hosts[0];
    managed(&world, host).await?;

    annotate(&world, &host.name, KEY, Some(HARD)).await?;
    // It has told the BMC, and waits for a second at least before it looks and writes down that the host is off.
    truly(host, Power::Off, LONG).await?;
    ironic.kill().await?;
    operator.kill().await?;
    ironic.start_again().await?;
    let node = ironic.api().node(&metal3::node_name(&world, host)).await?;
    let node = node.context("Ironic has no node")?;
    let left = node.last_error.unwrap_or_default();
    assert!(left.contains("aborted due to conductor restart"), "{left}");
    assert_eq!(node.power_state.as_deref(), Some("power on"));
    truly(host, Power::On, LONG).await?;

    operator.start_again().await?;
    truly(host, Power::Off, LONG).await?;
    status_until(&world, &host.name, LONG, |status| says_powered_on(status, false)).await?;
    let kept = truly(host, Power::On, Duration::from_secs(6)).await;
    assert!(kept.is_err(), "a host that is held was powered on");
    Ok(())
}

#[tokio::test]
async fn a_power_off_that_fails_is_told_as_an_error_and_tried_again_later() -> world::Outcome {
    let (world, ironic) = world_with_ironic("fails").await?;
    let _operator = BaremetalOperator::start(&world, &ironic, Pace::shortened()).await?;
    let host = &world.hosts[0];
    managed(&world, host).await?;

    host.bmc.inject(Fault::http_status(500).on(RequestClass::Reset))?;
    annotate(&world, &host.name, KEY, Some(HARD)).await?;
    let status = status_until(&world, &host.name, LONG, |status| status["errorCount"] != 0).await?;
    assert_eq!(status["operationalStatus"], "error", "{status:#}");
    assert_eq!(status["errorType"], "power management error", "{status:#}");
    host.bmc.clear_faults();
    truly(host, Power::Off, TRIED_AGAIN_WITHIN).await?;
    status_until(&world, &host.name, LONG, |status| {
        says_powered_on(status, false) && status["operationalStatus"] == "OK"
    })
    .await?;
    Ok(())
}
