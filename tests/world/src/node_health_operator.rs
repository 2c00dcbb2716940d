//! Who evaluates NodeHealthChecks: medik8s' node-healthcheck-operator itself where
//! `NODE_HEALTHCHECK_OPERATOR` names it, or else a script that does what it does.
//! Source: medik8s/node-healthcheck-operator `internal/controller/nodehealthcheck_controller.go`,
//! `internal/controller/resources/{manager,lease}.go`, medik8s/common `pkg/lease/manager.go`.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use futures::StreamExt as _;
use harness::await_condition;
use harness::process::ChildDaemon;
use harness::{Cluster, Cursor};
use k8s_openapi::api::coordination::v1::Lease;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use remediator_api::{PowerCycleRemediation, keys};
use serde_json::{Value, json};

use super::node_health::{NodeHealthCheck, node_health_checks};
use super::upstream::{self, ServiceAccount, Upstream};
use super::{World, WorldHost, ensure_namespace, node_lease, objects, pool};

const VARIABLE: &str = "NODE_HEALTHCHECK_OPERATOR";
const ACCOUNT: ServiceAccount = ServiceAccount {
    namespace: "openshift-workload-availability",
    name: "node-healthcheck-controller-manager",
};
/// Its own role, under the name that its kustomization starts from.
const ROLE: &str = "manager-role";
/// The role that takes up those of remediators; the operator makes it.
const AGGREGATED: &str = "node-healthcheck-operator-aggregation";
const LEASES: &str = "medik8s-leases";
/// Longer than the shortest step of a ladder, which is a minute.
const NOTICED_WITHIN: Duration = Duration::from_secs(90);

/// The real one, where there is one.
pub struct Operator(Option<ChildDaemon>);

/// The operator, as one world sees it.
pub struct NodeHealthOperator<'a> {
    world: &'a World,
    check: NodeHealthCheck,
    real: Arc<Operator>,
    since: Cursor,
}

/// Prepares the cluster, before there is a world, and starts the real one; it serves the whole cluster.
pub async fn prepare(cluster: &Cluster) -> Result<Arc<Operator>> {
    pool::share(cluster, async || Ok(Operator(start(cluster).await?))).await
}

async fn start(cluster: &Cluster) -> Result<Option<ChildDaemon>> {
    let client = cluster.client().await?;
    node_lease::agree_by_leases(&client).await?;
    let Some(program) = Upstream::named(VARIABLE)? else {
        return Ok(None);
    };
    program.install(cluster).await?;
    program.bind(cluster, ROLE, ACCOUNT).await?;
    ensure_namespace(&client, ACCOUNT.namespace).await?;
    let arguments = [
        "--leader-elect=false",
        "--metrics-bind-address=0",
        "--health-probe-bind-address=0",
    ];
    // It serves its webhooks whether they are registered or not, and looks for the certificate there.
    let temporary = program.with_webhook_certificate()?;
    let environment = [
        ("DEPLOYMENT_NAMESPACE", ACCOUNT.namespace.into()),
        ("TMPDIR", temporary.into_os_string()),
    ];
    let real = program.start(cluster, ACCOUNT, &arguments.map(str::to_owned), &environment)?;
    upstream::aggregated(cluster, AGGREGATED)
        .await
        .with_context(|| format!("see {}", real.log_path().display()))?;
    Ok(Some(real))
}

impl<'a> NodeHealthOperator<'a> {
    /// Creates a NodeHealthCheck of the world's Nodes that cannot tell the operator to pause; `remediation`
    /// are the fields that name templates, `min_healthy` is the limit.
    pub async fn checks(world: &'a World, min_healthy: &str, remediation: Value) -> Result<Self> {
        let names: Vec<&str> = world.hosts.iter().map(|host| host.name.as_str()).collect();
        let mut spec = json!({
            "selector": {"matchExpressions": [
                {"key": "kubernetes.io/hostname", "operator": "In", "values": names},
            ]},
            "minHealthy": min_healthy,
            "unhealthyConditions": super::node_health::not_ready(),
        });
        if let (Some(all), Value::Object(fields)) = (spec.as_object_mut(), remediation) {
            all.extend(fields);
        }
        Ok(Self {
            world,
            since: world.cluster.audit_cursor()?,
            real: prepare(&world.cluster).await?,
            check: NodeHealthCheck::with(world, spec).await?,
        })
    }

