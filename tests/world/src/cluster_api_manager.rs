//! Who looks after Machines of Cluster API and evaluates their MachineHealthChecks: its core manager itself
//! where `CLUSTER_API_MANAGER` names it, or else a script that does what it does.
//! Source: cluster-api `core/reconcilers/{machine,machinehealthcheck}`, `controllers/external/util.go`.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::await_condition;
use harness::kubelet::{NodeTemplate, ScriptedKubelet};
use harness::process::ChildDaemon;
use harness::{Cluster, Cursor};
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use remediator_api::PowerCycleRemediation;
use serde_json::{Value, json};

use super::upstream::{self, ServiceAccount, Upstream};
use super::{
    HostOptions, World, WorldHost, cluster_api, cluster_api_objects as objects, escalation, install,
    metal3_provider, pool,
};

const VARIABLE: &str = "CLUSTER_API_MANAGER";
const ACCOUNT: ServiceAccount = ServiceAccount {
    namespace: "capi-system",
    name: "capi-manager",
};
/// Its own role and the one that takes up those of others, under the names that its kustomization starts from.
const ROLE: &str = "manager-role";
const AGGREGATED: &str = "aggregated-manager-role";
/// It looks at a health check at most once in 15 s.
const NOTICED_WITHIN: Duration = Duration::from_secs(90);

/// The real one, where there is one.
pub struct Manager(Option<ChildDaemon>);

/// The manager, as one world sees it.
pub struct ClusterApiManager<'a> {
    world: &'a World,
    real: Arc<Manager>,
    since: Cursor,
    provider: Provider,
    /// The Node of the control plane, which makes the Cluster count as initialized.
    _control_plane: ScriptedKubelet,
}

/// Who provides the hosts of Machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// They are simply there.
    Hosts,
    /// cluster-api-provider-metal3, by BareMetalHosts that it has taken.
    Metal3,
}

/// The same of a host that only a BareMetalHost describes.
pub fn metal3_host() -> HostOptions {
    HostOptions {
        endpoint: Box::new(|_| Value::Null),
        node: Box::new(|mut node| {
            let machine = node.machine.take().unwrap_or_default();
            let (namespace, name) = machine.split_once('/').unwrap_or_default();
            let provider_id = Some(metal3_provider::provider_id(namespace, name));
            NodeTemplate { provider_id, ..node }
        }),
        ..host()
    }
}

/// A host whose Node has a providerID, by which the manager finds it. Its Machine is made later.
pub fn host() -> HostOptions {
    HostOptions {
        machine: Box::new(|_| Value::Null),
        node: Box::new(|node| NodeTemplate {
            machine: None,
            provider_id: Some(objects::provider_id(&node.name)),
            ..node
        }),
        ..HostOptions::default()
    }
}

/// Prepares the cluster, before there is a world, and starts the real one; it serves the whole cluster.
pub async fn prepare(cluster: &Cluster) -> Result<Arc<Manager>> {
    pool::share(cluster, async || Ok(Manager(start(cluster).await?))).await
}

async fn start(cluster: &Cluster) -> Result<Option<ChildDaemon>> {
    let infrastructure = install::repository().join("tests/upstream/infrastructure.yaml");
    cluster.install_crds_from(infrastructure).await?;
    let Some(program) = Upstream::named(VARIABLE)? else {
        return Ok(None);
    };
    program.install(cluster).await?;
    for role in [ROLE, AGGREGATED] {
        program.bind(cluster, role, ACCOUNT).await?;
    }
    upstream::aggregated(cluster, AGGREGATED).await?;
    let certificates = program.with_webhook_certificate()?;
    let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
    let arguments = [
        "--diagnostics-address=0".to_owned(),
        "--insecure-diagnostics".to_owned(),
        "--health-addr=0".to_owned(),
        format!("--webhook-port={port}"),
        format!(
            "--webhook-cert-dir={}/k8s-webhook-server/serving-certs",
            certificates.display()
        ),
        // There is nothing of older versions in this cluster.
        "--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields".to_owned(),
        "--v=4".to_owned(),
    ];
    Ok(Some(program.start(cluster, ACCOUNT, &arguments, &[])?))
}

impl<'a> ClusterApiManager<'a> {
    /// Makes the world's hosts into Machines of one Cluster, whose Nodes are in `nodes`, and waits until each
    /// knows its Node.
    pub async fn manages(world: &'a World, nodes: &Cluster) -> Result<Self> {
        Self::manages_of(Provider::Hosts, world, nodes).await
    }

    /// The same of hosts by this provider.
    pub async fn manages_of(provider: Provider, world: &'a World, nodes: &Cluster) -> Result<Self> {
        let real = prepare(&world.cluster).await?;
        let since = world.cluster.audit_cursor()?;
        let first = format!("{}-control-plane", world.prefix);
        let mut template = NodeTemplate::new(&first);
        template.provider_id = Some(objects::provider_id(&first));
        let control_plane = ScriptedKubelet::start(world.nodes.clone(), template).await?;
        let this = Self {
            world,
            real,
            since,
            provider,
            _control_plane: control_plane,
        };
        this.create_cluster(nodes).await?;
        this.create_machine(&first, true).await?;
        for host in &world.hosts {
            this.create_machine(&host.name, false).await?;
        }
        Ok(this)
    }

