//! Installs what the daemon needs in a cluster: kinds, and the roles as they are shipped.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use harness::{Cluster, ForeignCrd};
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use remediator_api::RemediationPolicy;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

/// The role of whoever runs `plan`.
pub const PLAN: &str = "deploy/components/plan/rbac.yaml";
/// The namespace that deploy/base makes for the daemon.
pub const SYSTEM: &str = "baremetal-remediator-system";
const BASE: &str = "deploy/base/rbac.yaml";
pub(crate) const USUAL: [ForeignCrd; 4] = [
    ForeignCrd::OpenShift,
    ForeignCrd::Metal3,
    ForeignCrd::NodeHealthCheck,
    ForeignCrd::ClusterApi,
];

/// The usual, and Metal3Machines.
pub const WITH_METAL3_PROVIDER: [ForeignCrd; 5] = [
    ForeignCrd::OpenShift,
    ForeignCrd::Metal3,
    ForeignCrd::NodeHealthCheck,
    ForeignCrd::ClusterApi,
    ForeignCrd::Metal3Provider,
];

/// The repository's folder.
pub fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Installs the kinds of others, our own, and the daemon's role.
pub async fn install(cluster: &Cluster) -> Result<()> {
    install_with(cluster, &USUAL).await
}

/// The same with other kinds of others.
pub async fn install_with(cluster: &Cluster, foreign: &[ForeignCrd]) -> Result<()> {
    cluster.install_foreign_crds(foreign).await?;
    let crds = repository().join("deploy/crds");
    for kind in [
        "bmcendpoints",
        "powercycleremediations",
        "powercycleremediationtemplates",
        "remediationpolicies",
    ] {
        cluster
            .install_crds_from(crds.join(format!("{kind}.yaml")))
            .await?;
    }
    let client = cluster.client().await?;
    allow_the_base(&client).await
}

/// Lets the API server take every object of a kind, as if its definition were of another version. It does so a
/// moment later.
pub async fn loosen(client: &Client, definition: &str) -> Result<()> {
    let kinds = Api::<CustomResourceDefinition>::all(client.clone());
    let anything = json!([{
        "op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema",
        "value": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }]);
    let patch = Patch::Json::<()>(serde_json::from_value(anything)?);
    kinds.patch(definition, &PatchParams::default(), &patch).await?;
    Ok(())
}

/// What deploy/base gives the daemon.
pub async fn allow_the_base(client: &Client) -> Result<()> {
    apply_cluster_roles(client, BASE).await?;
    guard_confirmations(client).await
}

/// Lets the API server check who says that a host is off.
pub async fn guard_confirmations(client: &Client) -> Result<()> {
    for document in read_documents(&repository().join("deploy/base/confirm-off.yaml"))? {
        match document.get("kind").and_then(serde_json::Value::as_str) {
            Some("ValidatingAdmissionPolicy") => {
                apply(&Api::<ValidatingAdmissionPolicy>::all(client.clone()), document).await?;
            }
            _ => {
                let bindings = Api::<ValidatingAdmissionPolicyBinding>::all(client.clone());
                apply(&bindings, document).await?;
            }
        }
    }
    Ok(())
}

/// What deploy/base gives replicas of the daemon in their namespace.
pub async fn allow_leader_election(client: &Client) -> Result<()> {
    ensure_namespace(client, SYSTEM).await?;
    allow_leader_election_in(client, SYSTEM).await
}

/// The same in a namespace that is there, for replicas that see only a part of the cluster.
pub async fn allow_leader_election_in(client: &Client, namespace: &str) -> Result<()> {
    apply_roles(client, namespace, "deploy/base/leader-election.yaml").await?;
    // Given away by somebody before: a Lease that is not there is waited for, in case it was deleted under a leader.
    let name = json!({"name": "baremetal-remediator"});
    let free = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": name, "spec": {"holderIdentity": ""},
    });
    apply(&Api::<Lease>::namespaced(client.clone(), namespace), free).await
}

/// Takes the rule for a resource off the daemon's role, as if deploy/base were of an earlier version.
pub async fn allow_the_base_without(client: &Client, resource: &str) -> Result<()> {
    allow_the_base_but(client, "resources", resource).await
}

/// The same with all rules for an API group.
pub async fn allow_the_base_without_group(client: &Client, group: &str) -> Result<()> {
    allow_the_base_but(client, "apiGroups", group).await
}

async fn allow_the_base_but(client: &Client, field: &str, named: &str) -> Result<()> {
    let is_role = |document: &serde_json::Value| {
        let at = |pointer: &str| document.pointer(pointer).and_then(serde_json::Value::as_str);
        at("/kind") == Some("ClusterRole") && at("/metadata/name") == Some("baremetal-remediator")
    };
    let mut documents = read_documents(&repository().join(BASE))?.into_iter();
    let mut role = documents.find(is_role).context("no role in deploy/base")?;
    let rules = role.get_mut("rules").and_then(serde_json::Value::as_array_mut);
    let rules = rules.context("no rules in the role")?;
    let before = rules.len();
    let is_about = |rule: &serde_json::Value| {
        let list = rule.get(field).and_then(serde_json::Value::as_array);
        list.is_some_and(|list| list.iter().any(|one| one == named))
    };
    rules.retain(|rule| !is_about(rule));
    anyhow::ensure!(rules.len() < before, "no rule for {named}");
    apply(&Api::<ClusterRole>::all(client.clone()), role).await
}

