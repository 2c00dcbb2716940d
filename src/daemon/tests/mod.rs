//! What an event and a started host cost, counted: how many objects the caches look at or hand out, and how many
//! objects are enqueued, must not depend on how many hosts there are.

mod brakes;
mod counting;
mod objects;
mod parts;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::runtime::watcher::Event;
use remediator_api::PowerCycleRemediation;
use remediator_core::readiness::schedule::{HostKey, HostKind};
use serde_json::{Value, json};

use self::objects::*;
use self::parts::parts_on;

use crate::daemon::controllers::Parts;
use crate::daemon::event_mapping::{
    Remediations, neighbours, of_endpoint, of_machine, of_node, of_other, triggered,
};
use crate::mhc;
use crate::readiness::{acceptance, check};
use crate::remediation::{leftover_taints, reconcile};
use crate::report::Loops;
use crate::requests::annotation;
use crate::snapshot::host;
use crate::watch::caches::Caches;
use crate::watch::caches::testing::{Writers, apply, caches, delete};
use crate::watch::change_events::MhcChange;
use crate::watch::machine_key::machine_name;

/// A daemon without its watches and its controllers.
struct Daemon {
    caches: Caches,
    writers: Writers,
    parts: Parts,
    counted: BTreeMap<String, (usize, usize)>,
    _tasks: Loops,
}

impl Daemon {
    /// Among so many hosts, of which each was remediated once and three are remediated now.
    async fn among(hosts: usize) -> Self {
        let (caches, mut writers) = caches();
        let policy = json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "RemediationPolicy",
            "metadata": {"name": "default"}, "spec": {"bmc": {"allowedNetworks": ["10.0.0.0/8"]}},
        });
        apply(&mut writers.policies, policy);
        for host in 0..hosts {
            if host != WITHOUT_NODE {
                apply(&mut writers.nodes, node(host, |_| {}));
            }
            apply(&mut writers.openshift, machine(host, |_| {}));
            apply(&mut writers.endpoints, endpoint(host, |_| {}));
            apply(&mut writers.remediations, remediation(host, 1, "Succeeded"));
        }
        for (host, phase) in [(0, "Booting"), (1, "Pending"), (WITHOUT_NODE, "Booting")] {
            apply(&mut writers.remediations, remediation(host, 2, phase));
        }
        let mut tasks = Loops::default();
        let parts = parts_on(&caches, &mut tasks).await;
        // Whoever asks first has the hosts counted; after that, what changes is.
        let _ = parts.remediator.admitted.brakes(&parts.remediator.sources);
        Self {
            caches,
            writers,
            parts,
            counted: BTreeMap::new(),
            _tasks: tasks,
        }
    }

    fn count(&mut self, what: &str, before: usize, enqueued: usize) {
        let visits = self.caches.visits().saturating_sub(before);
        self.counted.insert(what.to_owned(), (visits, enqueued));
    }

    /// A Node as it is now; whom that enqueues.
    fn node(&mut self, what: &str, node: Value, names: &[&str]) {
        let before = self.caches.visits();
        let news = apply(&mut self.writers.nodes, node);
        let enqueued: Remediations = news
            .iter()
            .flat_map(|change| of_node(&self.caches, change))
            .collect();
        self.count(what, before, enqueued.len().saturating_add(news.len()));
        assert_eq!(named(&enqueued), names, "{what}");
    }

    async fn machine(&mut self, what: &str, machine: Value, names: &[&str]) {
        let before = self.caches.visits();
        for change in apply(&mut self.writers.openshift, machine) {
            let enqueued = of_machine(&self.caches)(Arc::clone(&change.object));
            assert_eq!(named(&enqueued), names, "{what}");
            let _ = annotation::reconcile(change.object, Arc::clone(&self.parts.intakes)).await;
        }
        self.count(what, before, names.len());
    }

    fn remediation(&mut self, what: &str, remediation: Value, is_gone: bool, names: &[&str]) {
        let before = self.caches.visits();
        let news = if is_gone {
            delete(&mut self.writers.remediations, remediation)
        } else {
            apply(&mut self.writers.remediations, remediation)
        };
        for change in news {
            let readable = change.object.0.as_ref().unwrap();
            assert!(machine_name(&self.caches, readable).is_some());
            let enqueued = of_other(&self.caches)(change.object);
            assert_eq!(named(&enqueued), names, "{what}");
        }
        self.count(what, before, names.len());
    }

    fn endpoint(&mut self, what: &str, endpoint: Value, names: &[&str]) {
        let before = self.caches.visits();
        for change in apply(&mut self.writers.endpoints, endpoint) {
            assert_eq!(named(&of_endpoint(&self.caches, &change)), names, "{what}");
            assert!(neighbours(&self.caches.endpoints, &change).is_empty(), "{what}");
        }
        self.count(what, before, names.len());
    }

    /// A host of which the daemon hears when it starts.
    async fn started(&mut self, host: usize) {
        let before = self.caches.visits();
        let name = format!("host-{host}");
        let there = self.caches.endpoints.get(Some(NAMESPACE), &name).unwrap();
        let _ = acceptance::endpoint(there, Arc::clone(&self.parts.readiness)).await;
        let key = HostKey {
            kind: HostKind::Endpoint,
            namespace: NAMESPACE.to_owned(),
            name,
        };
        let checked = check::check(&self.parts.readiness, &key).await;
        self.count("the check of a host", before, 0);
        let checked = format!("{checked:?}");
        assert!(
            checked.contains("BmcAddressNotAllowed"),
            "it came to the end: {checked}"
        );

        let before = self.caches.visits();
        let there = self.caches.nodes.get(None, &format!("worker-{host}")).unwrap();
        let _ = leftover_taints::reconcile(there, Arc::clone(&self.parts.remediator)).await;
        self.count("the look at a Node for a taint that was left", before, 0);
    }

    /// A remediation is reconciled, and asks whether it may begin.
    async fn reconciled(&mut self, name: &str) {
        let before = self.caches.visits();
        let there = self.caches.remediations.get(Some(NAMESPACE), name).unwrap();
        let readable: PowerCycleRemediation = there.0.as_ref().unwrap().clone();
        let _ = reconcile::reconcile(there, Arc::clone(&self.parts.remediator)).await;
        self.count(&format!("the reconciliation of {name}"), before, 0);
        let before = self.caches.visits();
        let (sources, machine) = (
            &self.parts.remediator.sources,
            readable.spec.machine_name.as_deref(),
        );
        let host = host::through_endpoint(sources, NAMESPACE, machine, None).unwrap();
        let admitted = &self.parts.remediator.admitted;
        let _ = admitted.known(&self.parts.remediator.sources, &readable, &host);
        self.count(&format!("the admission of {name}"), before, 0);
    }

    fn health_checks(&mut self, what: &str, change: MhcChange) {
        let before = self.caches.visits();
        let concerned = mhc::concerned(&self.caches.openshift, &BTreeSet::from([change]));
        self.count(what, before, concerned.len());
    }
}

