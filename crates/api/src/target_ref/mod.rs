//! Whom a remediation is about, as far as the remediation itself says.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::ResourceExt as _;
use remediator_core::journal::{Journal, Subject};
use remediator_core::machine_api::MachineApi;
use remediator_core::phase::Phase;

use crate::{PowerCycleRemediation, keys};

/// Whom a remediation is about: a Machine, a Node, or both, which then have to belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetRef {
    /// Name of the Machine, in the remediation's namespace.
    pub machine: Option<String>,
    /// The API that it is of, where the remediation says.
    pub machine_api: Option<MachineApi>,
    /// The UID that it has to have.
    pub machine_uid: Option<String>,
    /// Name of the Node.
    pub node: Option<String>,
}

/// The health checker that made a request, by whose conditions its Node is unhealthy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Producer {
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
pub fn producer(remediation: &PowerCycleRemediation) -> Option<Producer> {
    let mut owners = remediation.metadata.owner_references.iter().flatten();
    let health_check = owners.find_map(|owner| {
        let name = owner.name.clone();
        match (owner.kind.as_str(), group(owner)) {
            ("NodeHealthCheck", "remediation.medik8s.io") => Some(Producer::NodeHealthCheck(name)),
            ("MachineHealthCheck", "machine.openshift.io") => Some(Producer::MachineHealthCheck(name)),
            _ => None,
        }
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

/// What a remediation says: its spec, else its owners, else its name, which is then a Machine's as with Cluster API and
/// machine-api-operator, unless the Machine is in another namespace.
pub fn about(remediation: &PowerCycleRemediation) -> TargetRef {
    let spec = &remediation.spec;
    let owner = owning_machine(&remediation.metadata);
    let node = spec.node_name.clone().or_else(|| checked_node(remediation));
    let named = spec
        .machine_name
        .clone()
        .or_else(|| owner.map(|owner| owner.name.clone()));
    let by_name = || (node.is_none() && !is_elsewhere(remediation)).then(|| remediation.name_any());
    let machine = named.or_else(by_name);
    TargetRef {
        machine,
        machine_api: owner.and_then(api_of),
        machine_uid: owner.map(|owner| owner.uid.clone()),
        node,
    }
}

/// Whom an attempt was begun for.
pub fn begun(remediation: &PowerCycleRemediation) -> Option<&Subject> {
    remediation.journal()?.begun()
}

/// The journal of a remediation whose host has to get its power back, or has it and is waited for.
pub fn to_bring_back(remediation: &PowerCycleRemediation) -> Option<&Journal> {
    let journal = remediation.journal()?;
    let is_owed = match journal.phase {
        Phase::Fencing | Phase::PoweringOn | Phase::Booting => true,
        Phase::Pending
        | Phase::Holding
        | Phase::PoweringOff
        | Phase::Restarting
        | Phase::AwaitingConfirmation
        | Phase::Failed => journal.intent.is_some(),
        Phase::Succeeded | Phase::Cancelled => false,
    };
    Some(journal).filter(|_| is_owed)
}

/// Whether a remediation is about this Machine or this Node, by what it asks for or has begun.
pub fn is_meant(remediation: &PowerCycleRemediation, machine: Option<&str>, node: Option<&str>) -> bool {
    let same = |one: Option<&str>, other: Option<&str>| one.is_some() && one == other;
    let about = about(remediation);
    same(machine, about.machine.as_deref())
        || same(node, about.node.as_deref())
        || begun(remediation).is_some_and(|subject| {
            same(machine, subject.machine.as_deref()) || same(node, subject.node_name())
        })
}

/// Whether its NodeHealthCheck has told a remediation to stop, because its time was over.
pub fn is_told_to_stop(remediation: &PowerCycleRemediation) -> bool {
    remediation.annotations().contains_key(keys::TIMED_OUT_ANNOTATION)
}

/// Whether a remediation is taken back: told to stop, or being deleted.
pub fn is_taken_back(remediation: &PowerCycleRemediation) -> bool {
    is_told_to_stop(remediation) || remediation.metadata.deletion_timestamp.is_some()
}

/// Whether a remediation has not ended.
pub fn is_under_way(remediation: &PowerCycleRemediation) -> bool {
    !remediation.phase().is_final()
}

/// By what it is told whose host it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostOf<'a> {
    /// Its Machine.
    pub machine: Option<&'a str>,
    /// Its Node.
    pub node: Option<&'a str>,
    /// The address of its BMC.
    pub bmc: Option<&'a str>,
}

/// Whether a remediation of its namespace is at work on a host, or waits to be: whoever else would speak to its BMC
/// leaves it alone then.
pub fn is_under_way_on(remediation: &PowerCycleRemediation, host: HostOf<'_>) -> bool {
    let reaches = |subject: &Subject| host.bmc == Some(subject.bmc.as_str());
    is_under_way(remediation)
        && (is_meant(remediation, host.machine, host.node) || begun(remediation).is_some_and(reaches))
}

/// Whether there may be something to do about a remediation. One that failed is still owed its Node's return.
pub fn may_act(remediation: &PowerCycleRemediation) -> bool {
    !matches!(remediation.phase(), Phase::Succeeded | Phase::Cancelled)
}

/// The Machine among the owners.
pub fn owning_machine(metadata: &ObjectMeta) -> Option<&OwnerReference> {
    let mut owners = metadata.owner_references.iter().flatten();
    owners.find(|owner| owner.kind == "Machine" && api_of(owner).is_some())
}

fn api_of(owner: &OwnerReference) -> Option<MachineApi> {
    MachineApi::of_group(group(owner))
}

/// Whether the medik8s operator made it for a Machine of another namespace: one of the same namespace is an owner.
/// Source: medik8s/node-healthcheck-operator `internal/controller/resources/manager.go`,
/// `GenerateRemediationCRForMachine`.
fn is_elsewhere(remediation: &PowerCycleRemediation) -> bool {
    let by_health_check = matches!(producer(remediation), Some(Producer::MachineHealthCheck(_)));
    by_health_check && owning_machine(&remediation.metadata).is_none()
}

/// The Node for which the medik8s operator made the remediation: by the annotation, because with several templates names
/// are generated; else, for a NodeHealthCheck, by the name.
/// Source: as above, `generateRemediationCR`.
fn checked_node(remediation: &PowerCycleRemediation) -> Option<String> {
    let annotated = remediation.annotations().get(keys::CHECKED_NODE_ANNOTATION);
    let named = annotated.filter(|name| !name.is_empty()).cloned();
    match producer(remediation)? {
        Producer::NodeHealthCheck(_) => Some(named.unwrap_or_else(|| remediation.name_any())),
        Producer::MachineHealthCheck(_) => named.filter(|_| is_elsewhere(remediation)),
        Producer::Template(_) => None,
    }
}

#[cfg(test)]
mod tests;
