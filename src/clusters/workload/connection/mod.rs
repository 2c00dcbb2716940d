//! Looks after the connection to one workload cluster.

use std::sync::Weak;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::Api;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event};
use remediator_api::guarded::Guarded;
use remediator_api::views::Node;
use remediator_api::views::cluster_api::ClusterKey;

use crate::api_call::within;
use crate::clusters::node_cluster::{NodeCluster, SharedLists, cluster_uid, supports_out_of_service};
use crate::clusters::workload::load::Load;
use crate::clusters::workload::{Change, NODES_PAGE, Shared, kubeconfig};
use crate::leadership::lead::Lead;
use crate::watch::change_events;
use crate::watch::domain_label::DomainLabel;
use crate::watch::lost_nodes::LostNodes;
use crate::watch::node_identities::ChangedNode;
use crate::watch::shared_cache::SharedCache;
use crate::watch::watching::{WATCH_TIMEOUT, narrowed};

/// Key of the kubeconfig in its Secret.
/// Source: cluster-api `util/secret/consts.go` (`KubeconfigDataName`).
const SECRET_KEY: &str = "value";

/// How often the Secret is read again: credentials rotate.
const SECRET_RECHECK: Duration = Duration::from_secs(30);

/// First pause after a connection that failed; doubles up to [`SECRET_RECHECK`].
const FIRST_PAUSE: Duration = Duration::from_secs(2);

/// The pause between connections to one cluster. A server that answers and shows no Nodes is asked no more often than one
/// that does not answer.
struct Pause(Duration);

impl Pause {
    /// The pause after a connection that held for so long.
    fn after(&mut self, held: Duration) -> Duration {
        if held >= SECRET_RECHECK {
            self.0 = FIRST_PAUSE;
        }
        let next = self.0.saturating_mul(2).min(SECRET_RECHECK);
        std::mem::replace(&mut self.0, next)
    }
}

/// Keeps one cluster connected for as long as somebody wants it.
pub(super) struct Keeper {
    pub(super) key: ClusterKey,
    pub(super) client: Client,
    /// Outlives connections: a Node that is lost stays so when a watch is begun anew.
    pub(super) lost_nodes: LostNodes,
    pub(super) lead: Lead,
    pub(super) domain_label: DomainLabel,
    pub(super) shared: Weak<Shared>,
}

/// The kubeconfig of a cluster. Whatever else changes about its Secret says nothing about the connection.
async fn credentials(client: &Client, key: &ClusterKey) -> Result<String, String> {
    let name = format!("{}-kubeconfig", key.name);
    let secrets = Api::<Secret>::namespaced(client.clone(), &key.namespace);
    let secret = within("reading the kubeconfig Secret", secrets.get_opt(&name)).await;
    let secret = secret.map_err(|error| crate::report::chain(&error))?;
    let secret = secret.ok_or_else(|| format!("there is no Secret {name}"))?;
    let value = secret.data.as_ref().and_then(|data| data.get(SECRET_KEY));
    let value = value.ok_or_else(|| format!("Secret {name} has no key {SECRET_KEY}"))?;
    String::from_utf8(value.0.clone()).map_err(|_| format!("Secret {name} is not text"))
}

async fn client_for(credentials: &str, key: &ClusterKey, lead: &Lead) -> Result<Client, String> {
    let client = kubeconfig::client(credentials, lead).await;
    client.map_err(|wrong| format!("Secret {}-kubeconfig: {wrong}", key.name))
}

impl Keeper {
    /// Runs until nobody wants the cluster any more.
    pub(super) async fn run(self) {
        let mut pause = Pause(FIRST_PAUSE);
        loop {
            let Some(shared) = self.shared.upgrade() else {
                return;
            };
            if shared.let_go(&self.key) {
                tracing::info!(cluster = %self.key, "workload cluster let go; nobody asks for it");
                return;
            }
            drop(shared);
            let mut held = Duration::ZERO;
            match self.connect().await {
                Ok((credentials, nodes)) => {
                    let began = Instant::now();
                    self.watch(&credentials, nodes).await;
                    held = began.elapsed();
                }
                Err(trouble) => self.troubled(&trouble),
            }
            tokio::time::sleep(pause.after(held)).await;
        }
    }

