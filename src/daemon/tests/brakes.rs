//! What the brakes count.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use remediator_api::views::cluster_api::ClusterKey;
use remediator_core::brakes::{Claim, Fleet, Limits};
use remediator_core::facts::Obstacle;
use remediator_core::phase::Reason;

use super::*;
use crate::clusters::node_cluster::NodeCluster;
use crate::remediation::admission::AtPowerOff;

impl Daemon {
    /// What is known of the limits right before the next power-off of a remediation.
    fn at_power_off(&self, name: &str) -> AtPowerOff {
        let (remediator, caches) = (&self.parts.remediator, &self.caches);
        let there = caches.remediations.get(Some(NAMESPACE), name).unwrap();
        let nodes = remediator.sources.clusters.own_nodes();
        let remediation = there.0.as_ref().unwrap();
        let admitted = &remediator.admitted;
        admitted.at_power_off(&remediator.sources, remediation, &nodes, &BTreeSet::new())
    }

    /// What there is beside a remediation.
    fn beside(&self, name: &str) -> Fleet {
        self.at_power_off(name).fleet
    }

    /// What holds up a remediation that waits, in a daemon that has watched for an hour.
    fn held_up(&self, name: &str) -> Option<Obstacle> {
        let (remediator, caches) = (&self.parts.remediator, &self.caches);
        let an_hour_ago = Timestamp::now().saturating_sub(SignedDuration::from_hours(1));
        remediator.admitted.watched_from(an_hour_ago.unwrap());
        let there = caches.remediations.get(Some(NAMESPACE), name).unwrap();
        let remediation = there.0.as_ref().unwrap();
        let machine = remediation.spec.machine_name.as_deref();
        let host = host::through_endpoint(&remediator.sources, NAMESPACE, machine, None).unwrap();
        remediator
            .admitted
            .known(&remediator.sources, remediation, &host)
            .denied()
            .cloned()
    }
}

/// A Node that nothing describes: a virtual machine, or whatever a tenant registers.
fn bystander(number: usize) -> Value {
    node(number, |node| {
        node["metadata"]["annotations"] = json!({});
        node["metadata"]["name"] = json!(format!("virtual-{number}"));
    })
}

fn unready(node: &mut Value) {
    node["status"]["conditions"][0]["status"] = json!("Unknown");
}

#[tokio::test]
async fn invariant_15_nodes_whose_host_is_not_known_allow_nobody_else_to_be_powered_off() {
    let mut daemon = Daemon::among(100).await;
    for number in 1_000..1_900 {
        apply(&mut daemon.writers.nodes, bystander(number));
    }
    for host in (0..100).filter(|host| *host != WITHOUT_NODE) {
        apply(&mut daemon.writers.nodes, node(host, unready));
    }
    let held_up = daemon.held_up("machine-1-2").expect("all hosts are silent");
    assert_eq!(held_up.reason, Reason::TooManyUnhealthy, "{held_up}");

    // Ten are, and the tenth part of 1,000 Nodes is more than that.
    for host in (10..100).filter(|host| *host != WITHOUT_NODE) {
        apply(&mut daemon.writers.nodes, node(host, |_| {}));
    }
    for host in 3..13 {
        apply(&mut daemon.writers.remediations, attempted(host, "Booting", 700));
    }
    let held_up = daemon
        .held_up("machine-1-2")
        .expect("a tenth of the hosts is under remediation");
    assert!(
        [Reason::WaitingForBudget, Reason::TooManyUnhealthy].contains(&held_up.reason),
        "{held_up}"
    );
}

/// One that has made an attempt, so many seconds ago, and is in this phase.
fn attempted(host: usize, phase: &str, ago: i64) -> Value {
    let mut remediation = remediation(host, 2, "Booting");
    let at = Timestamp::now()
        .saturating_sub(SignedDuration::from_secs(ago))
        .unwrap();
    remediation["status"]["phase"] = json!(phase);
    remediation["status"]["phaseStarted"] = json!(at);
    remediation["status"]["timeline"] =
        json!([{"phase": "PoweringOff", "at": at, "reason": "PowerOffRequested"}]);
    remediation
}

