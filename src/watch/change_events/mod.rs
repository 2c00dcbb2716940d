//! Which changes of which objects wake the health checker. Of each object a small number is remembered
//! that stands for what is judged of it, so that a heartbeat, or a status that nobody judges, wakes nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt as _};
use remediator_api::guarded::Guarded;
use remediator_api::target_ref::{about, begun, is_under_way};
use remediator_api::views::cluster_api::Cluster;
use remediator_api::views::{Machine, MachineHealthCheck, Node};
use remediator_api::{BMCEndpoint, PowerCycleRemediation, PowerCycleRemediationTemplate, keys};
use remediator_core::checker::succeeded::HEALTH_CHECK_SUCCEEDED;
use remediator_core::health::target::MachineState;
use remediator_core::machine_api::MachineApi;
use tokio::sync::mpsc;

/// What has changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MhcChange {
    /// Something in this namespace.
    Namespace(String),
    /// The Node of this name.
    Node(String),
    /// Whether our health checker is active.
    All,
}

/// Who is told.
pub(crate) type ChangeSender = mpsc::UnboundedSender<MhcChange>;

/// The listeners to the watches.
pub(crate) struct ChangeHandlers {
    pub(crate) nodes: ChangeHandler<Node>,
    pub(crate) remediations: ChangeHandler<PowerCycleRemediation>,
    pub(crate) openshift: MachineChangeHandlers,
    pub(crate) cluster_api: MachineChangeHandlers,
    pub(crate) clusters: ChangeHandler<Cluster>,
    pub(crate) endpoints: ChangeHandler<BMCEndpoint>,
    pub(crate) templates: ChangeHandler<PowerCycleRemediationTemplate>,
}

/// The listeners to the watches of one API.
pub(crate) struct MachineChangeHandlers {
    pub(crate) machines: ChangeHandler<Machine>,
    pub(crate) health_checks: ChangeHandler<MachineHealthCheck>,
}

impl MachineChangeHandlers {
    fn new(changes: &ChangeSender) -> Self {
        Self {
            machines: ChangeHandler::new(changes, machine),
            health_checks: ChangeHandler::new(changes, health_check),
        }
    }
}

impl ChangeHandlers {
    /// Listeners that tell `changes`.
    pub(crate) fn new(changes: &ChangeSender) -> Self {
        Self {
            nodes: ChangeHandler::new(changes, node),
            remediations: ChangeHandler::new(changes, remediation),
            openshift: MachineChangeHandlers::new(changes),
            cluster_api: MachineChangeHandlers::new(changes),
            clusters: ChangeHandler::new(changes, cluster),
            endpoints: ChangeHandler::new(changes, endpoint),
            templates: ChangeHandler::new(changes, template),
        }
    }
}

impl ChangeHandler<Node> {
    /// A listener to the Nodes of a workload cluster, whose Machines are in this namespace.
    pub(crate) fn of_workload(changes: &ChangeSender, namespace: &str) -> Self {
        Self {
            namespace: Some(namespace.to_owned()),
            ..Self::new(changes, node)
        }
    }
}

/// Namespace and name.
type Key = (Option<String>, String);

/// A listener to one watch.
pub(crate) struct ChangeHandler<K> {
    fingerprint: fn(&K, &mut DefaultHasher),
    seen: BTreeMap<Key, u64>,
    /// What the list that is being read has so far.
    listed: BTreeMap<Key, u64>,
    /// Where that is looked at which the objects are about, if that is not their own.
    namespace: Option<String>,
    changes: ChangeSender,
}

impl<K: Resource> ChangeHandler<K> {
    fn new(changes: &ChangeSender, fingerprint: fn(&K, &mut DefaultHasher)) -> Self {
        Self {
            fingerprint,
            seen: BTreeMap::new(),
            listed: BTreeMap::new(),
            namespace: None,
            changes: changes.clone(),
        }
    }

    /// Hears of an event after the cache has taken it.
    pub(crate) fn note(&mut self, event: &Event<Guarded<K>>) {
        match event {
            Event::Apply(object) => {
                let (key, print) = (key(object.meta()), self.print(object));
                if self.seen.insert(key.clone(), print) != Some(print) {
                    self.wake([key]);
                }
            }
            Event::Delete(object) => {
                let key = key(object.meta());
                self.seen.remove(&key);
                self.wake([key]);
            }
            Event::Init => self.listed.clear(),
            Event::InitApply(object) => {
                let print = self.print(object);
                self.listed.insert(key(object.meta()), print);
            }
            Event::InitDone => {
                let listed = std::mem::take(&mut self.listed);
                let before = std::mem::replace(&mut self.seen, listed);
                let changed = self
                    .seen
                    .iter()
                    .filter(|(key, print)| before.get(*key) != Some(*print));
                let gone = before.keys().filter(|key| !self.seen.contains_key(*key));
                let keys: BTreeSet<Key> = changed.map(|(key, _)| key).chain(gone).cloned().collect();
                self.wake(keys);
            }
        }
    }

