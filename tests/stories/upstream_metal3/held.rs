//! baremetal-operator's rules for the power of a host, real or scripted, through a real Ironic.

use std::time::Duration;

use anyhow::Context as _;
use bmc_simulator::{Fault, Power, RequestClass};
use serde_json::Value;
use world::metal3::{self, BaremetalOperator, Pace, annotate, is_managed, says_powered_on, status_until};

use super::{HARD, KEY, LONG, TRIED_AGAIN_WITHIN, managed, truly, world_with_ironic};

const PAUSED: &str = "baremetalhost.metal3.io/paused";
const DETACHED: &str = "baremetalhost.metal3.io/detached";

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
