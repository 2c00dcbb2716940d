//! Whom a remediation is about, as far as the remediation itself says.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::ResourceExt as _;

use crate::api::{PowerCycleRemediation, keys};
use crate::core::journal::Subject;
use crate::core::machine_api::MachineApi;

/// Whom a remediation is about: a Machine, a Node, or both, which then have to belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct About {
    /// Name of the Machine, in the remediation's namespace.
    pub(crate) machine: Option<String>,
    /// The API that it is of, where the remediation says.
    pub(crate) machine_api: Option<MachineApi>,
    /// The UID that it has to have.
    pub(crate) machine_uid: Option<String>,
    /// Name of the Node.
    pub(crate) node: Option<String>,
}

/// The health checker that made a request, by whose conditions its Node is unhealthy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Producer {
    /// A NodeHealthCheck of this name.
    NodeHealthCheck(String),
    /// A MachineHealthCheck of this name, in the remediation's namespace: the medik8s operator serves those
    /// with a template where machine-api-operator does not.
    MachineHealthCheck(String),
    /// Some MachineHealthCheck with a template of this name: machine-api-operator and Cluster API name
    /// themselves nowhere.
    Template(String),
}

/// Who made a request; `None` for a person, or somebody whom we do not know.
/// Sources: medik8s/node-healthcheck-operator `internal/controller/resources/manager.go`;
/// machine-api-operator `pkg/controller/machinehealthcheck/machinehealthcheck_controller.go`;
/// cluster-api `controllers/external/util.go`.
pub(crate) fn producer(remediation: &PowerCycleRemediation) -> Option<Producer> {
    let mut owners = remediation.metadata.owner_references.iter().flatten();
    let health_check = owners.find_map(|owner| match (owner.kind.as_str(), group(owner)) {
        ("NodeHealthCheck", "remediation.medik8s.io") => Some(Producer::NodeHealthCheck(owner.name.clone())),
        ("MachineHealthCheck", "machine.openshift.io") => {
            Some(Producer::MachineHealthCheck(owner.name.clone()))
        }
        _ => None,
    });
    let template = || {
        let cloned_from = match api_of(owning_machine(&remediation.metadata)?)? {
            MachineApi::OpenShift => keys::CLONED_FROM_ANNOTATION,
            MachineApi::ClusterApi => keys::CLUSTER_API_CLONED_FROM_ANNOTATION,
        };
        let template = remediation.annotations().get(cloned_from)?;
        Some(Producer::Template(template.clone()))
    };
    health_check.or_else(template)
}

fn group(owner: &OwnerReference) -> &str {
    owner.api_version.split('/').next().unwrap_or_default()
}

/// What a remediation says: its spec, else its owners, else its name, which is then a Machine's as with
/// Cluster API and machine-api-operator.
pub(crate) fn about(remediation: &PowerCycleRemediation) -> About {
    let spec = &remediation.spec;
    let owner = owning_machine(&remediation.metadata);
    let node = spec.node_name.clone().or_else(|| checked_node(remediation));
    let machine = spec
        .machine_name
        .clone()
        .or_else(|| owner.map(|owner| owner.name.clone()))
        .or_else(|| node.is_none().then(|| remediation.name_any()));
    About {
        machine,
        machine_api: owner.and_then(api_of),
        machine_uid: owner.map(|owner| owner.uid.clone()),
        node,
    }
}

/// Whom an attempt was begun for.
pub(crate) fn begun(remediation: &PowerCycleRemediation) -> Option<&Subject> {
    remediation.status.as_ref()?.journal.begun()
}

/// Whether a remediation is about this Machine or this Node, by what it asks for or has begun.
pub(crate) fn is_meant(
    remediation: &PowerCycleRemediation,
    machine: Option<&str>,
    node: Option<&str>,
) -> bool {
    let same = |one: Option<&str>, other: Option<&str>| one.is_some() && one == other;
    let about = about(remediation);
    same(machine, about.machine.as_deref())
        || same(node, about.node.as_deref())
        || begun(remediation).is_some_and(|subject| {
            same(machine, subject.machine.as_deref()) || same(node, subject.node_name())
        })
}

/// The Machine among the owners.
pub(super) fn owning_machine(metadata: &ObjectMeta) -> Option<&OwnerReference> {
    let mut owners = metadata.owner_references.iter().flatten();
    owners.find(|owner| owner.kind == "Machine" && api_of(owner).is_some())
}

fn api_of(owner: &OwnerReference) -> Option<MachineApi> {
    MachineApi::of_group(group(owner))
}

