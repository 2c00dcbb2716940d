//! What both versions of `cluster.x-k8s.io` have in common.

use jiff::SignedDuration;

use super::objects::Change as _;
use super::objects::{Case, Scene, ago, condition, judge_cases, now, raw_rules, since, worker};
use crate::facts::Lookup;
use crate::health::assess::assess;
use crate::health::dialect::Dialect;
use crate::health::problem::Problem;
use crate::health::rules::{CLUSTER_NAME_LABEL, Rules};
use crate::health::target::{NodeState, Readiness};
use crate::health::verdict::Unknown;

const BOTH: [Dialect; 2] = [Dialect::ClusterApiV1Beta1, Dialect::ClusterApiV1Beta2];

#[test]
fn targets_are_of_the_selector_and_the_cluster_and_an_empty_selector_is_refused() {
    for dialect in BOTH {
        let rules = super::objects::rules(dialect);
        let mut other = worker("w");
        assert!(rules.selector.matches(&other.labels));
        other
            .labels
            .insert(CLUSTER_NAME_LABEL.to_owned(), "test".to_owned());
        assert!(!rules.selector.matches(&other.labels));
        other.labels.remove(CLUSTER_NAME_LABEL);
        assert!(!rules.selector.matches(&other.labels));

        let mut raw = raw_rules();
        raw.selector.match_labels.clear();
        let malformed = Rules::read(dialect, &raw).unwrap_err();
        assert_eq!(malformed.errors.len(), 1);
        assert_eq!(malformed.errors[0].path, "spec.selector");
        assert_eq!(malformed.errors[0].problem, Problem::SelectorEmpty);
    }
}

#[test]
fn skipped_before_evaluation() {
    let cases: [Case; 4] = [
        (
            "cluster.x-k8s.io/paused",
            |scene| scene.machine().paused = true,
            "skipped: Paused",
        ),
        (
            "cluster.x-k8s.io/skip-remediation",
            |scene| scene.machine().skip_remediation = true,
            "skipped: SkipRemediation",
        ),
        (
            "before cluster.x-k8s.io/remediate-machine",
            |scene| {
                scene.machine().skip_remediation = true;
                scene.machine().remediate = true;
            },
            "skipped: SkipRemediation",
        ),
        (
            "before the Node is looked for",
            |scene| {
                scene.machine().paused = true;
                scene.target.node = Err(Unknown::NodeUnreachable("timed out".to_owned()));
            },
            "skipped: Paused",
        ),
    ];
    for dialect in BOTH {
        judge_cases(dialect, &cases);
        let mut skipped = worker("skipped");
        skipped.machine().skip_remediation = true;
        let well = worker("well");
        let assessment = assess(
            &super::objects::rules(dialect),
            false,
            &super::objects::cluster(),
            &[&skipped, &well],
            now(),
        );
        assert_eq!((assessment.counts.expected, assessment.counts.healthy), (1, 1));
    }
}

fn without_node(scene: &mut Scene, times: [i64; 4]) {
    let [created, infrastructure, control_plane, machine] = times;
    scene.target.node = Ok(NodeState::Unset);
    scene.machine().created = ago(created);
    scene.machine().infrastructure = since(machine);
    scene.cluster().infrastructure = since(infrastructure);
    scene.cluster().control_plane = since(control_plane);
}

#[test]
fn node_startup_timeout_is_counted_from_the_latest_of_four_times() {
    let cases: [Case; 9] = [
        (
            "Machine creation",
            |scene| without_node(scene, [100, 900, 900, 900]),
            "waiting: NodeStartup until after 500 s",
        ),
        (
            "cluster InfrastructureReady",
            |scene| without_node(scene, [900, 200, 900, 900]),
            "waiting: NodeStartup until after 400 s",
        ),
        (
            "ControlPlaneInitialized",
            |scene| without_node(scene, [900, 900, 300, 900]),
            "waiting: NodeStartup until after 300 s",
        ),
        (
            "Machine InfrastructureReady",
            |scene| without_node(scene, [900, 900, 900, 400]),
            "waiting: NodeStartup until after 200 s",
        ),
        (
            "default 10m, strict",
            |scene| without_node(scene, [600, 600, 600, 600]),
            "waiting: NodeStartup until after 0 s",
        ),
        (
            "default 10m, over",
            |scene| without_node(scene, [601, 900, 900, 900]),
            "unhealthy: NodeStartupTimeout",
        ),
        (
            "a Machine whose infrastructure is not ready is counted from the others",
            |scene| {
                without_node(scene, [601, 900, 900, 1]);
                scene.machine().infrastructure = Readiness::No;
            },
            "unhealthy: NodeStartupTimeout",
        ),
        (
            "0 disables",
            |scene| {
                scene.rules.node_startup_timeout = Some(Ok(SignedDuration::ZERO));
                without_node(scene, [9_000, 9_000, 9_000, 9_000]);
            },
            "waiting: NodeStartupUnlimited",
        ),
        (
            "minimum 30s",
            |scene| {
                scene.rules.node_startup_timeout = Some(Ok(SignedDuration::from_secs(30)));
                without_node(scene, [31, 900, 900, 900]);
            },
            "unhealthy: NodeStartupTimeout",
        ),
    ];
    for dialect in BOTH {
        judge_cases(dialect, &cases);
        let mut raw = raw_rules();
        raw.node_startup_timeout = Some(Ok(SignedDuration::from_secs(29)));
        let malformed = Rules::read(dialect, &raw).unwrap_err();
        assert_eq!(malformed.errors[0].problem, Problem::TimeoutTooShort);
    }
}

