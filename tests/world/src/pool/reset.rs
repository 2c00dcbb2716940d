//! Clears a control plane for the next stories. Namespaces with what is plain in them stay: the names of the next ones
//! are others.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use futures::future::try_join_all;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionSpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

use super::mount::Plane;
use crate::install;

/// How long everything may take to go.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(100);
/// Whose existence tells the daemon to take Leases of Nodes.
const MEDIK8S: &str = "medik8s-leases";
/// Where the control plane keeps Leases of its own.
const SYSTEM: &str = "kube-system";

/// What a new control plane has for the whole cluster.
pub(super) struct Original {
    roles: BTreeSet<String>,
    bindings: BTreeSet<String>,
    definitions: BTreeMap<String, CustomResourceDefinitionSpec>,
}

impl Original {
    pub(super) async fn of(cluster: &harness::Cluster) -> Result<Self> {
        let client = cluster.client().await?;
        let definitions = Api::<CustomResourceDefinition>::all(client.clone());
        let definitions = definitions.list(&ListParams::default()).await?;
        Ok(Self {
            roles: names(&Api::<ClusterRole>::all(client.clone())).await?,
            bindings: names(&Api::<ClusterRoleBinding>::all(client)).await?,
            definitions: definitions
                .into_iter()
                .map(|definition| (definition.name_any(), definition.spec))
                .collect(),
        })
    }
}

async fn names<K>(api: &Api<K>) -> Result<BTreeSet<String>>
where
    K: kube::Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let all = api.list_metadata(&ListParams::default()).await?;
    Ok(all.iter().map(kube::ResourceExt::name_any).collect())
}

/// Deletes what stories left behind, and gives the daemon the role that it is shipped with.
pub(super) async fn clear(plane: &Plane) -> Result<()> {
    let client = plane.control_plane.client().await?;
    if plane.control_plane.processes().is_empty() {
        // Somebody's own cluster: nothing but what the stories agree on is touched there.
        install::without_policy(&client).await?;
        return install::allow_the_base(&client).await;
    }
    let cleared = tokio::time::timeout(PATIENCE, async {
        let definitions = Api::<CustomResourceDefinition>::all(client.clone());
        let found = definitions.list(&ListParams::default()).await?.items;
        let kinds = found.iter().filter_map(kind);
        try_join_all(kinds.map(|kind| {
            empty(
                Api::all_with(client.clone(), &kind),
                namespaced(client.clone(), kind),
            )
        }))
        .await?;
        restore_definitions(&client, &plane.original, found).await?;
        restore_roles(&client, &plane.original).await?;
        delete_plain(&client).await
    });
    cleared.await.context("what stories left behind does not go")?
}

/// A kind in the first version that is served.
fn kind(definition: &CustomResourceDefinition) -> Option<ApiResource> {
    let (spec, mut versions) = (&definition.spec, definition.spec.versions.iter());
    let version = versions.find(|version| version.served)?;
    let kind = GroupVersionKind::gvk(&spec.group, &version.name, &spec.names.kind);
    Some(ApiResource::from_gvk_with_plural(&kind, &spec.names.plural))
}

/// The objects of a kind that are where this one is.
fn namespaced(client: Client, kind: ApiResource) -> impl Fn(&DynamicObject) -> Api<DynamicObject> {
    move |object| match object.namespace() {
        Some(namespace) => Api::namespaced_with(client.clone(), &namespace, &kind),
        None => Api::all_with(client.clone(), &kind),
    }
}

