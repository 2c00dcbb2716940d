//! The user who tries: an editor of some namespaces and of nothing else.
//!
//! Such a user has what the built-in ClusterRole `edit` gives, and what an administrator adds to it who lets tenants bring
//! their own hosts: everything with our kinds, also their status, and Machines with theirs, although their controllers
//! write that.

use anyhow::Result;
use k8s_openapi::api::rbac::v1::{ClusterRole, RoleBinding};
use kube::Client;
use kube::api::{Api, PostParams};
use serde_json::json;
use world::World;

pub(super) const USER: &str = "tenant";
const ROLE: &str = "tenants-edit-hosts";

pub(super) async fn client(world: &World) -> Result<Client> {
    world.cluster.client_as(USER, &[]).await
}

/// What is added to the built-in role.
pub(super) async fn role(client: &Client) -> Result<()> {
    let verbs = json!([
        "get",
        "list",
        "watch",
        "create",
        "update",
        "patch",
        "delete",
        "deletecollection"
    ]);
    let machines = json!(["machines", "machines/status", "machinehealthchecks"]);
    let role: ClusterRole = serde_json::from_value(json!({
        "metadata": {"name": ROLE, "labels": {"rbac.authorization.k8s.io/aggregate-to-edit": "true"}},
        "rules": [
            {
                "apiGroups": ["baremetal-remediator.io"], "verbs": ["*"], "resources": ["*"],
            },
            {"apiGroups": ["machine.openshift.io", "cluster.x-k8s.io"], "verbs": verbs, "resources": machines},
        ],
    }))?;
    let roles = Api::<ClusterRole>::all(client.clone());
    roles.create(&PostParams::default(), &role).await?;
    Ok(())
}

/// Makes the user an editor of a namespace. The roles are bound one by one, for nobody aggregates them here.
pub(super) async fn may_edit(client: &Client, namespace: &str) -> Result<()> {
    for role in ["system:aggregate-to-edit", "system:aggregate-to-view", ROLE] {
        let binding: RoleBinding = serde_json::from_value(json!({
            "metadata": {"name": role.replace(':', "-")},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}],
        }))?;
        let bindings = Api::<RoleBinding>::namespaced(client.clone(), namespace);
        bindings.create(&PostParams::default(), &binding).await?;
    }
    Ok(())
}
