//! Binds pods to nodes: no scores and no resources, only what keeps a pod off a dead node.
//!
//! A pod goes to a node that is Ready, not cordoned, carries no `NoSchedule` or `NoExecute` taint
//! the pod does not tolerate, and has the labels of its node selector; among those to the one with
//! the fewest pods. Affinity and spreading are ignored.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::pin;

use futures::{StreamExt, future};
use k8s_openapi::api::core::v1::{Node, Pod, Taint, Toleration};
use kube::api::PostParams;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

const WATCH_SECONDS: u32 = 50;

/// A running scheduler. Dropping it stops it.
#[derive(Debug)]
pub struct ScriptedScheduler {
    task: JoinHandle<Infallible>,
}

impl ScriptedScheduler {
    /// Starts it for the whole cluster, as `default-scheduler`.
    pub fn start(client: Client) -> Self {
        Self {
            task: tokio::spawn(run(client)),
        }
    }
}

impl Drop for ScriptedScheduler {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What it knows; both maps are rebuilt by each relist.
#[derive(Default)]
struct View {
    nodes: BTreeMap<String, Node>,
    pods: BTreeMap<String, Pod>,
}

async fn run(client: Client) -> Infallible {
    let watch = watcher::Config::default().timeout(WATCH_SECONDS);
    let mut nodes = pin!(watcher(Api::<Node>::all(client.clone()), watch.clone()).default_backoff());
    let mut pods = pin!(watcher(Api::<Pod>::all(client.clone()), watch).default_backoff());
    let mut view = View::default();
    loop {
        // A watch that fails is taken up again by itself.
        tokio::select! {
            Some(event) = nodes.next() => if let Ok(event) = event { record(&mut view.nodes, event) },
            Some(event) = pods.next() => if let Ok(event) = event { record(&mut view.pods, event) },
            else => return future::pending().await,
        }
        for (pod, node) in view.place() {
            bind(&client, &mut view, &pod, &node).await;
        }
    }
}

fn key(object: &impl ResourceExt) -> String {
    format!("{}/{}", object.namespace().unwrap_or_default(), object.name_any())
}

fn record<K: ResourceExt>(map: &mut BTreeMap<String, K>, event: Event<K>) {
    match event {
        Event::Apply(object) | Event::InitApply(object) => {
            map.insert(key(&object), object);
        }
        Event::Delete(object) => {
            map.remove(&key(&object));
        }
        Event::Init => map.clear(),
        Event::InitDone => {}
    }
}

/// A refusal needs no answer here: the watch brings the pod again as it then is.
async fn bind(client: &Client, view: &mut View, pod: &Pod, node: &str) {
    let name = pod.name_any();
    let pods = Api::<Pod>::namespaced(client.clone(), &pod.namespace().unwrap_or_default());
    let binding = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        // The uid keeps a newer pod of the same name from being bound by an older decision.
        "metadata": {"name": name, "uid": pod.uid()},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    });
    let bound: Result<Value, _> = pods
        .create_subresource("binding", &name, &PostParams::default(), &binding)
        .await;
    if bound.is_ok()
        && let Some(spec) = view.pods.get_mut(&key(pod)).and_then(|pod| pod.spec.as_mut())
    {
        spec.node_name = Some(node.to_owned());
    }
}

impl View {
    /// Each pod that waits, with the node it should go to.
    fn place(&self) -> Vec<(Pod, String)> {
        let mut load: BTreeMap<&str, usize> = BTreeMap::new();
        for node in self.pods.values().filter_map(node_of) {
            let count = load.entry(node).or_default();
            *count = count.saturating_add(1);
        }
        let mut placed = Vec::new();
        for pod in self.pods.values().filter(|pod| waits(pod)) {
            let best = self
                .nodes
                .values()
                .filter(|node| fits(pod, node))
                .filter_map(|node| node.metadata.name.as_deref())
                .min_by_key(|node| load.get(node).copied().unwrap_or(0));
            if let Some(node) = best {
                let count = load.entry(node).or_default();
                *count = count.saturating_add(1);
                placed.push((pod.clone(), node.to_owned()));
            }
        }
        placed
    }
}

fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

