//! Scripted kubelets and the scheduler, judged by the real controllers.

use std::time::Duration;

use harness::await_condition;
use harness::kubelet::{HostEvent, NodeTemplate, ScriptedKubelet, random_uuid, witnesses};
use harness::scheduler::ScriptedScheduler;
use harness::{Cluster, control_plane};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::Condition;
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::mpsc;

const SOON: Duration = Duration::from_mins(1);

async fn until<K>(api: Api<K>, name: &str, what: impl Condition<K>) -> Option<K>
where
    K: kube::Resource + Clone + std::fmt::Debug + Send + serde::de::DeserializeOwned + 'static,
{
    tokio::time::timeout(SOON, await_condition(api, name, what))
        .await
        .unwrap_or_else(|_| panic!("waited too long for {name}"))
        .unwrap()
}

fn ready_is(status: &'static str) -> impl Condition<Node> {
    move |node: Option<&Node>| {
        node.and_then(|node| node.status.as_ref()?.conditions.as_ref())
            .is_some_and(|all| all.iter().any(|one| one.type_ == "Ready" && one.status == status))
    }
}

fn tainted(key: &'static str, effect: &'static str) -> impl Condition<Node> {
    move |node: Option<&Node>| {
        node.and_then(|node| node.spec.as_ref()?.taints.as_ref())
            .is_some_and(|all| all.iter().any(|one| one.key == key && one.effect == effect))
    }
}

fn untainted() -> impl Condition<Node> {
    |node: Option<&Node>| {
        node.and_then(|node| node.spec.as_ref())
            .is_some_and(|spec| spec.taints.as_ref().is_none_or(Vec::is_empty))
    }
}

fn running() -> impl Condition<Pod> {
    |pod: Option<&Pod>| {
        pod.and_then(|pod| pod.status.as_ref()?.phase.as_deref())
            .is_some_and(|phase| phase == "Running")
    }
}

fn gone<K>() -> impl Condition<K> {
    |object: Option<&K>| object.is_none()
}

async fn create_pod(pods: &Api<Pod>, name: &str, node: &str) {
    let pod = json!({
        "metadata": {"name": name},
        "spec": {
            "containers": [{"name": "main", "image": "example.invalid/nothing"}],
            // Nodes of the other tests are in the same cluster.
            "nodeSelector": {"kubernetes.io/hostname": node},
        },
    });
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap())
        .await
        .unwrap();
}

async fn boot_id(nodes: &Api<Node>, name: &str) -> String {
    nodes
        .get(name)
        .await
        .unwrap()
        .status
        .unwrap()
        .node_info
        .unwrap()
        .boot_id
}

async fn cluster() -> (&'static Cluster, Client) {
    let cluster = control_plane().await.unwrap().cluster();
    (cluster, cluster.client().await.unwrap())
}

#[tokio::test]
async fn a_node_registers_with_what_its_template_says() {
    let (cluster, client) = cluster().await;
    let mut template = NodeTemplate::new(cluster.unique("registers"));
    template.provider_id = Some("baremetalhost:///hosts/one".to_owned());
    template.machine = Some("machines/one".to_owned());
    let kubelet = ScriptedKubelet::start(client.clone(), template.clone())
        .await
        .unwrap();
    let nodes = Api::<Node>::all(client.clone());
    let node = nodes.get(kubelet.node_name()).await.unwrap();
    assert_eq!(node.spec.unwrap().provider_id, template.provider_id);
    assert_eq!(
        node.metadata.annotations.unwrap()["machine.openshift.io/machine"],
        "machines/one"
    );
    let info = node.status.unwrap().node_info.unwrap();
    assert_eq!(
        (info.system_uuid, info.boot_id),
        (template.system_uuid, template.boot_id)
    );

    kubelet
        .report_condition("DiskPressure", "True", "Full")
        .await
        .unwrap();
    let node = nodes.get(kubelet.node_name()).await.unwrap();
    let conditions = node.status.unwrap().conditions.unwrap();
    assert!(
        conditions
            .iter()
            .any(|one| one.type_ == "DiskPressure" && one.status == "True")
    );
    kubelet
        .report_condition("Ready", "False", "KubeletNotReady")
        .await
        .unwrap();
    until(
        nodes.clone(),
        kubelet.node_name(),
        tainted("node.kubernetes.io/not-ready", "NoSchedule"),
    )
    .await;
    kubelet.report_ready().await.unwrap();
    until(nodes, kubelet.node_name(), ready_is("True")).await;
}

