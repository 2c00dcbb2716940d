//! One attempt of a namespace user: what is tried, as whom, and with which objects.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::{LockoutBy, LockoutSpec, RedfishSpec};
use kube::Client;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use remediator_api::PowerCycleRemediation;
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::{HostOptions, World, WorldHost, nodeless};

use super::editor;

/// The neighbour's BMCs lock an account for longer than the story takes. What the daemon may send in 5 min does not add up,
/// however slow the machine is.
const LOCKOUT: LockoutSpec = LockoutSpec {
    threshold: 4,
    duration: Duration::from_hours(1),
    reset_after: Duration::from_mins(4),
    tries_prolong: true,
    by: LockoutBy::Account,
};

/// What the neighbour's host is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Victim {
    /// Its Machine and its Node name each other.
    Machine,
    /// Only the Machine names the Node: the annotation is written later.
    NamedByMachine,
    /// There is no Machine.
    Node,
    /// There is no Node: none has joined yet.
    NoNode,
}

impl Victim {
    pub(super) fn options(self) -> HostOptions {
        let mut options = match self {
            Self::NoNode => nodeless::never_joined(),
            Self::Machine | Self::NamedByMachine | Self::Node => HostOptions::default(),
        };
        options.simulated = Box::new(|spec| {
            spec.redfish(RedfishSpec {
                lockout: LOCKOUT,
                ..RedfishSpec::default()
            })
        });
        options.node = Box::new(move |mut node| {
            if self != Self::Machine {
                node.machine = None;
            }
            node.provider_id = Some(format!("host:///{}", node.name));
            node
        });
        if self == Self::Node {
            options.machine = Box::new(|_| Value::Null);
            options.endpoint = Box::new(|mut endpoint| {
                let fields = endpoint.as_object_mut();
                let name = fields.and_then(|fields| fields.remove("machineName"));
                endpoint["nodeName"] = json!(name);
                endpoint
            });
        }
        options
    }
}

/// What is tried, and against whom.
pub(super) struct Row {
    pub(super) what: &'static str,
    pub(super) victim: Victim,
    pub(super) acts: fn(&Attempt<'_>) -> Vec<Act>,
    /// The Node of which the attacker says that its host is off, once the attempt's request asks a person.
    pub(super) word: Option<fn(&Attempt<'_>) -> String>,
}

pub(super) fn row(what: &'static str, victim: Victim, acts: fn(&Attempt<'_>) -> Vec<Act>) -> Row {
    Row {
        what,
        victim,
        acts,
        word: None,
    }
}

/// The same, and a word about the host of a Node.
pub(super) fn word(
    what: &'static str,
    acts: fn(&Attempt<'_>) -> Vec<Act>,
    of: fn(&Attempt<'_>) -> String,
) -> Row {
    Row {
        word: Some(of),
        ..row(what, Victim::Node, acts)
    }
}

/// A request, in the attempt's own namespace.
pub(super) fn remediation(spec: &Value) -> Act {
    remediation_with(&json!({"name": "attempt"}), spec)
}

pub(super) fn remediation_with(metadata: &Value, spec: &Value) -> Act {
    Act::create(json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
        "metadata": metadata, "spec": spec,
    }))
}

/// One attempt: where it is made, and the neighbour's host.
pub(super) struct Attempt<'a> {
    pub(super) namespace: String,
    pub(super) owner: &'a World,
    pub(super) host: &'a WorldHost,
    /// A namespace of the attacker's with a host of its own, which is being remediated.
    pub(super) own: &'a World,
}

/// One call to the API server.
pub(super) struct Act {
    verb: Verb,
    object: Value,
    /// The code with which the server refuses it.
    refused: Option<u16>,
}

enum Verb {
    Create,
    Merge,
    MergeStatus,
    Delete,
    Read,
}

impl Act {
    fn new(verb: Verb, object: Value) -> Self {
        let refused = None;
        Self {
            verb,
            object,
            refused,
        }
    }

    pub(super) fn create(object: Value) -> Self {
        Self::new(Verb::Create, object)
    }

    pub(super) fn merge(object: Value) -> Self {
        Self::new(Verb::Merge, object)
    }

    pub(super) fn merge_status(object: Value) -> Self {
        Self::new(Verb::MergeStatus, object)
    }

    pub(super) fn delete(object: Value) -> Self {
        Self::new(Verb::Delete, object)
    }

    pub(super) fn read(object: Value) -> Self {
        Self::new(Verb::Read, object)
    }

    pub(super) fn refused(self, code: u16) -> Self {
        let refused = Some(code);
        Self { refused, ..self }
    }

    /// The remediation that stays behind, if one does.
    pub(super) fn remediation(&self) -> Option<String> {
        let is_made = matches!(self.verb, Verb::Create) && self.refused.is_none();
        let is_one = is_made && self.object["kind"] == "PowerCycleRemediation";
        let name = self.object["metadata"]["name"].as_str();
        name.filter(|_| is_one).map(ToOwned::to_owned)
    }

    pub(super) fn rename(&mut self, name: &str) {
        self.object["metadata"]["name"] = json!(name);
    }

    /// The same request once more, if it is one that stays.
    fn again(&self) -> Option<Self> {
        let name = format!("{}-again", self.remediation()?);
        let mut object = self.object.clone();
        object["metadata"]["name"] = json!(name);
        Some(Self::create(object))
    }