#[tokio::test]
async fn who_is_between_two_attempts_waits_for_none_that_is() {
    let mut daemon = Daemon::among(20).await;
    for host in [4, 5] {
        let mut between = attempted(host, "Pending", 60);
        between["status"]["failedAttempts"] =
            json!([{"attempt": 1, "reason": "BmcUnreachable", "at": Timestamp::now()}]);
        apply(&mut daemon.writers.remediations, between);
    }
    let counted = |name| {
        let fleet = daemon.beside(name);
        (fleet.begun, fleet.between_attempts)
    };
    assert_eq!(counted("machine-1-2"), (2, 2));
    assert_eq!(counted("machine-4-2"), (2, 1), "itself is not beside itself");
}

/// metal3 powers it off while it is held.
#[tokio::test]
async fn a_host_that_is_being_held_counts_as_powered_off() {
    let mut daemon = Daemon::among(20).await;
    let mut held = attempted(4, "Holding", 60);
    held["status"]["timeline"][0]["phase"] = json!("Holding");
    apply(&mut daemon.writers.remediations, held.clone());
    assert_eq!(daemon.beside("machine-1-2").power_offs.len(), 1);
    assert_eq!(daemon.beside("machine-4-2").power_offs.len(), 0, "itself");

    // It was taken back before anything was sent.
    held["status"]["phase"] = json!("Pending");
    apply(&mut daemon.writers.remediations, held);
    assert_eq!(daemon.beside("machine-1-2").power_offs.len(), 0);
}

#[tokio::test]
async fn a_clock_that_is_set_back_makes_no_start_and_no_storm_last_longer() {
    let daemon = Daemon::among(20).await;
    let now = daemon.parts.remediator.sources.clock.now();
    let ahead = now.checked_add(SignedDuration::from_hours(8)).unwrap();
    let admitted = &daemon.parts.remediator.admitted;
    admitted.watched_from(ahead);
    let fleet = daemon.beside("machine-1-2");
    let since = fleet.watched_since.expect("it watches");
    assert!(
        since < now.checked_add(SignedDuration::from_mins(1)).unwrap(),
        "{since}"
    );
    assert_eq!(
        daemon.beside("machine-1-2").watched_since,
        Some(since),
        "it stays there"
    );
}

#[tokio::test]
async fn power_offs_count_though_their_remediation_is_deleted_and_not_when_they_are_taken_back() {
    let mut daemon = Daemon::among(20).await;
    let cycled = attempted(4, "Succeeded", 60);
    apply(&mut daemon.writers.remediations, cycled.clone());
    let admitted = Arc::clone(&daemon.parts.remediator.admitted);
    let sent = serde_json::from_value(cycled.clone()).unwrap();
    admitted.note_power_off(&sent, Timestamp::now());
    assert_eq!(daemon.beside("machine-1-2").power_offs.len(), 1);
    delete(&mut daemon.writers.remediations, cycled);
    assert_eq!(daemon.beside("machine-1-2").power_offs.len(), 1, "deleted");
    admitted.note_gone(&sent, Timestamp::now());
    assert_eq!(daemon.beside("machine-1-2").power_offs.len(), 1, "counted once");

    // A replica before this one has sent it.
    let of_another = attempted(6, "Succeeded", 60);
    apply(&mut daemon.writers.remediations, of_another.clone());
    assert_eq!(daemon.beside("machine-1-2").power_offs.len(), 2);
    delete(&mut daemon.writers.remediations, of_another.clone());
    admitted.note_gone(&serde_json::from_value(of_another).unwrap(), Timestamp::now());
    assert_eq!(daemon.beside("machine-1-2").power_offs.len(), 2, "deleted");

    let mut taken_back = attempted(5, "Pending", 5);
    taken_back["status"]["attempt"] = json!(0);
    apply(&mut daemon.writers.remediations, taken_back);
    assert_eq!(daemon.beside("machine-1-2").power_offs.len(), 2, "taken back");
}

