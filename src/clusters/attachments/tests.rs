use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::{Json, Router};
use futures::future::try_join_all;
use serde_json::json;

use crate::clusters::attachments::*;

/// Hosts that are fenced at once.
const HOSTS: usize = 20;

/// A cluster with one volume attached to each Node, and how often its VolumeAttachments were listed.
async fn cluster(name: &str) -> (Client, Arc<AtomicUsize>) {
    let lists = Arc::<AtomicUsize>::default();
    let (counted, name) = (Arc::clone(&lists), name.to_owned());
    let answer = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        let attachment = |host: usize| {
            json!({"metadata": {"name": format!("{name}-{host}")}, "spec": {
                "attacher": "csi", "nodeName": format!("node-{host}"),
                "source": {"persistentVolumeName": format!("volume-{host}")},
            }})
        };
        let items: Vec<_> = (0..HOSTS).map(attachment).collect();
        async move { Json(json!({"metadata": {"resourceVersion": "1"}, "items": items})) }
    };
    let config = crate::test_server::served(Router::new().fallback(answer)).await;
    (Client::try_from(config).unwrap(), lists)
}

/// Each host is looked at once, within 2 s, as they happen to be due.
async fn all_look(looks: &AttachmentLooks, client: &Client) -> Vec<Vec<Attached>> {
    let look = async |host: u32| {
        tokio::time::sleep(Duration::from_millis(95).saturating_mul(host)).await;
        of_node(looks, client, &format!("node-{host}")).await
    };
    let hosts = u32::try_from(HOSTS).unwrap();
    try_join_all((0..hosts).map(look)).await.unwrap()
}

fn attached(cluster: &str, host: usize) -> Attached {
    Attached {
        name: format!("{cluster}-{host}"),
        volume: Some(format!("volume-{host}")),
    }
}

#[tokio::test]
async fn hosts_that_are_fenced_at_once_share_one_list_in_two_seconds() {
    let (client, lists) = cluster("own").await;
    let looks = looks();

    let found = all_look(&looks, &client).await;

    for (host, found) in found.iter().enumerate() {
        assert_eq!(*found, [attached("own", host)]);
    }
    // The first to ask, and all that asked in the 2 s after that together.
    let count = lists.load(Ordering::Relaxed);
    assert!(count <= 2, "{count} lists for {HOSTS} hosts");
    assert_eq!(
        of_node(&looks, &client, "another").await.unwrap(),
        [],
        "nothing is attached to it"
    );
}

#[tokio::test]
async fn the_lists_of_two_clusters_are_not_mixed_up() {
    let ((own, _), (workload, _)) = (cluster("own").await, cluster("workload").await);
    let (of_own, of_workload) = (looks(), looks());

    let (one, other) = tokio::join!(
        of_node(&of_own, &own, "node-3"),
        of_node(&of_workload, &workload, "node-3")
    );

    assert_eq!(one.unwrap(), [attached("own", 3)]);
    assert_eq!(other.unwrap(), [attached("workload", 3)]);
}