    /// Waits until there is a request for the Node of an unhealthy host, made from this template; answers
    /// its name, and that nobody else holds the Node's Lease.
    pub async fn asks(&self, host: &WorldHost, template: &Value) -> Result<String> {
        if self.real.0.is_none() {
            self.take_lease(host).await?;
            let request = self.check.request(self.world, host, template)?;
            let made = self
                .world
                .remediations()
                .create(&PostParams::default(), &request)
                .await?;
            self.notes(host, &made).await?;
            return Ok(made.name_any());
        }
        let of = |request: &PowerCycleRemediation| {
            let says = |key: &str| request.annotations().get(key).map(String::as_str);
            says(keys::CHECKED_NODE_ANNOTATION) == Some(&host.name)
                && says("remediation.medik8s.io/template-name")
                    == template.pointer("/metadata/name").and_then(Value::as_str)
        };
        let requests = watcher(self.world.remediations(), watcher::Config::default())
            .default_backoff()
            .applied_objects()
            .filter_map(|request| std::future::ready(request.ok().filter(of)));
        let mut requests = std::pin::pin!(requests);
        let made = self.until("asks for a remediation", requests.next()).await?;
        Ok(made.context("the watch ended")?.name_any())
    }

    /// Waits until a request is told that its time is over.
    pub async fn tells_to_stop(&self, request: &str) -> Result<()> {
        let requests = self.world.remediations();
        if self.real.0.is_none() {
            let over =
                json!({"metadata": {"annotations": {keys::TIMED_OUT_ANNOTATION: jiff::Timestamp::now()}}});
            requests
                .patch(request, &PatchParams::default(), &Patch::Merge(over))
                .await?;
            return Ok(());
        }
        let told = |request: Option<&PowerCycleRemediation>| {
            request.is_some_and(|request| request.annotations().contains_key(keys::TIMED_OUT_ANNOTATION))
        };
        self.until(
            "tells the request to stop",
            await_condition(requests, request, told),
        )
        .await??;
        Ok(())
    }

    /// Waits until it counts the Node of a host as unhealthy.
    pub async fn counts_unhealthy(&self, host: &WorldHost) -> Result<()> {
        let checks = node_health_checks(self.world);
        if self.real.0.is_none() {
            let status = json!({"status": {"unhealthyNodes": [{"name": host.name}]}});
            checks
                .patch_status(&self.check.name, &PatchParams::default(), &Patch::Merge(status))
                .await?;
            return Ok(());
        }
        let counts = |check: Option<&DynamicObject>| {
            let nodes = check.and_then(|check| check.data.pointer("/status/unhealthyNodes")?.as_array());
            nodes.is_some_and(|nodes| nodes.iter().any(|node| node["name"] == host.name.as_str()))
        };
        self.until(
            "counts the Node as unhealthy",
            await_condition(checks, &self.check.name, counts),
        )
        .await??;
        Ok(())
    }

    /// Waits until it counts all Nodes as healthy.
    pub async fn counts_healthy(&self) -> Result<()> {
        if self.real.0.is_none() {
            return Ok(());
        }
        let all = u64::try_from(self.world.hosts.len())?;
        let counts = |check: Option<&DynamicObject>| {
            let counted = check.and_then(|check| check.data.pointer("/status/healthyNodes")?.as_u64());
            counted == Some(all)
        };
        let checks = node_health_checks(self.world);
        self.until(
            "counts all Nodes as healthy",
            await_condition(checks, &self.check.name, counts),
        )
        .await??;
        Ok(())
    }

