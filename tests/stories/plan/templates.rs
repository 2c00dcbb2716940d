//! A check with a template: its requests do what the template says, and its limit is its own.

use std::path::Path;

use anyhow::Result;
use kube::api::{Patch, PatchParams, PostParams};
use remediator_core::machine_api::MachineApi;
use serde_json::{Value, json};
use world::acts::create_template;
use world::{HostOptions, World, objects};

use super::{
    CLUSTER, health_checker, leads, no_leaders, outlook, outlooks, past_grace, plan, planner, rights,
};

/// Creates a health check that makes requests from a template.
async fn check(world: &World, name: &str, template: Value, max_unhealthy: Value) -> Result<()> {
    objects::create_health_check(world, name, |check| {
        check["metadata"]["annotations"] = json!({});
        check["spec"]["remediationTemplate"] = template;
        check["spec"]["maxUnhealthy"] = max_unhealthy;
    })
    .await
}

fn ours(name: &str) -> Value {
    json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediationTemplate", "name": name,
    })
}

/// What is planned for a host while the platform's controller runs.
async fn planned(world: &World, kubeconfig: &Path, host: usize) -> Result<Value> {
    leads(world, MachineApi::OpenShift).await?;
    outlook(world, kubeconfig, host).await
}

#[tokio::test]
async fn a_template_decides_what_is_done_and_by_whom() -> world::Outcome {
    let _alone = CLUSTER.lock().await;
    let cluster = &super::control_plane().await?;
    let options = vec![HostOptions::default(), HostOptions::default()];
    let world = World::new(cluster, "plan-templates", options).await?;
    let (kubeconfig, cursor) = planner(&world).await?;
    no_leaders(&world).await?;
    health_checker(&world, "Auto").await?;
    check(&world, "workers", ours("cycle"), json!("100%")).await?;
    let silent = &world.hosts[0];
    world.falls_silent(silent).await?;
    past_grace(&world, &kubeconfig, 0).await?;

    // Our health checker evaluates no such check.
    let nobody = outlook(&world, &kubeconfig, 0).await?;
    assert_eq!(
        nobody["remediation"]["outcome"], "HealthChecksUnserved",
        "{nobody}"
    );
    let missing = planned(&world, &kubeconfig, 0).await?;
    assert_eq!(missing["remediation"]["outcome"], "TemplateNotFound", "{missing}");
    let why = missing["remediation"]["why"].as_str().unwrap_or_default();
    assert!(why.contains("no request can be made from it"), "{why}");

    create_template(&world, "cycle", Value::Null, json!({"retries": {"attempts": 2}})).await?;
    let begins = planned(&world, &kubeconfig, 0).await?;
    assert_eq!(begins["remediation"]["outcome"], "Begins", "{begins}");
    let template = format!("{}/cycle", world.namespace);
    assert_eq!(begins["remediation"]["template"], json!(template), "{begins}");
    let text = plan(&world, &kubeconfig, &[&silent.name]).await?;
    for part in [
        "as soon as MachineHealthCheck workers has made its request",
        &format!("as PowerCycleRemediationTemplate {template} has it"),
        "next: read power state and identity at ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }

    one_of_its_name_has_ended(&world, &silent.name).await?;
    let stopped = planned(&world, &kubeconfig, 0).await?;
    assert_eq!(stopped["remediation"]["outcome"], "RequestEnded", "{stopped}");
    Ok(rights::has_only_read(&world, cursor).await?)
}

/// A person has made the request that the check would have made, and it has ended.
async fn one_of_its_name_has_ended(world: &World, machine: &str) -> Result<()> {
    let remediations = world.remediations();
    let request = json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
        "metadata": {"name": machine}, "spec": {},
    });
    let request = serde_json::from_value(request)?;
    remediations.create(&PostParams::default(), &request).await?;
    let status = json!({"status": {
        "phase": "Failed", "phaseStarted": "2026-01-01T00:00:00Z", "attempt": 1, "reason": "BootDeadlineExceeded",
        "message": "",
    }});
    remediations
        .patch_status(machine, &PatchParams::default(), &Patch::Merge(status))
        .await?;
    Ok(())
}

#[tokio::test]
async fn the_limit_of_a_check_that_others_evaluate_is_its_own() -> world::Outcome {
    let _alone = CLUSTER.lock().await;
    let cluster = &super::control_plane().await?;
    let options = vec![HostOptions::default(), HostOptions::default(), behind_metal3()];
    let world = World::new(cluster, "plan-limits", options).await?;
    let (kubeconfig, cursor) = planner(&world).await?;
    no_leaders(&world).await?;
    health_checker(&world, "Never").await?;
    create_template(&world, "cycle", Value::Null, json!({})).await?;
    check(&world, "generous", ours("cycle"), json!("100%")).await?;
    check(&world, "strict", ours("cycle"), json!(0)).await?;
    let [silent, failed, managed] = &world.hosts[..] else {
        panic!("three hosts were asked for");
    };
    objects::create_bare_metal_host(&world, managed).await?;
    for host in [silent, failed, managed] {
        world.falls_silent(host).await?;
    }
    let phase = json!({"status": {"phase": "Failed"}});
    objects::machines(&world)
        .patch_status(&failed.name, &PatchParams::default(), &Patch::Merge(phase))
        .await?;
    for host in 0..3 {
        past_grace(&world, &kubeconfig, host).await?;
    }

    leads(&world, MachineApi::OpenShift).await?;
    let found = outlooks(&world, &kubeconfig).await?;
    let limit = |check: usize| found[0]["checks"][check]["limit"].as_str().unwrap_or_default();
    assert!(limit(0).contains("is allowed"), "{}", found[0]);
    assert!(limit(1).contains("is not allowed"), "{}", found[0]);
    assert_eq!(found[0]["remediation"]["outcome"], "Begins", "{}", found[0]);
    // Of it, too, a request is made, and waits.
    assert_eq!(
        found[1]["remediation"]["outcome"], "MachineFailed",
        "{}",
        found[1]
    );
    // It would be held off through metal3.
    assert_eq!(found[2]["remediation"]["outcome"], "Begins", "{}", found[2]);

    // Nothing of ours follows from the template of another.
    let other = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Metal3RemediationTemplate", "name": "cycle",
    });
    for name in ["generous", "strict"] {
        let change = json!({"spec": {"remediationTemplate": other, "maxUnhealthy": "100%"}});
        objects::patch_health_check(&world, name, change).await?;
    }
    let other = planned(&world, &kubeconfig, 0).await?;
    assert_eq!(other["remediation"]["outcome"], "AnotherRemediator", "{other}");
    Ok(rights::has_only_read(&world, cursor).await?)
}

/// A host that a BareMetalHost describes.
fn behind_metal3() -> HostOptions {
    HostOptions {
        endpoint: Box::new(|_| Value::Null),
        machine: Box::new(|mut machine| {
            let (namespace, name) = (&machine["metadata"]["namespace"], &machine["metadata"]["name"]);
            let host = format!(
                "{}/{}",
                namespace.as_str().unwrap_or_default(),
                name.as_str().unwrap_or_default()
            );
            machine["metadata"]["annotations"] = json!({"metal3.io/BareMetalHost": host});
            machine
        }),
        ..HostOptions::default()
    }
}
