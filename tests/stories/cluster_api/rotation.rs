//! Who may ask the workload cluster is somebody else half way through.

use anyhow::{Context as _, Result};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{Api, DeleteParams, PostParams};
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::{World, cluster_api};

use super::{LONG, checked, is_being_released, world_of};

fn accounts(world: &World) -> Api<ServiceAccount> {
    Api::namespaced(world.nodes.clone(), &world.pods)
}

/// Makes a ServiceAccount of the workload cluster that may do everything there; leads to that cluster in its name.
async fn leads_there_as(world: &World, account: &str) -> Result<()> {
    let post = PostParams::default();
    let new = serde_json::from_value(json!({"metadata": {"name": account}}))?;
    accounts(world).create(&post, &new).await?;
    let binding = serde_json::from_value(json!({
        "metadata": {"name": format!("{}-{account}", world.pods)},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": world.pods}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
    }))?;
    let bindings = Api::<ClusterRoleBinding>::all(world.nodes.clone());
    bindings.create(&post, &binding).await?;
    let request = TokenRequest::default();
    let answer = accounts(world)
        .create_token_request(account, &post, &request)
        .await?;
    let token = answer.status.context("no token was made")?.token;

    let workload = harness::workload_cluster().await?;
    let text = std::fs::read_to_string(workload.admin_kubeconfig_file()?)?;
    let mut kubeconfig: Value = serde_json::from_str(&text)?;
    kubeconfig["users"][0]["user"] = json!({"token": token});
    cluster_api::put_kubeconfig(world, "blue", &kubeconfig.to_string()).await
}

#[tokio::test]
async fn credentials_that_are_revoked_while_the_host_is_off_are_waited_for_and_taken_up() -> world::Outcome {
    let world = world_of("capi-rotated", cluster_api::options("blue")).await?;
    leads_there_as(&world, "before").await?;
    let host = &world.hosts[0];
    is_being_released(&world, checked(&world).await?, "5m").await?;

    accounts(&world)
        .delete("before", &DeleteParams::default())
        .await?;
    let unreachable = Reason::WorkloadClusterUnreachable;
    let told = world
        .remediation_says(&host.name, unreachable, "Unauthorized")
        .await?;
    assert_eq!(world::phase(&told), Phase::Fencing);
    assert_eq!(
        host.transitions(),
        (1, 0),
        "it is off, and stays so while nobody knows"
    );
    leads_there_as(&world, "after").await?;
    world.release_pod("clings").await?;

    let ended = world.remediation_ended(&host.name, LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded, "{:?}", ended.status);
    world.is_untainted(host, LONG).await?;
    assert_eq!(
        host.transitions(),
        (1, 1),
        "the attempt that was under way is the one that ended"
    );
    Ok(())
}