/// Deletes all objects, whoever waits for a finalizer, until there are none.
async fn empty(all: Api<DynamicObject>, place: impl Fn(&DynamicObject) -> Api<DynamicObject>) -> Result<()> {
    loop {
        let left = all.list_metadata(&ListParams::default()).await?.items;
        if left.is_empty() {
            return Ok(());
        }
        for one in left {
            let mut object = DynamicObject::new("", &ApiResource::erase::<Pod>(&()));
            object.metadata = one.metadata;
            let (api, name) = (place(&object), object.name_any());
            if !object.finalizers().is_empty() {
                let none = Patch::Merge(json!({"metadata": {"finalizers": null}}));
                unless_gone(api.patch_metadata(&name, &PatchParams::default(), &none).await)?;
            }
            unless_gone(api.delete(&name, &DeleteParams::default().grace_period(0)).await)?;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn unless_gone<T>(outcome: kube::Result<T>) -> Result<()> {
    match outcome {
        Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
        other => Ok(other.map(drop)?),
    }
}

/// Takes away the definitions that stories added, and puts back what they changed of the others. Of neither kind is
/// there an object any more.
async fn restore_definitions(
    client: &Client,
    original: &Original,
    found: Vec<CustomResourceDefinition>,
) -> Result<()> {
    let definitions = Api::<CustomResourceDefinition>::all(client.clone());
    let mut missing: BTreeSet<&String> = original.definitions.keys().collect();
    for definition in found {
        let name = definition.name_any();
        missing.remove(&name);
        match original.definitions.get(&name) {
            Some(spec) if *spec == definition.spec => {}
            Some(spec) => restore_definition(client, definition, spec)
                .await
                .with_context(|| format!("{name} does not become what it was"))?,
            None => {
                unless_gone(definitions.delete(&name, &DeleteParams::default()).await)?;
                while definitions.get_metadata_opt(&name).await?.is_some() {
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }
    if let Some(name) = missing.first() {
        bail!("{name} was deleted by a story that did not say so");
    }
    Ok(())
}

/// The server goes by the new definition a moment later, and tells so by what it publishes of the kind's schema.
async fn restore_definition(
    client: &Client,
    changed: CustomResourceDefinition,
    spec: &CustomResourceDefinitionSpec,
) -> Result<()> {
    let before = published(client, spec).await?;
    let definitions = Api::<CustomResourceDefinition>::all(client.clone());
    let restored = CustomResourceDefinition {
        metadata: ObjectMeta {
            managed_fields: None,
            ..changed.metadata.clone()
        },
        spec: spec.clone(),
        status: None,
    };
    definitions
        .replace(&changed.name_any(), &PostParams::default(), &restored)
        .await?;
    while published(client, spec).await? == before {
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

/// The hashes of the schemas that the server publishes of a kind's group.
async fn published(client: &Client, spec: &CustomResourceDefinitionSpec) -> Result<BTreeMap<String, Value>> {
    let request = http::Request::get("/openapi/v3").body(Vec::new())?;
    let mut index: Value = client.request(request).await?;
    let paths = index.get_mut("paths").and_then(Value::as_object_mut);
    let paths = std::mem::take(paths.context("the index of schemas has no paths")?);
    let group = format!("apis/{}/", spec.group);
    Ok(paths
        .into_iter()
        .filter(|(path, _)| path.starts_with(&group))
        .collect())
}

async fn restore_roles(client: &Client, original: &Original) -> Result<()> {
    let roles = Api::<ClusterRole>::all(client.clone());
    for added in names(&roles).await?.difference(&original.roles) {
        unless_gone(roles.delete(added, &DeleteParams::default()).await)?;
    }
    let bindings = Api::<ClusterRoleBinding>::all(client.clone());
    for added in names(&bindings).await?.difference(&original.bindings) {
        unless_gone(bindings.delete(added, &DeleteParams::default()).await)?;
    }
    install::allow_the_base(client).await
}

/// Pods, Nodes, Leases, and the namespace that tells something by being there.
async fn delete_plain(client: &Client) -> Result<()> {
    for kind in [
        ApiResource::erase::<Pod>(&()),
        ApiResource::erase::<Node>(&()),
        ApiResource::erase::<Lease>(&()),
    ] {
        let is_lease = kind.kind == "Lease";
        let all: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
        let place = namespaced(client.clone(), kind);
        if is_lease {
            let leases = all.list_metadata(&ListParams::default()).await?;
            for lease in leases
                .iter()
                .filter(|lease| lease.namespace().as_deref() != Some(SYSTEM))
            {
                let mut object = DynamicObject::new("", &ApiResource::erase::<Lease>(&()));
                object.metadata = lease.metadata.clone();
                unless_gone(
                    place(&object)
                        .delete(&lease.name_any(), &DeleteParams::default())
                        .await,
                )?;
            }
        } else {
            empty(all, place).await?;
        }
    }
    let namespaces = Api::<Namespace>::all(client.clone());
    while namespaces.get_opt(MEDIK8S).await?.is_some() {
        unless_gone(namespaces.delete(MEDIK8S, &DeleteParams::default()).await)?;
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}
