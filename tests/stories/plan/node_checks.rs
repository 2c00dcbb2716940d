//! NodeHealthChecks: their operator evaluates them, so its own words are shown.

use anyhow::{Context as _, Result};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::{CLUSTER, health_checker, no_leaders, plan, planned, planner, rights};
use world::acts::create_template;
use world::definitions::{accept_anything, until_taken};
use world::node_health::{NodeHealthCheck, node_health_checks, not_ready};
use world::{HostOptions, World};

/// What the operator writes of a check that has made a request for a Node.
fn remediating(world: &World) -> Value {
    let node = &world.hosts[0].name;
    json!({
        "phase": "Remediating", "reason": format!("NHC is remediating 1 nodes: {node}"), "observedNodes": 2,
        "healthyNodes": 1, "inFlightRemediations": {node: "2026-01-01T00:00:00Z"},
        "unhealthyNodes": [{"name": node, "remediations": [{
            "started": "2026-01-01T00:00:00Z", "resource": {
                "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
                "namespace": world.namespace, "name": "request-of-the-check",
            },
        }]}],
        "conditions": [disabled("False", "NodeHealthCheckEnabled", "no issues found")],
    })
}

fn disabled(status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": "Disabled", "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

/// The operator writes this.
async fn says(world: &World, check: &NodeHealthCheck, status: Value) -> Result<()> {
    let patch = Patch::Merge(json!({"status": status}));
    node_health_checks(world)
        .patch_status(check.name(), &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

async fn names(world: &World, check: &NodeHealthCheck, templates: Value) -> Result<()> {
    let patch = Patch::Merge(json!({"spec": templates}));
    node_health_checks(world)
        .patch(check.name(), &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

#[tokio::test]
async fn what_its_operator_says_of_a_node_health_check_is_shown_with_its_template() -> world::Outcome {
    let _alone = CLUSTER.lock().await;
    let cluster = &super::control_plane().await?;
    let options = vec![HostOptions::default(), HostOptions::default()];
    let world = World::new(cluster, "plan-node-checks", options).await?;
    let (kubeconfig, cursor) = planner(&world).await?;
    no_leaders(&world).await?;
    health_checker(&world, "Auto").await?;
    let template = json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediationTemplate",
        "namespace": world.namespace, "name": "cycle",
    });
    let spec = json!({
        "selector": {"matchLabels": {"example.org/plan-node-checks": ""}}, "minHealthy": "51%",
        "unhealthyConditions": not_ready(), "remediationTemplate": template,
    });
    let check = NodeHealthCheck::with(&world, spec).await?;
    let shown = async |name: &str| -> Result<Value> {
        let found = planned(&world, &kubeconfig).await?;
        let all = found["nodeHealthChecks"].as_array().context("no list")?;
        let of_name = all.iter().find(|one| one["name"] == name);
        of_name.cloned().context("it is left out")
    };
    let outcome = async || anyhow::Ok(shown(check.name()).await?["obstacle"]["reason"].clone());

    // Its operator was never seen.
    assert_eq!(outcome().await?, "HealthChecksUnserved");
    says(&world, &check, remediating(&world)).await?;
    assert_eq!(outcome().await?, "TemplateNotFound");
    create_template(&world, "cycle", Value::Null, json!({})).await?;

    let well = shown(check.name()).await?;
    assert_eq!(well["obstacle"], Value::Null, "{well}");
    assert_eq!(well["status"], remediating(&world), "{well}");
    let cycle = format!("PowerCycleRemediationTemplate {}/cycle", world.namespace);
    assert_eq!(well["templates"], json!([cycle]), "{well}");
    let text = plan(&world, &kubeconfig, &[]).await?;
    for part in [
        &format!("NodeHealthCheck {}", check.name()),
        &format!("makes requests from {cycle}"),
        "phase: Remediating",
        "healthyNodes: 1",
        "reason: NodeHealthCheckEnabled",
        "message: no issues found",
        "name: request-of-the-check",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }

    a_request_of_it_is_under_way(&world, &check, &planned(&world, &kubeconfig).await?, &kubeconfig).await?;

    // Ours comes second, after that of another.
    let first = json!({
        "apiVersion": "self-node-remediation.medik8s.io/v1alpha1", "kind": "SelfNodeRemediationTemplate",
        "namespace": world.namespace, "name": "reboot",
    });
    let ladder = json!([
        {"remediationTemplate": template, "order": 2, "timeout": "600s"},
        {"remediationTemplate": first, "order": 1, "timeout": "60s"},
    ]);
    let ladder = json!({"remediationTemplate": null, "escalatingRemediations": ladder});
    names(&world, &check, ladder).await?;
    let second = shown(check.name()).await?;
    let reboot = format!("SelfNodeRemediationTemplate {}/reboot", world.namespace);
    assert_eq!(second["templates"], json!([reboot, cycle]), "{second}");

    let conflict = disabled(
        "True",
        "ConflictingMachineHealthCheckDetected",
        "there are others",
    );
    let status = json!({"phase": "Disabled", "conditions": [conflict]});
    says(&world, &check, status).await?;
    assert_eq!(outcome().await?, "DisabledByMachineHealthChecks");

    let later = a_later_one(&world).await?;
    let unreadable = shown(&later.name_any()).await?;
    assert_eq!(
        unreadable["obstacle"]["reason"], "HealthCheckUnreadable",
        "{unreadable}"
    );
    let why = unreadable["obstacle"]["why"].as_str().unwrap_or_default();
    assert!(why.contains("pauseRequests"), "{unreadable}");
    node_health_checks(&world)
        .delete(&later.name_any(), &DeleteParams::default())
        .await?;
    Ok(rights::has_only_read(&world, cursor).await?)
}

/// What the daemon does about a request of the check is said of the Machine of its Node.
async fn a_request_of_it_is_under_way(
    world: &World,
    check: &NodeHealthCheck,
    before: &Value,
    kubeconfig: &std::path::Path,
) -> Result<()> {
    let name = &world.hosts[0].name;
    let outcome = |found: &Value| {
        let machines = found["machines"].as_array().into_iter().flatten();
        let mut machines = machines.filter(|one| one["machine"] == json!(name));
        machines.next().map(|one| one["remediation"]["outcome"].clone())
    };
    assert_eq!(outcome(before), Some(json!("NotNeeded")), "{before}");
    check.asks_for(world, &world.hosts[0], "request").await?;
    let found = planned(world, kubeconfig).await?;
    assert_eq!(outcome(&found), Some(json!("UnderWay")), "{found}");
    world
        .remediations()
        .delete("request", &DeleteParams::default())
        .await?;
    Ok(())
}

/// One as a later version may have it.
async fn a_later_one(world: &World) -> Result<DynamicObject> {
    accept_anything(
        &world.client,
        "nodehealthchecks.remediation.medik8s.io",
        "v1alpha1",
        "pauseRequests",
    )
    .await?;
    let later = json!({
        "apiVersion": "remediation.medik8s.io/v1alpha1", "kind": "NodeHealthCheck",
        "metadata": {"name": format!("{}-later", world.namespace)},
        "spec": {"selector": {}, "minHealthy": "51%", "pauseRequests": {"upgrade": "now"}},
    });
    let later: DynamicObject = serde_json::from_value(later)?;
    let checks = node_health_checks(world);
    until_taken(async || checks.create(&PostParams::default(), &later).await).await?;
    Ok(later)
}
