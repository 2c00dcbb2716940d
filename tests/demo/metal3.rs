//! metal3 beside the daemon: a real Ironic, who tells it what to do, and what their BareMetalHosts tell.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::await_condition;
use k8s_openapi::api::events::v1::Event;
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject};
use remediator_api::keys;
use serde_json::{Value, json};
use world::metal3::{
    BaremetalOperator, Ironic, Pace, Settings, create_bare_metal_host, is_managed, status_until,
};
use world::{World, WorldHost, objects};

use crate::follow::{Told, every};
use crate::narrate::{Narrator, Who};

/// How long Ironic may take to start, or to take hosts over.
const PATIENCE: Duration = Duration::from_mins(2);

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
    futures::future::try_join_all(world.hosts.iter().map(|host| is_taken_over(world, host))).await?;
    narrator.say(
        Who::Metal3,
        "keeps the three hosts online; Ironic undoes what others do to their power",
    );
    Ok(Metal3 {
        _operator: operator,
        _ironic: ironic,
    })
}

async fn is_taken_over(world: &World, host: &WorldHost) -> Result<()> {
    create_bare_metal_host(world, host).await?;
    let id = format!("baremetalhost:///{}/{}", world.namespace, host.name);
    objects::patch_machine(world, &host.name, json!({"spec": {"providerID": id}})).await?;
    status_until(world, &host.name, PATIENCE, is_managed).await?;
    Ok(())
}

/// Waits until nothing of the daemon's is on a BareMetalHost.
pub(crate) async fn is_given_back(world: &World, name: &str) -> Result<()> {
    let is_free = |host: Option<&DynamicObject>| {
        host.is_some_and(|host| marks(host).is_empty() && !host.labels().contains_key(keys::HOLD_LABEL))
    };
    let free = await_condition(objects::bare_metal_hosts(world), name, is_free);
    let free = tokio::time::timeout(PATIENCE, free).await;
    free.with_context(|| {
        format!("expected: nothing of the daemon's on BareMetalHost {name}\nseen:     some stays")
    })??;
    Ok(())
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
