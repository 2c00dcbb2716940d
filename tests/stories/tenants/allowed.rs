//! What the policy does not allow of a namespace waits untouched and begins once it is allowed; a host that is off comes
//! back whatever the policy says by then.

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::{Command, Event};
use harness::Cluster;
use http::Method;
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::holding::Holding;
use world::{HostOptions, World, WorldHost, acts, conditions, objects, refusal};

use super::attempt::{Act, Attempt, Row, Victim, remediation, remediation_with, row};
use super::claims::asks_for_the_node;
use super::{DAEMON, LONG, attempts, control_plane, policy};

/// Well below the minute after which a refused trigger is looked at without a reason.
const SOONER: std::time::Duration = std::time::Duration::from_secs(20);

async fn allow(world: &World, allowed: Value) -> Result<()> {
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
        let is_endpoints = says.contains("endpoints");
        if is_endpoints {
            let endpoints = objects::ours(&world, "BMCEndpoint");
            let refused = |one: &_| is_because(one, Reason::NamespaceNotAllowed);
            conditions::until(endpoints, &asked.name, "Accepted", LONG, refused).await?;
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

fn is_because(condition: &k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition, reason: Reason) -> bool {
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

/// What an editor of a namespace that is not listed tries against a neighbour's BMC.
fn rows() -> Vec<Row> {
    use Victim::{Machine, NoNode, Node};
    vec![
        row("an endpoint with the address", Machine, |attempt| {
            vec![attempt.secret(), an_endpoint(attempt)]
        }),
        row("an endpoint of a host without a Node", NoNode, |attempt| {
            let spec = json!({"machineName": "ghost", "systemUUID": attempt.host.bmc.system_uuid()});
            vec![attempt.secret(), attempt.endpoint("mine", &spec)]
        }),
        row("a request for the Node", Node, |attempt| {
            vec![attempt.secret(), an_endpoint(attempt), asks_for_the_node(attempt)]
        }),
        row("a request that says it was made for a trigger", Node, |attempt| {
            let metadata = json!({
                "name": "attempt", "annotations": {"baremetal-remediator.io/trigger": "external-remediation"},
            });
            let request = remediation_with(&metadata, &json!({"nodeName": attempt.host.name}));
            vec![attempt.secret(), an_endpoint(attempt), request]
        }),
        row(
            "a Machine with the trigger, and all that belongs to it",
            Node,
            |attempt| {
                let [create, status] = attempt.machine("mine");
                let spec = json!({"machineName": "mine"});
                let trigger = Act::merge(json!({
                    "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
                    "metadata": {"name": "mine", "annotations": {"host.metal3.io/external-remediation": ""}},
                }));
                let endpoint = attempt.endpoint("mine", &spec);
                vec![
                    attempt.secret(),
                    endpoint,
                    create,
                    status,
                    trigger,
                    remediation(&spec),
                ]
            },
        ),
    ]
}

fn an_endpoint(attempt: &Attempt<'_>) -> Act {
    attempt.endpoint("mine", &json!({"nodeName": attempt.host.name}))
}

/// Checks of BMCs in the background are on: what is not allowed is not spoken to either.
#[tokio::test]
async fn invariant_14_a_tenant_of_a_namespace_that_is_not_listed_reaches_no_bmc() -> world::Outcome {
    let cluster = &control_plane().await?;
    let rows = rows();
    let owner = World::new(
        cluster,
        "listed",
        rows.iter().map(|row| row.victim.options()).collect(),
    )
    .await?;
    let namespaces = json!([owner.namespace]);
    // The owner's own endpoints are not checked, so that whoever reaches a BMC is seen.
    allow(
        &owner,
        json!({"namespaces": {"machines": namespaces, "endpoints": [], "requests": namespaces}}),
    )
    .await?;
    let _daemon = world::daemon::start(cluster, DAEMON, "info")?;
    for host in &owner.hosts {
        if host.kubelet.is_some() {
            owner.falls_silent(host).await?;
        }
    }
    let attempts = attempts(&owner, &owner).await?;
    for (row, attempt) in rows.iter().zip(&attempts) {
        let acts = (row.acts)(attempt);
        super::attack(row, attempt, &acts).await?;
        says_why(cluster, attempt, &acts).await.context(row.what)?;
    }
    for (row, attempt) in rows.iter().zip(&attempts) {
        attempt.has_begun_nothing().await.context(row.what)?;
        refusal::never_contacted(&attempt.host.bmc).context(row.what)?;
    }
    Ok(())
}

/// Endpoints and requests say that their namespace is not allowed.
async fn says_why(cluster: &Cluster, attempt: &Attempt<'_>, acts: &[Act]) -> Result<()> {
    let resource = kube::api::ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk(
        "baremetal-remediator.io",
        "v1alpha1",
        "BMCEndpoint",
    ));
    let client = cluster.client().await?;
    let endpoints = kube::Api::namespaced_with(client.clone(), &attempt.namespace, &resource);
    let refused = |one: &_| is_because(one, Reason::NamespaceNotAllowed);
    conditions::until(endpoints, "mine", "Accepted", LONG, refused).await?;
    let requests = kube::Api::<remediator_api::PowerCycleRemediation>::namespaced(client, &attempt.namespace);
    for request in acts.iter().filter_map(Act::remediation) {
        let found = requests.get(&request).await?;
        let journal = world::journal(&found);
        let is_told = journal.reason == Reason::NamespaceNotAllowed.as_str();
        ensure!(is_told, "{}: {}", journal.reason, journal.message);
        ensure!(
            journal.message.contains(&attempt.namespace),
            "{}",
            journal.message
        );
    }
    Ok(())
}