#[tokio::test]
async fn a_host_that_loses_power_is_fenced_and_comes_back() {
    let (cluster, client) = cluster().await;
    let _witnesses = witnesses(&client, "witness", 2).await.unwrap();
    let _scheduler = ScriptedScheduler::start(client.clone());
    let nodes = Api::<Node>::all(client.clone());
    let leases = Api::<Lease>::namespaced(client.clone(), "kube-node-lease");
    let (host, events) = mpsc::unbounded_channel();
    let template = NodeTemplate::new(cluster.unique("fenced"));
    let kubelet = ScriptedKubelet::start_on_host(client.clone(), template, events)
        .await
        .unwrap();
    let name = kubelet.node_name();
    until(nodes.clone(), name, untainted()).await;

    let namespace = cluster.namespace("workload").await.unwrap();
    let pods = Api::<Pod>::namespaced(client.clone(), &namespace);
    create_pod(&pods, "first", name).await;
    until(pods.clone(), "first", running()).await;

    // A pod that is deleted on a living node goes at once.
    create_pod(&pods, "passing", name).await;
    until(pods.clone(), "passing", running()).await;
    pods.delete("passing", &DeleteParams::default()).await.unwrap();
    until(pods.clone(), "passing", gone()).await;

    host.send(HostEvent::Off).unwrap();
    until(nodes.clone(), name, ready_is("Unknown")).await;
    until(
        nodes.clone(),
        name,
        tainted("node.kubernetes.io/unreachable", "NoSchedule"),
    )
    .await;
    until(
        nodes.clone(),
        name,
        tainted("node.kubernetes.io/unreachable", "NoExecute"),
    )
    .await;
    let silent = leases.get(name).await.unwrap().spec.unwrap().renew_time;

    let taint = json!({"spec": {"taints": [{"key": "node.kubernetes.io/out-of-service",
        "value": "nodeshutdown", "effect": "NoExecute"}]}});
    nodes
        .patch(name, &PatchParams::default(), &Patch::Strategic(taint))
        .await
        .unwrap();
    until(pods.clone(), "first", gone()).await;
    assert_eq!(leases.get(name).await.unwrap().spec.unwrap().renew_time, silent);

    let boot = random_uuid();
    host.send(HostEvent::Booted {
        boot_id: boot.clone(),
    })
    .unwrap();
    until(nodes.clone(), name, ready_is("True")).await;
    assert_eq!(boot_id(&nodes, name).await, boot);
}

#[tokio::test]
async fn a_kubelet_stops_and_resumes_on_demand() {
    let (cluster, client) = cluster().await;
    let _witnesses = witnesses(&client, "witness", 2).await.unwrap();
    let nodes = Api::<Node>::all(client.clone());
    let kubelet = ScriptedKubelet::start(client.clone(), NodeTemplate::new(cluster.unique("stops")))
        .await
        .unwrap();
    until(nodes.clone(), kubelet.node_name(), untainted()).await;
    kubelet.stop_reporting().await.unwrap();
    until(nodes.clone(), kubelet.node_name(), ready_is("Unknown")).await;
    let error = format!("{:#}", kubelet.report_ready().await.unwrap_err());
    assert!(error.contains("silent"), "{error}");
    let boot = random_uuid();
    kubelet.resume(&boot).await.unwrap();
    assert_eq!(boot_id(&nodes, kubelet.node_name()).await, boot);
    until(nodes.clone(), kubelet.node_name(), ready_is("True")).await;
    until(nodes, kubelet.node_name(), untainted()).await;
}

#[tokio::test]
async fn a_deleted_node_comes_back_only_by_a_boot() {
    let (cluster, client) = cluster().await;
    let nodes = Api::<Node>::all(client.clone());
    let leases = Api::<Lease>::namespaced(client.clone(), "kube-node-lease");
    let kubelet = ScriptedKubelet::start(client.clone(), NodeTemplate::new(cluster.unique("deleted")))
        .await
        .unwrap();
    let name = kubelet.node_name();
    let first = nodes.get(name).await.unwrap();
    let owner = leases.get(name).await.unwrap().metadata.owner_references.unwrap();
    assert_eq!(Some(&owner[0].uid), first.metadata.uid.as_ref());

    nodes.delete(name, &DeleteParams::default()).await.unwrap();
    let error = format!("{:#}", kubelet.report_ready().await.unwrap_err());
    assert!(error.contains("not found"), "{error}");
    assert!(nodes.get_opt(name).await.unwrap().is_none());

    // An order that comes while it still registers does not make it forget to.
    let (resumed, reported) = tokio::join!(
        kubelet.resume(random_uuid()),
        kubelet.report_condition("DiskPressure", "True", "Full")
    );
    resumed.unwrap();
    reported.unwrap();
    assert_ne!(nodes.get(name).await.unwrap().metadata.uid, first.metadata.uid);
}