    /// A client that the cluster answers.
    async fn connect(&self) -> Result<(String, (Client, bool, Option<String>)), String> {
        let credentials = credentials(&self.client, &self.key).await?;
        let client = client_for(&credentials, &self.key, &self.lead).await?;
        let version = within("asking for the server's version", client.apiserver_version()).await;
        let version = version.map_err(|error| crate::report::chain(&error))?;
        let supported = supports_out_of_service(&version.major, &version.minor);
        let uid = cluster_uid(&client).await;
        Ok((credentials, (client, supported, uid)))
    }

    /// Watches the Nodes until the watch fails, the credentials changed, or nobody wants them any more.
    async fn watch(
        &self,
        credentials: &str,
        (client, out_of_service_supported, uid): (Client, bool, Option<String>),
    ) {
        let (store, mut cache) = SharedCache::new();
        let config = watcher::Config::default()
            .timeout(WATCH_TIMEOUT)
            .page_size(NODES_PAGE);
        let (noting, narrow) = (self.lost_nodes.clone(), self.domain_label.narrow());
        let events = watcher::watcher(Api::<Guarded<Node>>::all(client.clone()), config)
            .modify(move |node| narrowed(node, &narrow))
            .inspect_ok(move |event| noting.note(event));
        let mut events = std::pin::pin!(events);
        let nodes = NodeCluster {
            client,
            nodes: store,
            lost_nodes: self.lost_nodes.clone(),
            lists: SharedLists::new(),
            out_of_service_supported,
            of: Some(self.key.clone()),
            uid,
        };
        let mut recheck = tokio::time::interval(SECRET_RECHECK);
        recheck.reset();
        let mut load = Load::default();
        loop {
            let is_over = tokio::select! {
                event = events.next() => {
                    let is_too_much = matches!(&event, Some(Ok(event)) if load.is_exceeded_by(event));
                    if is_too_much {
                        self.troubled(&Load::why());
                    }
                    is_too_much || self.noted(&nodes, event, &mut cache)
                }
                _ = recheck.tick() => self.is_over(credentials).await,
            };
            if is_over {
                return;
            }
        }
    }

    /// Notes what the watch says; answers whether it has to be begun anew.
    fn noted(
        &self,
        nodes: &NodeCluster,
        event: Option<watcher::Result<Event<Guarded<Node>>>>,
        cache: &mut SharedCache<Node>,
    ) -> bool {
        let Some(shared) = self.shared.upgrade() else {
            return true;
        };
        let event = match event {
            Some(Ok(event)) => event,
            // A watch that is resumed is silent until something changes; a new list shows that the cluster answers.
            Some(Err(error)) => {
                self.troubled(&crate::report::chain(&error));
                return true;
            }
            None => return true,
        };
        let is_listed = matches!(event, Event::InitDone);
        let news = cache.apply(event);
        change_events::publish(&shared.changes, Some(&self.key.namespace), &news);
        if is_listed {
            tracing::info!(cluster = %self.key, "workload cluster connected");
            shared.note(&self.key, |entry| {
                entry.nodes = Some(nodes.clone());
                entry.trouble = None;
            });
        } else {
            for change in &news {
                shared.tell(&Change::Node(self.key.clone(), ChangedNode::of(change)));
            }
        }
        false
    }

    /// Whether this connection has served its time.
    async fn is_over(&self, held: &str) -> bool {
        let Some(shared) = self.shared.upgrade() else {
            return true;
        };
        let unwanted = shared.is_unwanted(&self.key);
        drop(shared);
        // A Secret that cannot be read now has not changed.
        unwanted
            || credentials(&self.client, &self.key)
                .await
                .is_ok_and(|now| now != held)
    }

    fn troubled(&self, trouble: &str) {
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        if shared.is_troubled_by(&self.key, trouble) {
            return;
        }
        tracing::warn!(cluster = %self.key, %trouble, "workload cluster cannot be asked; it is tried again");
        shared.note(&self.key, |entry| entry.trouble = Some(trouble.to_owned()));
    }
}

#[cfg(test)]
mod tests;