/// The Node for which a NodeHealthCheck made the remediation: by the annotation, because with several
/// templates names are generated; else by the name.
/// Source: medik8s/node-healthcheck-operator `internal/controller/resources/manager.go`.
fn checked_node(remediation: &PowerCycleRemediation) -> Option<String> {
    let Some(Producer::NodeHealthCheck(_)) = producer(remediation) else {
        return None;
    };
    let annotated = remediation.annotations().get(keys::CHECKED_NODE_ANNOTATION);
    let named = annotated.filter(|name| !name.is_empty()).cloned();
    Some(named.unwrap_or_else(|| remediation.name_any()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{About, MachineApi, Producer, about, producer};

    fn remediation(metadata: &Value, spec: &Value) -> crate::api::PowerCycleRemediation {
        let mut object = json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1",
            "kind": "PowerCycleRemediation",
            "metadata": {"name": "worker-0"},
            "spec": spec,
        });
        for (key, value) in metadata.as_object().unwrap() {
            object["metadata"][key] = value.clone();
        }
        serde_json::from_value(object).unwrap()
    }

    fn owner(group: &str, kind: &str) -> Value {
        json!({"apiVersion": format!("{group}/v1"), "kind": kind, "name": "owner", "uid": "owner-uid"})
    }

    fn names(machine: Option<&str>, uid: Option<&str>, node: Option<&str>) -> About {
        let own = |text: Option<&str>| text.map(ToOwned::to_owned);
        About {
            machine: own(machine),
            machine_api: uid.map(|_| MachineApi::OpenShift),
            machine_uid: own(uid),
            node: own(node),
        }
    }

    #[test]
    fn the_spec_counts_then_the_owners_then_the_name() {
        let machine = owner("machine.openshift.io", "Machine");
        let health_check = owner("remediation.medik8s.io", "NodeHealthCheck");
        let node_name = json!({"remediation.medik8s.io/node-name": "node-7"});
        for (metadata, spec, expected) in [
            (json!({}), json!({}), names(Some("worker-0"), None, None)),
            (
                json!({}),
                json!({"machineName": "m"}),
                names(Some("m"), None, None),
            ),
            (json!({}), json!({"nodeName": "n"}), names(None, None, Some("n"))),
            (
                json!({}),
                json!({"machineName": "m", "nodeName": "n"}),
                names(Some("m"), None, Some("n")),
            ),
            (
                json!({"ownerReferences": [machine]}),
                json!({}),
                names(Some("owner"), Some("owner-uid"), None),
            ),
            (
                json!({"ownerReferences": [health_check]}),
                json!({}),
                names(None, None, Some("worker-0")),
            ),
            (
                json!({"ownerReferences": [health_check], "annotations": node_name}),
                json!({}),
                names(None, None, Some("node-7")),
            ),
            (
                json!({"ownerReferences": [health_check, machine], "annotations": node_name}),
                json!({}),
                names(Some("owner"), Some("owner-uid"), Some("node-7")),
            ),
            (
                json!({"ownerReferences": [owner("example.org", "NodeHealthCheck"), owner("example.org", "Machine")]}),
                json!({}),
                names(Some("worker-0"), None, None),
            ),
        ] {
            assert_eq!(
                about(&remediation(&metadata, &spec)),
                expected,
                "{metadata} {spec}"
            );
        }
    }

    #[test]
    fn who_made_a_request_is_told_by_its_owner_or_its_template() {
        let machine = owner("machine.openshift.io", "Machine");
        let cloned = json!({"machine.openshift.io/cloned-from-name": "reboot"});
        let named = "owner".to_owned();
        for (metadata, expected) in [
            (json!({}), None),
            (json!({"ownerReferences": [machine]}), None),
            (json!({"annotations": cloned}), None),
            (
                json!({"ownerReferences": [machine], "annotations": cloned}),
                Some(Producer::Template("reboot".to_owned())),
            ),
            (
                json!({"ownerReferences": [owner("remediation.medik8s.io", "NodeHealthCheck"), machine]}),
                Some(Producer::NodeHealthCheck(named.clone())),
            ),
            (
                json!({"ownerReferences": [owner("machine.openshift.io", "MachineHealthCheck"), machine]}),
                Some(Producer::MachineHealthCheck(named)),
            ),
            (
                json!({"ownerReferences": [owner("example.org", "NodeHealthCheck")]}),
                None,
            ),
        ] {
            assert_eq!(
                producer(&remediation(&metadata, &json!({}))),
                expected,
                "{metadata}"
            );
        }
    }
}
