//! metal3 beside the daemon: a real Ironic, who tells it what to do, and what their BareMetalHosts tell.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::Result;
use k8s_openapi::api::events::v1::Event;
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject};
use remediator_api::keys;
use serde_json::Value;
use world::metal3::{self, BaremetalOperator, Ironic, Pace, Settings};
use world::{World, objects};

use crate::follow::{Told, every};
use crate::narrate::{Narrator, Who};

/// Ends with this.
pub(crate) struct Metal3 {
    _operator: BaremetalOperator,
    _ironic: Ironic,
}

/// Starts it, and waits until it keeps every host online.
pub(crate) async fn start(world: &World, narrator: &Narrator) -> Result<Metal3> {
    narrator.say(
        Who::Demo,
        "starting Ironic, and what tells it to keep hosts online",
    );
    let ironic = Ironic::start(&Settings::shortened(world.simulator.ca_pem())).await?;
    let operator = BaremetalOperator::start(world, &ironic, Pace::shortened()).await?;
    futures::future::try_join_all(world.hosts.iter().map(|host| metal3::keeps_online(world, host))).await?;
    narrator.say(
        Who::Metal3,
        "keeps the three hosts online; Ironic undoes what others do to their power",
    );
    Ok(Metal3 {
        _operator: operator,
        _ironic: ironic,
    })
}

/// What a BareMetalHost tells, as far as the story needs it.
#[derive(Clone, Default, PartialEq)]
struct Sight {
    marks: BTreeSet<String>,
    powered_on: Option<bool>,
    state: String,
}

/// Tells what changes on BareMetalHosts, for ever.
pub(crate) async fn follow_hosts(world: Arc<World>, narrator: Arc<Narrator>) {
    let mut sights: BTreeMap<String, Sight> = BTreeMap::new();
    every(objects::bare_metal_hosts(&world), |told| {
        if let Told::Is(host) = told {
            let (name, now) = (host.name_any(), sight(&host));
            if let Some(before) = sights.insert(name.clone(), now.clone()) {
                tell(&narrator, &name, &before, &now);
            }
        }
    })
    .await;
}

/// Tells the events on BareMetalHosts, for ever: what `kubectl describe bmh` shows.
pub(crate) async fn follow_events(world: Arc<World>, narrator: Arc<Narrator>) {
    let mut told_of = BTreeSet::new();
    let events = Api::<Event>::namespaced(world.client.clone(), &world.namespace);
    every(events, |told| {
        if let Told::Is(event) = told {
            let regarding = event.regarding.clone().unwrap_or_default();
            let is_news = told_of.insert(event.name_any());
            if is_news && regarding.kind.as_deref() == Some("BareMetalHost") {
                let (reason, note) = (event.reason.unwrap_or_default(), event.note.unwrap_or_default());
                let text = format!(
                    "event on BareMetalHost {}: {reason}: {note}",
                    regarding.name.unwrap_or_default()
                );
                narrator.say(Who::Remediator, &text);
            }
        }
    })
    .await;
}

/// The annotations by which somebody holds a host off or keeps metal3 away from it.
fn marks(host: &DynamicObject) -> BTreeSet<String> {
    let is_mark =
        |key: &&String| key.starts_with(keys::REBOOT_ANNOTATION) || *key == keys::BARE_METAL_HOST_DETACHED;
    host.annotations().keys().filter(is_mark).cloned().collect()
}

fn sight(host: &DynamicObject) -> Sight {
    let status = |pointer: &str| host.data.pointer(pointer);
    Sight {
        marks: marks(host),
        powered_on: status("/status/poweredOn").and_then(Value::as_bool),
        state: status("/status/operationalStatus")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
    }
}

fn tell(narrator: &Narrator, name: &str, before: &Sight, now: &Sight) {
    for mark in now.marks.difference(&before.marks) {
        narrator.say(
            Who::Kubernetes,
            &format!("BareMetalHost {name} is annotated {mark}: it is to be kept off"),
        );
    }
    for mark in before.marks.difference(&now.marks) {
        narrator.say(
            Who::Kubernetes,
            &format!("BareMetalHost {name} lost the annotation {mark}"),
        );
    }
    let mut news = Vec::new();
    if let Some(on) = now.powered_on.filter(|_| now.powered_on != before.powered_on) {
        news.push(format!("poweredOn={on}"));
    }
    if now.state != before.state {
        news.push(format!("operationalStatus={}", now.state));
    }
    if !news.is_empty() {
        narrator.say(Who::Metal3, &format!("says of {name}: {}", news.join(", ")));
    }
}