#[tokio::test]
async fn a_host_that_did_not_return_holds_no_slot_and_counts_as_failed() {
    let mut daemon = Daemon::among(20).await;
    let before = daemon.beside("machine-1-2");
    let mut failed = attempted(4, "Failed", 60);
    failed["status"]["intent"] = json!({
        "verb": "PowerOn", "sends": 3, "journalled": Timestamp::now(), "notAfter": Timestamp::now(), "epoch": 1,
    });
    apply(&mut daemon.writers.remediations, failed.clone());
    let after = daemon.beside("machine-1-2");
    assert_eq!(after.begun, before.begun);
    assert_eq!(after.failed.len(), before.failed.len() + 1);

    // Whoever asks for one host again and again holds up the others no more than by one.
    failed["metadata"]["name"] = json!("machine-4-again");
    failed["metadata"]["uid"] = json!("of-machine-4-again");
    apply(&mut daemon.writers.remediations, failed);
    let again = daemon.beside("machine-1-2");
    assert_eq!(again.failed.len(), before.failed.len() + 1, "it is one host");
}

/// Else firmware that never comes up would have the Machines of the whole fleet replaced.
#[tokio::test]
async fn a_host_that_did_not_return_counts_also_when_its_machine_was_replaced() {
    let mut daemon = Daemon::among(20).await;
    let before = daemon.beside("machine-1-2").failed.len();
    for (host, done, counted) in [(4, None, 0), (5, Some(Timestamp::now()), 1)] {
        let mut failed = attempted(host, "Failed", 60);
        failed["status"]["escalation"] = json!({
            "kind": "MachineDeletion", "failure": "BootDeadlineExceeded", "decided": Timestamp::now(),
            "heldUpSince": Timestamp::now(), "done": done,
        });
        apply(&mut daemon.writers.remediations, failed.clone());
        assert_eq!(daemon.beside("machine-1-2").failed.len(), before + 1, "{host}");
        delete(&mut daemon.writers.remediations, failed.clone());
        let gone = serde_json::from_value(failed).unwrap();
        daemon
            .parts
            .remediator
            .admitted
            .note_gone(&gone, Timestamp::now());
        assert_eq!(
            daemon.beside("machine-1-2").failed.len(),
            before + counted,
            "{host}"
        );
    }
}

#[tokio::test]
async fn a_host_whose_node_is_gone_counts_in_every_failure_domain() {
    let mut daemon = Daemon::among(20).await;
    let zone = |name: &'static str| {
        move |node: &mut Value| node["metadata"]["labels"] = json!({"topology.kubernetes.io/zone": name})
    };
    for host in [0, 1] {
        apply(
            &mut daemon.writers.nodes,
            node(host, zone(if host == 0 { "a" } else { "b" })),
        );
    }
    apply(&mut daemon.writers.remediations, attempted(1, "Booting", 5));
    let in_domain = |daemon: &Daemon| daemon.beside("machine-1-2").domains["b"].clone();
    let before = in_domain(&daemon);
    assert_eq!(before.hosts, 1);
    delete(&mut daemon.writers.nodes, node(0, zone("a")));
    assert_eq!(
        in_domain(&daemon).at_work,
        before.at_work + 1,
        "its zone is not known"
    );
}