#[test]
fn unhealthy_conditions() {
    let cases: [Case; 5] = [
        ("no match", |_| {}, "healthy"),
        (
            "or",
            |scene| scene.node(vec![condition("Ready", "False", 301)]),
            "unhealthy: UnhealthyNode",
        ),
        (
            "strict",
            |scene| scene.node(vec![condition("Ready", "False", 300)]),
            "waiting: Grace until after 0 s",
        ),
        ("absent never matches", |scene| scene.node(vec![]), "healthy"),
        (
            "no conditions are asked for",
            |scene| {
                scene.rules.node_conditions.clear();
                scene.node(vec![condition("Ready", "False", 9_000)]);
            },
            "healthy",
        ),
    ];
    for dialect in BOTH {
        judge_cases(dialect, &cases);
    }
}

#[test]
fn what_is_not_known_is_neither_healthy_nor_remediated() {
    let cases: [Case; 6] = [
        (
            "Cluster gone",
            |scene| scene.cluster = Lookup::Absent,
            "unknown: Cluster(\"the Cluster does not exist\")",
        ),
        (
            "Cluster unreadable",
            |scene| scene.cluster = Lookup::Unreadable("spec.paused".to_owned()),
            "unknown: Cluster(\"spec.paused\")",
        ),
        (
            "workload cluster unreachable",
            |scene| scene.target.node = Err(Unknown::NodeUnreachable("timed out".to_owned())),
            "unknown: NodeUnreachable(\"timed out\")",
        ),
        (
            "workload cluster unreachable, and a person asked for the remediation",
            |scene| {
                scene.machine().remediate = true;
                scene.target.node = Err(Unknown::NodeUnreachable("timed out".to_owned()));
            },
            "unknown: NodeUnreachable(\"timed out\")",
        ),
        (
            "Node unreadable",
            |scene| scene.target.node = Err(Unknown::Node("status".to_owned())),
            "unknown: Node(\"status\")",
        ),
        (
            "Machine unreadable",
            |scene| scene.target.machine = Err("status".to_owned()),
            "unknown: Machine(\"status\")",
        ),
    ];
    for dialect in BOTH {
        judge_cases(dialect, &cases);
    }
}

#[test]
fn deletion_trigger_and_remediation_are_not_healthy() {
    let cases: [Case; 3] = [
        (
            "deletion",
            |scene| scene.machine().deleting = true,
            "waiting: Deleting",
        ),
        (
            "trigger",
            |scene| scene.machine().triggered = true,
            "waiting: Triggered",
        ),
        (
            "remediation",
            |scene| scene.target.under_remediation = true,
            "waiting: UnderRemediation",
        ),
    ];
    for dialect in BOTH {
        judge_cases(dialect, &cases);
    }
}

#[test]
fn before_the_control_plane_is_initialized_no_node_is_looked_for() {
    let cases: [Case; 2] = [
        (
            "a worker is not judged, whatever its Node",
            |scene| {
                scene.cluster().control_plane = Readiness::No;
                scene.target.node = Err(Unknown::NodeUnreachable("timed out".to_owned()));
            },
            "waiting: ControlPlaneNotInitialized",
        ),
        (
            "a control-plane Machine is judged as one without a Node",
            |scene| {
                scene.cluster().control_plane = Readiness::No;
                scene.machine().control_plane = true;
                scene.target.node = Ok(NodeState::Gone("node".to_owned()));
            },
            "unhealthy: NodeStartupTimeout",
        ),
    ];
    for dialect in BOTH {
        judge_cases(dialect, &cases);
    }
}
