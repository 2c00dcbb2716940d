//! baremetal-operator's rules for the power of a host, real or scripted, through a real Ironic.

use std::time::{Duration, Instant};

use bmc_simulator::Power;
use world::metal3::{self, BaremetalOperator, Pace, annotate, is_managed, says_powered_on, status_until};

use super::{LONG, truly, world_with_ironic};

const KEY: &str = "reboot.metal3.io/story";
const HARD: &str = r#"{"mode":"hard","force":false}"#;
const DETACHED: &str = "baremetalhost.metal3.io/detached";

#[tokio::test]
async fn a_key_holds_a_host_off_and_a_detached_host_is_nobodys() -> world::Outcome {
    let (world, ironic) = world_with_ironic("held").await?;
    let operator = BaremetalOperator::start(&world, &ironic, Pace::shortened()).await?;
    let host = &world.hosts[0];
    let began = Instant::now();
    metal3::create_bare_metal_host(&world, host).await?;
    status_until(&world, &host.name, LONG, |status| {
        is_managed(status) && says_powered_on(status, true)
    })
    .await?;
    println!("managed: {:?}", began.elapsed());

    let began = Instant::now();
    annotate(&world, &host.name, KEY, Some(HARD)).await?;
    truly(host, Power::Off, LONG).await?;
    println!("held off: {:?}", began.elapsed());
    status_until(&world, &host.name, LONG, |status| says_powered_on(status, false)).await?;
    println!("said so: {:?}", began.elapsed());
    let kept = truly(host, Power::On, Duration::from_secs(8)).await;
    assert!(kept.is_err(), "a host that is held was powered on");

    let began = Instant::now();
    annotate(&world, &host.name, KEY, None).await?;
    truly(host, Power::On, LONG).await?;
    println!("on again: {:?}", began.elapsed());
    status_until(&world, &host.name, LONG, |status| says_powered_on(status, true)).await?;

    let began = Instant::now();
    annotate(&world, &host.name, DETACHED, Some(r#"{"deleteAction":"delay"}"#)).await?;
    status_until(&world, &host.name, LONG, |status| {
        status["operationalStatus"] == "detached"
    })
    .await?;
    println!("detached: {:?}", began.elapsed());
    assert_eq!(ironic.api().node(&metal3::node_name(&world, host)).await?, None);
    host.system.press_power(Power::Off)?;
    truly(host, Power::Off, LONG).await?;
    let left_alone = truly(host, Power::On, Duration::from_secs(6)).await;
    assert!(left_alone.is_err(), "a detached host was powered on");

    let began = Instant::now();
    annotate(&world, &host.name, DETACHED, None).await?;
    status_until(&world, &host.name, LONG, |status| {
        is_managed(status) && says_powered_on(status, true)
    })
    .await?;
    println!("managed again and on: {:?}", began.elapsed());
    truly(host, Power::On, LONG).await?;
    drop(operator);
    Ok(())
}
