//! baremetal-operator, real or scripted, and Ironic die and come back: what becomes of a host that is held, or given back.

use std::time::Duration;

use anyhow::Context as _;
use bmc_simulator::{Fault, Power};
use world::metal3::{self, BaremetalOperator, Pace, annotate, says_powered_on, status_until};

use super::{HARD, KEY, LONG, TRIED_AGAIN_WITHIN, managed, truly, world_with_ironic};

/// The BMC says this about the power, whatever it is.
fn says(power: &str) -> Fault {
    Fault::ReportLiteral(Some(power.to_owned()))
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

    // It cannot see that the host is off, and so does not write it down before it dies.
    host.bmc.inject(says("On"))?;
    annotate(&world, &host.name, KEY, Some(HARD)).await?;
    truly(host, Power::Off, LONG).await?;
    ironic.kill().await?;
    operator.kill().await?;
    host.bmc.clear_faults();
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
async fn ironic_that_is_dead_obeys_the_key_when_it_is_back() -> world::Outcome {
    let (world, mut ironic) = world_with_ironic("away").await?;
    let _operator = BaremetalOperator::start(&world, &ironic, Pace::shortened()).await?;
    let host = &world.hosts[0];
    managed(&world, host).await?;

    ironic.kill().await?;
    annotate(&world, &host.name, KEY, Some(HARD)).await?;
    let ignored = truly(host, Power::Off, Duration::from_secs(6)).await;
    assert!(
        ignored.is_err(),
        "somebody powered the host off for an Ironic that is dead"
    );
    ironic.start_again().await?;
    truly(host, Power::Off, LONG).await?;
    status_until(&world, &host.name, LONG, |status| says_powered_on(status, false)).await?;
    Ok(())
}

#[tokio::test]
async fn ironic_that_died_in_the_middle_of_a_power_on_puts_the_host_off_again() -> world::Outcome {
    let (world, mut ironic) = world_with_ironic("midway").await?;
    let mut operator = BaremetalOperator::start(&world, &ironic, Pace::shortened()).await?;
    let host = &world.hosts[0];
    managed(&world, host).await?;
    annotate(&world, &host.name, KEY, Some(HARD)).await?;
    status_until(&world, &host.name, LONG, |status| says_powered_on(status, false)).await?;

    host.bmc.inject(says("Off"))?;
    annotate(&world, &host.name, KEY, None).await?;
    truly(host, Power::On, LONG).await?;
    ironic.kill().await?;
    // One that looked first would have the host powered on before it is switched off.
    operator.kill().await?;
    host.bmc.clear_faults();
    ironic.start_again().await?;
    // The record still says off, and that is what the host is made to be.
    truly(host, Power::Off, LONG).await?;
    operator.start_again().await?;
    // An operator that looks before that takes what the restart left behind for a failure, and tries again much later.
    truly(host, Power::On, TRIED_AGAIN_WITHIN).await?;
    status_until(&world, &host.name, LONG, |status| says_powered_on(status, true)).await?;
    Ok(())
}
