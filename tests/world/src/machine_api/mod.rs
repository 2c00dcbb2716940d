//! Who evaluates the MachineHealthChecks of OpenShift: machine-api-operator's machine-healthcheck itself
//! where `MACHINE_HEALTHCHECK` names it, or else a script that does what it does.
//! Source: machine-api-operator `pkg/controller/machinehealthcheck/machinehealthcheck_controller.go`.

mod leader;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use harness::await_condition;
use harness::process::ChildDaemon;
use harness::{AUDITED_GROUP, Cursor};
use kube::ResourceExt as _;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use remediator_api::{PowerCycleRemediation, keys};
use serde_json::{Value, json};

use super::upstream::{self, ServiceAccount, Upstream};
use super::{World, WorldHost, objects, pool};

#[allow(unused_imports)]
pub use leader::Leader;

/// Name of the health check of these worlds.
pub const CHECK: &str = "workers";
const VARIABLE: &str = "MACHINE_HEALTHCHECK";
const ACCOUNT: ServiceAccount = ServiceAccount {
    namespace: "openshift-machine-api",
    name: "machine-api-controllers",
};
/// The role that takes up those of remediators.
const AGGREGATED: &str = "machine-api-operator-ext-remediation";
const NOTICED_WITHIN: Duration = Duration::from_mins(1);

/// One for each world: the real one is told to look at its namespace only.
pub struct MachineApi {
    real: Option<ChildDaemon>,
    since: Cursor,
}

impl MachineApi {
    /// Starts it for a world, after the definitions that it is shipped with are installed.
    pub async fn start(world: &World) -> Result<Self> {
        let since = world.cluster.audit_cursor()?;
        let Some(program) = &*prepared(world).await? else {
            return Ok(Self { real: None, since });
        };
        program.allow_in(&world.client, &world.namespace, ACCOUNT).await?;
        let arguments = [
            format!("--namespace={}", world.namespace),
            "--metrics-bind-address=0".to_owned(),
            "--health-addr=0".to_owned(),
            "--v=3".to_owned(),
        ];
        let real = program.start(&world.cluster, ACCOUNT, &arguments, &[])?;
        Ok(Self {
            real: Some(real),
            since,
        })
    }

