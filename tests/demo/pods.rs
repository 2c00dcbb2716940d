//! Tells where the workload's pod is.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::Api;
use world::World;

use crate::follow::{Told, every};
use crate::narrate::{Narrator, Who};

#[derive(Clone, Debug, Default, PartialEq)]
struct Sight {
    node: String,
    running: bool,
    ending: bool,
}

pub(crate) async fn follow(world: Arc<World>, narrator: Arc<Narrator>) {
    let api = Api::<Pod>::namespaced(world.client.clone(), &world.namespace);
    // By UID: the next pod of a StatefulSet has the name of the last one.
    let mut sights: BTreeMap<String, Sight> = BTreeMap::new();
    let mut first = true;
    every(api, |told| {
        let (pod, gone) = match told {
            Told::Is(pod) => (pod, false),
            Told::Gone(pod) => (pod, true),
        };
        let (name, uid, now) = (pod.name_any(), pod.uid().unwrap_or_default(), sight(&pod));
        if gone {
            sights.remove(&uid);
            narrator.say(Who::Kubernetes, &format!("pod {name} is gone from {}", now.node));
            return;
        }
        let before = sights.insert(uid, now.clone());
        let known = before.is_some();
        let before = before.unwrap_or_default();
        if std::mem::take(&mut first) {
            return;
        }
        if now.ending && !before.ending {
            narrator.say(
                Who::Kubernetes,
                &format!("pod {name} is being removed from {}", now.node),
            );
        } else if now.running && !(known && before.running) {
            narrator.say(Who::Kubernetes, &format!("pod {name} runs on {}", now.node));
        }
    })
    .await;
}

fn sight(pod: &Pod) -> Sight {
    let spec = pod.spec.as_ref();
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    Sight {
        node: spec
            .and_then(|spec| spec.node_name.clone())
            .unwrap_or_else(|| "no Node".to_owned()),
        running: phase == Some("Running"),
        ending: pod.metadata.deletion_timestamp.is_some(),
    }
}
