//! Which changes of which objects wake the health checker. Of each object a small number is remembered
//! that stands for what is judged of it, so that a heartbeat, or a status that nobody judges, wakes nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt as _};
use tokio::sync::mpsc;

use super::judged::is_under_way;
use crate::api::guarded::Guarded;
use crate::api::views::{Machine, MachineHealthCheck, Node};
use crate::api::{PowerCycleRemediation, keys};
use crate::controller::{about, begun};

/// What has changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Woke {
    /// Something in this namespace.
    Namespace(String),
    /// The Node of this name.
    Node(String),
    /// Whether our health checker stands in.
    All,
}

/// Who is told.
pub(crate) type Waker = mpsc::UnboundedSender<Woke>;

/// The listeners to the watches.
pub(crate) struct Wakes {
    pub(crate) machines: Wake<Machine>,
    pub(crate) nodes: Wake<Node>,
    pub(crate) remediations: Wake<PowerCycleRemediation>,
    pub(crate) health_checks: Wake<MachineHealthCheck>,
}

impl Wakes {
    /// Listeners that tell `waker`.
    pub(crate) fn new(waker: &Waker) -> Self {
        Self {
            machines: Wake::new(waker, machine),
            nodes: Wake::new(waker, node),
            remediations: Wake::new(waker, remediation),
            health_checks: Wake::new(waker, health_check),
        }
    }
}

/// Namespace and name.
type Key = (Option<String>, String);

/// A listener to one watch.
pub(crate) struct Wake<K> {
    fingerprint: fn(&K, &mut DefaultHasher),
    seen: BTreeMap<Key, u64>,
    /// What the list that is being read has so far.
    listed: BTreeMap<Key, u64>,
    waker: Waker,
}

impl<K: Resource> Wake<K> {
    fn new(waker: &Waker, fingerprint: fn(&K, &mut DefaultHasher)) -> Self {
        Self {
            fingerprint,
            seen: BTreeMap::new(),
            listed: BTreeMap::new(),
            waker: waker.clone(),
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
            Err(unreadable) => unreadable.error.hash(&mut hasher),
        }
        hasher.finish()
    }

