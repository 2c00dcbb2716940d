//! Watches Nodes and Machines and tells what changes; starts everybody who watches or plays.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;

use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Resource, ResourceExt as _};
use remediator_api::keys;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;
use world::{World, objects};

use crate::health_check::Triggers;
use crate::narrate::{Narrator, Who};
use crate::{bmc, health_check, metal3, pods, remediations, stage};

/// Annotation by which a person makes a host hang.
pub(crate) const HANG_ANNOTATION: &str = "demo/hang";

/// Below the client's read timeout, so that a quiet watch ends by itself.
const WATCH_SECONDS: u32 = 50;

/// What the followers found. Dropping it ends them.
pub(crate) struct Followed {
    /// When each Machine was last triggered.
    pub(crate) triggers: Triggers,
    _tasks: JoinSet<()>,
}

/// What a Node says of itself, as far as the story needs it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NodeSight {
    pub(crate) ready: String,
    pub(crate) since: Option<Timestamp>,
    taints: Vec<String>,
    boot_id: String,
}

/// Nodes by name.
pub(crate) type Sights = BTreeMap<String, NodeSight>;

pub(crate) fn start(world: &Arc<World>, narrator: &Arc<Narrator>) -> Followed {
    let (sender, sights) = watch::channel(Sights::new());
    let triggers = Triggers::default();
    let mut tasks = JoinSet::new();
    tasks.spawn(nodes(Arc::clone(world), Arc::clone(narrator), sender));
    tasks.spawn(machines(Arc::clone(world), Arc::clone(narrator)));
    tasks.spawn(pods::follow(Arc::clone(world), Arc::clone(narrator)));
    tasks.spawn(remediations::follow(Arc::clone(world), Arc::clone(narrator)));
    tasks.spawn(health_check::play(
        Arc::clone(world),
        Arc::clone(narrator),
        sights,
        triggers.clone(),
    ));
    tasks.spawn(metal3::follow_hosts(Arc::clone(world), Arc::clone(narrator)));
    tasks.spawn(metal3::follow_events(Arc::clone(world), Arc::clone(narrator)));
    for host in &world.hosts {
        tasks.spawn(bmc::follow(host.bmc.clone(), Arc::clone(narrator)));
    }
    Followed {
        triggers,
        _tasks: tasks,
    }
}

/// What a watch tells: an object as it is now, or as it was when it went.
pub(crate) enum Told<K> {
    Is(K),
    Gone(K),
}

/// Every change of a kind, for ever; a broken watch is taken up again.
pub(crate) async fn every<K>(api: Api<K>, mut tell: impl FnMut(Told<K>))
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let config = watcher::Config::default().timeout(WATCH_SECONDS);
    let mut events = pin!(watcher(api, config).default_backoff());
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Apply(object) | Event::InitApply(object)) => tell(Told::Is(object)),
            Ok(Event::Delete(object)) => tell(Told::Gone(object)),
            Ok(Event::Init | Event::InitDone) | Err(_) => {}
        }
    }
}

async fn nodes(world: Arc<World>, narrator: Arc<Narrator>, sights: watch::Sender<Sights>) {
    let api = Api::<Node>::all(world.client.clone());
    every(api, |told| match told {
        Told::Is(node) => {
            let name = node.name_any();
            if node.annotations().contains_key(HANG_ANNOTATION) {
                tokio::spawn(hang(Arc::clone(&world), Arc::clone(&narrator), name.clone()));
            }
            let now = sight(&node);
            let before = sights.borrow().get(&name).cloned();
            if let Some(before) = &before {
                tell_node(&narrator, &name, before, &now);
            }
            sights.send_modify(|sights| {
                sights.insert(name, now);
            });
        }
        Told::Gone(node) => {
            let name = node.name_any();
            narrator.say(Who::Kubernetes, &format!("Node {name} is deleted"));
            sights.send_modify(|sights| {
                sights.remove(&name);
            });
        }
    })
    .await;
}

/// A person asked for it. The annotation goes, so that it can be asked for again.
async fn hang(world: Arc<World>, narrator: Arc<Narrator>, name: String) {
    let gone = Patch::Merge(json!({"metadata": {"annotations": {HANG_ANNOTATION: null}}}));
    let nodes = Api::<Node>::all(world.client.clone());
    let asked = nodes.patch(&name, &PatchParams::default(), &gone).await;
    let hung = match asked {
        Ok(_) => stage::hang(&world, &narrator, &name).await,
        Err(error) => Err(error.into()),
    };
    if let Err(error) = hung {
        narrator.say(Who::Demo, &format!("{name} cannot hang: {error:#}"));
    }
}

fn sight(node: &Node) -> NodeSight {
    let status = node.status.as_ref();
    let conditions = status
        .and_then(|status| status.conditions.as_deref())
        .unwrap_or_default();
    let ready = conditions.iter().find(|condition| condition.type_ == "Ready");
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_deref());
    let mut taints: Vec<String> = taints
        .unwrap_or_default()
        .iter()
        .map(|taint| taint.key.clone())
        .collect();
    taints.sort();
    taints.dedup();
    NodeSight {
        ready: ready.map(|ready| ready.status.clone()).unwrap_or_default(),
        since: ready
            .and_then(|ready| ready.last_transition_time.as_ref())
            .map(|time| time.0),
        taints,
        boot_id: status
            .and_then(|status| status.node_info.as_ref())
            .map(|info| info.boot_id.clone())
            .unwrap_or_default(),
    }
}

fn tell_node(narrator: &Narrator, name: &str, before: &NodeSight, now: &NodeSight) {
    let mut news = Vec::new();
    if before.ready != now.ready {
        let word = if now.ready == "True" { "Ready" } else { "NotReady" };
        news.push(format!("is {word} (Ready={}, was {})", now.ready, before.ready));
    }
    if before.boot_id != now.boot_id {
        news.push(format!(
            "has a new boot ID ({}, was {})",
            short(&now.boot_id),
            short(&before.boot_id)
        ));
    }
    for taint in now.taints.iter().filter(|taint| !before.taints.contains(taint)) {
        let meaning = if taint == keys::OUT_OF_SERVICE_TAINT {
            ": its pods are given up, others may take over"
        } else {
            ""
        };
        news.push(format!("is tainted {taint}{meaning}"));
    }
    for taint in before.taints.iter().filter(|taint| !now.taints.contains(taint)) {
        news.push(format!("lost the taint {taint}"));
    }
    if !news.is_empty() {
        narrator.say(Who::Kubernetes, &format!("Node {name} {}", news.join("; ")));
    }
}

/// The begin of an id, enough to tell two apart.
pub(crate) fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

async fn machines(world: Arc<World>, narrator: Arc<Narrator>) {
    let mut triggered: BTreeMap<String, bool> = BTreeMap::new();
    every(objects::machines(&world), |told: Told<DynamicObject>| {
        if let Told::Is(machine) = told {
            let name = machine.name_any();
            let now = machine.annotations().contains_key(keys::TRIGGER_ANNOTATION);
            if triggered.insert(name.clone(), now) == Some(true) && !now {
                let text =
                    format!("Machine {name} lost its trigger annotation; its health check is satisfied");
                narrator.say(Who::Kubernetes, &text);
            }
        }
    })
    .await;
}
