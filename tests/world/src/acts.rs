//! What happens to a world: Nodes fall silent, remediations are asked for, people interfere.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::{Event, Fault, IpmiFault, RequestClass};
use harness::await_condition;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use remediator_api::{PowerCycleRemediation, PowerCycleRemediationTemplate, keys};
use remediator_bmc::Protocol;
use remediator_core::phase::Phase;
use serde_json::{Value, json};

use super::{World, WorldHost, objects};

/// Deadlines short enough to see an attempt fail, and only one attempt.
pub fn hasty() -> Value {
    json!({
        "deadlines": {"pending": "60s", "powerOff": "10s", "fencing": "60s", "powerOn": "10s", "boot": "30s"},
        "retries": {"attempts": 1},
    })
}

/// One attempt, and time enough for it on a machine that is busy with other things.
pub fn patient() -> Value {
    json!({
        "deadlines": {"pending": "10m", "powerOff": "2m", "fencing": "5m", "powerOn": "2m", "boot": "5m"},
        "retries": {"attempts": 1},
    })
}

/// Creates a template of requests with this strategy; `annotations` may be null. Answers it.
pub async fn create_template(world: &World, name: &str, annotations: Value, spec: Value) -> Result<Value> {
    let template = json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediationTemplate",
        "metadata": {"name": name, "namespace": world.namespace, "annotations": annotations},
        "spec": {"template": {"spec": spec}},
    });
    let object = serde_json::from_value(template.clone())?;
    Api::<PowerCycleRemediationTemplate>::namespaced(world.client.clone(), &world.namespace)
        .create(&PostParams::default(), &object)
        .await?;
    Ok(template)
}

impl World {
    /// The kubelet of a host goes silent, and the control plane notices.
    pub async fn falls_silent(&self, host: &WorldHost) -> Result<()> {
        let kubelet = host.kubelet.as_ref().context("the host has no Node")?;
        kubelet.stop_reporting().await?;
        objects::node_becomes(self, &host.name, "Unknown").await
    }

    /// The same, and its Machine is marked. Returns the remediation's name.
    pub async fn falls_silent_and_is_reported(&self, host: &WorldHost) -> Result<String> {
        self.falls_silent(host).await?;
        objects::trigger(self, &host.name).await?;
        Ok(host.remediation())
    }

    /// Asks for a remediation by hand, with this strategy. Returns its name.
    pub async fn request(&self, host: &WorldHost, mut spec: Value) -> Result<String> {
        let name = format!("{}-by-hand", host.name);
        if let Some(fields) = spec.as_object_mut() {
            fields.insert("machineName".to_owned(), json!(host.name));
        }
        let remediation: PowerCycleRemediation = serde_json::from_value(json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
            "metadata": {"name": name, "namespace": self.namespace}, "spec": spec,
        }))?;
        self.remediations()
            .create(&PostParams::default(), &remediation)
            .await?;
        Ok(name)
    }

    /// A Machine is marked although its Node is well; waits until the remediation, the host's `number`-th,
    /// is over.
    pub async fn false_alarm(&self, host: &WorldHost, number: u32) -> Result<()> {
        objects::trigger(self, &host.name).await?;
        let name = super::remediation_name(&host.name, number);
        let ended = self.remediation_ended(&name, Duration::from_mins(2)).await?;
        ensure!(super::phase(&ended) == Phase::Cancelled, "{:?}", ended.status);
        Ok(())
    }

    /// Takes the request back, as its producer would.
    pub async fn take_back(&self, remediation: &str) -> Result<()> {
        self.remediations()
            .delete(remediation, &DeleteParams::default())
            .await?;
        Ok(())
    }

    /// Waits until there is no such remediation.
    pub async fn remediation_gone(&self, name: &str, within: Duration) -> Result<()> {
        let gone = |object: Option<&PowerCycleRemediation>| object.is_none();
        tokio::time::timeout(within, await_condition(self.remediations(), name, gone))
            .await
            .with_context(|| format!("remediation {name} is still there after {within:?}"))??;
        Ok(())
    }

    /// Waits until a Node (or its absence) is as wanted.
    pub async fn node_until(
        &self,
        name: &str,
        within: Duration,
        wanted: impl Fn(Option<&Node>) -> bool + Send,
    ) -> Result<Option<Node>> {
        let nodes = Api::<Node>::all(self.nodes.clone());
        tokio::time::timeout(within, await_condition(nodes, name, wanted))
            .await
            .with_context(|| format!("Node {name} did not become as wanted within {within:?}"))?
    }

    /// Waits until the workloads of a host are released by taint.
    pub async fn is_tainted(&self, host: &WorldHost, within: Duration) -> Result<()> {
        let tainted = |node: Option<&Node>| node.is_some_and(objects::has_out_of_service_taint);
        self.node_until(&host.name, within, tainted).await?;
        Ok(())
    }

    /// Waits until the taint of a host is gone again.
    pub async fn is_untainted(&self, host: &WorldHost, within: Duration) -> Result<()> {
        let untainted =
            |node: Option<&Node>| node.is_some_and(|node| !objects::has_out_of_service_taint(node));
        self.node_until(&host.name, within, untainted).await?;
        Ok(())
    }

    /// Creates a pod that cannot go as long as it has its finalizer.
    pub async fn create_clinging_pod(&self, name: &str, node: &str) -> Result<()> {
        objects::create_pod(self, name, node).await?;
        self.set_pod_finalizers(name, &json!(["example.com/clings"]))
            .await
    }

    /// Lets it go.
    pub async fn release_pod(&self, name: &str) -> Result<()> {
        self.set_pod_finalizers(name, &json!([])).await
    }

    async fn set_pod_finalizers(&self, name: &str, finalizers: &Value) -> Result<()> {
        let patch = Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
        Api::<Pod>::namespaced(self.nodes.clone(), &self.pods)
            .patch(name, &PatchParams::default(), &patch)
            .await?;
        Ok(())
    }

    /// Whether a remediation carries our finalizer.
    pub async fn has_finalizer(&self, name: &str) -> Result<bool> {
        let found = self.remediations().get_opt(name).await?;
        let finalizers = found.and_then(|found| found.metadata.finalizers);
        Ok(finalizers
            .unwrap_or_default()
            .iter()
            .any(|finalizer| finalizer == keys::FINALIZER))
    }
}

impl WorldHost {
    /// Waits for something in the journal of the simulated host.
    pub async fn sees(&self, what: &str, within: Duration, wanted: impl Fn(&Event) -> bool) -> Result<()> {
        tokio::time::timeout(within, self.bmc.wait_for_entry(0, wanted))
            .await
            .with_context(|| format!("{} did not see {what} within {within:?}", self.name))??;
        Ok(())
    }

    /// Its BMC takes so many power commands more, and refuses those that follow until its faults are cleared.
    pub fn refuses_power_after(&self, commands: u32, protocol: Protocol) -> Result<()> {
        let busy = Fault::HttpStatus {
            status: 503,
            retry_after: None,
        };
        let refused = match protocol {
            Protocol::Redfish => busy.on(RequestClass::Reset),
            Protocol::Ipmi => Fault::Ipmi(IpmiFault::Busy).on(RequestClass::IpmiChassisControl),
        };
        let refused = if commands == 0 {
            refused
        } else {
            refused.skip(commands)
        };
        Ok(self.bmc.inject(refused)?)
    }
}
