//! A management cluster with a Cluster API of before 1.11, which serves v1beta1 and nothing newer.
#![allow(clippy::indexing_slicing, reason = "a test that fails says so")]

use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::{Cluster, await_condition};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use remediator_api::{PowerCycleRemediation, keys};
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::acts::{create_template, hasty};
use world::escalation::{self, conditions, ending_in, never_boots};
use world::pool::{self, Setting};
use world::{World, WorldHost, cluster_api, objects};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("v1beta1").taking(105);
const LONG: Duration = Duration::from_mins(2);
const GROUP: &str = "cluster.x-k8s.io";

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

fn of_v1beta1(world: &World, kind: &str) -> Api<DynamicObject> {
    objects::dynamic(world, GROUP, "v1beta1", kind)
}

/// Serves v1beta2 beside v1beta1 or not, the newest one stored, and waits until the server does.
async fn serve_v1beta2(world: &World, served: bool) -> Result<()> {
    let definitions = Api::<CustomResourceDefinition>::all(world.client.clone());
    for (plural, newer) in [
        ("clusters", cluster_api::clusters(world)),
        ("machines", cluster_api::machines(world)),
        ("machinehealthchecks", cluster_api::health_checks(world)),
    ] {
        let name = format!("{plural}.{GROUP}");
        let mut definition = definitions.get(&name).await?;
        for version in &mut definition.spec.versions {
            let is_older = version.name == "v1beta1";
            version.served = is_older || served;
            version.storage = is_older != served;
        }
        definition.metadata.managed_fields = None;
        definitions
            .replace(&name, &PostParams::default(), &definition)
            .await?;
        let done = async {
            let mut pause = tokio::time::interval(Duration::from_millis(200));
            loop {
                pause.tick().await;
                let answer = newer.list(&ListParams::default().limit(1)).await;
                let is_absent = matches!(&answer, Err(kube::Error::Api(status)) if status.code == 404);
                if is_absent != served && (is_absent || answer.is_ok()) {
                    return;
                }
            }
        };
        tokio::time::timeout(LONG, done)
            .await
            .with_context(|| format!("{plural} in v1beta2: served is not {served}"))?;
    }
    Ok(())
}

/// A check of v1beta1 over the workers; by the template of this, or by the annotation.
async fn create_health_check(world: &World, template: Option<&str>) -> Result<()> {
    let condition = |status: &str| json!({"type": "Ready", "status": status, "timeout": "1s"});
    let mut check = json!({
        "apiVersion": format!("{GROUP}/v1beta1"), "kind": "MachineHealthCheck",
        "metadata": {"name": "workers", "namespace": world.namespace},
        "spec": {
            "clusterName": "blue", "selector": {"matchLabels": {"example.org/role": "worker"}},
            "unhealthyConditions": [condition("Unknown"), condition("False")], "maxUnhealthy": "100%",
        },
    });
    match template {
        Some(name) => {
            check["spec"]["remediationTemplate"] = json!({
                "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediationTemplate",
                "name": name, "namespace": world.namespace,
            });
        }
        None => {
            check["metadata"]["annotations"] =
                json!({keys::STRATEGY_ANNOTATION: keys::STRATEGY_EXTERNAL_BAREMETAL});
        }
    }
    let check = serde_json::from_value(check)?;
    of_v1beta1(world, "MachineHealthCheck")
        .create(&PostParams::default(), &check)
        .await?;
    Ok(())
}

/// Waits until the status of the check is as wanted.
async fn check_says(world: &World, wanted: impl Fn(&Value) -> bool + Send) -> Result<Value> {
    let is = |check: Option<&DynamicObject>| check.is_some_and(|check| wanted(&check.data["status"]));
    let wait = await_condition(of_v1beta1(world, "MachineHealthCheck"), "workers", is);
    let found = tokio::time::timeout(LONG, wait).await.context("the status")??;
    Ok(found.context("it is gone")?.data["status"].clone())
}