fn named(enqueued: &Remediations) -> Vec<&str> {
    let names: BTreeSet<&str> = enqueued.iter().map(|one| one.name.as_str()).collect();
    names.into_iter().collect()
}

/// What each event costs among so many hosts.
async fn costs(hosts: usize) -> BTreeMap<String, (usize, usize)> {
    let mut daemon = Daemon::among(hosts).await;
    let heartbeat = |node: &mut Value| {
        node["metadata"]["resourceVersion"] = json!("2");
        node["status"]["conditions"][0]["lastHeartbeatTime"] = json!("2026-01-01T00:05:00Z");
    };
    let unready = |node: &mut Value| node["status"]["conditions"][0]["status"] = json!("Unknown");
    daemon.node("heartbeat of a Node", node(9, heartbeat), &[]);
    daemon.node("heartbeat of a Node with a remediation", node(0, heartbeat), &[]);
    for what in ["heartbeat of a Node", "heartbeat of a Node with a remediation"] {
        assert_eq!(daemon.counted[what], (0, 0), "it ends in the watch handler");
    }
    daemon.node("a Node that is lost", node(9, unready), &[]);
    daemon.node(
        "a Node with a remediation that is lost",
        node(0, unready),
        &["machine-0-2"],
    );
    daemon.node(
        "a waiting Machine's Node that is lost",
        node(1, unready),
        &["machine-1-2"],
    );
    let other = |node: &mut Value| node["status"]["nodeInfo"]["systemUUID"] = json!(uuid(WITHOUT_NODE));
    daemon.node(
        "a Node that is another host's now",
        node(9, other),
        &["machine-2-2"],
    );
    daemon.node("that Node again as it was", node(9, |_| {}), &["machine-2-2"]);
    daemon.node("a Node that joins", node(WITHOUT_NODE, |_| {}), &["machine-2-2"]);

    let failed = |machine: &mut Value| machine["status"]["phase"] = json!("Failed");
    let trigger = |machine: &mut Value| {
        machine["metadata"]["annotations"] = json!({"host.metal3.io/external-remediation": ""});
    };
    daemon.machine("a Machine", machine(9, failed), &[]).await;
    daemon
        .machine("a Machine with a trigger", machine(9, trigger), &[])
        .await;
    daemon
        .machine(
            "a Machine with a remediation",
            machine(0, failed),
            &["machine-0-2"],
        )
        .await;
    let before = daemon.caches.visits();
    let found = triggered(&daemon.caches.openshift, Some(NAMESPACE)).len();
    daemon.count("the Machines with a trigger", before, found);

    let before = daemon.caches.visits();
    let _ = daemon
        .parts
        .remediator
        .admitted
        .brakes(&daemon.parts.remediator.sources);
    daemon.count("the hosts that all this has changed", before, 0);
    daemon.reconciled("machine-0-2").await;
    daemon.reconciled("machine-1-2").await;
    daemon.reconciled("machine-2-2").await;
    daemon.started(9).await;

    let moved = |endpoint: &mut Value| endpoint["spec"]["address"] = json!("redfish+https://192.0.2.8");
    let told = |endpoint: &mut Value| endpoint["status"]["conditions"] = json!([]);
    daemon.endpoint("an endpoint's status", endpoint(0, told), &[]);
    daemon.endpoint("an endpoint", endpoint(9, moved), &[]);
    daemon.endpoint(
        "an endpoint with a remediation",
        endpoint(0, moved),
        &["machine-0-2"],
    );

    daemon.remediation("a remediation", remediation(1, 2, "Booting"), false, &[]);
    let mut held_up = remediation(1, 2, "Pending");
    held_up["status"]["reason"] = json!("AnotherRemediationActive");
    daemon.remediation("a remediation that is held up", held_up, false, &[]);
    let over = remediation(0, 2, "Succeeded");
    daemon.remediation(
        "a remediation that is over",
        over.clone(),
        false,
        &["machine-1-2"],
    );
    daemon.remediation("a remediation that is gone", over, true, &["machine-1-2"]);

    let change = MhcChange::Node("worker-9".to_owned());
    daemon.health_checks("a Node for the health checks", change);
    daemon.counted
}

