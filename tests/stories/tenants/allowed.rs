//! What the policy does not allow of a namespace waits untouched and begins once it is allowed; a host that is off comes
//! back whatever the policy says by then.

use anyhow::{Context as _, Result};
use bmc_simulator::{Command, Event};
use http::Method;
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::holding::Holding;
use world::{HostOptions, World, WorldHost, acts, conditions, objects, refusal};

use super::{DAEMON, LONG, control_plane, policy};

/// Well below the minute after which a refused trigger is looked at without a reason.
const SOONER: std::time::Duration = std::time::Duration::from_secs(20);

pub(super) async fn allow(world: &World, allowed: Value) -> Result<()> {
    let mut policy = policy();
    // What triggers do must be among what is allowed.
    for (list, field) in [
        ("fencingModes", "fencingMode"),
        ("hostControls", "hostControl"),
        ("escalations", "escalation"),
    ] {
        if let Some(value) = allowed[list].get(0) {
            policy["triggers"][field] = value.clone();
        }
    }
    policy["allowed"] = allowed;
    world::set_policy(&world.client, policy).await
}

/// Nothing at all, in a way that does not contradict itself.
fn nothing() -> Value {
    json!({
        "namespaces": {"machines": [], "endpoints": [], "requests": []}, "fencingModes": ["NodeDeletion"],
        "hostControls": ["Direct"], "escalations": ["MachineOwner"],
    })
}

/// What is allowed, and what is said of a request of `world` then. No two in a row say the same.
fn narrowed() -> Vec<(Value, Reason, String)> {
    let namespaces = |field: &str, list: Value| {
        let says = format!("spec.allowed.namespaces.{field} of the RemediationPolicy does not list");
        (
            json!({"namespaces": {field: list}}),
            Reason::NamespaceNotAllowed,
            says,
        )
    };
    let values = |field: &str, chosen: &str, list: &str| {
        let says =
            format!("{field} is {chosen}, and spec.allowed.{field}s of the RemediationPolicy lists [{list}]");
        (
            json!({format!("{field}s"): [list]}),
            Reason::StrategyNotAllowed,
            says,
        )
    };
    vec![
        namespaces("machines", json!(["elsewhere"])),
        namespaces("endpoints", json!([])),
        namespaces("requests", json!(["elsewhere"])),
        values("fencingMode", "Automatic", "NodeDeletion"),
        values("hostControl", "Managed", "Direct"),
        values("escalation", "None", "MachineOwner"),
    ]
}

