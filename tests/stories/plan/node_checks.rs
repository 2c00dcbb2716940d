//! NodeHealthChecks, whose operator makes requests from our template.

use std::path::Path;

use anyhow::{Context as _, Result};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use remediator_api::views::MachineHealthCheck;
use serde_json::{Value, json};

use super::{CLUSTER, health_checker, no_leaders, plan, planner, rights};
use world::acts::create_template;
use world::definitions::{accept_anything, until_taken};
use world::node_health::{NodeHealthCheck, node_health_checks, not_ready};
use world::{HostOptions, World, objects};

const LABEL: &str = "example.org/plan-node-checks";

fn labelled(options: HostOptions) -> HostOptions {
    HostOptions {
        node: Box::new(|mut node| {
            node.labels.insert(LABEL.to_owned(), String::new());
            node
        }),
        ..options
    }
}

/// A Node without a Machine here; the BMCEndpoint names it.
fn without_machine(speaks_of: Option<&'static str>) -> HostOptions {
    HostOptions {
        machine: Box::new(|_| Value::Null),
        node: Box::new(move |mut node| {
            node.labels.insert(LABEL.to_owned(), String::new());
            node.machine = speaks_of.map(ToOwned::to_owned);
            node
        }),
        endpoint: Box::new(|mut endpoint| {
            endpoint["nodeName"] = endpoint["machineName"].take();
            if let Some(fields) = endpoint.as_object_mut() {
                fields.remove("machineName");
            }
            endpoint
        }),
        ..HostOptions::default()
    }
}

