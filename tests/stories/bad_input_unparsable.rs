//! Objects that cannot be read at all, as after an upgrade of somebody else's kinds or of ours. The
//! kinds of their cluster are loosened so that such objects can be stored.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test reports by panicking"
)]

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use harness::Cluster;
use harness::process::ChildDaemon;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use remediator_core::phase::Reason;
use serde_json::{Value, json};
use world::daemon::Leased;
use world::pool::{self, Setting};
use world::refusal::{self, Case};
use world::{World, WorldHost, objects};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::shared("unparsable");

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

const LOOSENED: [&str; 4] = [
    "machines.machine.openshift.io",
    "machinehealthchecks.machine.openshift.io",
    "bmcendpoints.baremetal-remediator.io",
    "powercycleremediations.baremetal-remediator.io",
];

/// The daemon of these stories. It starts with the kinds as they should be.
async fn daemon() -> Result<Leased<ChildDaemon>> {
    let cluster = &control_plane().await?;
    Leased::new(cluster, async || {
        let client = cluster.client().await?;
        for kind in LOOSENED {
            world::install::loosen(&client, kind).await?;
        }
        let policy = world::daemon::permissive_policy();
        world::set_policy(&client, policy).await?;
        world::start_daemon(cluster, Path::new(DAEMON))
    })
    .await
}

/// Changes an object as a person should not be able to.
async fn merge_until_stored(api: &Api<DynamicObject>, name: &str, change: &Value) -> Result<()> {
    let patch = Patch::Merge(change);
    until_stored(async || api.patch(name, &PatchParams::default(), &patch).await).await
}

/// Makes a call until it is taken: the loosened kind is served a moment after it was changed.
async fn until_stored(call: impl AsyncFn() -> kube::Result<DynamicObject>) -> Result<()> {
    let attempts = async {
        let mut pause = tokio::time::interval(Duration::from_millis(200));
        loop {
            pause.tick().await;
            match call().await {
                Err(kube::Error::Api(status)) if matches!(status.code, 400 | 422) => {}
                stored => return stored.map(drop),
            }
        }
    };
    tokio::time::timeout(Duration::from_mins(2), attempts)
        .await
        .context("the kind was not loosened")??;
    Ok(())
}

async fn sick_world(name: &str) -> Result<World> {
    sick_world_of(name, Case::new("", Reason::Accepted, &[])).await
}

async fn sick_world_of(name: &str, case: Case) -> Result<World> {
    let daemon = &daemon().await?;
    let world = refusal::make(&daemon.cluster, name, &mut [case]).await?;
    let kubelet = world.hosts[0].kubelet.as_ref().context("has a Node")?;
    kubelet
        .report_condition("Ready", "False", "KubeletNotReady")
        .await?;
    Ok(world)
}

/// The trigger is answered by an event and a log line, not by a remediation.
async fn not_taken_up(world: &World, host: &WorldHost, reason: Reason, says: &[&str]) -> Result<()> {
    refusal::told(world, &*daemon().await?, &host.name, reason, says).await?;
    ensure!(
        world.remediations().get_opt(&host.remediation()).await?.is_none(),
        "a remediation was made for it"
    );
    ensure!(
        objects::is_triggered(world, &host.name).await?,
        "the trigger was removed"
    );
    refusal::never_contacted(&host.bmc)
}

#[tokio::test]
async fn a_machine_that_cannot_be_read_is_named_and_a_corrected_one_is_taken_up() -> world::Outcome {
    let world = sick_world("machine").await?;
    let host = &world.hosts[0];
    let machines = objects::machines(&world);
    merge_until_stored(&machines, &host.name, &json!({"spec": {"providerID": 7}})).await?;

    objects::trigger(&world, &host.name).await?;

    let says = ["{host} cannot be read", "spec.providerID"];
    not_taken_up(&world, host, Reason::MachineUnreadable, &says).await?;
    let by_hand = format!("{}-hand", host.name);
    objects::create_remediation(&world, &by_hand, json!({"machineName": host.name})).await?;
    let daemon = &daemon().await?;
    refusal::refused(&world, daemon, &by_hand, Reason::MachineUnreadable, &says).await?;
    refusal::never_contacted(&host.bmc)?;

    objects::patch_machine(&world, &host.name, json!({"spec": {"providerID": null}})).await?;
    let off = host.bmc.wait_for(|now| now.truth.on_to_off == 1);
    tokio::time::timeout(refusal::PATIENCE, off).await??;
    Ok(())
}