    async fn create_cluster(&self, nodes: &Cluster) -> Result<()> {
        cluster_api::connect(self.world, objects::CLUSTER, nodes).await?;
        let infrastructure = objects::host_cluster();
        self.create_infrastructure(objects::HOST_CLUSTERS, infrastructure, objects::CLUSTER)
            .await?;
        self.create(objects::CLUSTERS, objects::cluster()).await?;
        if self.real.0.is_none() {
            let status = json!({
                "initialization": {"infrastructureProvisioned": true, "controlPlaneInitialized": true},
                "conditions": [objects::is_true("InfrastructureReady"), objects::is_true("ControlPlaneInitialized")],
            });
            self.write_status(objects::CLUSTERS, objects::CLUSTER, status)
                .await?;
        }
        Ok(())
    }

    /// What a provider has already provided.
    async fn create_infrastructure(&self, kind: objects::Kind, object: Value, name: &str) -> Result<()> {
        self.create(kind, object).await?;
        let provisioned = json!({"initialization": {"provisioned": true}});
        self.write_status(kind, name, provisioned).await
    }

    async fn create_machine(&self, name: &str, control_plane: bool) -> Result<()> {
        let provider_id = self.provide(name, control_plane).await?;
        if self.real.0.is_none() {
            return self.give_node(name, &provider_id).await;
        }
        let has_node = |machine: Option<&DynamicObject>| {
            let node = machine.and_then(|machine| machine.data.pointer("/status/nodeRef/name"));
            node.is_some_and(|node| node == name)
        };
        let machines = objects::api(self.world, objects::MACHINES);
        self.until(
            "gives the Machine its Node",
            await_condition(machines, name, has_node),
        )
        .await??;
        Ok(())
    }

    /// Creates a Machine and what its provider has provided for it; answers the providerID.
    async fn provide(&self, name: &str, control_plane: bool) -> Result<String> {
        let by = if control_plane {
            Provider::Hosts
        } else {
            self.provider
        };
        let (kind, on, provider_id) = match by {
            Provider::Hosts => {
                self.create_infrastructure(objects::HOST_MACHINES, objects::host_machine(name), name)
                    .await?;
                ("HostMachine", name.to_owned(), objects::provider_id(name))
            }
            Provider::Metal3 => {
                let id = metal3_provider::provider_id(&self.world.namespace, name);
                metal3_provider::create_metal3_machine(self.world, name, json!(id)).await?;
                (objects::METAL3_MACHINE, metal3_provider::metal3_machine(name), id)
            }
        };
        let machine = objects::machine(name, (kind, &on), control_plane);
        self.create(objects::MACHINES, machine).await?;
        Ok(provider_id)
    }

    /// What the manager writes when a Node with the providerID is there.
    async fn give_node(&self, name: &str, provider_id: &str) -> Result<()> {
        let spec = json!({"spec": {"providerID": provider_id}});
        objects::api(self.world, objects::MACHINES)
            .patch(name, &PatchParams::default(), &Patch::Merge(spec))
            .await?;
        let status = json!({
            "nodeRef": {"name": name}, "phase": "Running",
            "initialization": {"infrastructureProvisioned": true, "bootstrapDataSecretCreated": true},
        });
        self.write_status(objects::MACHINES, name, status).await?;
        let annotations = json!({"metadata": {"annotations": {
            "cluster.x-k8s.io/cluster-name": objects::CLUSTER,
            "cluster.x-k8s.io/cluster-namespace": self.world.namespace,
            "cluster.x-k8s.io/machine": name,
        }}});
        Api::<Node>::all(self.world.nodes.clone())
            .patch(name, &PatchParams::default(), &Patch::Merge(annotations))
            .await?;
        Ok(())
    }

    /// Creates a health check of the workers that clones a template, with this limit.
    pub async fn checks(&self, template: &str, limit: &str) -> Result<()> {
        self.create(objects::HEALTH_CHECKS, objects::health_check(template, limit))
            .await
    }

    /// Waits until there is a request for the Machine of an unhealthy host, made from this template.
    pub async fn asks(&self, host: &WorldHost, template: &Value) -> Result<PowerCycleRemediation> {
        let requests = self.world.remediations();
        if self.real.0.is_none() {
            return cluster_api::request(self.world, host, template).await;
        }
        let exists = |request: Option<&PowerCycleRemediation>| request.is_some();
        let made = await_condition(requests, &host.name, exists);
        let made = self.until("asks for a remediation", made).await??;
        made.context("the request vanished")
    }

    /// Waits until the Machine of a host says that somebody else is to remediate it.
    pub async fn leaves_it_to_us(&self, host: &WorldHost) -> Result<()> {
        if self.real.0.is_none() {
            let waiting = json!({"conditions": [objects::waits_for_us()]});
            return self.write_status(objects::MACHINES, &host.name, waiting).await;
        }
        let machines = objects::api(self.world, objects::MACHINES);
        let says = |machine: Option<&DynamicObject>| machine.is_some_and(waits_for_us);
        self.until(
            "waits for the remediation",
            await_condition(machines, &host.name, says),
        )
        .await??;
        Ok(())
    }

