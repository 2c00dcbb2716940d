//! What is over is kept for those who ask what happened, but not for ever.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use harness::Cluster;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::json;
use world::pool::{self, Setting};
use world::{HostOptions, World, objects, refusal};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("retention");

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

async fn remaining(world: &World) -> Result<BTreeSet<String>> {
    let remediations = world.remediations().list(&ListParams::default()).await?;
    Ok(remediations.iter().map(ResourceExt::name_any).collect())
}

/// False alarms are the cheapest remediations: each is over as soon as it was looked at.
#[tokio::test]
async fn of_what_the_trigger_started_the_three_newest_finished_ones_are_kept() -> world::Outcome {
    let cluster = &control_plane().await?;
    let options = vec![HostOptions::default(), HostOptions::default()];
    let world = World::new(cluster, "retention", options).await?;
    world.health_check().await?;
    world::set_policy(&world.client, world::daemon::permissive_policy()).await?;
    let _daemon = world::start_daemon(cluster, Path::new(DAEMON))?;
    let [host, other] = &world.hosts[..] else {
        panic!("two hosts were asked for");
    };
    // What people made is theirs, also when it is named as the daemon names its own.
    let by_hand = world::remediation_name(&host.name, 1);
    objects::create_remediation(&world, &by_hand, json!({"machineName": host.name})).await?;
    world.remediation_ended(&by_hand, refusal::PATIENCE).await?;

    for number in 2..=6 {
        world.false_alarm(host, number).await?;
    }
    world.false_alarm(other, 1).await?;
    for number in [2, 3] {
        let old = world::remediation_name(&host.name, number);
        world.remediation_gone(&old, refusal::PATIENCE).await?;
    }
    world.false_alarm(host, 7).await?;
    let old = world::remediation_name(&host.name, 4);
    world.remediation_gone(&old, refusal::PATIENCE).await?;

    let kept = [5, 6, 7].map(|number| world::remediation_name(&host.name, number));
    let expected = kept.into_iter().chain([by_hand, other.remediation()]);
    assert_eq!(remaining(&world).await?, expected.collect());
    for host in &world.hosts {
        refusal::untouched(&host.bmc)?;
    }
    Ok(())
}