#[tokio::test]
async fn a_health_check_that_cannot_be_read_vouches_for_nothing() -> world::Outcome {
    let world = sick_world("mhc").await?;
    let host = &world.hosts[0];
    let checks = objects::health_checks(&world);
    merge_until_stored(&checks, "workers", &json!({"spec": {"selector": "everything"}})).await?;

    objects::trigger(&world, &host.name).await?;

    let says = ["MachineHealthCheck workers cannot be read", "spec.selector"];
    not_taken_up(&world, host, Reason::HealthCheckUnreadable, &says).await?;
    let selector = json!({"spec": {"selector": null}});
    merge_until_stored(&checks, "workers", &selector).await?;
    let selector = json!({"spec": {"selector": {}}});
    merge_until_stored(&checks, "workers", &selector).await?;
    Ok(refusal::goes_on(&world, host).await?)
}

#[tokio::test]
async fn an_endpoint_that_cannot_be_read_may_be_the_one_and_is_named() -> world::Outcome {
    // It is made as it is: of one that is broken later, the daemon might have seen and used what it was before.
    let without = Case::new("", Reason::Accepted, &[]).endpoint(|endpoint| *endpoint = Value::Null);
    let world = sick_world_of("endpoint", without).await?;
    let host = &world.hosts[0];
    let endpoints = objects::ours(&world, "BMCEndpoint");
    let broken: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "BMCEndpoint",
        "metadata": {"name": host.name, "namespace": world.namespace},
        "spec": {
            "machineName": host.name, "address": 7, "credentialsSecret": {"name": format!("{}-bmc", host.name)},
        },
    }))?;
    until_stored(async || endpoints.create(&PostParams::default(), &broken).await).await?;

    objects::trigger(&world, &host.name).await?;

    let says = ["BMCEndpoint {host} cannot be read", "spec.address"];
    let daemon = &daemon().await?;
    refusal::refused(&world, daemon, &host.remediation(), Reason::HostUnreadable, &says).await?;
    refusal::never_contacted(&host.bmc)?;
    let address = format!("redfish+{}{}", host.bmc.redfish_url(), host.bmc.system_path());
    merge_until_stored(&endpoints, &host.name, &json!({"spec": {"address": address}})).await?;
    Ok(refusal::goes_on(&world, host).await?)
}

#[tokio::test]
async fn invariant_9_a_remediation_of_an_unknown_phase_is_left_alone_and_nothing_is_begun_beside_it()
-> world::Outcome {
    let world = sick_world("thawing").await?;
    let host = &world.hosts[0];
    let remediations = objects::ours(&world, "PowerCycleRemediation");
    let name = format!("{}-later", host.name);
    let of_a_later_version = json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
        "metadata": {"name": name, "namespace": world.namespace}, "spec": {"machineName": "another-machine"},
    });
    remediations
        .create(
            &PostParams::default(),
            &serde_json::from_value(of_a_later_version)?,
        )
        .await?;
    world
        .remediation_until(&name, refusal::PATIENCE, |journal| !journal.reason.is_empty())
        .await?;
    let change = json!({"spec": {"machineName": host.name}, "status": {"phase": "Thawing"}});
    let change = Patch::Merge(&change);
    let status = PatchParams::default();
    remediations.patch_status(&name, &status, &change).await?;

    // The daemon has seen it so before the trigger comes, which it sees by another watch.
    let note = objects::event(&world, &name, Reason::JournalUnreadable.as_str()).await?;
    objects::trigger(&world, &host.name).await?;

    let says = ["{host}-later cannot be read"];
    not_taken_up(&world, host, Reason::JournalUnreadable, &says).await?;
    refusal::useful(
        &note,
        Reason::JournalUnreadable,
        &["status", "Thawing"],
        &host.name,
    )?;
    let left = remediations.get(&name).await?;
    assert_eq!(left.data["status"]["phase"], "Thawing");
    Ok(())
}