#[tokio::test]
async fn invariant_15_a_host_that_falls_silent_later_frees_no_failure_domain() {
    let mut daemon = Daemon::among(20).await;
    let now = Timestamp::now();
    let in_a_zone = |host: usize, silent_for: Option<i64>| {
        node(host, |node| {
            node["metadata"]["labels"] = json!({"topology.kubernetes.io/zone": "a"});
            if let Some(seconds) = silent_for {
                unready(node);
                let since = now.saturating_sub(SignedDuration::from_secs(seconds)).unwrap();
                node["status"]["conditions"][0]["lastTransitionTime"] = json!(format!("{since:.0}"));
            }
        })
    };
    for host in std::iter::once(1).chain(10..20) {
        apply(&mut daemon.writers.nodes, in_a_zone(host, None));
    }
    apply(&mut daemon.writers.remediations, attempted(1, "Pending", 5));
    let claim = Claim {
        domain: Some("a".to_owned()),
        ..Claim::default()
    };
    let held_up = |daemon: &Daemon| {
        let allowed = Limits::none().allow(&daemon.beside("machine-1-2"), &claim, now);
        allowed.err().map(|obstacle| obstacle.reason)
    };
    for (host, seconds, wanted) in [
        (11, 185, None),
        (12, 180, Some(Reason::TooManyUnhealthy)),
        (13, 20, Some(Reason::TooManyUnhealthy)),
    ] {
        apply(&mut daemon.writers.nodes, in_a_zone(host, Some(seconds)));
        assert_eq!(held_up(&daemon), wanted, "host {host}, {seconds} s ago");
    }
}

/// A request that its health check has given up: the host is as dead as it was.
#[tokio::test]
async fn invariant_15_hosts_that_a_health_check_gave_up_count_until_their_node_is_back() {
    let mut daemon = Daemon::among(20).await;
    let before = daemon.beside("machine-1-2").failed.len();
    let mut given_up = attempted(4, "Failed", 60);
    given_up["status"]["reason"] = json!("RemediationInterruptedByNHC");
    given_up["metadata"]["annotations"] =
        json!({"remediation.medik8s.io/nhc-timed-out": "2026-01-01T00:00:00Z"});
    apply(&mut daemon.writers.remediations, given_up);
    assert_eq!(
        daemon.beside("machine-1-2").failed.len(),
        before + 1,
        "it is Ready with the boot of before"
    );
    apply(
        &mut daemon.writers.nodes,
        node(4, |node| node["status"]["nodeInfo"]["bootID"] = json!("another")),
    );
    assert_eq!(daemon.beside("machine-1-2").failed.len(), before, "it is back");
}

#[tokio::test]
async fn invariant_9_a_remediation_that_cannot_be_read_holds_a_slot_where_remediations_are_carried_out() {
    let mut daemon = Daemon::among(20).await;
    let before = daemon.beside("machine-1-2").begun;
    let mut unreadable = remediation(4, 2, "Booting");
    unreadable["status"] = json!({"phase": 7});
    apply(&mut daemon.writers.remediations, unreadable);
    assert_eq!(daemon.beside("machine-1-2").begun, before + 1);
    let elsewhere = json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "RemediationPolicy",
        "metadata": {"name": "default"},
        "spec": {
            "bmc": {"allowedNetworks": ["10.0.0.0/8"]},
            "allowed": {"namespaces": {"machines": ["elsewhere"], "requests": []}},
        },
    });
    apply(&mut daemon.writers.policies, elsewhere);
    assert_eq!(
        daemon.beside("machine-1-2").begun,
        before,
        "a stranger's is never carried out"
    );
}

#[tokio::test]
async fn a_power_off_that_is_dated_in_the_future_counts_as_of_now() {
    let mut daemon = Daemon::among(20).await;
    let before = daemon.beside("machine-1-2").power_offs.len();
    apply(
        &mut daemon.writers.remediations,
        attempted(4, "Succeeded", -7_200),
    );
    assert_eq!(daemon.beside("machine-1-2").power_offs.len(), before + 1);
}

/// As another replica finds it.
fn policy_that_tells_of_power_offs(hosts: &[usize]) -> Value {
    let past = hosts.iter().enumerate().map(|(number, host)| {
        json!({"remediation": format!("deleted-{number}"), "at": Timestamp::now(), "systemUUID": uuid(*host)})
    });
    json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "RemediationPolicy",
        "metadata": {"name": "default"},
        "spec": {"bmc": {"allowedNetworks": ["10.0.0.0/8"]}, "limits": {"maxPerWindow": 10, "maxConcurrent": 10}},
        "status": {"powerOffs": past.collect::<Vec<_>>()},
    })
}

