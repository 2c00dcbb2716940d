//! Attempts count what was sent: nothing sent, nothing counted, nothing quarantined. And a quarantine is told, and ends.
#![allow(clippy::indexing_slicing, reason = "a test that fails says so")]

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::body::Bytes;
use axum::extract::Request;
use axum::http::Method;
use bmc_simulator::{Fault, Power};
use harness::{AUDITED_GROUP, Cluster, await_condition};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use remediator_api::keys::{QUARANTINE_ANNOTATION, TRIGGER_ANNOTATION};
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::acts::{hasty, patient};
use world::holding::Holding;
use world::pool::{self, Setting};
use world::{HostOptions, World, WorldHost, cluster_api, command, install, objects, refusal};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("quarantine").taking(45);
const LONG: Duration = Duration::from_mins(2);

/// Longer than a live check may be old.
const SLOWLY: Duration = Duration::from_secs(3);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// Triggers are answered by this strategy.
async fn triggers_are(world: &World, strategy: Value) -> Result<()> {
    let mut policy = world::daemon::permissive_policy();
    policy["triggers"] = strategy;
    world::set_policy(&world.client, policy).await
}

/// Caches list the health checks of all namespaces.
fn is_of_the_live_check(request: &Request<Bytes>) -> bool {
    let path = request.uri().path();
    request.method() == Method::GET && path.contains("/namespaces/") && path.ends_with("/machinehealthchecks")
}

#[tokio::test]
async fn a_brown_out_of_the_api_server_counts_no_attempt_and_ends_no_remediation() -> world::Outcome {
    let cluster = &control_plane().await?;
    let world = World::new(cluster, "brown-out", vec![HostOptions::default()]).await?;
    let host = &world.hosts[0];
    world.health_check().await?;
    let mut strategy = patient();
    strategy["deadlines"]["powerOff"] = json!("10s");
    triggers_are(&world, strategy).await?;
    let holding = Holding::slow(cluster, is_of_the_live_check, SLOWLY).await?;
    let _daemon = holding.start_daemon(DAEMON)?;
    world.is_judged().await?;

    holding.answers.send_replace(false);
    let remediation = world.falls_silent_and_is_reported(host).await?;
    let waits = world
        .remediation_waits(&remediation, Reason::LiveCheckIncomplete.as_str())
        .await?;

    let journal = world::journal(&waits);
    assert_eq!(
        (journal.phase, journal.attempt),
        (Phase::Pending, 0),
        "{journal:?}"
    );
    assert!(journal.failed_attempts.is_empty(), "{journal:?}");
    refusal::untouched(&host.bmc)?;

    holding.answers.send_replace(true);
    let ended = world.remediation_ended(&remediation, LONG).await?;
    let journal = world::journal(&ended);
    assert_eq!(
        (journal.phase, journal.attempt),
        (Phase::Succeeded, 1),
        "{journal:?}"
    );
    assert_eq!(host.transitions(), (1, 1));
    Ok(())
}

/// What a Machine says of its quarantine.
fn told(machine: Option<&DynamicObject>) -> Option<&String> {
    machine?.annotations().get(QUARANTINE_ANNOTATION)
}

/// Waits until a Machine says that it is in quarantine, or no more; answers what it says.
async fn is_told(machines: Api<DynamicObject>, name: &str, wanted: bool) -> Result<Option<String>> {
    let is = move |machine: Option<&DynamicObject>| machine.is_some() && told(machine).is_some() == wanted;
    let found = tokio::time::timeout(LONG, await_condition(machines, name, is)).await;
    let found = found.with_context(|| format!("Machine {name} does not say so: {wanted}"))??;
    Ok(told(found.as_ref()).cloned())
}

async fn planned(world: &World, host: &WorldHost, arguments: &[&str]) -> Result<String> {
    install::allow_planning(&world.client, "somebody-who-plans").await?;
    let kubeconfig = world
        .cluster
        .kubeconfig_for("somebody-who-plans", &[AUDITED_GROUP])?;
    let all = [&["plan", &host.name, "-n", &world.namespace], arguments].concat();
    let (status, out, err) = command::run(DAEMON, &kubeconfig, &all).await?;
    assert_eq!(status, Some(0), "{err}");
    Ok(out)
}

/// The remediation failed an hour ago, as far as its journal says.
async fn failed_an_hour_ago(world: &World, name: &str) -> Result<()> {
    let change = json!({"status": {"phaseStarted": an_hour_ago()?}});
    let remediations = world.remediations();
    remediations
        .patch_status(name, &PatchParams::default(), &Patch::Merge(change))
        .await?;
    Ok(())
}

fn an_hour_ago() -> Result<Timestamp> {
    Ok(Timestamp::now().checked_sub(SignedDuration::from_hours(1))?)
}

