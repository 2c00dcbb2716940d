//! A Machine of Cluster API whose Node was deleted in its workload cluster: that it is gone has to be said by the
//! right cluster.
#![allow(clippy::indexing_slicing, reason = "a test that fails says so")]

use std::time::Duration;

use anyhow::{Context as _, Result};
use harness::{Cluster, ControlPlane, Options};
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams};
use remediator_core::journal::{NoNode, NodeOfSubject};
use remediator_core::phase::{Phase, Reason};
use serde_json::{Value, json};
use world::acts::{create_template, patient};
use world::pool::{self, Setting};
use world::{World, cluster_api, objects};

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
static SETTING: Setting = Setting::alone("nodeless in cluster api").taking(90);
const LONG: Duration = Duration::from_mins(2);
const CLUSTER: &str = "blue";

async fn control_plane() -> Result<Cluster> {
    pool::lease(&SETTING).await
}

#[tokio::test]
async fn a_deleted_node_is_believed_only_of_the_right_cluster() -> world::Outcome {
    let cluster = &control_plane().await?;
    let workload = ControlPlane::start(Options::default()).await?;
    let options = vec![cluster_api::options(CLUSTER), cluster_api::options(CLUSTER)];
    let world = World::across(cluster, workload.cluster(), "capi-nodeless", options).await?;
    cluster_api::create_cluster(&world, CLUSTER).await?;
    world::daemon::shared(cluster, DAEMON).await?;
    let (well, host) = (&world.hosts[0], &world.hosts[1]);
    objects::patch_endpoint(&world, &host.name, json!({"systemUUID": host.bmc.system_uuid()})).await?;
    cluster_api::create_health_check(&world, "workers", CLUSTER, cluster_api::template("cycle")).await?;
    let template = create_template(&world, "cycle", Value::Null, patient()).await?;
    let nodes = Api::<Node>::all(world.nodes.clone());
    nodes.delete(&host.name, &DeleteParams::default()).await?;

    // Nobody can be asked: the Node is not known to be gone.
    cluster_api::request(&world, host, &template).await?;
    let unreachable = Reason::WorkloadClusterUnreachable;
    let waits = world.remediation_says(&host.name, unreachable, "blue-kubeconfig");
    assert_eq!(world::phase(&waits.await?), Phase::Pending);
    // A cluster answers in which there is no such Node; but nor is any other of this Cluster.
    cluster_api::connect(&world, CLUSTER, cluster).await?;
    let what = "nothing shows that they are its Nodes";
    let waits = world.remediation_says(&host.name, Reason::NodeUnreadable, what);
    assert_eq!(world::phase(&waits.await?), Phase::Pending);
    assert_eq!(host.transitions(), (0, 0));

    cluster_api::connect(&world, CLUSTER, workload.cluster()).await?;
    let ended = world.remediation_ended(&host.name, LONG).await?;

    let journal = world::journal(&ended);
    assert_eq!(journal.phase, Phase::Succeeded, "{}", journal.message);
    assert_eq!((well.transitions(), host.transitions()), ((0, 0), (1, 1)));
    let subject = journal.subject.context("it is journalled")?;
    assert_eq!(subject.cluster.as_deref(), Some(CLUSTER));
    let gone = NodeOfSubject::None {
        why: NoNode::Deleted(host.name.clone()),
        earlier_boot: None,
    };
    assert_eq!(subject.node, gone);
    objects::node(&world, &host.name).await?;
    Ok(())
}