#[tokio::test]
async fn power_offs_of_deleted_remediations_count_after_a_hand_over() {
    let mut daemon = Daemon::among(20).await;
    let before = daemon.beside("machine-1-2").power_offs.len();
    apply(
        &mut daemon.writers.policies,
        policy_that_tells_of_power_offs(&[7, 8]),
    );
    assert_eq!(daemon.beside("machine-1-2").power_offs.len(), before + 2);
}

#[tokio::test]
async fn invariant_15_the_fourth_power_cycle_of_a_host_within_a_day_waits_whoever_asks() {
    let mut daemon = Daemon::among(20).await;
    // Two that were deleted, and one that a request of another name has made.
    apply(
        &mut daemon.writers.policies,
        policy_that_tells_of_power_offs(&[1, 1]),
    );
    assert_eq!(daemon.held_up("machine-1-2"), None);
    let mut other = attempted(1, "Succeeded", 3_600);
    other["metadata"]["name"] = json!("by-hand");
    other["metadata"]["uid"] = json!("by-hand");
    apply(&mut daemon.writers.remediations, other);
    let held_up = daemon.held_up("machine-1-2").expect("three within a day");
    assert_eq!(held_up.reason, Reason::TooManyPowerCycles, "{held_up}");
}

/// Between two attempts; the one that is under way is none of those before it.
#[tokio::test]
async fn the_attempts_of_a_remediation_count_as_power_cycles_of_its_host() {
    let mut daemon = Daemon::among(20).await;
    apply(
        &mut daemon.writers.policies,
        policy_that_tells_of_power_offs(&[1]),
    );
    let made = |attempts: usize, phase: &str| {
        let mut own = attempted(1, phase, 3_600);
        let begun = own["status"]["timeline"][0].clone();
        own["status"]["timeline"] = json!(vec![begun; attempts]);
        own["status"]["attempt"] = json!(attempts);
        own
    };
    apply(&mut daemon.writers.remediations, made(1, "Pending"));
    assert_eq!(daemon.held_up("machine-1-2"), None);
    apply(&mut daemon.writers.remediations, made(2, "PoweringOff"));
    let told = daemon.at_power_off("machine-1-2").claim.power_offs_of_host;
    assert_eq!(told.len(), 2, "the second is under way");
    apply(&mut daemon.writers.remediations, made(2, "Pending"));
    let held_up = daemon.held_up("machine-1-2").expect("a third would be a fourth");
    assert_eq!(held_up.reason, Reason::TooManyPowerCycles, "{held_up}");
}

/// One that manages itself with Cluster API, or two Clusters with one kubeconfig.
#[tokio::test]
async fn invariant_15_one_cluster_under_two_names_has_one_set_of_limits() {
    let mut daemon = Daemon::among(20).await;
    let before = daemon.beside("machine-1-2").begun;
    let mut other = attempted(4, "Booting", 5);
    other["status"]["subject"]["cluster"] = json!("blue");
    apply(&mut daemon.writers.remediations, other);
    let clusters = &daemon.parts.remediator.sources.clusters;
    clusters.uid.set("here".to_owned()).unwrap();
    let key = ClusterKey {
        namespace: NAMESPACE.to_owned(),
        name: "blue".to_owned(),
    };
    for (uid, expected) in [
        (None, before),
        (Some("elsewhere"), before),
        (Some("here"), before + 1),
    ] {
        let nodes = NodeCluster {
            of: Some(key.clone()),
            uid: uid.map(ToOwned::to_owned),
            ..clusters.own_nodes()
        };
        clusters.workload.show(&key, nodes);
        assert_eq!(daemon.beside("machine-1-2").begun, expected, "{uid:?}");
    }
}