/// Among 5,000 objects of each kind nobody looks at more of them than among 100.
#[tokio::test(flavor = "multi_thread")]
async fn what_an_event_costs_does_not_grow_with_the_number_of_hosts() {
    let (few, many) = (costs(100).await, costs(5000).await);
    for (what, cost) in &few {
        println!("{what}: {} objects looked at, {} enqueued", cost.0, cost.1);
    }
    assert_eq!(few, many);
    let most = few.values().map(|(visits, _)| *visits).max();
    assert!(most.is_some_and(|most| most < 60), "{few:#?}");
}

/// Which of two Machines of one name an endpoint means is not guessed.
#[tokio::test(flavor = "multi_thread")]
async fn a_machine_name_that_both_apis_have_is_not_known() {
    let mut daemon = Daemon::among(10).await;
    apply(&mut daemon.writers.cluster_api, machine(9, |_| {}));
    let key = HostKey {
        kind: HostKind::Endpoint,
        namespace: NAMESPACE.to_owned(),
        name: "host-9".to_owned(),
    };

    let checked = format!("{:?}", check::check(&daemon.parts.readiness, &key).await);

    assert!(
        checked.contains("MachineUnreadable") && checked.contains("both machine.openshift.io"),
        "{checked}"
    );
}

/// A look at all objects is counted, or the test above would hold for anything.
#[test]
fn whoever_looks_at_all_objects_is_counted() {
    let (caches, mut writers) = caches();
    for host in 0..100 {
        apply(&mut writers.openshift, machine(host, |_| {}));
    }
    let listed = machine(100, |_| {});
    for event in [
        Event::Init,
        Event::InitApply(serde_json::from_value(listed).unwrap()),
    ] {
        writers.openshift.apply(event);
    }
    let scans: [&dyn Fn() -> usize; 3] = [
        &|| caches.openshift.machines.all().len(),
        &|| caches.openshift.machines.in_namespace(Some(NAMESPACE)).len(),
        &|| caches.machines().len(),
    ];
    for scan in scans {
        let before = caches.visits();
        assert_eq!(scan(), 100);
        assert_eq!(caches.visits().saturating_sub(before), 100);
    }
}