    /// Waits until the requests for a host whose Node is Ready again are gone, and its Lease.
    pub async fn takes_back(&self, host: &WorldHost, requests: &[&str]) -> Result<()> {
        if self.real.0.is_none() {
            objects::node_becomes(self.world, &host.name, "True").await?;
            for request in requests {
                self.world.take_back(request).await?;
            }
        }
        for request in requests {
            self.world.remediation_gone(request, NOTICED_WITHIN).await?;
        }
        let (leases, lease) = (self.leases(), lease_of(host));
        if self.real.0.is_none() {
            leases.delete(&lease, &DeleteParams::default()).await?;
        }
        let gone = |lease: Option<&Lease>| lease.is_none();
        self.until("gives the Lease back", await_condition(leases, &lease, gone))
            .await??;
        Ok(())
    }

    /// Which requests for a host's Node stand in the status of the NodeHealthCheck.
    pub async fn noted(&self, host: &WorldHost) -> Result<Vec<String>> {
        let check = node_health_checks(self.world).get(&self.check.name).await?;
        let nodes = check
            .data
            .pointer("/status/unhealthyNodes")
            .and_then(Value::as_array);
        let of_host = nodes.and_then(|nodes| nodes.iter().find(|node| node["name"] == host.name.as_str()));
        let noted = of_host.and_then(|node| node["remediations"].as_array());
        let names = noted
            .into_iter()
            .flatten()
            .filter_map(|one| one.pointer("/resource/name")?.as_str());
        Ok(names.map(str::to_owned).collect())
    }

    /// Notes a request, but for one of a kind that is noted already.
    async fn notes(&self, host: &WorldHost, request: &PowerCycleRemediation) -> Result<()> {
        if !self.noted(host).await?.is_empty() {
            return Ok(());
        }
        let resource = json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
            "name": request.name_any(), "namespace": request.namespace(), "uid": request.metadata.uid,
        });
        let noted = json!([{"resource": resource, "started": format!("{:.0}", jiff::Timestamp::now())}]);
        let status = json!({"status": {"unhealthyNodes": [{"name": host.name, "remediations": noted}]}});
        node_health_checks(self.world)
            .patch_status(&self.check.name, &PatchParams::default(), &Patch::Merge(status))
            .await?;
        Ok(())
    }

    /// Who holds the medik8s Lease of a host's Node.
    pub async fn lease_holder(&self, host: &WorldHost) -> Result<Option<String>> {
        let lease = self.leases().get_opt(&lease_of(host)).await?;
        Ok(lease.and_then(|lease| lease.spec?.holder_identity))
    }

    /// What the holder is called.
    pub fn holder(&self) -> String {
        format!("NodeHealthCheck-{}", self.check.name)
    }

    /// What it was forbidden in the group of our kinds.
    pub async fn forbidden(&self) -> Result<Vec<String>> {
        upstream::forbidden(self.world, ACCOUNT, self.since).await
    }

    fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.world.client.clone(), LEASES)
    }

    async fn take_lease(&self, host: &WorldHost) -> Result<()> {
        let node = objects::node(self.world, &host.name).await?;
        let now = jiff::Timestamp::now();
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": lease_of(host), "namespace": LEASES, "ownerReferences": [
                {"apiVersion": "v1", "kind": "Node", "name": host.name, "uid": node.metadata.uid},
            ]},
            "spec": {
                "holderIdentity": self.holder(), "leaseDurationSeconds": 660, "leaseTransitions": 0,
                "acquireTime": format!("{now:.6}"), "renewTime": format!("{now:.6}"),
            },
        });
        super::install::apply(&self.leases(), lease).await
    }

    async fn until<T>(&self, what: &str, wait: impl Future<Output = T>) -> Result<T> {
        let log = self
            .real
            .0
            .as_ref()
            .map(|real| real.log_path().display().to_string());
        tokio::time::timeout(NOTICED_WITHIN, wait).await.with_context(|| {
            format!("no sign within {NOTICED_WITHIN:?} that node-healthcheck-operator {what}; see {log:?}")
        })
    }
}

/// Name of the medik8s Lease of a host's Node.
fn lease_of(host: &WorldHost) -> String {
    format!("node-{}", host.name)
}