#[tokio::test]
async fn hosts_are_counted_by_what_describes_them() {
    let mut daemon = Daemon::among(20).await;
    let counted = |daemon: &Daemon| {
        let fleet = daemon.beside("machine-1-2");
        (fleet.hosts, fleet.unhealthy_hosts)
    };
    assert_eq!(counted(&daemon), (20, 1), "one Machine misses its Node");

    delete(&mut daemon.writers.endpoints, endpoint(9, |_| {}));
    assert_eq!(counted(&daemon), (19, 1));
    let of_metal3 = machine(9, |machine| {
        machine["spec"]["providerID"] = json!("baremetalhost:///metal/host-9/uid");
    });
    apply(&mut daemon.writers.openshift, of_metal3);
    assert_eq!(counted(&daemon), (20, 1), "a BareMetalHost describes it");

    delete(&mut daemon.writers.nodes, node(8, |_| {}));
    assert_eq!(counted(&daemon), (20, 2), "its Machine misses it");
    let installed_anew = machine(8, |machine| machine["status"] = json!({"phase": "Provisioning"}));
    apply(&mut daemon.writers.openshift, installed_anew);
    assert_eq!(counted(&daemon), (19, 1));

    apply(&mut daemon.writers.nodes, bystander(1_000));
    assert_eq!(counted(&daemon), (19, 1), "nothing describes it");
    let named = endpoint(1_000, |endpoint| {
        endpoint["spec"]["nodeName"] = json!("virtual-1000");
        endpoint["spec"]["machineName"] = Value::Null;
    });
    apply(&mut daemon.writers.endpoints, named);
    assert_eq!(counted(&daemon), (20, 1));

    // Whoever may create objects in some namespace makes no host of a virtual machine, nor an unhealthy one of nothing.
    let found_in_a_tenants = |endpoint: &mut Value, found: Value| {
        endpoint["metadata"]["namespace"] = json!("of-a-tenant");
        endpoint["status"]["found"] = found;
    };
    let before = json!({"generation": 0, "systemUUID": uuid(1_001)});
    for found in [Value::Null, before] {
        apply(&mut daemon.writers.nodes, bystander(1_001));
        let named = endpoint(1_001, |endpoint| {
            endpoint["spec"]["nodeName"] = json!("virtual-1001");
            found_in_a_tenants(endpoint, found.clone());
        });
        apply(&mut daemon.writers.endpoints, named);
        let made_up = machine(1_002, |machine| {
            machine["metadata"]["namespace"] = json!("of-a-tenant");
        });
        apply(&mut daemon.writers.openshift, made_up);
        let named = endpoint(1_002, |endpoint| found_in_a_tenants(endpoint, found));
        apply(&mut daemon.writers.endpoints, named);
        assert_eq!(counted(&daemon), (20, 1), "nobody was seen to be there");
    }
    let of_host = |host: usize| json!({"generation": 1, "systemUUID": uuid(host)});
    let named = endpoint(1_002, |endpoint| found_in_a_tenants(endpoint, of_host(1_002)));
    apply(&mut daemon.writers.endpoints, named);
    assert_eq!(counted(&daemon), (21, 2));
    // Two Machines without a Node are not of one host.
    let named = endpoint(1_002, |endpoint| found_in_a_tenants(endpoint, of_host(8)));
    apply(&mut daemon.writers.endpoints, named);
    assert_eq!(counted(&daemon), (20, 1));

    let elsewhere = json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "RemediationPolicy",
        "metadata": {"name": "default"},
        "spec": {
            "bmc": {"allowedNetworks": ["10.0.0.0/8"]}, "allowed": {"namespaces": {"endpoints": ["elsewhere"]}},
        },
    });
    apply(&mut daemon.writers.policies, elsewhere);
    assert_eq!(counted(&daemon), (1, 0), "endpoints are not used where they are");
}