#[tokio::test]
async fn what_is_not_allowed_waits_and_begins_at_once_when_it_is() -> world::Outcome {
    let cluster = &control_plane().await?;
    let world = World::new(
        cluster,
        "allowed",
        vec![HostOptions::default(), HostOptions::default()],
    )
    .await?;
    world.health_check().await?;
    allow(&world, narrowed().swap_remove(0).0).await?;
    let _daemon = world::daemon::start(cluster, DAEMON, "info")?;
    let [asked, triggered] = &world.hosts[..] else {
        panic!("two hosts were asked for");
    };
    acts::create_template(&world, "chosen", serde_json::Value::Null, acts::patient()).await?;
    world.falls_silent(asked).await?;
    let request = world.request(asked, acts::patient()).await?;
    refusal::fall_ill(&world, triggered).await?;
    let told = objects::event(&world, &triggered.name, Reason::NamespaceNotAllowed.as_str()).await?;
    assert!(told.contains("spec.allowed.namespaces.machines"), "{told}");

    for (allowed, reason, says) in narrowed() {
        allow(&world, allowed.clone()).await?;
        let said = world.remediation_says(&request, reason, &says).await;
        said.with_context(|| allowed.to_string())?;
        assert_eq!(asked.transitions(), (0, 0), "{allowed}");
        if reason == Reason::StrategyNotAllowed {
            let templates = objects::ours(&world, "PowerCycleRemediationTemplate");
            let refused = |one: &_| is_because(one, reason);
            conditions::until(templates, "chosen", "Accepted", LONG, refused).await?;
        }
        let is_endpoints = says.contains("endpoints");
        if is_endpoints {
            let endpoints = objects::ours(&world, "BMCEndpoint");
            let refused = |one: &_| is_because(one, Reason::NamespaceNotAllowed);
            for said in ["Accepted", "Ready"] {
                conditions::until(endpoints.clone(), &asked.name, said, LONG, refused).await?;
            }
        }
        if is_endpoints || says.contains("machines") {
            continue;
        }
        // The trigger is no request, and its remediation does what the policy says.
        is_taken_up(&world, triggered)
            .await
            .with_context(|| allowed.to_string())?;
    }

    allow(
        &world,
        json!({"namespaces": {"machines": ["a", world.namespace]}}),
    )
    .await?;
    let ended = world.remediation_ended(&request, LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(asked.transitions(), (1, 1));
    Ok(())
}

pub(super) fn is_because(
    condition: &k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition,
    reason: Reason,
) -> bool {
    (condition.status.as_str(), condition.reason.as_str()) == ("False", reason.as_str())
}

/// A trigger that was refused is taken up as soon as the policy allows it, and not when its time comes.
async fn is_taken_up(world: &World, host: &WorldHost) -> Result<()> {
    let remediations = world.remediations();
    let name = host.remediation();
    let there = harness::await_condition(remediations, &name, |one: Option<&_>| one.is_some());
    tokio::time::timeout(SOONER, there)
        .await
        .context("not taken up")??;
    Ok(())
}

/// While the live check before a power-off waits for the policy, that is narrowed.
#[tokio::test]
async fn a_policy_that_is_narrowed_before_the_power_off_is_sent_stops_it() -> world::Outcome {
    let cluster = &control_plane().await?;
    let world = World::new(cluster, "narrowed", vec![HostOptions::default()]).await?;
    let host = &world.hosts[0];
    allow(&world, json!({})).await?;
    let holding = Holding::start(cluster, |request| {
        request.method() == Method::GET && request.uri().path().ends_with("/remediationpolicies/default")
    })
    .await?;
    holding.answers.send_replace(false);
    let _daemon = holding.start_daemon(DAEMON)?;
    world.falls_silent(host).await?;
    let request = world.request(host, acts::patient()).await?;
    holding.holds_one().await?;
    let powering_off = |journal: &remediator_core::journal::Journal| journal.phase == Phase::PoweringOff;
    world.remediation_until(&request, LONG, powering_off).await?;
    allow(&world, json!({"namespaces": {"machines": []}})).await?;
    holding.answers.send_replace(true);
    let says = "spec.allowed.namespaces.machines";
    world
        .remediation_says(&request, Reason::NamespaceNotAllowed, says)
        .await?;
    assert_eq!(host.transitions(), (0, 0));
    refusal::untouched(&host.bmc)?;

    allow(&world, json!({})).await?;
    let ended = world.remediation_ended(&request, LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(host.transitions(), (1, 1));
    Ok(())
}

/// Each host is in another phase when nothing is allowed any more, and another daemon takes over.
#[tokio::test]
async fn invariant_8_a_host_that_is_off_comes_back_when_nothing_is_allowed_any_more() -> world::Outcome {
    let cluster = &control_plane().await?;
    let held = std::time::Duration::from_secs(15);
    let (mut powered_off, mut powered_on) = (HostOptions::default(), HostOptions::default());
    powered_off.delays.off = held.into();
    powered_on.delays.on = held.into();
    let options = vec![powered_off, HostOptions::default(), powered_on];
    let world = World::new(cluster, "allowed-before", options).await?;
    allow(&world, json!({})).await?;
    let daemon = world::daemon::start(cluster, DAEMON, "info")?;
    let [powered_off, fenced, powered_on] = &world.hosts[..] else {
        panic!("three hosts were asked for");
    };
    world.create_clinging_pod(&fenced.name, &fenced.name).await?;
    begin(&world, powered_on).await?;
    begin(&world, fenced).await?;
    is_sent(powered_on, Command::On).await?;
    world.is_tainted(fenced, LONG).await?;
    begin(&world, powered_off).await?;
    is_sent(powered_off, Command::ForceOff).await?;

    allow(&world, nothing()).await?;
    daemon.kill().await?;
    let _successor = world::daemon::start(cluster, DAEMON, "info")?;
    world.release_pod(&fenced.name).await?;
    for host in &world.hosts {
        let on = host.bmc.wait_for(|_| host.transitions() == (1, 1));
        let waited = tokio::time::timeout(LONG, on).await;
        waited.with_context(|| format!("{} has {:?}", host.name, host.transitions()))??;
        world.is_untainted(host, LONG).await?;
    }
    Ok(())
}

async fn begin(world: &World, host: &WorldHost) -> Result<()> {
    world.falls_silent(host).await?;
    world.request(host, acts::patient()).await?;
    Ok(())
}

async fn is_sent(host: &WorldHost, command: Command) -> Result<()> {
    let told = |event: &Event| matches!(event, Event::Command { command: told, .. } if *told == command);
    host.sees("the command", LONG, told).await
}
