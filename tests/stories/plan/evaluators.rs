//! Who evaluates a health check decides whether anything follows from it.

use anyhow::Result;
use jiff::SignedDuration;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{Api, PostParams};
use remediator_core::machine_api::MachineApi;
use serde_json::json;
use world::{HostOptions, World, cluster_api, leader};

use super::{
    CLUSTER, PLANNER, health_checker, leads, no_leaders, outlook, past_grace, plan, planner, rights,
};

#[tokio::test]
async fn a_trigger_is_set_only_where_somebody_evaluates_the_check() -> world::Outcome {
    let _alone = CLUSTER.lock().await;
    let cluster = &super::control_plane().await?;
    let world = World::new(cluster, "plan-evaluators", vec![HostOptions::default()]).await?;
    let (kubeconfig, cursor) = planner(&world).await?;
    no_leaders(&world).await?;
    health_checker(&world, "Never").await?;
    world.health_check().await?;
    world.falls_silent(&world.hosts[0]).await?;
    past_grace(&world, &kubeconfig, 0).await?;

    let hours_ago = || {
        leader::renewed(
            &world.client,
            MachineApi::OpenShift,
            SignedDuration::from_hours(3),
        )
    };
    let nobody = outlook(&world, &kubeconfig, 0).await?;
    assert_eq!(nobody["remediation"]["outcome"], "SwitchedOff", "{nobody}");
    assert_eq!(nobody["checks"][0]["evaluatedBy"]["who"], "Nobody", "{nobody}");
    leads(&world, MachineApi::OpenShift).await?;
    let platform = outlook(&world, &kubeconfig, 0).await?;
    assert_eq!(platform["remediation"]["outcome"], "Begins", "{platform}");
    let by = &platform["checks"][0]["evaluatedBy"];
    assert_eq!(by["who"], "PlatformController", "{platform}");
    assert!(
        by["why"].as_str().is_some_and(|why| why.contains("was renewed ")),
        "{by}"
    );
    hours_ago().await?;
    let nobody = outlook(&world, &kubeconfig, 0).await?;
    assert_eq!(nobody["remediation"]["outcome"], "SwitchedOff", "{nobody}");

    health_checker(&world, "Auto").await?;
    let ours = outlook(&world, &kubeconfig, 0).await?;
    assert_eq!(ours["remediation"]["outcome"], "Begins", "{ours}");
    assert_eq!(ours["checks"][0]["evaluatedBy"]["who"], "Daemon", "{ours}");
    let text = plan(&world, &kubeconfig, &[]).await?;
    assert!(
        text.contains("evaluated by Daemon: this daemon, where it runs: "),
        "{text}"
    );
    leads(&world, MachineApi::OpenShift).await?;
    health_checker(&world, "Always").await?;
    let both = outlook(&world, &kubeconfig, 0).await?;
    assert_eq!(
        both["checks"][0]["evaluatedBy"]["who"], "PlatformControllerAndDaemon",
        "{both}"
    );

    Ok(rights::has_only_read(&world, cursor).await?)
}

#[tokio::test]
async fn cluster_apis_manager_does_not_know_the_annotation() -> world::Outcome {
    let _alone = CLUSTER.lock().await;
    let cluster = &super::control_plane().await?;
    let world = World::new(cluster, "plan-stranger", vec![cluster_api::options("blue")]).await?;
    cluster_api::create_cluster(&world, "blue").await?;
    cluster_api::connect(&world, "blue", &world.cluster).await?;
    cluster_api::create_health_check(&world, "workers", "blue", json!(null)).await?;
    let (kubeconfig, cursor) = planner(&world).await?;
    reads_the_kubeconfig_of(&world, "blue").await?;
    no_leaders(&world).await?;
    health_checker(&world, "Auto").await?;
    world.falls_silent(&world.hosts[0]).await?;
    past_grace(&world, &kubeconfig, 0).await?;

    let ours = outlook(&world, &kubeconfig, 0).await?;
    assert_eq!(ours["remediation"]["outcome"], "Begins", "{ours}");
    leads(&world, MachineApi::ClusterApi).await?;
    let stranger = outlook(&world, &kubeconfig, 0).await?;

    let remediation = &stranger["remediation"];
    assert_eq!(remediation["outcome"], "StrategyNotKnown", "{stranger}");
    let why = remediation["why"].as_str().unwrap_or_default();
    assert!(why.contains("would have the Machine replaced"), "{why}");
    assert_eq!(stranger["checks"][0]["evaluatedBy"]["who"], "PlatformController");
    assert!(remediation["next"].is_null(), "{stranger}");
    Ok(rights::has_only_read(&world, cursor).await?)
}

/// Whoever plans may read the Secret that leads to a workload cluster.
async fn reads_the_kubeconfig_of(world: &World, of: &str) -> Result<()> {
    let metadata = json!({"name": "plan"});
    let role: Role = serde_json::from_value(json!({
        "metadata": metadata,
        "rules": [{
            "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"],
            "resourceNames": [format!("{of}-kubeconfig")],
        }],
    }))?;
    let group = "rbac.authorization.k8s.io";
    let binding: RoleBinding = serde_json::from_value(json!({
        "metadata": metadata,
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "plan"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": PLANNER}],
    }))?;
    let (client, created) = (world.client.clone(), PostParams::default());
    Api::<Role>::namespaced(client.clone(), &world.namespace)
        .create(&created, &role)
        .await?;
    Api::<RoleBinding>::namespaced(client, &world.namespace)
        .create(&created, &binding)
        .await?;
    Ok(())
}