/// A person resets the host, and its Node comes up; it says that it has been Ready for an hour. Its kubelet may write
/// what it knows better in between, so that is said until it is seen.
async fn is_well_for_long(world: &World, host: &WorldHost, remediation: &str) -> Result<()> {
    host.bmc.press_power(Power::Off)?;
    host.bmc.press_power(Power::On)?;
    objects::node_becomes(world, &host.name, "True").await?;
    let nodes = Api::<Node>::all(world.nodes.clone());
    let since = json!({"status": {"conditions": [{"type": "Ready", "lastTransitionTime": an_hour_ago()?}]}});
    for _ in 0..20 {
        nodes
            .patch_status(&host.name, &PatchParams::default(), &Patch::Strategic(&since))
            .await?;
        let lifted = world.remediation_until(remediation, Duration::from_secs(5), |journal| {
            journal.quarantine_lifted.is_some()
        });
        if lifted.await.is_ok() {
            return Ok(());
        }
    }
    anyhow::bail!("the quarantine is not lifted")
}

#[tokio::test]
async fn a_quarantine_is_told_and_ends_when_the_node_was_well_for_a_while() -> world::Outcome {
    let cluster = &control_plane().await?;
    let world = World::new(cluster, "quarantine", vec![HostOptions::default()]).await?;
    let host = &world.hosts[0];
    world.health_check().await?;
    triggers_are(&world, hasty()).await?;
    let daemon = world::start_daemon(cluster, Path::new(DAEMON))?;
    host.bmc.inject(Fault::AcceptAndIgnore)?;

    let remediation = world.falls_silent_and_is_reported(host).await?;
    let failed = world.remediation_ended(&remediation, LONG).await?;

    let journal = world::journal(&failed);
    assert_eq!(
        (journal.phase, journal.attempt),
        (Phase::Failed, 1),
        "{journal:?}"
    );
    let said = is_told(objects::machines(&world), &host.name, true).await?;
    let said = said.context("it says something")?;
    refusal::useful(&said, Reason::Quarantined, &[&remediation], &host.name)?;
    let event = objects::event(&world, &host.name, Reason::Quarantined.as_str()).await?;
    assert_eq!(event, said);
    let plan: Value = serde_json::from_str(&planned(&world, host, &["-o", "json"]).await?)?;
    assert_eq!(plan["remediation"]["outcome"], "Quarantined", "{plan}");
    assert_eq!(plan["quarantine"]["remediations"], json!([remediation]), "{plan}");
    assert_eq!(plan["quarantine"]["until"], json!(Reason::Quarantined.advice()));
    let text = planned(&world, host, &[]).await?;
    assert!(text.contains("in quarantine since"), "{text}");
    assert_eq!(
        world
            .remediations()
            .list(&ListParams::default())
            .await?
            .items
            .len(),
        1
    );

    daemon.stop(Duration::from_secs(30)).await?;
    failed_an_hour_ago(&world, &remediation).await?;
    let _daemon = world::start_daemon(cluster, Path::new(DAEMON))?;
    is_well_for_long(&world, host, &remediation).await?;
    is_told(objects::machines(&world), &host.name, false).await?;
    let plan: Value = serde_json::from_str(&planned(&world, host, &["-o", "json"]).await?)?;
    assert_eq!(plan.get("quarantine"), None, "{plan}");

    // The trigger goes with it. It may be taken up once more before that, which comes to nothing.
    let machines = objects::machines(&world);
    let is_cleared = |machine: Option<&DynamicObject>| {
        machine.is_some_and(|machine| !machine.annotations().contains_key(TRIGGER_ANNOTATION))
    };
    tokio::time::timeout(LONG, await_condition(machines, &host.name, is_cleared)).await??;
    let taken_up = world
        .remediations()
        .list(&ListParams::default())
        .await?
        .items
        .len();

    // It stays over when the Node is unhealthy again.
    host.bmc.clear_faults();
    triggers_are(&world, patient()).await?;
    world.falls_silent_and_is_reported(host).await?;
    let next = world::remediation_name(&host.name, u32::try_from(taken_up + 1)?);
    let ended = world.remediation_ended(&next, LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    Ok(())
}

#[tokio::test]
async fn a_machine_of_cluster_api_says_so_until_what_failed_is_deleted() -> world::Outcome {
    let cluster = &control_plane().await?;
    let world = World::new(cluster, "quarantine-capi", vec![cluster_api::options("blue")]).await?;
    let host = &world.hosts[0];
    cluster_api::create_cluster(&world, "blue").await?;
    cluster_api::connect(&world, "blue", &world.cluster).await?;
    world::set_policy(&world.client, world::daemon::permissive_policy()).await?;
    let _daemon = world::start_daemon(cluster, Path::new(DAEMON))?;
    host.bmc.inject(Fault::AcceptAndIgnore)?;
    world.falls_silent(host).await?;

    let remediation = world.request(host, hasty()).await?;
    let failed = world.remediation_ended(&remediation, LONG).await?;

    let journal = world::journal(&failed);
    assert_eq!(
        (journal.phase, journal.attempt),
        (Phase::Failed, 1),
        "{journal:?}"
    );
    let said = is_told(cluster_api::machines(&world), &host.name, true).await?;
    assert!(said.is_some_and(|said| said.contains(&remediation)));
    // Nobody has triggered anything: this is told all the same.
    objects::event(&world, &host.name, Reason::Quarantined.as_str()).await?;
    world.take_back(&remediation).await?;
    is_told(cluster_api::machines(&world), &host.name, false).await?;
    Ok(())
}