    /// Waits until the Machine of a host says that no more. The part of the manager is over with the request.
    pub async fn waits_no_more(&self, host: &WorldHost) -> Result<()> {
        let machines = objects::api(self.world, objects::MACHINES);
        let says = |machine: Option<&DynamicObject>| machine.is_some_and(|machine| !waits_for_us(machine));
        let wait = await_condition(machines, &host.name, says);
        let waited = tokio::time::timeout(NOTICED_WITHIN, wait).await;
        waited.context("the Machine still waits for a remediation")??;
        Ok(())
    }

    /// Waits until the health check says whether remediation is allowed, and of how many healthy Machines.
    pub async fn allows(&self, allowed: bool, healthy: u64) -> Result<()> {
        let status = if allowed { "True" } else { "False" };
        if self.real.0.is_none() {
            let condition = objects::condition("RemediationAllowed", status, "Counted");
            let written = json!({"currentHealthy": healthy, "conditions": [condition]});
            return self
                .write_status(objects::HEALTH_CHECKS, objects::CHECK, written)
                .await;
        }
        let says = |check: Option<&DynamicObject>| {
            let at = |pointer: &str| check.and_then(|check| check.data.pointer(pointer));
            let conditions = at("/status/conditions").and_then(Value::as_array);
            let says = conditions.is_some_and(|conditions| {
                conditions
                    .iter()
                    .any(|one| one["type"] == "RemediationAllowed" && one["status"] == status)
            });
            says && at("/status/currentHealthy").and_then(Value::as_u64) == Some(healthy)
        };
        let checks = objects::api(self.world, objects::HEALTH_CHECKS);
        self.until(
            "counts the Machines",
            await_condition(checks, objects::CHECK, says),
        )
        .await??;
        Ok(())
    }

    /// Waits until the request for a host whose Node is Ready again is gone.
    pub async fn takes_back(&self, host: &WorldHost) -> Result<()> {
        if self.real.0.is_none() {
            super::objects::node_becomes(self.world, &host.name, "True").await?;
            self.world.take_back(&host.name).await?;
        }
        self.world.remediation_gone(&host.name, NOTICED_WITHIN).await
    }

    /// Waits until the MachineSet of a host whose remediation has failed replaces its Machine, as it was asked to.
    /// Source: cluster-api `core/reconcilers/machineset/machineset_controller.go`, `reconcileUnhealthyMachines`.
    pub async fn replaces(&self, host: &WorldHost) -> Result<()> {
        let machines = objects::api(self.world, objects::MACHINES);
        if self.real.0.is_none() {
            escalation::health_check_failed(self.world, host).await?;
            let is_asked = |machine: Option<&DynamicObject>| {
                let conditions = machine.map(|machine| escalation::conditions(machine, "/status/conditions"));
                conditions.is_some_and(|conditions| {
                    conditions
                        .iter()
                        .any(|one| one["type"] == "OwnerRemediated" && one["status"] == "False")
                })
            };
            let asked = await_condition(machines.clone(), &host.name, is_asked);
            self.until("is asked to replace a Machine", asked).await??;
            machines.delete(&host.name, &DeleteParams::default()).await?;
        }
        let goes = |machine: Option<&DynamicObject>| {
            machine.is_none_or(|machine| machine.metadata.deletion_timestamp.is_some())
        };
        let replaced = await_condition(machines, &host.name, goes);
        self.until("replaces the Machine", replaced).await??;
        Ok(())
    }

    /// What it was forbidden in the group of our kinds.
    pub async fn forbidden(&self) -> Result<Vec<String>> {
        upstream::forbidden(self.world, ACCOUNT, self.since).await
    }

    async fn create(&self, kind: objects::Kind, object: Value) -> Result<()> {
        objects::api(self.world, kind)
            .create(&PostParams::default(), &serde_json::from_value(object)?)
            .await?;
        Ok(())
    }

    async fn write_status(&self, kind: objects::Kind, name: &str, status: Value) -> Result<()> {
        let patch = Patch::Merge(json!({ "status": status }));
        objects::api(self.world, kind)
            .patch_status(name, &PatchParams::default(), &patch)
            .await?;
        Ok(())
    }

    async fn until<T>(&self, what: &str, wait: impl Future<Output = T>) -> Result<T> {
        let log = self
            .real
            .0
            .as_ref()
            .map(|real| real.log_path().display().to_string());
        tokio::time::timeout(NOTICED_WITHIN, wait).await.with_context(|| {
            format!("no sign within {NOTICED_WITHIN:?} that the manager of Cluster API {what}; see {log:?}")
        })
    }
}

/// Whether a Machine says that somebody else is to remediate it.
fn waits_for_us(machine: &DynamicObject) -> bool {
    let wanted = objects::waits_for_us();
    escalation::conditions(machine, "/status/conditions")
        .iter()
        .any(|one| {
            ["type", "status", "reason"]
                .iter()
                .all(|key| one.get(key) == wanted.get(key))
        })
}
