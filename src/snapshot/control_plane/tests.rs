use std::collections::BTreeMap;

use axum::Router;
use axum::extract::{Query, Request};
use axum::http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::*;
use crate::watch::caches::testing::{apply, caches};

const RENEWED: &str = "2026-11-23T09:00:00.000000Z";

fn node(name: &str, roles: &[&str], ready: &str) -> Value {
    let labels = roles.iter().map(|role| format!("node-role.kubernetes.io/{role}"));
    let labels: BTreeMap<String, &str> = labels.map(|label| (label, "")).collect();
    json!({
        "metadata": {"name": name, "labels": labels},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    })
}

/// An etcd Pod in a namespace, with what is changed about it.
fn etcd_pod(namespace: &str, node: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut pod = json!({
        "metadata": {
            "name": format!("etcd-{node}"), "namespace": namespace,
            "annotations": {MIRROR_ANNOTATION: "0"},
        },
        "spec": {"nodeName": node, "containers": []},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    });
    change(&mut pod);
    pod
}

/// Where an etcd Pod is, what is changed about it, and whether it is one that runs.
type PodRow = (&'static str, fn(&mut Value), bool);

/// What the server of these tests has.
#[derive(Clone)]
struct Served {
    nodes: Vec<Value>,
    pods: Vec<Value>,
    /// What of it is denied.
    denied: &'static str,
}

impl Served {
    /// As an API server answers, as far as it is asked here.
    fn answer(&self, path: &str, selector: &str) -> (StatusCode, String) {
        let list = |items: Vec<&Value>| json!({"metadata": {}, "items": items});
        let of_label = |node: &&Value| node["metadata"]["labels"].get(selector).is_some();
        let (prefix, name) = path.rsplit_once('/').unwrap();
        let answer = match (prefix, name, selector) {
            _ if path.contains(self.denied) => None,
            ("/api/v1", "nodes", _) => Some(list(self.nodes.iter().filter(of_label).collect())),
            ("/api/v1/namespaces/kube-system", "pods", "component=etcd") => {
                Some(list(self.pods_in("kube-system")))
            }
            ("/api/v1/namespaces/openshift-etcd", "pods", "app=etcd") => {
                Some(list(self.pods_in("openshift-etcd")))
            }
            ("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", _, "") => Some(json!({
                "metadata": {"name": name}, "spec": {"renewTime": RENEWED, "leaseDurationSeconds": 40},
            })),
            _ => panic!("{path} {selector}"),
        };
        let denied = || json!({"kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden", "message": "no"});
        let status = if answer.is_some() {
            StatusCode::OK
        } else {
            StatusCode::FORBIDDEN
        };
        (status, answer.unwrap_or_else(denied).to_string())
    }

    fn pods_in(&self, namespace: &str) -> Vec<&Value> {
        let pods = self.pods.iter();
        pods.filter(|pod| pod["metadata"]["namespace"] == namespace)
            .collect()
    }

    async fn look(&self, rule: ControlPlaneRule) -> Result<ByName, ShellError> {
        let served = self.clone();
        let answer = move |Query(asked): Query<BTreeMap<String, String>>, request: Request| {
            let selector = asked.get("labelSelector").cloned().unwrap_or_default();
            let answer = served.answer(request.uri().path(), &selector);
            async move { answer }
        };
        let config = crate::test_server::served(Router::new().fallback(answer)).await;
        let client = Client::try_from(config).unwrap();
        look(&client, rule).await
    }
}

fn three() -> Served {
    Served {
        nodes: vec![
            node("a", &["control-plane", "master"], "True"),
            node("b", &["master"], "True"),
            node("c", &["control-plane", "etcd"], "Unknown"),
        ],
        pods: Vec::new(),
        denied: "nothing",
    }
}

#[tokio::test]
async fn every_node_with_a_role_label_is_a_member_once_and_those_that_are_ready_show_their_lease() {
    let found = three().look(ControlPlaneRule::WithQuorumOfNodes).await.unwrap();
    let seen = |name: &str| {
        let member = &found[name];
        (
            member.standing,
            member.roles.clone(),
            member.lease.lease_renewed,
            member.runs_etcd,
        )
    };
    let renewed: Option<Timestamp> = RENEWED.parse().ok();
    assert_eq!(found.len(), 3);
    assert_eq!(
        seen("a"),
        (MemberState::Ready, vec![Role::ControlPlane], renewed, false)
    );
    assert_eq!(
        seen("b"),
        (MemberState::Ready, vec![Role::ControlPlane], renewed, false)
    );
    assert_eq!(
        seen("c"),
        (MemberState::NotReady, Role::ALL.to_vec(), None, false)
    );
    assert_eq!(
        found["a"].lease.lease_duration,
        Some(SignedDuration::from_secs(40))
    );
}

#[tokio::test]
async fn etcd_runs_where_a_static_pod_of_it_is_ready_on_any_distribution() {
    let none: fn(&mut Value) = |_| {};
    let rows: [PodRow; 6] = [
        ("kube-system", none, true),
        ("openshift-etcd", none, true),
        (
            "kube-system",
            |pod| pod["metadata"]["annotations"] = json!({}),
            false,
        ),
        (
            "kube-system",
            |pod| pod["status"]["conditions"][0]["status"] = json!("False"),
            false,
        ),
        ("kube-system", |pod| pod["status"] = json!({}), false),
        (
            "kube-system",
            |pod| pod["metadata"]["deletionTimestamp"] = json!(RENEWED),
            false,
        ),
    ];
    for (namespace, change, runs) in rows {
        let pod = etcd_pod(namespace, "a", change);
        let served = Served {
            pods: vec![pod.clone()],
            ..three()
        };
        let found = served.look(ControlPlaneRule::WithQuorumOfEtcdPods).await.unwrap();
        assert_eq!(
            (found["a"].runs_etcd, found["b"].runs_etcd),
            (runs, false),
            "{pod}"
        );
        let found = served.look(ControlPlaneRule::WithQuorumOfNodes).await.unwrap();
        assert!(!found["a"].runs_etcd, "nobody asked");
    }
    // Where the labels do not say so, etcd may have a vote all the same.
    let served = Served {
        pods: vec![etcd_pod("kube-system", "d", none)],
        ..three()
    };
    let found = served.look(ControlPlaneRule::WithQuorumOfEtcdPods).await.unwrap();
    assert_eq!(found["d"].standing, MemberState::NotReady);
}

#[tokio::test]
async fn what_may_not_be_read_is_no_member_that_is_well() {
    for denied in ["/nodes", "/leases", "/pods"] {
        let served = Served { denied, ..three() };
        let looked = served.look(ControlPlaneRule::WithQuorumOfEtcdPods).await;
        assert!(looked.is_err(), "{denied}");
    }
}

#[test]
fn a_control_plane_machine_without_a_node_may_have_a_vote() {
    let (caches, mut writers) = caches();
    let machine = |namespace: &str, name: &str, role: &str, node: Value| {
        json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": {
                "name": name, "namespace": namespace,
                "labels": {"machine.openshift.io/cluster-api-machine-role": role},
            },
            "spec": {}, "status": {"nodeRef": node},
        })
    };
    for (namespace, name, role, node) in [
        ("machines", "own", "master", Value::Null),
        ("machines", "has-node", "master", json!({"name": "a"})),
        ("machines", "lost-node", "master", json!({"name": "gone"})),
        ("machines", "never-joined", "master", Value::Null),
        ("machines", "worker", "worker", Value::Null),
        ("a-stranger", "says-so", "master", Value::Null),
    ] {
        apply(&mut writers.openshift, machine(namespace, name, role, node));
    }
    apply(&mut writers.nodes, node("a", &["master"], "True"));
    apply(&mut writers.nodes, node("worker", &[], "True"));
    let mut broken = node("broken", &["master"], "True");
    broken["status"]["conditions"] = json!(7);
    apply(&mut writers.nodes, broken);

    let nodes = caches.nodes.by(&NodeIndex::ControlPlane);
    let mut found = members(nodes.iter().map(AsRef::as_ref));
    add_machines(&mut found, &caches, None);
    assert_eq!(found.len(), 2, "a Node without a Machine");
    let own = caches.openshift.machines.get(Some("machines"), "own").unwrap();
    add_machines(&mut found, &caches, own.0.as_ref().ok());
    let found: Vec<_> = found
        .iter()
        .map(|(name, member)| (name.as_str(), member.standing))
        .collect();
    let expected = [
        ("Machine lost-node", MemberState::NoNode),
        ("Machine never-joined", MemberState::NoNode),
        ("a", MemberState::Ready),
        ("broken", MemberState::NotReady),
    ];
    assert_eq!(found, expected);
}
