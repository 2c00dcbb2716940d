use super::pass::{check, machine, now, reasons};
use crate::checker::events::On;
use crate::checker::pass::{Outcome, outcome};
use crate::facts::Lookup;
use crate::health::dialect::Dialect;
use crate::health::overlap::{Check, evaluate};
use crate::health::rules::{RawCondition, RawRules, Rules};
use crate::health::selector::RawSelector;
use crate::health::target::{ClusterState, Readiness, Target};

/// A check over the workers of Cluster blue; `change` may make it another.
pub(super) fn of_cluster(cluster: Lookup<ClusterState>, change: impl FnOnce(&mut RawRules)) -> Check {
    let mut raw = RawRules {
        selector: RawSelector {
            match_labels: [("role".to_owned(), "worker".to_owned())].into(),
            match_expressions: Vec::new(),
        },
        cluster_name: Some("blue".to_owned()),
        node_conditions: vec![RawCondition {
            kind: "Ready".to_owned(),
            status: "Unknown".to_owned(),
            timeout: Ok(jiff::SignedDuration::from_secs(60)),
        }],
        ..RawRules::default()
    };
    change(&mut raw);
    Check {
        rules: Rules::read(Dialect::ClusterApiV1Beta2, &raw),
        cluster,
        ..check("workers", "100%")
    }
}

pub(super) fn ready(paused: bool) -> Lookup<ClusterState> {
    let ready = Readiness::Yes { since: None };
    Lookup::Present(ClusterState {
        paused,
        infrastructure: ready,
        control_plane: ready,
    })
}

pub(super) fn in_cluster(name: &str, status: &str, seconds: i64) -> Target {
    let mut target = machine(name, status, seconds);
    let label = ("cluster.x-k8s.io/cluster-name".to_owned(), "blue".to_owned());
    target.labels.extend([label]);
    if let Ok(machine) = &mut target.machine {
        machine.infrastructure = Readiness::Yes { since: None };
    }
    target
}

pub(super) fn passed(check: Check, targets: &[Target]) -> Outcome {
    let checks = [check];
    outcome(&evaluate(&checks, targets, now()), "workers", |_| None)
}

#[test]
fn the_status_names_what_it_counts() {
    let mut skipped = in_cluster("skipped", "True", 600);
    if let Ok(machine) = &mut skipped.machine {
        machine.skip_remediation = true;
    }
    let targets = [
        in_cluster("dead", "Unknown", 61),
        in_cluster("well", "True", 600),
        skipped,
    ];
    let outcome = passed(of_cluster(ready(false), |_| {}), &targets);
    assert_eq!(outcome.triggers, ["dead"]);
    let status = outcome.status.unwrap();
    assert_eq!(status.targets, ["dead", "well"]);
    let counts = status.counts.unwrap();
    assert_eq!((counts.expected, counts.healthy), (2, 1));
}

#[test]
fn a_paused_cluster_has_nothing_written_but_the_pause() {
    let targets = [in_cluster("dead", "Unknown", 61)];
    let outcome = passed(of_cluster(ready(true), |_| {}), &targets);
    assert_eq!((outcome.status, outcome.triggers.len()), (None, 0));
    assert_eq!(outcome.paused, Some("Cluster spec.paused is set to true"));
    assert!(outcome.events.is_empty());
    let mut paused = of_cluster(ready(false), |_| {});
    paused.paused = true;
    let said = passed(paused, &targets).paused;
    assert_eq!(
        said,
        Some("MachineHealthCheck has the cluster.x-k8s.io/paused annotation")
    );
}

#[test]
fn an_unknown_cluster_forbids_and_is_told() {
    let targets = [in_cluster("dead", "Unknown", 61)];
    for cluster in [Lookup::Absent, Lookup::Unreadable("spec.paused is 7".to_owned())] {
        let outcome = passed(of_cluster(cluster, |_| {}), &targets);
        assert!(outcome.triggers.is_empty());
        assert_eq!(reasons(&outcome), [(On::Check, "ClusterUnreadable")]);
        let denied = outcome.status.unwrap().allowed.unwrap_err();
        assert_eq!(denied.reason, "ClusterUnreadable");
    }
}

#[test]
fn a_range_that_nobody_reached_is_no_news_while_nobody_is_unhealthy() {
    let ranged = || of_cluster(ready(false), |raw| raw.unhealthy_range = Some("[2-5]".to_owned()));
    let well = passed(ranged(), &[in_cluster("well", "True", 600)]);
    assert!(well.events.is_empty());
    assert!(well.status.unwrap().allowed.is_err(), "as Cluster API has it");
    let one = passed(ranged(), &[in_cluster("dead", "Unknown", 61)]);
    assert_eq!(reasons(&one), [(On::Check, "RemediationRestricted")]);
    assert!(one.triggers.is_empty());
}
