//! The same daemon power-cycles a system behind somebody else's BMC: OpenStack's sushy-emulator.

mod emulator;
use std::time::Duration;

use anyhow::Result;
use emulator::{PASSWORD, Sushy, USERNAME};
use harness::Cluster;
use harness::kubelet::{NodeTemplate, ScriptedKubelet, random_uuid};
use remediator_core::phase::Phase;
use serde_json::json;
use world::pool::{self, Setting};
use world::{World, objects, truth};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::shared("sushy").taking(65);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// It takes up to 11 s for each change of power.
const LONG: Duration = Duration::from_mins(2);

#[tokio::test]
async fn a_system_behind_sushy_emulator_is_power_cycled_and_the_others_are_not() -> world::Outcome {
    let emulator = Sushy::start(4).await?;
    let cluster = &control_plane().await?;
    world::daemon::shared(cluster, DAEMON).await?;
    let mut world = World::new(cluster, "sushy", Vec::new()).await?;
    world.health_check().await?;
    let (name, uuid) = (format!("{}-1", world.prefix), emulator.uuids[1].clone());
    world.judged_by_their_story.push(name.clone());
    let mut template = NodeTemplate::new(&name);
    template.system_uuid = uuid.clone();
    template.machine = Some(format!("{}/{name}", world.namespace));
    let boot_id = template.boot_id.clone();
    let kubelet = ScriptedKubelet::start(world.client.clone(), template).await?;
    objects::create_machine(&world, objects::machine(&world, &name, true)).await?;
    let login = json!({"username": USERNAME, "password": PASSWORD, "ca.crt": emulator.certificate});
    objects::create_secret(&world, &name, login).await?;
    let endpoint = json!({
        "machineName": name,
        "address": format!("redfish+{}/redfish/v1/Systems/{uuid}", emulator.url),
        "credentialsSecret": {"name": format!("{name}-bmc")},
    });
    objects::create_endpoint(&world, &name, endpoint).await?;
    objects::create_pod(&world, "work", &name).await?;
    let cursor = cluster.audit_cursor()?;

    kubelet.stop_reporting().await?;
    objects::node_becomes(&world, &name, "Unknown").await?;
    objects::trigger(&world, &name).await?;
    emulator.power_becomes(&uuid, "Off", LONG).await?;
    // The release comes after this; whoever releases before has not waited for the proof.
    let early = released(&world, cursor, &name).await?;
    for other in emulator.uuids.iter().filter(|other| **other != uuid) {
        assert_eq!(emulator.power(other).await?, "On", "of system {other}");
    }
    emulator.power_becomes(&uuid, "On", LONG).await?;
    kubelet.resume(random_uuid()).await?;
    let ended = world
        .remediation_ended(&world::remediation_name(&name, 1), LONG)
        .await?;

    assert_eq!(
        world::phase(&ended),
        Phase::Succeeded,
        "{:?}",
        world::journal(&ended)
    );
    assert_eq!(early, 0, "released before it was off");
    assert_eq!(released(&world, cursor, &name).await?, 1);
    let node = objects::node(&world, &name).await?;
    assert!(!objects::has_out_of_service_taint(&node));
    let info = node.status.and_then(|status| status.node_info);
    assert!(info.is_some_and(|info| info.boot_id != boot_id));
    for uuid in &emulator.uuids {
        assert_eq!(emulator.power(uuid).await?, "On", "of system {uuid}");
    }
    let subject = world::journal(&ended).subject;
    assert!(subject.is_some_and(|subject| subject.system.ends_with(&uuid)));
    Ok(())
}

async fn released(world: &World, cursor: harness::Cursor, node: &str) -> Result<usize> {
    let events = world.cluster.audit_of(world::DAEMON_USER, cursor).await?;
    Ok(events
        .iter()
        .filter(|event| truth::is_release(event, node))
        .count())
}
