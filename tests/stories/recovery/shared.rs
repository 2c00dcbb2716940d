//! What several hosts need, and the Secret, which nothing can stand in for.

use anyhow::{Context as _, Result};
use bmc_simulator::{Fault, Power, RequestClass};
use http::Method;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams};
use remediator_api::{RemediationPolicy, keys};
use remediator_core::phase::{Phase, Reason};
use serde_json::json;
use world::holding::Holding;
use world::{HostOptions, World, WorldHost, objects};

use super::{DAEMON, LONG, come_back, control_plane, held_off, held_off_within, is_on, reads_fail_once};

#[tokio::test]
async fn a_host_comes_back_when_policy_and_health_check_are_gone() -> world::Outcome {
    let cluster = &control_plane().await?;
    let options = vec![HostOptions::default()];
    let (world, daemon) = held_off(cluster, "lost-rules", options, async |_| Ok(())).await?;
    let gone = DeleteParams::default();
    let policies = Api::<RemediationPolicy>::all(world.client.clone());
    policies.delete("default", &gone).await?;
    objects::health_checks(&world).delete("workers", &gone).await?;
    reads_fail_once(&world).await?;
    daemon.kill().await?;
    let _successor = world::daemon::start(cluster, DAEMON, "info")?;
    Ok(come_back(&world).await?)
}

pub(super) fn secrets(world: &World) -> Api<Secret> {
    Api::namespaced(world.client.clone(), &world.namespace)
}

pub(super) fn secret_of(host: &WorldHost) -> String {
    format!("{}-bmc", host.name)
}

#[tokio::test]
async fn a_secret_that_is_gone_is_told_and_the_next_of_its_name_is_used() -> world::Outcome {
    let cluster = &control_plane().await?;
    let options = vec![HostOptions::default()];
    let (world, _daemon) = held_off(cluster, "lost-secret", options, async |_| Ok(())).await?;
    let host = &world.hosts[0];
    let secrets = secrets(&world);
    let gone = DeleteParams::default();
    secrets.delete(&secret_of(host), &gone).await?;
    host.bmc.inject(
        Fault::CutAnswer { after: 10 }
            .on(RequestClass::SystemGet)
            .times(1),
    )?;
    // The connection is gone, and another one needs the Secret.
    tokio::time::timeout(LONG, host.bmc.wait_for(|now| now.faults.is_empty())).await??;
    world.release_pod(&host.name).await?;
    let told = objects::event(
        &world,
        &host.remediation(),
        Reason::BmcCredentialsMissing.as_str(),
    )
    .await?;
    let missing = format!(
        "Secret {} of BMCEndpoint/{} does not exist",
        secret_of(host),
        host.name
    );
    assert!(told.contains(&missing), "{told}");
    assert_eq!(host.transitions(), (1, 0), "when it is told");
    put_back(&world, host).await?;
    Ok(is_on(&world, host).await?)
}

/// Its Secret, as it was.
pub(super) async fn put_back(world: &World, host: &WorldHost) -> Result<()> {
    let login = json!({
        "username": host.bmc.credentials().username, "password": host.bmc.credentials().password,
        "ca.crt": host.bmc.ca_pem(),
    });
    objects::create_secret(world, &host.name, login).await
}

/// Deleted while it is in use, it stays until its host is back; one that is not deleted is as it was in the end.
#[tokio::test]
async fn a_secret_in_use_is_held_where_the_role_permits_it() -> world::Outcome {
    let cluster = &control_plane().await?;
    let options = vec![HostOptions::default(), HostOptions::default()];
    let (world, daemon) = held_off(cluster, "held-secret", options, async |world| {
        world::allow_holding_secrets(&world.client, &world.namespace).await
    })
    .await?;
    let secrets = secrets(&world);
    let [deleted, kept] = &world.hosts[..] else {
        panic!("two hosts were asked for");
    };
    for host in [deleted, kept] {
        assert!(is_held(&secrets.get(&secret_of(host)).await?), "of {}", host.name);
    }
    secrets
        .delete(&secret_of(deleted), &DeleteParams::default())
        .await?;
    reads_fail_once(&world).await?;
    daemon.kill().await?;
    let _successor = world::daemon::start(cluster, DAEMON, "info")?;
    come_back(&world).await?;
    for host in [deleted, kept] {
        let ended = world.remediation_ended(&host.remediation(), LONG).await?;
        assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    }
    let is_gone = |secret: Option<&Secret>| secret.is_none();
    let (gone_soon, let_go_soon) = (secret_of(deleted), secret_of(kept));
    let gone = harness::await_condition(secrets.clone(), &gone_soon, is_gone);
    tokio::time::timeout(LONG, gone)
        .await
        .context("the Secret is still held")??;
    let is_let_go = |secret: Option<&Secret>| secret.is_some_and(|secret| !is_held(secret));
    let let_go = harness::await_condition(secrets, &let_go_soon, is_let_go);
    tokio::time::timeout(LONG, let_go)
        .await
        .context("the Secret is still held")??;
    Ok(())
}