/// As Cluster API's controller asks, in its older version.
async fn request(world: &World, host: &WorldHost, template: &Value) -> Result<()> {
    let machine = of_v1beta1(world, "Machine").get(&host.name).await?;
    let remediation: PowerCycleRemediation = serde_json::from_value(json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
        "metadata": {
            "name": host.name, "namespace": world.namespace,
            "ownerReferences": [{
                "apiVersion": format!("{GROUP}/v1beta1"), "kind": "Machine", "name": host.name, "uid": machine.uid(),
            }],
        },
        "spec": template["spec"]["template"]["spec"],
    }))?;
    world
        .remediations()
        .create(&PostParams::default(), &remediation)
        .await?;
    Ok(())
}

/// What the older controller says of an unhealthy Machine.
async fn health_check_failed(world: &World, host: &WorldHost) -> Result<()> {
    let machines = of_v1beta1(world, "Machine");
    let machine = machines.get(&host.name).await?;
    let mut all = conditions(&machine, "/status/conditions");
    // They were written in v1beta2, where a message may be empty.
    for condition in &mut all {
        condition["message"] = json!("from v1beta2");
    }
    all.push(json!({
        "type": "HealthCheckSucceeded", "status": "False", "reason": "UnhealthyNode", "severity": "Warning",
        "message": "Health check failed", "lastTransitionTime": machine.creation_timestamp(),
    }));
    let change = Patch::Merge(json!({"status": {"conditions": all}}));
    machines
        .patch_status(&host.name, &PatchParams::default(), &change)
        .await?;
    Ok(())
}

/// A host whose Machine is of the Cluster `blue`.
async fn world_of(name: &str, never_booting: bool) -> Result<World> {
    let cluster = &control_plane().await?;
    let options = cluster_api::options("blue");
    let options = if never_booting {
        never_boots(options)
    } else {
        options
    };
    let world = World::new(cluster, name, vec![options]).await?;
    cluster_api::create_cluster(&world, "blue").await?;
    cluster_api::connect(&world, "blue", &world.cluster).await?;
    Ok(world)
}

#[tokio::test]
async fn checks_templates_and_owners_of_v1beta1_are_served() -> world::Outcome {
    let checked = world_of("older", false).await?;
    let owned = world_of("older-owner", true).await?;
    escalation::owned_in_cluster_api(&owned, &owned.hosts[0], "blue").await?;
    serve_v1beta2(&checked, false).await?;
    let mut policy = world::daemon::permissive_policy();
    policy["healthChecker"] = json!("Auto");
    let cluster = &control_plane().await?;
    let _daemon = world::daemon::shared_with(cluster, DAEMON, policy, "info").await?;

    tokio::try_join!(is_found_and_brought_back(&checked), owner_is_asked(&owned))?;
    Ok(an_upgrade_is_followed(&checked).await?)
}