/// Its operator has looked at the check, and disabled it or not.
async fn looked_at(world: &World, check: &NodeHealthCheck, disabled: &str, reason: &str) -> Result<()> {
    let status = json!({"status": {"conditions": [{
        "type": "Disabled", "status": disabled, "reason": reason, "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}});
    node_health_checks(world)
        .patch_status(check.name(), &PatchParams::default(), &Patch::Merge(status))
        .await?;
    Ok(())
}

async fn change(world: &World, check: &NodeHealthCheck, spec: Value) -> Result<()> {
    let patch = Patch::Merge(json!({"spec": spec}));
    node_health_checks(world)
        .patch(check.name(), &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

#[tokio::test]
async fn what_a_node_health_check_will_see_is_said_of_its_nodes() -> Result<()> {
    let _alone = CLUSTER.lock().await;
    let cluster = &super::control_plane().await?;
    let options = vec![
        labelled(HostOptions::default()),
        without_machine(None),
        without_machine(Some("elsewhere/worker-7")),
        labelled(HostOptions::default()),
    ];
    let world = World::new(cluster, "plan-node-checks", options).await?;
    let (kubeconfig, cursor) = planner(&world).await?;
    without_machine_health_checks(&world).await?;
    no_leaders(&world).await?;
    health_checker(&world, "Auto").await?;
    create_template(
        &world,
        "cycle",
        Value::Null,
        json!({"deadlines": {"boot": "47m"}}),
    )
    .await?;
    let template = json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediationTemplate",
        "namespace": world.namespace, "name": "cycle",
    });
    let spec = json!({
        "selector": {"matchLabels": {LABEL: ""}}, "minHealthy": "25%", "unhealthyConditions": not_ready(),
        "remediationTemplate": template,
    });
    let check = NodeHealthCheck::with(&world, spec).await?;
    let alone = &world.hosts[1];
    for host in &world.hosts[..3] {
        world.falls_silent(host).await?;
    }
    unhealthy(&world, &kubeconfig).await?;

    // Its operator was never seen.
    let nobody = outlook_of_machine(&world, &kubeconfig).await?;
    assert_eq!(
        nobody["remediation"]["outcome"], "HealthChecksUnserved",
        "{nobody}"
    );
    looked_at(&world, &check, "False", "NodeHealthCheckEnabled").await?;
    let begins = outlook_of_machine(&world, &kubeconfig).await?;
    assert_eq!(begins["checks"][0]["kind"], "NodeHealthCheck", "{begins}");
    assert_eq!(begins["checks"][0]["check"], json!(check.name()), "{begins}");
    assert_eq!(begins["remediation"]["outcome"], "Begins", "{begins}");
    let text = plan(&world, &kubeconfig, &[&alone.name]).await?;
    for part in [
        &format!("Node {}, which has no Machine", alone.name),
        "remediation: Begins: as soon as NodeHealthCheck",
        "1 of 4 Nodes are healthy, and spec.minHealthy 25% asks for 1",
        "wait 47m at the most until Node",
        alone.bmc.system_uuid(),
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }

    a_request_that_has_ended_is_told(&world, &check, &kubeconfig).await?;

    let elsewhere = outlook_of(&world, &kubeconfig, 2).await?;
    assert_eq!(
        elsewhere["remediation"]["outcome"], "NodeMachineMismatch",
        "{elsewhere}"
    );

    change(&world, &check, json!({"minHealthy": "26%"})).await?;
    let limited = outlook_of_machine(&world, &kubeconfig).await?;
    assert_eq!(limited["remediation"]["outcome"], "Forbidden", "{limited}");
    change(
        &world,
        &check,
        json!({"minHealthy": "1%", "pauseRequests": ["upgrade"]}),
    )
    .await?;
    let paused = outlook_of_machine(&world, &kubeconfig).await?;
    let why = paused["remediation"]["why"].as_str().unwrap_or_default();
    assert!(why.contains("it is paused: upgrade"), "{paused}");
    // Before its operator has noticed.
    objects::create_health_check(&world, "elsewhere", |check| {
        check["spec"]["selector"] = json!({"matchLabels": {"nobody": "has this"}});
    })
    .await?;
    let disabled = outlook_of_machine(&world, &kubeconfig).await?;
    assert_eq!(
        disabled["remediation"]["outcome"], "DisabledByMachineHealthChecks",
        "{disabled}"
    );

    without_machine_health_checks(&world).await?;
    an_unreadable_one_is_told(&world, &kubeconfig).await?;

    second_in_a_ladder(&world, &check, &template, &kubeconfig).await?;
    rights::has_only_read(&world, cursor).await
}

/// As long as it is there, the operator makes no other.
async fn a_request_that_has_ended_is_told(
    world: &World,
    check: &NodeHealthCheck,
    kubeconfig: &Path,
) -> Result<()> {
    check.asks_for(world, &world.hosts[0], "over").await?;
    let status = Patch::Merge(json!({"status": {
        "phase": "Failed", "phaseStarted": "2026-01-01T00:00:00Z", "attempt": 1, "reason": "BootDeadlineExceeded",
        "message": "",
    }}));
    let remediations = world.remediations();
    remediations
        .patch_status("over", &PatchParams::default(), &status)
        .await?;
    let found = outlook_of_machine(world, kubeconfig).await?;
    assert_eq!(found["remediation"]["outcome"], "RequestEnded", "{found}");
    let why = found["remediation"]["why"].as_str().unwrap_or_default();
    let told = format!(
        "PowerCycleRemediation over has ended in phase Failed (BootDeadlineExceeded), and NodeHealthCheck {} makes no \
         other until that is deleted",
        check.name()
    );
    assert_eq!(why, told);
    remediations.delete("over", &DeleteParams::default()).await?;
    Ok(())
}

/// As one of a later version may be.
async fn an_unreadable_one_is_told(world: &World, kubeconfig: &Path) -> Result<()> {
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
    let found = outlook_of_machine(world, kubeconfig).await?;
    let said = found["checks"].as_array().context("no checks")?;
    let said = said.iter().find(|said| said["check"] == json!(later.name_any()));
    let said = said.with_context(|| format!("it is left out: {found}"))?;
    assert_eq!(said["verdict"], "Unknown", "{said}");
    let why = said["why"].as_str().unwrap_or_default();
    assert!(why.contains("pauseRequests"), "{said}");
    checks.delete(&later.name_any(), &DeleteParams::default()).await?;
    Ok(())
}

/// Ours comes second, after that of another.
async fn second_in_a_ladder(
    world: &World,
    check: &NodeHealthCheck,
    template: &Value,
    kubeconfig: &Path,
) -> Result<()> {
    let first = json!({
        "apiVersion": "self-node-remediation.medik8s.io/v1alpha1", "kind": "SelfNodeRemediationTemplate",
        "namespace": world.namespace, "name": "reboot",
    });
    change(
        world,
        check,
        json!({
            "pauseRequests": null, "remediationTemplate": null,
            "escalatingRemediations": [
                {"remediationTemplate": template, "order": 2, "timeout": "600s"},
                {"remediationTemplate": first, "order": 1, "timeout": "60s"},
            ],
        }),
    )
    .await?;
    looked_at(world, check, "False", "NodeHealthCheckEnabled").await?;
    let second = outlook_of_machine(world, kubeconfig).await?;
    let why = second["remediation"]["why"].as_str().unwrap_or_default();
    assert!(
        why.ends_with("after SelfNodeRemediationTemplate reboot in vain"),
        "{second}"
    );
    Ok(())
}

/// Those of OpenShift, wherever they are, disable every NodeHealthCheck.
async fn without_machine_health_checks(world: &World) -> Result<()> {
    let all = Api::<MachineHealthCheck>::all(world.client.clone());
    for check in all.list(&ListParams::default()).await?.items {
        let namespace = check.namespace().unwrap_or_default();
        Api::<MachineHealthCheck>::namespaced(world.client.clone(), &namespace)
            .delete(&check.name_any(), &DeleteParams::default())
            .await?;
    }
    Ok(())
}

async fn outlook_of(world: &World, kubeconfig: &Path, host: usize) -> Result<Value> {
    let out = plan(world, kubeconfig, &[&world.hosts[host].name, "-o", "json"]).await?;
    Ok(serde_json::from_str(&out)?)
}

/// That of the host with a Machine.
async fn outlook_of_machine(world: &World, kubeconfig: &Path) -> Result<Value> {
    outlook_of(world, kubeconfig, 0).await
}

/// Waits until the grace period of the silent Nodes is over.
async fn unhealthy(world: &World, kubeconfig: &Path) -> Result<()> {
    for host in &world.hosts[..3] {
        loop {
            let out = plan(world, kubeconfig, &[&host.name, "-o", "json"]).await?;
            let found: Value = serde_json::from_str(&out)?;
            let said = found["checks"].get(0).context("no check selects it")?;
            let Some(until) = said["until"].as_str() else {
                break;
            };
            let left = until
                .parse::<jiff::Timestamp>()?
                .duration_since(jiff::Timestamp::now());
            tokio::time::sleep(std::time::Duration::try_from(left).unwrap_or_default()).await;
        }
    }
    Ok(())
}
