use futures::StreamExt as _;
use kube::config::Config;
use kube::runtime::watcher::Event;
use serde_json::json;

use crate::clusters::node_cluster::SharedLists;
use crate::clusters::workload::*;
use crate::watch::shared_cache::SharedCache;

fn clusters() -> (WorkloadClusters, ClusterKey, mpsc::UnboundedReceiver<Change>) {
    let config = Config::new("http://127.0.0.1:1".parse().unwrap());
    let client = Client::try_from(config).unwrap();
    let (tell, told) = mpsc::unbounded();
    let key = ClusterKey {
        namespace: "metal".to_owned(),
        name: "blue".to_owned(),
    };
    let (changes, _) = tokio::sync::mpsc::unbounded_channel();
    let clusters = WorkloadClusters::new(
        client,
        (Clock::start(), DomainLabel::of(None)),
        Lead::alone(),
        vec![tell],
        changes,
    );
    (clusters, key, told)
}

#[tokio::test]
async fn a_task_that_ended_is_begun_by_the_next_who_asks() {
    let (clusters, key, mut told) = clusters();
    assert!(clusters.nodes(&key).is_err());
    assert_eq!(told.next().await, Some(Change::Cluster(key.clone())));
    let ended = clusters
        .0
        .entries()
        .get(&key)
        .map(|entry| entry.task.clone())
        .unwrap();
    ended.abort();
    while !ended.is_finished() {
        tokio::task::yield_now().await;
    }

    let unknown = clusters.nodes(&key).unwrap_err();

    assert!(
        unknown.detail.contains("being connected to"),
        "{}",
        unknown.detail
    );
    assert_eq!(told.next().await, Some(Change::Cluster(key)), "it is asked again");
}

#[tokio::test]
async fn leftover_taints_are_looked_for_where_they_could_be_removed() {
    let (clusters, key, mut told) = clusters();
    assert!(clusters.nodes(&key).is_err());
    let (store, mut cache) = SharedCache::new();
    let node = json!({"metadata": {"name": "one", "annotations": {keys::TAINTED_BY_ANNOTATION: "uid"}}});
    let node: Node = serde_json::from_value(node).unwrap();
    cache.apply(Event::Apply(Guarded(Ok(node))));
    let nodes = NodeCluster {
        client: clusters.0.client.clone(),
        nodes: store,
        lost_nodes: LostNodes::new(Clock::start()),
        lists: SharedLists::new(),
        out_of_service_supported: true,
        of: Some(key.clone()),
        uid: None,
    };
    assert_eq!(told.next().await, Some(Change::Cluster(key.clone())));
    for (trouble, found) in [(None, 1), (Some("no route".to_owned()), 0)] {
        clusters.0.note(&key, |entry| {
            entry.nodes = Some(nodes.clone());
            entry.trouble = trouble;
        });
        assert_eq!(clusters.looked_at(None).len(), found);
    }
}
