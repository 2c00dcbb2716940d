use jiff::{SignedDuration, Timestamp};
use kube::Client;
use remediator_core::phase::Phase;

use super::*;
use crate::report::Metrics;

/// A reporter that never asks its server.
fn reporter() -> Reporter {
    let config = kube::Config::new("http://127.0.0.1:9".parse().unwrap());
    let client = Client::try_from(config).unwrap();
    Reporter::new(client, "test".to_owned(), Metrics::default())
}

fn remediation(created: Timestamp) -> PowerCycleRemediation {
    let metadata = serde_json::json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
        "metadata": {"name": "worker", "namespace": "machines", "creationTimestamp": created.to_string()},
        "spec": {},
    });
    serde_json::from_value(metadata).unwrap()
}

fn has(reporter: &Reporter, line: &str) -> bool {
    let text = reporter.metrics.text().unwrap();
    text.lines()
        .any(|one| one == format!("baremetal_remediator_{line}"))
}

#[tokio::test]
async fn a_phase_is_measured_by_the_write_that_ends_it_and_by_no_other() {
    let (reporter, begun) = (reporter(), Timestamp::UNIX_EPOCH);
    let remediation = remediation(begun);
    let at = |seconds| begun + SignedDuration::from_secs(seconds);
    let mut journal = Journal::default();
    let mut written = |phase, reason, seconds| {
        let before = journal.clone();
        journal.enter(phase, reason, at(seconds), None);
        reporter.measure(&remediation, &before, &journal);
        // What is said within a phase ends none; nor does what another process reads.
        reporter.measure(&remediation, &journal, &journal);
    };
    written(Phase::PoweringOff, Reason::PowerOffRequested, 2);
    written(Phase::Fencing, Reason::ReleasingWorkloads, 9);
    written(Phase::PoweringOn, Reason::PowerOnRequested, 20);
    written(Phase::Booting, Reason::WaitingForNode, 21);
    written(Phase::Succeeded, Reason::Rebooted, 200);
    for (phase, seconds) in [
        ("Pending", "2.0"),
        ("PoweringOff", "7.0"),
        ("Fencing", "11.0"),
        ("PoweringOn", "1.0"),
        ("Booting", "179.0"),
    ] {
        let name = format!("remediation_phase_duration_seconds_sum{{phase=\"{phase}\"}} {seconds}");
        assert!(
            has(&reporter, &name),
            "{name} in {}",
            reporter.metrics.text().unwrap()
        );
        let count = format!("remediation_phase_duration_seconds_count{{phase=\"{phase}\"}} 1");
        assert!(has(&reporter, &count), "{count}");
    }
    let over = "remediations_finished_total{outcome=\"Succeeded\",reason=\"Rebooted\"} 1";
    assert!(has(&reporter, over));
}

#[tokio::test]
async fn a_reason_that_this_version_does_not_know_is_no_label() {
    let reporter = reporter();
    let mut after = Journal::default();
    after.enter(
        Phase::Failed,
        Reason::BootDeadlineExceeded,
        Timestamp::UNIX_EPOCH,
        None,
    );
    after.reason = "whatever a later version says".to_owned();
    reporter.measure(&remediation(Timestamp::UNIX_EPOCH), &Journal::default(), &after);
    assert!(has(
        &reporter,
        "remediations_finished_total{outcome=\"Failed\",reason=\"Unknown\"} 1"
    ));
}

#[tokio::test]
async fn limits_and_what_holds_everything_up_are_as_the_policy_says() {
    let reporter = reporter();
    let told = Told {
        at_once: Figure { used: 1, allowed: 10 },
        ..Told::default()
    };
    reporter.limits_are(&told);
    reporter.held_up_by(Some(Reason::TooManyUnhealthy));
    reporter.held_up_by(Some(Reason::TooManyFailed));
    for line in [
        "limit_used{limit=\"maxConcurrent\"} 1",
        "limit_allowed{limit=\"maxConcurrent\"} 10",
        "remediations_held_up{reason=\"TooManyUnhealthy\"} 0",
        "remediations_held_up{reason=\"TooManyFailed\"} 1",
    ] {
        assert!(
            has(&reporter, line),
            "{line} in {}",
            reporter.metrics.text().unwrap()
        );
    }
}
