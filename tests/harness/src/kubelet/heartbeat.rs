//! A living kubelet: registration, status, Lease.

use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;

use futures::{Stream, StreamExt, future};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::watcher::{self, watcher};
use kube::runtime::{WatchStreamExt, watcher::Event};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval};

use super::{Kubelet, Life, pods};

const LEASE_NAMESPACE: &str = "kube-node-lease";
const RETRY: Duration = Duration::from_millis(200);
/// Below the client's read timeout, so that a quiet watch ends by itself.
const WATCH_SECONDS: u32 = 50;

impl Kubelet {
    /// Everything a kubelet does. Ends only by being dropped.
    pub(super) async fn live(&self, life: &mut Life) -> Infallible {
        let node = loop {
            let said = if life.starting {
                self.register().await
            } else {
                self.post_status().await
            };
            self.note(&said);
            match said {
                Ok(node) => {
                    life.starting = false;
                    for done in life.waiting.drain(..) {
                        // Whoever asked may have stopped waiting.
                        done.send(Ok(())).ok();
                    }
                    break node;
                }
                Err(kube::Error::Api(status)) if status.is_not_found() && !life.starting => {
                    for done in life.waiting.drain(..) {
                        done.send(Err(status.to_string())).ok();
                    }
                    break Node::default();
                }
                Err(_) => tokio::time::sleep(RETRY).await,
            }
        };
        let (status, pods) = (Box::pin(self.keep_status()), Box::pin(self.keep_pods()));
        future::join3(self.renew_lease(&node), status, pods).await.0
    }

    /// As a kubelet does at its start: creates its Node, or finds it and says how it is now.
    async fn register(&self) -> Result<Node, kube::Error> {
        let nodes = Api::<Node>::all(self.client.clone());
        let node = match nodes
            .create(&PostParams::default(), &self.template.node(&self.conditions))
            .await
        {
            Err(kube::Error::Api(status)) if status.is_already_exists() => self.post_status().await?,
            other => other?,
        };
        self.renew_once(&node).await?;
        Ok(node)
    }

    async fn post_status(&self) -> Result<Node, kube::Error> {
        let patch = json!({"status": self.template.status(&self.conditions)});
        Api::<Node>::all(self.client.clone())
            .patch_status(
                &self.template.name,
                &PatchParams::default(),
                &Patch::Strategic(patch),
            )
            .await
    }

    async fn renew_lease(&self, node: &Node) -> Infallible {
        let mut ticks = interval(self.template.lease_interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.note(&self.renew_once(node).await);
        }
    }

    async fn renew_once(&self, node: &Node) -> Result<(), kube::Error> {
        let leases = Api::<Lease>::namespaced(self.client.clone(), LEASE_NAMESPACE);
        let name = &self.template.name;
        let spec = json!({
            "holderIdentity": name,
            // A kubelet renews every quarter of the duration.
            "leaseDurationSeconds": self.template.lease_interval.saturating_mul(4).as_secs().max(1),
            "renewTime": MicroTime(Timestamp::now()),
        });
        // No record of who owns which field: it is read by nobody, and costs the server a third of a renewal.
        let patch = Patch::Merge(json!({"metadata": {"managedFields": [{}]}, "spec": spec}));
        match leases.patch(name, &PatchParams::default(), &patch).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() => {
                // The owner takes the Lease along when it is deleted, as with a real kubelet.
                let owner = json!({"apiVersion": "v1", "kind": "Node", "name": name, "uid": node.uid()});
                let owners: Vec<_> = node.uid().map(|_| owner).into_iter().collect();
                let lease = json!({"metadata": {"name": name, "ownerReferences": owners}, "spec": spec});
                let lease = serde_json::from_value(lease).map_err(kube::Error::SerdeError)?;
                leases.create(&PostParams::default(), &lease).await.map(|_| ())
            }
            Err(error) => Err(error),
        }
    }

    /// Contradicts whoever says otherwise of this node's readiness. A Node that is deleted stays
    /// deleted: a kubelet registers when it starts and not again.
    async fn keep_status(&self) -> Infallible {
        let nodes = Api::<Node>::all(self.client.clone());
        let own = watcher::Config::default().fields(&format!("metadata.name={}", self.template.name));
        let mut events = pin!(objects(nodes, own));
        while let Some(node) = events.next().await {
            if !self.says_the_same(&node) {
                self.note(&self.post_status().await);
            }
        }
        future::pending().await
    }

    fn says_the_same(&self, node: &Node) -> bool {
        let status = node.status.as_ref();
        let conditions = status
            .and_then(|status| status.conditions.as_deref())
            .unwrap_or_default();
        self.conditions.values().all(|ours| {
            conditions
                .iter()
                .any(|theirs| theirs.type_ == ours.type_ && theirs.status == ours.status)
        })
    }

    async fn keep_pods(&self) -> Infallible {
        if !self.template.runs_pods {
            return future::pending().await;
        }
        let bound = watcher::Config::default().fields(&format!("spec.nodeName={}", self.template.name));
        let mut events = pin!(objects(Api::<Pod>::all(self.client.clone()), bound));
        while let Some(pod) = events.next().await {
            self.note(&pods::attend(&self.client, &pod).await);
        }
        future::pending().await
    }
}

/// Every object as it is and as it becomes; a broken watch is taken up again.
pub(crate) fn objects<K>(api: Api<K>, config: watcher::Config) -> impl Stream<Item = K> + Send
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    watcher(api, config.timeout(WATCH_SECONDS))
        .default_backoff()
        .filter_map(|event| {
            future::ready(match event {
                Ok(Event::Apply(object) | Event::InitApply(object)) => Some(object),
                Ok(Event::Delete(_) | Event::Init | Event::InitDone) | Err(_) => None,
            })
        })
}