    fn wake(&self, keys: impl IntoIterator<Item = Key>) {
        for (namespace, name) in keys {
            let woke = namespace.map_or_else(|| Woke::Node(name), Woke::Namespace);
            if self.waker.send(woke).is_err() {
                tracing::debug!("the health checker has ended; nobody is woken");
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
    machine.labels().hash(hasher);
    (state.deleting, state.triggered, state.failed, last_updated).hash(hasher);
    (facts.node_name, facts.provider_id, facts.authoritative_elsewhere).hash(hasher);
    (facts.foreign_mark, facts.trigger_answered_by).hash(hasher);
}

fn node(node: &Node, hasher: &mut DefaultHasher) {
    for condition in node.facts().conditions {
        (condition.kind, condition.status, condition.since).hash(hasher);
    }
    (node.labels(), &node.spec.provider_id).hash(hasher);
    node.annotations().get(keys::NODE_MACHINE_ANNOTATION).hash(hasher);
}

fn remediation(remediation: &PowerCycleRemediation, hasher: &mut DefaultHasher) {
    let about = about(remediation);
    (is_under_way(remediation), about.machine, about.node).hash(hasher);
    let subject = begun(remediation).map(|subject| (&subject.machine, &subject.node));
    subject.hash(hasher);
}

/// Of the status nothing is judged; what stands there is ours.
fn health_check(check: &MachineHealthCheck, hasher: &mut DefaultHasher) {
    (check.annotations(), check.metadata.generation).hash(hasher);
    format!("{:?}", check.spec).hash(hasher);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node_with(heartbeat: &str, status: &str) -> Guarded<Node> {
        serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "resourceVersion": heartbeat},
            "status": {"conditions": [{
                "type": "Ready", "status": status, "lastHeartbeatTime": heartbeat,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }]},
        }))
        .unwrap()
    }

    fn machine_with(name: &str, change: impl FnOnce(&mut Value)) -> Guarded<Machine> {
        let mut machine = json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": {"name": name, "namespace": "machines", "labels": {"role": "worker"}},
            "spec": {}, "status": {"nodeRef": {"name": name}},
        });
        change(&mut machine);
        serde_json::from_value(machine).unwrap()
    }

    struct Heard(mpsc::UnboundedReceiver<Woke>);

    impl Heard {
        fn all(&mut self) -> Vec<Woke> {
            std::iter::from_fn(|| self.0.try_recv().ok()).collect()
        }
    }

    fn listen() -> (Wakes, Heard) {
        let (waker, heard) = mpsc::unbounded_channel();
        (Wakes::new(&waker), Heard(heard))
    }

    #[test]
    fn a_heartbeat_wakes_nobody_and_a_condition_does() {
        let (mut wakes, mut heard) = listen();
        let woken = vec![Woke::Node("n".to_owned())];
        let mut apply = |heartbeat, status| {
            wakes.nodes.note(&Event::Apply(node_with(heartbeat, status)));
            heard.all()
        };
        assert_eq!(apply("2026-01-01T00:00:01Z", "True"), woken);
        assert_eq!(apply("2026-01-01T00:00:02Z", "True"), []);
        assert_eq!(apply("2026-01-01T00:00:02Z", "Unknown"), woken);
        assert_eq!(apply("2026-01-01T00:00:03Z", "Unknown"), []);
    }

    #[test]
    fn what_is_deleted_wakes_also_when_only_a_new_list_tells() {
        let (mut wakes, mut heard) = listen();
        let woken = [Woke::Namespace("machines".to_owned())];
        let unchanged = |name: &str| machine_with(name, |_| {});
        wakes.machines.note(&Event::Init);
        wakes.machines.note(&Event::InitApply(unchanged("a")));
        assert_eq!(heard.all(), [], "the cache has it only when the list is complete");
        wakes.machines.note(&Event::InitDone);
        assert_eq!(heard.all(), woken);
        for (listed, expected) in [
            (vec!["a"], 0),
            (vec!["a", "b"], 1),
            (vec!["b"], 1),
            (vec!["b"], 0),
        ] {
            wakes.machines.note(&Event::Init);
            for name in &listed {
                wakes.machines.note(&Event::InitApply(unchanged(name)));
            }
            wakes.machines.note(&Event::InitDone);
            assert_eq!(heard.all().len(), expected, "{listed:?}");
        }
        wakes.machines.note(&Event::Delete(unchanged("b")));
        assert_eq!(heard.all(), woken);
    }

    #[test]
    fn what_is_judged_of_a_machine_wakes_and_nothing_else() {
        type Change = fn(&mut Value);
        let table: [(&str, Change, bool); 8] = [
            ("nothing", |_| {}, false),
            (
                "resourceVersion",
                |one| one["metadata"]["resourceVersion"] = json!("9"),
                false,
            ),
            (
                "lastUpdated",
                |one| one["status"]["lastUpdated"] = json!("2026-01-01T00:00:00Z"),
                false,
            ),
            (
                "labels",
                |one| one["metadata"]["labels"] = json!({"role": "infra"}),
                true,
            ),
            (
                "deletion",
                |one| one["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
                true,
            ),
            (
                "trigger",
                |one| one["metadata"]["annotations"] = json!({keys::TRIGGER_ANNOTATION: ""}),
                true,
            ),
            ("nodeRef", |one| one["status"]["nodeRef"] = Value::Null, true),
            ("unreadable", |one| one["status"]["nodeRef"] = json!(7), true),
        ];
        for (what, change, wakes_somebody) in table {
            let (mut wakes, mut heard) = listen();
            wakes.machines.note(&Event::Apply(machine_with("a", |_| {})));
            heard.all();
            wakes.machines.note(&Event::Apply(machine_with("a", change)));
            assert_eq!(!heard.all().is_empty(), wakes_somebody, "{what}");
        }
    }

    #[test]
    fn a_machine_without_a_node_is_judged_by_its_last_change() {
        let (mut wakes, mut heard) = listen();
        let at = |second: &str| {
            let time = format!("2026-01-01T00:00:{second}Z");
            machine_with("a", |one| one["status"] = json!({"lastUpdated": time}))
        };
        wakes.machines.note(&Event::Apply(at("01")));
        heard.all();
        wakes.machines.note(&Event::Apply(at("02")));
        assert_eq!(heard.all().len(), 1);
    }
}
