//! Power states: a host that is off is no contradiction to a Node that is silent.

use bmc_simulator::Power;
use remediator_core::phase::Reason;
use world::{HostOptions, World, objects};

use super::{POLICY, daemon, is_ready};

#[tokio::test]
async fn a_host_that_is_off_and_whose_node_is_silent_contradicts_nobody() -> world::Outcome {
    let _policy = POLICY.read().await;
    let _daemon = daemon().await?;
    let cluster = &super::control_plane().await?;
    let world = World::new(cluster, "off", vec![HostOptions::default()]).await?;
    let host = &world.hosts[0];
    is_ready(&world, &host.name).await?;

    host.bmc.press_power(Power::Off)?;

    let off = super::stands(&world, &host.name, "ready and off", |condition| {
        condition.status == "True" && condition.message.contains("the host is Off")
    });
    off.await?;
    let reasons = objects::event_reasons(&world, &host.name).await?;
    let accused = reasons
        .iter()
        .any(|reason| reason == Reason::NodeStillReporting.as_str());
    assert!(!accused, "{reasons:?}");
    Ok(())
}
