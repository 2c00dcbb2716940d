//! What the brakes count.

use jiff::{SignedDuration, Timestamp};
use remediator_core::brakes::Fleet;

use super::*;

impl Daemon {
    /// What there is beside a remediation.
    fn beside(&self, name: &str) -> Fleet {
        let (remediator, caches) = (&self.parts.remediator, &self.caches);
        let there = caches.remediations.get(Some(NAMESPACE), name).unwrap();
        let nodes = remediator.sources.clusters.own_nodes();
        let remediation = there.0.as_ref().unwrap();
        remediator.admitted.fleet(remediator, remediation, &nodes)
    }
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
    // Two boot, and two are between attempts.
    assert_eq!(daemon.beside("machine-1-2").at_work, 4);
    assert_eq!(daemon.beside("machine-4-2").at_work, 2);
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
    assert_eq!(after.at_work, before.at_work);
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
    let in_domain = |daemon: &Daemon| daemon.beside("machine-1-2").domain.unwrap();
    let before = in_domain(&daemon);
    assert_eq!((before.name.as_str(), before.nodes), ("b", 1));
    delete(&mut daemon.writers.nodes, node(0, zone("a")));
    assert_eq!(
        in_domain(&daemon).at_work,
        before.at_work + 1,
        "its zone is not known"
    );
}
