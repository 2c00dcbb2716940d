//! What the brakes count.

use jiff::{SignedDuration, Timestamp};
use remediator_core::brakes::Fleet;
use remediator_core::facts::Obstacle;
use remediator_core::phase::Reason;

use super::*;

impl Daemon {
    /// What there is beside a remediation.
    fn beside(&self, name: &str) -> Fleet {
        let (remediator, caches) = (&self.parts.remediator, &self.caches);
        let there = caches.remediations.get(Some(NAMESPACE), name).unwrap();
        let nodes = remediator.sources.clusters.own_nodes();
        let remediation = there.0.as_ref().unwrap();
        let admitted = &remediator.admitted;
        admitted
            .at_power_off(&remediator.sources, remediation, &nodes)
            .fleet
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

#[tokio::test]
async fn power_offs_count_though_their_remediation_is_deleted_and_not_when_they_are_taken_back() {
    let mut daemon = Daemon::among(20).await;
    let cycled = attempted(4, "Succeeded", 60);
    apply(&mut daemon.writers.remediations, cycled.clone());
    let admitted = Arc::clone(&daemon.parts.remediator.admitted);
    admitted.note_power_off("remediation-4-2", Timestamp::now());
    assert_eq!(daemon.beside("machine-1-2").power_offs.len(), 1);
    delete(&mut daemon.writers.remediations, cycled);
    assert_eq!(daemon.beside("machine-1-2").power_offs.len(), 1, "deleted");

    let mut taken_back = attempted(5, "Pending", 5);
    taken_back["status"]["attempt"] = json!(0);
    apply(&mut daemon.writers.remediations, taken_back);
    assert_eq!(daemon.beside("machine-1-2").power_offs.len(), 1, "taken back");
}

#[tokio::test]
async fn a_host_that_did_not_return_holds_no_slot_and_counts_as_failed() {
    let mut daemon = Daemon::among(20).await;
    let before = daemon.beside("machine-1-2");
    let mut failed = attempted(4, "Failed", 60);
    failed["status"]["intent"] = json!({
        "verb": "PowerOn", "sends": 3, "journalled": Timestamp::now(), "notAfter": Timestamp::now(), "epoch": 1,
    });
    apply(&mut daemon.writers.remediations, failed);
    let after = daemon.beside("machine-1-2");
    assert_eq!(after.begun, before.begun);
    assert_eq!(after.failed.len(), before.failed.len() + 1);
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