fn waits(pod: &Pod) -> bool {
    let Some(spec) = &pod.spec else { return false };
    spec.node_name.is_none()
        && pod.metadata.deletion_timestamp.is_none()
        && spec.scheduling_gates.as_ref().is_none_or(Vec::is_empty)
        && spec.scheduler_name.as_deref().unwrap_or("default-scheduler") == "default-scheduler"
}

fn fits(pod: &Pod, node: &Node) -> bool {
    let (Some(wants), Some(has), Some(status)) = (&pod.spec, &node.spec, &node.status) else {
        return false;
    };
    let ready = status
        .conditions
        .iter()
        .flatten()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True");
    let tolerations = wants.tolerations.as_deref().unwrap_or_default();
    let repelled = has
        .taints
        .iter()
        .flatten()
        .filter(|taint| taint.effect == "NoSchedule" || taint.effect == "NoExecute")
        .any(|taint| !tolerations.iter().any(|toleration| tolerates(toleration, taint)));
    let labels = node.labels();
    let selected = wants
        .node_selector
        .iter()
        .flatten()
        .all(|(key, value)| labels.get(key) == Some(value));
    ready && selected && !repelled && has.unschedulable != Some(true)
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let effect = toleration.effect.as_deref().unwrap_or_default();
    let key = toleration.key.as_deref().unwrap_or_default();
    let operator = toleration.operator.as_deref().unwrap_or("Equal");
    let same_value =
        toleration.value.as_deref().unwrap_or_default() == taint.value.as_deref().unwrap_or_default();
    (effect.is_empty() || effect == taint.effect)
        && ((key.is_empty() && operator == "Exists")
            || (key == taint.key && (operator == "Exists" || (operator == "Equal" && same_value))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, ready: &str, spec: &Value) -> Node {
        serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": spec,
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        }))
        .unwrap()
    }

    fn pod(name: &str, spec: &Value) -> Pod {
        let mut pod: Pod =
            serde_json::from_value(json!({"metadata": {"name": name, "namespace": "n"}, "spec": spec}))
                .unwrap();
        pod.spec.get_or_insert_default().containers = Vec::new();
        pod
    }

    fn place(nodes: Vec<Node>, pods: Vec<Pod>) -> Vec<(String, String)> {
        let view = View {
            nodes: nodes.into_iter().map(|node| (key(&node), node)).collect(),
            pods: pods.into_iter().map(|pod| (key(&pod), pod)).collect(),
        };
        view.place()
            .into_iter()
            .map(|(pod, node)| (pod.name_any(), node))
            .collect()
    }

    #[test]
    fn only_ready_untainted_and_uncordoned_nodes_get_pods() {
        let out_of_service = json!({"taints": [{"key": "node.kubernetes.io/out-of-service",
            "value": "nodeshutdown", "effect": "NoExecute"}]});
        let nodes = vec![
            node("cordoned", "True", &json!({"unschedulable": true})),
            node("dead", "Unknown", &json!({})),
            node("fenced", "True", &out_of_service),
            node("good", "True", &json!({})),
        ];
        let placed = place(
            nodes,
            vec![
                pod("a", &json!({"containers": []})),
                pod("b", &json!({"containers": []})),
            ],
        );
        assert_eq!(
            placed,
            [
                ("a".to_owned(), "good".to_owned()),
                ("b".to_owned(), "good".to_owned())
            ]
        );
    }

    #[test]
    fn tolerations_open_tainted_nodes_and_pods_spread() {
        let nodes = vec![
            node(
                "one",
                "True",
                &json!({"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}),
            ),
            node("two", "True", &json!({})),
        ];
        let tolerant = json!({"containers": [], "tolerations": [{"operator": "Exists"}]});
        let exact = json!({"containers": [], "tolerations": [{"key": "k", "value": "v"}]});
        let other = json!({"containers": [], "tolerations": [{"key": "k", "value": "w"}]});
        let pods = vec![pod("a", &tolerant), pod("b", &other), pod("c", &exact)];
        let placed = place(nodes, pods);
        assert_eq!(
            placed,
            [
                ("a".to_owned(), "one".to_owned()),
                ("b".to_owned(), "two".to_owned()),
                ("c".to_owned(), "one".to_owned())
            ]
        );
    }
}