    /// Waits until the Machine of an unhealthy host is marked.
    pub async fn marks(&self, world: &World, host: &WorldHost) -> Result<()> {
        if self.real.is_none() {
            // As the account of the real one, so that it is counted as the real one's marks are.
            let groups = [AUDITED_GROUP, "system:masters"];
            let client = world.cluster.client_as(&ACCOUNT.user(), &groups).await?;
            let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(
                "machine.openshift.io",
                "v1beta1",
                "Machine",
            ));
            let machines = Api::<DynamicObject>::namespaced_with(client, &world.namespace, &kind);
            let mark = Patch::Merge(json!({"metadata": {"annotations": {keys::TRIGGER_ANNOTATION: ""}}}));
            machines.patch(&host.name, &PatchParams::default(), &mark).await?;
            return Ok(());
        }
        let marked = |machine: Option<&DynamicObject>| {
            machine.is_some_and(|machine| machine.annotations().contains_key(keys::TRIGGER_ANNOTATION))
        };
        self.until(
            "marks the Machine",
            await_condition(objects::machines(world), &host.name, marked),
        )
        .await?;
        Ok(())
    }

    /// Waits until there is a request for the Machine of an unhealthy host, made from this template.
    pub async fn asks(
        &self,
        world: &World,
        host: &WorldHost,
        template: &Value,
    ) -> Result<PowerCycleRemediation> {
        if self.real.is_none() {
            let request = request(world, host, template).await?;
            return Ok(world
                .remediations()
                .create(&PostParams::default(), &request)
                .await?);
        }
        let exists = |request: Option<&PowerCycleRemediation>| request.is_some();
        let made = await_condition(world.remediations(), &host.name, exists);
        self.until("asks for a remediation", made)
            .await?
            .context("the request vanished")
    }

    /// Waits until the health check says whether remediation is allowed.
    pub async fn allows(&self, world: &World, allowed: bool) -> Result<()> {
        let status = if allowed { "True" } else { "False" };
        if self.real.is_none() {
            let reason = if allowed { "" } else { "TooManyUnhealthy" };
            let condition = json!({
                "type": "RemediationAllowed", "status": status, "reason": reason,
                "lastTransitionTime": jiff::Timestamp::now(),
            });
            return write_status(world, json!({"conditions": [condition]})).await;
        }
        let says = move |check: Option<&DynamicObject>| {
            let conditions = check.and_then(|check| check.data.pointer("/status/conditions")?.as_array());
            conditions.is_some_and(|conditions| {
                conditions
                    .iter()
                    .any(|one| one["type"] == "RemediationAllowed" && one["status"] == status)
            })
        };
        self.until(
            "says whether remediation is allowed",
            await_condition(objects::health_checks(world), CHECK, says),
        )
        .await?;
        Ok(())
    }

    /// Waits until as many Machines count as healthy. One with a trigger does not.
    pub async fn counts_healthy(&self, world: &World, wanted: usize) -> Result<()> {
        if self.real.is_none() {
            for host in &world.hosts {
                ensure!(
                    !objects::is_triggered(world, &host.name).await?,
                    "{} is triggered",
                    host.name
                );
            }
            return write_status(
                world,
                json!({"currentHealthy": wanted, "expectedMachines": wanted}),
            )
            .await;
        }
        let counts = move |check: Option<&DynamicObject>| {
            let counted = check.and_then(|check| check.data.pointer("/status/currentHealthy")?.as_u64());
            counted.and_then(|counted| usize::try_from(counted).ok()) == Some(wanted)
        };
        self.until(
            "counts the healthy Machines",
            await_condition(objects::health_checks(world), CHECK, counts),
        )
        .await?;
        Ok(())
    }

    /// Waits until the request for a host whose Node is Ready again is gone.
    pub async fn takes_back(&self, world: &World, host: &WorldHost) -> Result<()> {
        if self.real.is_none() {
            objects::node_becomes(world, &host.name, "True").await?;
            world
                .remediations()
                .delete(&host.name, &DeleteParams::default())
                .await?;
        }
        world.remediation_gone(&host.name, NOTICED_WITHIN).await
    }

    /// How often the Machine of a host was marked, whoever did it: this one, or the daemon.
    pub async fn marked(&self, world: &World, host: &WorldHost) -> Result<usize> {
        let mark = format!(
            "/metadata/annotations/{}",
            keys::TRIGGER_ANNOTATION.replace('/', "~1")
        );
        let (written, _) = world.cluster.audit_since(self.since).await?;
        let marks = written.iter().filter(|event| {
            let of_host = event.resource.resource == "machines" && event.resource.name == host.name;
            let marks = event
                .request_object
                .as_ref()
                .and_then(|body| body.pointer(&mark))
                .is_some_and(|mark| !mark.is_null());
            of_host && marks && event.response_code < 300
        });
        Ok(marks.count())
    }

    /// What it was forbidden in the group of our kinds.
    pub async fn forbidden(&self, world: &World) -> Result<Vec<String>> {
        upstream::forbidden(world, ACCOUNT, self.since).await
    }

    async fn until<T>(&self, what: &str, wait: impl Future<Output = Result<T>>) -> Result<T> {
        let log = self
            .real
            .as_ref()
            .map(|real| real.log_path().display().to_string());
        tokio::time::timeout(NOTICED_WITHIN, wait)
            .await
            .with_context(|| {
                format!("no sign within {NOTICED_WITHIN:?} that machine-healthcheck {what}; see {log:?}")
            })?
    }
}

/// The real one, once its definitions and roles are installed and the role that we ship has arrived.
async fn prepared(world: &World) -> Result<Arc<Option<Upstream>>> {
    let cluster = &world.cluster;
    pool::share(cluster, async || {
        let Some(program) = Upstream::named(VARIABLE)? else {
            return Ok(None);
        };
        program.install(cluster).await?;
        upstream::aggregated(cluster, AGGREGATED).await?;
        Ok(Some(program))
    })
    .await
}

/// A request as it is cloned from a template. Source: as above, and `pkg/util/external`.
async fn request(world: &World, host: &WorldHost, template: &Value) -> Result<PowerCycleRemediation> {
    let machine = objects::machines(world).get(&host.name).await?;
    let name = template.pointer("/metadata/name");
    Ok(serde_json::from_value(json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
        "metadata": {
            "name": host.name, "namespace": world.namespace,
            "annotations": {
                keys::CLONED_FROM_ANNOTATION: name,
                "machine.openshift.io/cloned-from-groupkind": "PowerCycleRemediationTemplate.baremetal-remediator.io",
            },
            "ownerReferences": [{
                "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
                "name": host.name, "uid": machine.metadata.uid,
            }],
        },
        "spec": template.pointer("/spec/template/spec"),
    }))?)
}

async fn write_status(world: &World, status: Value) -> Result<()> {
    objects::health_checks(world)
        .patch_status(
            CHECK,
            &PatchParams::default(),
            &Patch::Merge(json!({ "status": status })),
        )
        .await?;
    Ok(())
}