/// What deploy/components/node-deletion gives the daemon.
pub async fn allow_node_deletion(client: &Client) -> Result<()> {
    apply_cluster_roles(client, "deploy/components/node-deletion/rbac.yaml").await
}

/// What deploy/components/machine-deletion gives the daemon.
pub async fn allow_machine_deletion(client: &Client) -> Result<()> {
    apply_cluster_roles(client, "deploy/components/machine-deletion/rbac.yaml").await
}

/// There is no policy.
pub async fn without_policy(client: &Client) -> Result<()> {
    let policies = Api::<RemediationPolicy>::all(client.clone());
    if policies.get_opt("default").await?.is_some() {
        policies.delete("default", &DeleteParams::default()).await?;
    }
    Ok(())
}

/// What deploy/components/plan gives whoever runs `plan`, and that this user has it.
pub async fn allow_planning(client: &Client, user: &str) -> Result<()> {
    apply_cluster_roles(client, PLAN).await?;
    let binding = serde_json::json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "baremetal-remediator-plan"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "baremetal-remediator-plan",
        },
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    });
    apply(&Api::<ClusterRoleBinding>::all(client.clone()), binding).await
}

/// What deploy/components/bmc-command has for whoever runs `bmc`, bound to nobody.
pub async fn ship_the_role_for_bmc(client: &Client) -> Result<()> {
    apply_cluster_roles(client, "deploy/components/bmc-command/rbac.yaml").await
}

async fn apply_cluster_roles(client: &Client, file: &str) -> Result<()> {
    for document in read_documents(&repository().join(file))? {
        match document.get("kind").and_then(serde_json::Value::as_str) {
            Some("ClusterRole") => apply(&Api::<ClusterRole>::all(client.clone()), document).await?,
            Some("ClusterRoleBinding") => {
                apply(&Api::<ClusterRoleBinding>::all(client.clone()), document).await?;
            }
            other => anyhow::bail!("{file} has a {other:?}, which this installer does not know"),
        }
    }
    Ok(())
}

/// What deploy/per-namespace/bmc-credentials gives the daemon in a namespace.
pub async fn allow_secrets(client: &Client, namespace: &str) -> Result<()> {
    apply_roles(
        client,
        namespace,
        "deploy/per-namespace/bmc-credentials/rbac.yaml",
    )
    .await
}

/// What deploy/per-namespace/bmc-secrets-held gives the daemon in a namespace.
pub async fn allow_holding_secrets(client: &Client, namespace: &str) -> Result<()> {
    apply_roles(
        client,
        namespace,
        "deploy/per-namespace/bmc-secrets-held/rbac.yaml",
    )
    .await
}

/// What a file gives the daemon in a namespace.
pub(super) async fn apply_roles(client: &Client, namespace: &str, file: &str) -> Result<()> {
    for mut document in read_documents(&repository().join(file))? {
        if let Some(named) = document.pointer_mut("/metadata/namespace") {
            *named = namespace.into();
        }
        match document.get("kind").and_then(serde_json::Value::as_str) {
            Some("Role") => apply(&Api::<Role>::namespaced(client.clone(), namespace), document).await?,
            Some("RoleBinding") => {
                apply(
                    &Api::<RoleBinding>::namespaced(client.clone(), namespace),
                    document,
                )
                .await?;
            }
            other => anyhow::bail!("{file} has a {other:?}, which this installer does not know"),
        }
    }
    Ok(())
}

/// Creates a namespace for the daemon's own objects, if there is none.
pub async fn ensure_namespace(client: &Client, name: &str) -> Result<()> {
    let namespaces = Api::<Namespace>::all(client.clone());
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": name}}))?;
    match namespaces.create(&PostParams::default(), &namespace).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        created => created.map(|_| ()).map_err(Into::into),
    }
}

pub fn read_documents(path: &Path) -> Result<Vec<serde_json::Value>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(serde_saphyr::from_multiple(&text)?)
}

pub(super) async fn apply<K>(api: &Api<K>, document: serde_json::Value) -> Result<()>
where
    K: Clone + DeserializeOwned + std::fmt::Debug + Serialize,
{
    let name = document
        .pointer("/metadata/name")
        .and_then(serde_json::Value::as_str)
        .context("no name")?
        .to_owned();
    api.patch(
        &name,
        &PatchParams::apply("world").force(),
        &Patch::Apply(document),
    )
    .await?;
    Ok(())
}