/// Cluster API is upgraded while the daemon runs: what only the newer version knows counts from then on.
async fn an_upgrade_is_followed(world: &World) -> Result<()> {
    let host = &world.hosts[0];
    let checks = cluster_api::health_checks(world);
    serve_v1beta2(world, true).await?;
    // Nothing converts here: what is written in the older version loses the fields of the newer one.
    let is_followed = |check: Option<&DynamicObject>| {
        check.is_some_and(|check| {
            let mut all = conditions(check, "/status/conditions").into_iter();
            all.any(|condition| condition["type"] == "Paused")
        })
    };
    let followed = await_condition(checks.clone(), "workers", is_followed);
    tokio::time::timeout(LONG, followed)
        .await
        .context("v1beta2 is not followed")??;
    checks.delete("workers", &DeleteParams::default()).await?;
    let check: DynamicObject = serde_json::from_value(json!({
        "apiVersion": format!("{GROUP}/v1beta2"), "kind": "MachineHealthCheck",
        "metadata": {
            "name": "disks", "namespace": world.namespace,
            "annotations": {keys::STRATEGY_ANNOTATION: keys::STRATEGY_EXTERNAL_BAREMETAL},
        },
        "spec": {
            "clusterName": "blue", "selector": {"matchLabels": {"example.org/role": "worker"}},
            "checks": {"unhealthyMachineConditions": [
                {"type": "DiskCorrupt", "status": "True", "timeoutSeconds": 1},
            ]},
            "remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": 0}},
        },
    }))?;
    checks.create(&PostParams::default(), &check).await?;
    let machines = cluster_api::machines(world);
    let machine = machines.get(&host.name).await?;
    let mut all = conditions(&machine, "/status/conditions");
    all.push(json!({
        "type": "DiskCorrupt", "status": "True", "reason": "Found", "message": "",
        "lastTransitionTime": machine.creation_timestamp(),
    }));
    let change = Patch::Merge(json!({"status": {"conditions": all}}));
    machines
        .patch_status(&host.name, &PatchParams::default(), &change)
        .await?;

    let is = |check: Option<&DynamicObject>| {
        let status = check.map(|check| &check.data["status"]);
        status.is_some_and(|status| {
            status["expectedMachines"] == 1
                && status["currentHealthy"] == 0
                && status["remediationsAllowed"] == 0
        })
    };
    let wait = await_condition(checks, "disks", is);
    tokio::time::timeout(LONG, wait)
        .await
        .context("the conditions of Machines are not regarded")??;
    assert_eq!(host.transitions(), (1, 1), "the limit forbids it");
    Ok(())
}

/// Our own checker stands in, and writes the status in the form of v1beta1.
async fn is_found_and_brought_back(world: &World) -> Result<()> {
    let host = &world.hosts[0];
    create_health_check(world, None).await?;
    let well = check_says(world, |status| status["currentHealthy"] == 1).await?;
    let allowed = &well["conditions"][0];
    assert_eq!(
        (&allowed["type"], &allowed["status"]),
        (&json!("RemediationAllowed"), &json!("True")),
        "{well}"
    );

    world.falls_silent(host).await?;
    let ended = world.remediation_ended(&host.remediation(), LONG).await?;

    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    assert_eq!(host.transitions(), (1, 1));
    check_says(world, |status| status["currentHealthy"] == 1).await?;
    Ok(())
}

/// A request by a template, whose host does not come back: the owner is asked in the only form that there is.
async fn owner_is_asked(world: &World) -> Result<()> {
    let host = &world.hosts[0];
    create_health_check(world, Some("cycle")).await?;
    let mut strategy = ending_in("MachineOwner");
    strategy["retries"] = hasty()["retries"].clone();
    let template = create_template(world, "cycle", Value::Null, strategy).await?;
    world.falls_silent(host).await?;
    request(world, host, &template).await?;

    let reason = Reason::MachineNotMarkedUnhealthy.as_str();
    let waits = world.remediation_until(&host.name, LONG, |journal| journal.reason == reason);
    assert_eq!(world::phase(&waits.await?), Phase::Failed);
    health_check_failed(world, host).await?;
    let done = world.remediation_until(&host.name, LONG, |journal| {
        let escalation = journal.escalation.as_ref();
        escalation.is_some_and(|escalation| escalation.done.is_some())
    });
    done.await?;

    let machine = of_v1beta1(world, "Machine").get(&host.name).await?;
    let mut all = conditions(&machine, "/status/conditions").into_iter();
    let asked = all.find(|condition| condition["type"] == "OwnerRemediated");
    let asked = asked.context("the owner was not asked")?;
    assert_eq!(
        [&asked["status"], &asked["reason"], &asked["severity"]],
        [
            &json!("False"),
            &json!("WaitingForRemediation"),
            &json!("Warning")
        ]
    );
    assert_eq!(host.transitions(), (1, 1));
    Ok(())
}
