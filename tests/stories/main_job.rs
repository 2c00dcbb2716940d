//! The main job, end to end: an unhealthy Machine becomes healthy again, and every step is proven.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use harness::Cluster;
use remediator_core::phase::Phase;
use serde_json::json;
use world::pool::{self, Setting};
use world::{HostOptions, World, objects, truth};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("main job").taking(65);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

#[tokio::test]
async fn an_unhealthy_machine_is_power_cycled_and_comes_back() -> world::Outcome {
    let cluster = &control_plane().await?;
    let mut world = World::new(cluster, "main", vec![HostOptions::default()]).await?;
    world.health_check().await?;
    world::set_policy(
        &world.client,
        json!({"bmc": {"allowedNetworks": ["127.0.0.0/8"]}}),
    )
    .await?;
    let _daemon = world::start_daemon(cluster, Path::new(DAEMON))?;
    let host = &mut world.hosts[0];
    let kubelet = host.kubelet.take().expect("has a Node");
    let (name, remediation) = (host.name.clone(), host.remediation());
    objects::create_pod(&world, "work", &name).await?;
    let cursor = cluster.audit_cursor()?;

    kubelet.stop_reporting().await?;
    objects::node_becomes(&world, &name, "Unknown").await?;
    objects::trigger(&world, &name).await?;
    let ended = world
        .remediation_ended(&remediation, Duration::from_mins(2))
        .await?;

    println!("{}", serde_json::to_string_pretty(&ended.status)?);
    println!(
        "{}",
        cluster
            .get_table(&format!(
                "/apis/baremetal-remediator.io/v1alpha1/namespaces/{}/powercycleremediations",
                world.namespace
            ))
            .await?
            .render()
    );
    assert_eq!(world::phase(&ended), Phase::Succeeded);
    assert_eq!(world.hosts[0].transitions(), (1, 1));
    assert!(!objects::is_triggered(&world, &name).await?);
    assert!(!objects::has_out_of_service_taint(
        &objects::node(&world, &name).await?
    ));
    assert_eq!(truth::releases(&world, cursor, &world.hosts[0]).await?, 1);
    Ok(())
}
