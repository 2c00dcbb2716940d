//! What deploy/ makes is taken by a real API server that admits no Pod but restricted ones, and gives the daemon the role
//! that all stories run with.
#![allow(clippy::indexing_slicing, reason = "a test that fails says so")]

use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::{Cluster, await_condition};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams, ValidationDirective};
use kube::core::{GroupVersionKind, TypeMeta};
use kube::discovery::{self, Scope};
use serde_json::{Value, json};
use world::install::SYSTEM;
use world::pool::{self, Setting};
use world::rendered::{find, kustomize, text};
use world::{conditions, ensure_namespace, read_documents, repository};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
// A Deployment makes Pods anew for as long as it is there.
static SETTING: Setting = Setting::alone("installation").spoiling();
const LONG: Duration = Duration::from_mins(2);
const NAME: &str = "baremetal-remediator";
const OVERLAYS: [&str; 3] = ["plain", "openshift", "cluster-api-metal3"];

/// As `kubectl apply --server-side` does it; a field that the server does not know is an error.
async fn apply(client: &Client, document: &Value) -> Result<()> {
    let types: TypeMeta = serde_json::from_value(document.clone())?;
    let (resource, capabilities) =
        discovery::pinned_kind(client, &GroupVersionKind::try_from(&types)?).await?;
    let namespace = text(document, "/metadata/namespace");
    let api: Api<DynamicObject> = match capabilities.scope {
        Scope::Cluster => Api::all_with(client.clone(), &resource),
        Scope::Namespaced => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    let parameters = PatchParams {
        field_validation: Some(ValidationDirective::Strict),
        ..PatchParams::apply("kubectl").force()
    };
    let name = text(document, "/metadata/name");
    api.patch(name, &parameters, &Patch::Apply(document))
        .await
        .with_context(|| format!("{} {namespace}/{name} is not taken", types.kind))?;
    Ok(())
}

/// The Roles and ClusterRoles that documents bind to the daemon.
fn bound_to_the_daemon(documents: &[Value]) -> Vec<String> {
    let is_daemon = |subject: &Value| {
        (text(subject, "/namespace"), text(subject, "/name")) == (SYSTEM, NAME)
            && text(subject, "/kind") == "ServiceAccount"
    };
    let binds = |one: &&Value| {
        one["subjects"]
            .as_array()
            .is_some_and(|all| all.iter().any(is_daemon))
    };
    let mut bound: Vec<String> = documents
        .iter()
        .filter(binds)
        .map(|one| {
            let (role, namespace) = (text(one, "/roleRef/name"), text(one, "/metadata/namespace"));
            format!("{namespace}/{role}")
        })
        .collect();
    bound.sort();
    bound
}

/// The role is the one that stories give the daemon, and there is no other but that for its Lease, and for Secrets where
/// an overlay knows where Machines are.
fn gives_the_role_of_the_stories(overlay: &str, documents: &[Value]) -> Result<()> {
    let shipped = read_documents(&repository().join("deploy/base/rbac.yaml"))?;
    let rules =
        |documents: &[Value]| Ok::<_, anyhow::Error>(find(documents, "ClusterRole", NAME)?["rules"].clone());
    assert_eq!(rules(documents)?, rules(&shipped)?, "{overlay}");
    let mut expected = vec![format!("/{NAME}"), format!("{SYSTEM}/{NAME}-leader-election")];
    if overlay == "openshift" {
        expected.push(format!("openshift-machine-api/{NAME}-bmc-credentials"));
    }
    assert_eq!(bound_to_the_daemon(documents), expected, "{overlay}");
    Ok(())
}

/// A Pod made from the template is taken; one that may become root is not.
async fn admits_its_pods_only(client: &Client, deployment: &Value) -> Result<()> {
    let pods = Api::<Pod>::namespaced(client.clone(), SYSTEM);
    let dry_run = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let mut pod = deployment["spec"]["template"].clone();
    pod["metadata"]["name"] = json!("from-the-template");
    let taken = pods
        .create(&dry_run, &serde_json::from_value(pod.clone())?)
        .await?;
    let spec = taken.spec.context("a Pod has a spec")?;
    let evicted = spec.tolerations.iter().flatten();
    let evicted = evicted.filter(|one| one.effect.as_deref() == Some("NoExecute"));
    let seconds: Vec<_> = evicted.map(|one| one.toleration_seconds).collect();
    assert_eq!(
        seconds,
        [Some(10), Some(10)],
        "nothing is added with the server's default of 300 s"
    );
    assert!(spec.priority > Some(1_000_000_000), "{:?}", spec.priority);

    let variants = [
        (
            "/spec/containers/0/securityContext",
            json!({"privileged": true, "allowPrivilegeEscalation": true}),
        ),
        ("/spec/securityContext", json!({"runAsNonRoot": false})),
        ("/spec", json!({"hostNetwork": true})),
    ];
    for (place, change) in variants {
        let mut varied = pod.clone();
        let changed = varied.pointer_mut(place).and_then(Value::as_object_mut);
        let what = change.to_string();
        changed
            .context(place)?
            .extend(change.as_object().cloned().into_iter().flatten());
        match pods.create(&dry_run, &serde_json::from_value(varied)?).await {
            Err(kube::Error::Api(status)) => {
                let refused = status.code == 403 && status.message.contains("PodSecurity \"restricted");
                assert!(refused, "{what}: {}", status.message);
            }
            other => anyhow::bail!("{what} is taken: {other:?}"),
        }
    }
    Ok(())
}

/// Whether a user of these groups may do something to one of our kinds.
async fn may(client: &Client, group: &str, verb: &str, resource: &str, namespace: &str) -> Result<bool> {
    let review: SubjectAccessReview = serde_json::from_value(json!({"spec": {
        "user": "somebody", "groups": [group],
        "resourceAttributes": {
            "group": "baremetal-remediator.io", "verb": verb, "resource": resource, "namespace": namespace,
        },
    }}))?;
    let review = Api::all(client.clone())
        .create(&PostParams::default(), &review)
        .await?;
    Ok(review.status.is_some_and(|status| status.allowed))
}

/// Binds a ClusterRole in the namespace of Machines to the group of its name.
async fn bind(client: &Client, namespace: &str, role: &str) -> Result<()> {
    let rbac = "rbac.authorization.k8s.io";
    let binding = json!({
        "apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding",
        "metadata": {"name": role, "namespace": namespace},
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": rbac, "kind": "Group", "name": role}],
    });
    apply(client, &binding).await
}

/// Whoever edits or administers a namespace sees our kinds there, and has no power over hosts by that.
async fn gives_power_over_hosts_to_none_by_default(client: &Client) -> Result<()> {
    let namespace = "openshift-machine-api";
    let [requests, endpoints, policies] = ["powercycleremediations", "bmcendpoints", "remediationpolicies"];
    let roles = [
        "view",
        "edit",
        "admin",
        &format!("{NAME}-edit"),
        &format!("{NAME}-admin"),
    ];
    for role in roles {
        bind(client, namespace, role).await?;
    }
    // Built-in roles are aggregated a moment later.
    let aggregated = async {
        while !may(client, "admin", "list", requests, namespace).await? {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(LONG, aggregated)
        .await
        .context("nothing is aggregated to admin")??;
    for role in roles {
        let [asks, points, limits, confirms, writes] = [
            may(client, role, "create", requests, namespace).await?,
            may(client, role, "create", endpoints, namespace).await?,
            may(client, role, "patch", policies, "").await?,
            may(client, role, "confirm-off", requests, namespace).await?,
            may(client, role, "update", "powercycleremediations/status", namespace).await?,
        ];
        let ours = role.starts_with(NAME);
        let expected = [ours, ours && role.ends_with("admin"), false, false, false];
        assert_eq!([asks, points, limits, confirms, writes], expected, "{role}");
        assert!(may(client, role, "list", requests, namespace).await?, "{role}");
    }
    Ok(())
}

/// The Deployment gets its Pods. None becomes ready, for there is no Node, so another template is not rolled out to the end.
async fn makes_its_pods(client: &Client) -> Result<()> {
    let deployments = Api::<Deployment>::namespaced(client.clone(), SYSTEM);
    let has_both = |deployment: Option<&Deployment>| {
        let status = deployment.and_then(|one| one.status.as_ref());
        status.is_some_and(|status| status.replicas == Some(2))
    };
    tokio::time::timeout(LONG, await_condition(deployments, NAME, has_both))
        .await
        .context("the Deployment has no two Pods")??;
    Ok(())
}

/// The daemon leads, and lacks no rule.
async fn runs_with_its_role(cluster: &Cluster, client: &Client) -> Result<()> {
    world::set_policy(client, world::daemon::permissive_policy()).await?;
    let daemon = world::daemon::start_replica(cluster, DAEMON, "installed")?;
    let complete = |one: &Condition| one.status == "True";
    conditions::until(
        world::daemon::policies(client),
        "default",
        "RoleComplete",
        LONG,
        complete,
    )
    .await?;
    daemon.stop(LONG).await?;
    Ok(())
}

#[tokio::test]
async fn each_overlay_is_taken_and_the_daemon_runs_with_its_role() -> world::Outcome {
    let cluster = &pool::lease(&SETTING).await?;
    let client = &cluster.client().await?;
    ensure_namespace(client, "openshift-machine-api").await?;
    ensure_namespace(client, "medik8s-leases").await?;
    for overlay in OVERLAYS {
        let documents = kustomize(format!("deploy/overlays/{overlay}"))?;
        for document in &documents {
            apply(client, document)
                .await
                .with_context(|| overlay.to_owned())?;
        }
        gives_the_role_of_the_stories(overlay, &documents)?;
        admits_its_pods_only(client, find(&documents, "Deployment", NAME)?)
            .await
            .with_context(|| overlay.to_owned())?;
    }
    for component in [
        "medik8s-leases",
        "network-policy",
        "node-deletion",
        "machine-deletion",
    ] {
        for document in kustomize(format!("deploy/components/{component}"))? {
            apply(client, &document).await?;
        }
    }
    makes_its_pods(client).await?;
    gives_power_over_hosts_to_none_by_default(client).await?;
    Ok(runs_with_its_role(cluster, client).await?)
}