fn is_held(secret: &Secret) -> bool {
    secret
        .finalizers()
        .iter()
        .any(|one| one == keys::SECRET_FINALIZER)
}

/// Whoever deletes the namespace deletes what lets the daemon read its Secrets, too: the line to the BMC is kept.
#[tokio::test]
async fn a_host_comes_back_whose_namespace_is_being_deleted() -> world::Outcome {
    let cluster = &control_plane().await?;
    let options = vec![HostOptions::default()];
    let (world, _daemon) = held_off(cluster, "lost-namespace", options, async |world| {
        world::allow_holding_secrets(&world.client, &world.namespace).await
    })
    .await?;
    let namespaces = Api::<Namespace>::all(world.client.clone());
    namespaces
        .delete(&world.namespace, &DeleteParams::default())
        .await?;
    let is_terminating =
        |found: Option<&Namespace>| found.is_none_or(|found| found.metadata.deletion_timestamp.is_some());
    harness::await_condition(namespaces, &world.namespace, is_terminating).await?;
    Ok(come_back(&world).await?)
}

/// Who starts when the Secret is gone with the namespace says so, and a person powers the host on.
#[tokio::test]
async fn a_successor_says_that_it_cannot_log_in_for_a_host_whose_namespace_is_being_deleted() -> world::Outcome
{
    let cluster = &control_plane().await?;
    let options = vec![HostOptions::default()];
    let deadlines = json!({"powerOn": "20s"});
    let (world, daemon) = held_off_within(cluster, "left-off", options, deadlines, async |_| Ok(())).await?;
    let host = &world.hosts[0];
    let namespaces = Api::<Namespace>::all(world.client.clone());
    namespaces
        .delete(&world.namespace, &DeleteParams::default())
        .await?;
    daemon.kill().await?;
    // The API server lets the Pods of a namespace go before all else.
    world.release_pod(&host.name).await?;
    let is_gone = |secret: Option<&Secret>| secret.is_none();
    harness::await_condition(secrets(&world), &secret_of(host), is_gone).await?;
    let _successor = world::daemon::start(cluster, DAEMON, "info")?;
    // Nothing can be created in such a namespace, no Event either: the status says it.
    let says = format!("does not let it read Secret {}", secret_of(host));
    world
        .remediation_says(&host.remediation(), Reason::PowerOnNotConfirmed, &says)
        .await?;
    host.bmc.press_power(Power::On)?;
    world.remediation_gone(&host.remediation(), LONG).await?;
    assert_eq!(host.transitions(), (1, 1));
    Ok(())
}

/// Our finalizer on a Secret is a courtesy: that it cannot be written holds nothing up.
#[tokio::test]
async fn a_host_comes_back_although_its_secret_cannot_be_written() -> world::Outcome {
    let cluster = &control_plane().await?;
    let holding = Holding::start(cluster, |request| {
        request.method() == Method::PATCH && request.uri().path().contains("/secrets/")
    })
    .await?;
    let world = World::new(cluster, "secret-hangs", vec![HostOptions::default()]).await?;
    world::allow_holding_secrets(&world.client, &world.namespace).await?;
    world.health_check().await?;
    world::set_policy(&world.client, world::daemon::permissive_policy()).await?;
    holding.answers.send_replace(false);
    let _daemon = holding.start_daemon(DAEMON)?;
    let host = &world.hosts[0];
    world.falls_silent_and_is_reported(host).await?;
    tokio::time::timeout(LONG, holding.holds_one()).await??;
    Ok(is_on(&world, host).await?)
}

/// One whose remediation was never carried to its end is let go by whoever reads it next.
#[tokio::test]
async fn a_secret_that_nobody_needs_is_let_go_when_it_is_read() -> world::Outcome {
    let cluster = &control_plane().await?;
    let world = World::new(cluster, "left-secret", vec![HostOptions::default()]).await?;
    world::allow_holding_secrets(&world.client, &world.namespace).await?;
    let host = &world.hosts[0];
    let secrets = secrets(&world);
    hold(&secrets, host).await?;
    let mut policy = world::daemon::permissive_policy();
    policy["bmc"]["readiness"] = json!({"interval": "1m"});
    world::set_policy(&world.client, policy).await?;
    let _daemon = world::daemon::start(cluster, DAEMON, "info")?;
    let is_let_go = |secret: Option<&Secret>| secret.is_some_and(|secret| !is_held(secret));
    let name = secret_of(host);
    let let_go = harness::await_condition(secrets, &name, is_let_go);
    tokio::time::timeout(LONG, let_go)
        .await
        .context("the Secret is still held")??;
    Ok(())
}

async fn hold(secrets: &Api<Secret>, host: &WorldHost) -> Result<()> {
    let held = kube::api::Patch::Merge(json!({"metadata": {"finalizers": [keys::SECRET_FINALIZER]}}));
    secrets
        .patch(&secret_of(host), &kube::api::PatchParams::default(), &held)
        .await?;
    Ok(())
}
