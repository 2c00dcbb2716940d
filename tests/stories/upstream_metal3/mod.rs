//! A real Ironic keeps the power of simulated hosts, as it does for metal3: what the daemon has to live beside.

mod cycled;
mod died;
mod held;
mod people;
mod repowered;

use std::time::Duration;

use anyhow::Result;
use bmc_simulator::Power;
use harness::Cluster;
use serde_json::Value;
use world::metal3::{self, Ironic, Settings, is_managed, says_powered_on, status_until};
use world::pool::{self, Setting};
use world::{World, WorldHost};

static SETTING: Setting = Setting::shared("metal3").weighing(2).taking(60);
const LONG: Duration = Duration::from_mins(2);
/// The real operator waits for up to two minutes after an error, and four after the next.
const TRIED_AGAIN_WITHIN: Duration = Duration::from_mins(8);
const KEY: &str = "reboot.metal3.io/story";
const HARD: &str = r#"{"mode":"hard","force":false}"#;

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

async fn world_with_ironic(name: &str) -> Result<(World, Ironic)> {
    let cluster = &control_plane().await?;
    let world = World::new(cluster, name, vec![metal3::options()]).await?;
    let ironic = Ironic::start(&Settings::shortened(world.simulator.ca_pem())).await?;
    Ok((world, ironic))
}

/// Waits until a host has power in truth, or has none.
async fn truly(host: &WorldHost, power: Power, within: Duration) -> Result<()> {
    let wait = host.system.wait_for(|machine| machine.truth.power == power);
    tokio::time::timeout(within, wait).await??;
    Ok(())
}

/// Creates the BareMetalHost of a host and waits until it is managed and said to be on.
async fn managed(world: &World, host: &WorldHost) -> Result<()> {
    metal3::create_bare_metal_host(world, host).await?;
    let is = |status: &Value| is_managed(status) && says_powered_on(status, true);
    status_until(world, &host.name, LONG, is).await?;
    Ok(())
}

#[tokio::test]
async fn ironic_takes_a_host_over_keeps_its_power_and_lets_go_of_it() -> world::Outcome {
    let (world, ironic) = world_with_ironic("ironic").await?;
    let (host, api) = (&world.hosts[0], ironic.api());

    let node = metal3::take_over(&world, api, host).await?;
    let active = api.node(&node).await?.unwrap();
    assert_eq!(active.power_state.as_deref(), Some("power on"), "{active:#?}");
    assert!(!active.maintenance && active.last_error.is_none(), "{active:#?}");
    assert_eq!(host.transitions(), (0, 0), "taken over as it is");

    host.system.press_power(Power::Off)?;
    truly(host, Power::Off, LONG).await?;
    truly(host, Power::On, LONG).await?;

    metal3::let_go(api, &node).await?;
    assert_eq!(api.node(&node).await?, None);
    host.system.press_power(Power::Off)?;
    truly(host, Power::Off, LONG).await?;
    // Nothing can be awaited that must not come: three rounds of the comparison.
    let rounds = truly(host, Power::On, Duration::from_secs(6)).await;
    assert!(rounds.is_err(), "Ironic still switches a host that it let go");
    Ok(())
}