    /// Does it; in the attempt's own namespace, unless the object says another.
    pub(super) async fn perform(&self, client: &Client, attempt: &Attempt<'_>) -> Result<()> {
        let mut object = self.object.clone();
        let at = |place: &str| object.pointer(place).and_then(Value::as_str);
        let (version, kind) = (
            at("/apiVersion").context("no version")?,
            at("/kind").context("no kind")?,
        );
        let name = at("/metadata/name").context("no name")?.to_owned();
        let namespace = at("/metadata/namespace").unwrap_or(&attempt.namespace).to_owned();
        let types = json!({"apiVersion": version, "kind": kind});
        let resource =
            ApiResource::from_gvk(&serde_json::from_value::<kube::core::TypeMeta>(types)?.try_into()?);
        let is_of_all = matches!(kind, "Node" | "RemediationPolicy");
        let api = if is_of_all {
            Api::<DynamicObject>::all_with(client.clone(), &resource)
        } else {
            object["metadata"]["namespace"] = json!(namespace);
            Api::<DynamicObject>::namespaced_with(client.clone(), &namespace, &resource)
        };
        let parameters = PatchParams::default();
        let done = match self.verb {
            Verb::Create => {
                let made = serde_json::from_value(object)?;
                api.create(&PostParams::default(), &made).await.map(drop)
            }
            Verb::Merge => api
                .patch(&name, &parameters, &Patch::Merge(object))
                .await
                .map(drop),
            Verb::MergeStatus => {
                let status = Patch::Merge(json!({"status": object["status"]}));
                api.patch_status(&name, &parameters, &status).await.map(drop)
            }
            Verb::Delete => api.delete(&name, &DeleteParams::default()).await.map(drop),
            Verb::Read => api.get(&name).await.map(drop),
        };
        match (done, self.refused) {
            (Ok(()), None) => Ok(()),
            (Err(kube::Error::Api(status)), Some(code)) if status.code == code => Ok(()),
            (Ok(()), Some(code)) => anyhow::bail!("not refused with {code}: {}", self.object),
            (Err(error), _) => Err(error).with_context(|| self.object.to_string()),
        }
    }
}

impl Attempt<'_> {
    pub(super) async fn perform(&self, acts: &[Act]) -> Result<()> {
        let client = editor::client(self.owner).await?;
        for act in acts {
            act.perform(&client, self).await?;
        }
        Ok(())
    }

    /// Makes the same requests once more.
    pub(super) async fn ask_again(&self, acts: &[Act]) -> Result<()> {
        let again: Vec<Act> = acts.iter().filter_map(Act::again).collect();
        self.perform(&again).await
    }

    /// The attempt's request asks a person by now, or is told whose the host is, and the attacker says that the host is
    /// off. The API server refuses it.
    pub(super) async fn says_off(&self, node: &str) -> Result<()> {
        let name = "attempt-again";
        let remediations =
            Api::<PowerCycleRemediation>::namespaced(self.owner.client.clone(), &self.namespace);
        let asks = |object: Option<&PowerCycleRemediation>| {
            object.map(world::journal).is_some_and(|journal| {
                // One that was told so for as long as it may be held up has failed by now.
                [Phase::AwaitingConfirmation, Phase::Failed].contains(&journal.phase)
                    || journal.reason == Reason::HostAmbiguous.as_str()
            })
        };
        harness::await_condition(remediations, name, asks).await?;
        let annotations = json!({
            "baremetal-remediator.io/confirm-off": "it is off", "baremetal-remediator.io/confirm-off-node": node,
            "baremetal-remediator.io/confirm-off-by": editor::USER,
            "baremetal-remediator.io/confirm-off-at": jiff::Timestamp::now().to_string(),
        });
        let metadata = json!({"name": name, "annotations": annotations});
        let request = json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation", "metadata": metadata,
        });
        self.perform(&[Act::merge(request).refused(403)]).await
    }

    /// The attempt leads to nothing in its own namespace either.
    pub(super) async fn has_begun_nothing(&self) -> Result<()> {
        let remediations =
            Api::<PowerCycleRemediation>::namespaced(self.owner.client.clone(), &self.namespace);
        for one in remediations.list(&kube::api::ListParams::default()).await?.items {
            let journal = world::journal(&one);
            ensure!(
                journal.attempt == 0 && journal.intent.is_none(),
                "it has begun: {}",
                serde_json::to_string(&one.status)?
            );
        }
        Ok(())
    }

    /// Where the neighbour's BMC is, without its system.
    pub(super) fn base(&self) -> &str {
        let address = self.host.bmc_address.as_str();
        address.split_once("/redfish/").map_or(address, |(base, _)| base)
    }

    /// A login that the neighbour's BMC does not take. Its certificate is known to whoever connects.
    pub(super) fn secret(&self) -> Act {
        self.login("bmc")
    }

    /// The same in a Secret of this name.
    pub(super) fn login(&self, name: &str) -> Act {
        Act::create(json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
            "stringData": {"username": "admin", "password": "guessed", "ca.crt": self.host.bmc.ca_pem()},
        }))
    }

    pub(super) fn endpoint(&self, name: &str, spec: &Value) -> Act {
        let mut whole = json!({"address": self.host.bmc_address, "credentialsSecret": {"name": "bmc"}});
        for (field, value) in spec.as_object().into_iter().flatten() {
            whole[field] = value.clone();
        }
        Act::create(json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "BMCEndpoint",
            "metadata": {"name": name}, "spec": whole,
        }))
    }

    /// A Machine of OpenShift that says that the neighbour's Node is its own.
    pub(super) fn machine(&self, name: &str) -> [Act; 2] {
        let machine = json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": {"name": name, "labels": {"of": "attempt"}},
            "spec": {"providerID": format!("host:///{}", self.host.name)},
            "status": {"phase": "Running", "nodeRef": {"kind": "Node", "name": self.host.name}},
        });
        [Act::create(machine.clone()), Act::merge_status(machine)]
    }
}