    fn print(&self, object: &Guarded<K>) -> u64 {
        let mut hasher = DefaultHasher::new();
        match &object.0 {
            Ok(object) => (self.fingerprint)(object, &mut hasher),
            // By its labels a Machine is selected, by these annotations a check is for us and paused.
            Err(unreadable) => {
                let annotations = object.annotations();
                let kept = [keys::STRATEGY_ANNOTATION, keys::PAUSED_ANNOTATION];
                kept.map(|key| annotations.get(key)).hash(&mut hasher);
                (&unreadable.error, object.labels()).hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    fn wake(&self, keys: impl IntoIterator<Item = Key>) {
        for (namespace, name) in keys {
            let namespace = self.namespace.clone().or(namespace);
            let woke = namespace.map_or_else(|| MhcChange::Node(name), MhcChange::Namespace);
            if self.changes.send(woke).is_err() {
                tracing::debug!("the health checker has ended; nobody is told");
            }
        }
    }
}

fn key(meta: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta) -> Key {
    (meta.namespace.clone(), meta.name.clone().unwrap_or_default())
}

fn machine(machine: &Machine, hasher: &mut DefaultHasher) {
    let facts = machine.facts();
    let state = machine.state();
    // Read only of a Machine without a Node.
    let last_updated = state.last_updated.filter(|_| facts.node_name.is_none());
    let phase = facts.phase.filter(|_| facts.node_name.is_none());
    machine.labels().hash(hasher);
    let mut state = MachineState {
        last_updated,
        ..state
    };
    // What health checks say, which none judges.
    state.conditions.retain(|one| one.kind != HEALTH_CHECK_SUCCEEDED);
    format!("{state:?}").hash(hasher);
    (facts.node_name, facts.provider_id, facts.authoritative_elsewhere).hash(hasher);
    (facts.foreign_mark, facts.trigger_answered_by, phase).hash(hasher);
    // By these the host is found, and whether a trigger would be refused.
    let annotations = machine.annotations();
    let infrastructure = machine
        .spec
        .cluster_api
        .as_ref()
        .map(|machine| &machine.infrastructure);
    (
        annotations.get(keys::BARE_METAL_HOST_ANNOTATION),
        format!("{infrastructure:?}"),
    )
        .hash(hasher);
    facts.controller_owner.hash(hasher);
}

fn node(node: &Node, hasher: &mut DefaultHasher) {
    for condition in node.facts().conditions {
        (condition.kind, condition.status, condition.since).hash(hasher);
    }
    (node.labels(), &node.spec.provider_id).hash(hasher);
    MachineApi::ALL.map(|api| node.machine_link(api)).hash(hasher);
}

/// The age of a Cluster's conditions and its pause.
fn cluster(cluster: &Cluster, hasher: &mut DefaultHasher) {
    format!("{:?}", cluster.state).hash(hasher);
}

/// Whether a host without a Node may be power-cycled is judged by what states which one it is.
fn endpoint(endpoint: &BMCEndpoint, hasher: &mut DefaultHasher) {
    let spec = &endpoint.spec;
    (
        &spec.machine_name,
        &spec.node_name,
        &spec.address,
        &spec.system_uuid,
    )
        .hash(hasher);
}

/// Whether requests can be made from it is told on the checks that name it.
fn template(template: &PowerCycleRemediationTemplate, hasher: &mut DefaultHasher) {
    format!("{:?}", template.spec).hash(hasher);
}

fn remediation(remediation: &PowerCycleRemediation, hasher: &mut DefaultHasher) {
    let about = about(remediation);
    (is_under_way(remediation), about.machine, about.node).hash(hasher);
    let subject = begun(remediation).map(|subject| (&subject.machine, subject.node_name()));
    subject.hash(hasher);
}

/// Of the status nothing is judged; what stands there is ours.
fn health_check(check: &MachineHealthCheck, hasher: &mut DefaultHasher) {
    (check.annotations(), check.metadata.generation).hash(hasher);
    format!("{:?}", check.spec).hash(hasher);
}

#[cfg(test)]
mod tests;
