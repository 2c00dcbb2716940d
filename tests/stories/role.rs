//! A role of an earlier version beside a newer daemon: what it lacks is named on the policy, and what does not depend
//! on that goes on.
#![allow(clippy::indexing_slicing, reason = "a test that fails says so")]

use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::Cluster;
use k8s_openapi::api::core::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams};
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::acts::{create_template, patient};
use world::pool::{self, Setting};
use world::{HostOptions, World, cluster_api, conditions, objects, refusal};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("role").taking(40);
const LONG: Duration = Duration::from_mins(2);

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// Waits until the policy says this of the role; answers with the message.
async fn role_is(client: &Client, status: &str, says: &[&str]) -> Result<String> {
    let is_said =
        |one: &Condition| one.status == status && says.iter().all(|part| one.message.contains(part));
    let policies = world::daemon::policies(client);
    let said = conditions::until(policies, "default", "RoleComplete", LONG, is_said)
        .await
        .with_context(|| format!("RoleComplete does not become {status} with {says:?}"))?;
    Ok(said.message)
}

/// Waits for the warning on the policy, which has no namespace.
async fn is_warned(client: &Client, note: &str) -> Result<()> {
    let events = Api::<Event>::namespaced(client.clone(), "default");
    let of_policy = ListParams::default().fields("involvedObject.name=default,reason=RoleIncomplete");
    let found = async {
        let mut pause = tokio::time::interval(Duration::from_millis(200));
        loop {
            pause.tick().await;
            let all = events.list(&of_policy).await?.items;
            if all.iter().any(|event| event.message.as_deref() == Some(note)) {
                return anyhow::Ok(());
            }
        }
    };
    tokio::time::timeout(LONG, found).await.context("no event")?
}

/// Waits until the API server goes by the new role, which it watches itself.
async fn is_denied(cluster: &Cluster, group: &str) -> Result<()> {
    let daemon = cluster
        .client_as(world::DAEMON_USER, &world::DAEMON_GROUPS)
        .await?;
    let machines = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1beta1", "Machine"));
    let machines = Api::<DynamicObject>::all_with(daemon, &machines);
    let denied = async {
        let mut pause = tokio::time::interval(Duration::from_millis(100));
        loop {
            pause.tick().await;
            match machines.list_metadata(&ListParams::default()).await {
                Err(kube::Error::Api(status)) if status.code == 403 => return anyhow::Ok(()),
                Err(error) => return Err(error.into()),
                Ok(_) => {}
            }
        }
    };
    tokio::time::timeout(LONG, denied)
        .await
        .context("it is not denied")?
}

/// Starts the daemon with the shipped role without one group, has one host of its own remediated, and gives the
/// rest of the role back.
async fn without(cluster: &Cluster, group: &str, says: &[&str], world: &World) -> Result<()> {
    let client = &world.client;
    world::allow_the_base_without_group(client, group).await?;
    is_denied(cluster, group).await?;
    let daemon = world::daemon::start(cluster, DAEMON, "info")?;
    let message = role_is(client, "False", says).await?;
    refusal::useful(&message, Reason::RoleIncomplete, says, "")?;
    is_warned(client, &message).await?;
    let (seen, unseen, by_name) = (&world.hosts[0], &world.hosts[1], &world.hosts[2]);

    // What is of the other API goes on.
    let (remediation, hidden) = if group == "cluster.x-k8s.io" {
        let remediation = world.falls_silent_and_is_reported(seen).await?;
        let template = create_template(world, "cycle", Value::Null, patient()).await?;
        world.falls_silent(unseen).await?;
        cluster_api::request(world, unseen, &template).await?;
        (remediation, unseen.name.clone())
    } else {
        let template = create_template(world, "cycle", Value::Null, patient()).await?;
        world.falls_silent(unseen).await?;
        cluster_api::request(world, unseen, &template).await?;
        world.falls_silent(seen).await?;
        objects::create_remediation(world, "of-a-node", json!({"nodeName": seen.name})).await?;
        (unseen.name.clone(), "of-a-node".to_owned())
    };
    // A name alone may be that of a Machine that cannot be seen.
    objects::create_remediation(world, "by-name", json!({"machineName": by_name.name})).await?;
    for waits in [hidden.as_str(), "by-name"] {
        let told = world
            .remediation_waits(waits, Reason::MachineUnreadable.as_str())
            .await?;
        let message = world::journal(&told).message;
        assert!(message.contains(group), "{message}");
    }
    let ended = world.remediation_ended(&remediation, LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);

    world::allow_the_base(client).await?;
    role_is(client, "True", &[]).await?;
    let goes_on = world.remediation_until(&hidden, LONG, |journal| {
        journal.reason != Reason::MachineUnreadable.as_str()
    });
    goes_on.await?;
    daemon.stop(Duration::from_secs(30)).await?;
    Ok(())
}

/// A Machine of OpenShift, one of Cluster API, and one that is asked for by its name.
async fn hosts(cluster: &Cluster, name: &str) -> Result<World> {
    let options = vec![
        HostOptions::default(),
        cluster_api::options("blue"),
        HostOptions::default(),
    ];
    let world = World::new(cluster, name, options).await?;
    world.health_check().await?;
    cluster_api::create_cluster(&world, "blue").await?;
    cluster_api::connect(&world, "blue", &world.cluster).await?;
    let template = cluster_api::template("cycle");
    cluster_api::create_health_check(&world, "of-blue", "blue", template).await?;
    Ok(world)
}

#[tokio::test]
async fn machines_that_may_not_be_listed_are_named_and_hold_nothing_else_up() -> world::Outcome {
    let cluster = &control_plane().await?;
    let client = cluster.client().await?;
    world::set_policy(&client, world::daemon::permissive_policy()).await?;
    let world = hosts(cluster, "role-capi").await?;
    let says = &[
        "list machines of cluster.x-k8s.io",
        "list clusters of cluster.x-k8s.io",
    ];
    without(cluster, "cluster.x-k8s.io", says, &world).await?;
    drop(world);
    let world = hosts(cluster, "role-mapi").await?;
    let says = &["list machines of machine.openshift.io"];
    Ok(without(cluster, "machine.openshift.io", says, &world).await?)
}
