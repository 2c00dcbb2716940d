//! The administrator's limits: without a policy, under a paused one, and outside its networks,
//! nothing is powered. One test, because there is one policy.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test reports by panicking"
)]

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::Cluster;
use harness::process::ChildDaemon;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{Api, DeleteParams};
use remediator_api::RemediationPolicy;
use remediator_core::phase::Reason;
use serde_json::{Value, json};
use world::pool::{self, Setting};
use world::refusal::{self, Case};
use world::{World, conditions, objects};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("policy");

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

/// Well below the 20 s after which a BMC that failed would be asked again.
const SOONER: Duration = Duration::from_secs(12);

/// One policy after the other, and why it holds the remediation up. `address` is that of the BMC.
/// No two in a row have the same reason, so that each is seen to be obeyed.
fn limits(address: &str) -> Vec<(Option<Value>, Reason, Vec<&str>)> {
    let networks = |networks: Value| {
        Some(json!({"bmc": {"allowedNetworks": networks, "readiness": {"interval": "off"}}}))
    };
    vec![
        (None, Reason::PolicyMissing, vec!["there is no RemediationPolicy"]),
        (
            Some(json!({"paused": true, "bmc": world::daemon::permissive_policy()["bmc"]})),
            Reason::PolicyPaused,
            vec!["the RemediationPolicy is paused"],
        ),
        (
            Some(json!({"paused": false})),
            Reason::BmcAddressNotAllowed,
            vec!["BMCEndpoint/{host}", address],
        ),
        // As a definition of another version lets it be stored.
        (
            networks(json!(["300.0.0.0/8"])),
            Reason::PolicyUnreadable,
            vec![
                "RemediationPolicy default cannot be read",
                "spec.bmc.allowedNetworks[0]",
            ],
        ),
        // Loopback is special: a network that only happens to contain it does not mean it.
        (
            networks(json!(["0.0.0.0/0", "::/0"])),
            Reason::BmcAddressNotAllowed,
            vec!["BMCEndpoint/{host}", address],
        ),
        (
            networks(json!(["127.255.0.2/32", "192.0.2.0/24"])),
            Reason::BmcAddressNotAllowed,
            vec!["BMCEndpoint/{host}", address],
        ),
    ]
}

async fn is_held_up(world: &World, daemon: &ChildDaemon, reason: Reason, says: &[&str]) -> Result<()> {
    let host = &world.hosts[0];
    refusal::refused(world, daemon, &host.remediation(), reason, says).await?;
    refusal::untouched(&host.bmc)?;
    refusal::never_contacted(&host.bmc)
}

/// A policy that cannot be read says so itself, too.
async fn says_that_it_cannot_be_read(world: &World) -> Result<()> {
    let unreadable = |one: &Condition| one.reason == Reason::PolicyUnreadable.as_str();
    let policies = world::daemon::policies(&world.client);
    let said = conditions::until_current(policies, "default", "Accepted", refusal::PATIENCE, unreadable);
    refusal::useful(
        &said.await?.message,
        Reason::PolicyUnreadable,
        &["spec.bmc.allowedNetworks[0]"],
        "",
    )?;
    says_whether_any_may_begin(world, "Unknown", Reason::PolicyUnreadable).await
}

/// A policy says itself whether a remediation may begin.
async fn says_whether_any_may_begin(world: &World, status: &str, reason: Reason) -> Result<()> {
    let wanted = |one: &Condition| one.status == status && one.reason == reason.as_str();
    let policies = world::daemon::policies(&world.client);
    let said = conditions::until_current(
        policies,
        "default",
        "RemediationAllowed",
        refusal::PATIENCE,
        wanted,
    );
    said.await.map(drop)
}

#[tokio::test]
async fn nothing_is_powered_against_the_policy_and_a_corrected_one_is_obeyed_at_once() -> world::Outcome {
    let cluster = &control_plane().await?;
    let daemon = world::start_daemon(cluster, Path::new(DAEMON))?;
    let mut cases = [Case::new("policy", Reason::PolicyMissing, &[])];
    let world = refusal::make(cluster, "policy", &mut cases).await?;
    let host = &world.hosts[0];
    let address = host.bmc.address().ip().to_string();
    let policies = Api::<RemediationPolicy>::all(world.client.clone());

    refusal::fall_ill(&world, host).await?;
    world::install::loosen(&world.client, "remediationpolicies.baremetal-remediator.io").await?;

    for (policy, reason, says) in limits(&address) {
        match &policy {
            Some(spec) => world::set_policy(&world.client, spec.clone()).await?,
            None => drop(policies.delete("default", &DeleteParams::default()).await),
        }
        is_held_up(&world, &daemon, reason, &says)
            .await
            .with_context(|| format!("{policy:?}"))?;
        if reason == Reason::PolicyUnreadable {
            says_that_it_cannot_be_read(&world).await?;
        }
        if reason == Reason::PolicyPaused {
            says_whether_any_may_begin(&world, "False", reason).await?;
        }
    }
    assert!(objects::is_triggered(&world, &host.name).await?);

    world::set_policy(
        &world.client,
        json!({"bmc": {"allowedNetworks": [format!("{address}/32")], "readiness": {"interval": "off"}}}),
    )
    .await?;
    tokio::time::timeout(SOONER, refusal::goes_on(&world, host)).await??;

    Ok(what_triggers_do(cluster, &daemon).await?)
}

async fn is_in_force(world: &World) -> Result<()> {
    let (policies, is_true) = (world::daemon::policies(&world.client), |one: &Condition| {
        one.status == "True"
    });
    conditions::until_current(policies, "default", "Accepted", refusal::PATIENCE, is_true).await?;
    Ok(())
}

/// A remediation that is made for a trigger does what the policy said then.
async fn what_triggers_do(cluster: &Cluster, daemon: &ChildDaemon) -> Result<()> {
    let mut cases = [Case::new("triggers", Reason::PolicyPaused, &[])];
    let world = refusal::make(cluster, "triggers", &mut cases).await?;
    let triggers = json!({
        "escalation": "MachineDeletion", "retries": {"attempts": 7}, "deadlines": {"boot": "47m"},
    });
    let policy =
        json!({"paused": true, "bmc": world::daemon::permissive_policy()["bmc"], "triggers": triggers});
    world::set_policy(&world.client, policy).await?;
    is_in_force(&world).await?;
    refusal::all_refused(&world, daemon, &cases).await?;
    let made = world.remediations().get(&world.hosts[0].remediation()).await?;
    let strategy = serde_json::to_value(&made.spec)?;
    assert_eq!(strategy["escalation"], "MachineDeletion", "{strategy}");
    assert_eq!(strategy["retries"]["attempts"], 7, "{strategy}");
    assert_eq!(strategy["deadlines"]["boot"], "2820s", "{strategy}");
    Ok(())
}
