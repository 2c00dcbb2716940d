//! `cluster.x-k8s.io/v1beta2`, as of Cluster API 1.12.

use super::objects::Change as _;
use super::objects::{Case, Scene, ago, cluster, condition, judge_cases, now, raw_rules, wanted, worker};
use crate::health::assess::assess;
use crate::health::dialect::Dialect;
use crate::health::judgement::judge_machine;
use crate::health::problem::Problem;
use crate::health::rules::Rules;
use crate::health::target::{NodeState, Readiness};
use crate::health::verdict::{UnhealthyReason, Verdict};

const DIALECT: Dialect = Dialect::ClusterApiV1Beta2;

fn gone(scene: &mut Scene) {
    scene.target.node = Ok(NodeState::Gone("node".to_owned()));
}

/// The check looks at a Machine condition, which has been False for so many seconds.
fn machine_condition(scene: &mut Scene, seconds: i64) {
    scene.rules.machine_conditions = vec![wanted("NodeHealthy", "False", 60)];
    scene.machine().conditions = vec![condition("NodeHealthy", "False", seconds)];
}

#[test]
fn order_of_checks() {
    let cases: [Case; 10] = [
        (
            "remediate-machine: unhealthy",
            |scene| scene.machine().remediate = true,
            "unhealthy: HasRemediateAnnotation",
        ),
        (
            "remediate-machine before the gate",
            |scene| {
                scene.machine().remediate = true;
                scene.cluster().infrastructure = Readiness::No;
                scene.cluster().control_plane = Readiness::No;
            },
            "unhealthy: HasRemediateAnnotation",
        ),
        (
            "gate: control plane not initialised",
            |scene| {
                scene.cluster().control_plane = Readiness::No;
                machine_condition(scene, 9_000);
            },
            "waiting: ControlPlaneNotInitialized",
        ),
        (
            "gate: infrastructure not ready",
            |scene| {
                scene.cluster().infrastructure = Readiness::No;
                machine_condition(scene, 9_000);
            },
            "waiting: InfrastructureNotReady { counts_as_healthy: true }",
        ),
        (
            "the same in deletion",
            |scene| {
                scene.cluster().infrastructure = Readiness::No;
                scene.machine().deleting = true;
            },
            "waiting: InfrastructureNotReady { counts_as_healthy: false }",
        ),
        (
            "gate also before the Node-gone check",
            |scene| {
                scene.cluster().infrastructure = Readiness::No;
                gone(scene);
            },
            "waiting: InfrastructureNotReady { counts_as_healthy: false }",
        ),
        ("Node gone", gone, "unhealthy: NodeDeleted"),
        (
            "failureReason and failureMessage no longer count",
            |scene| {
                scene.machine().failure_reason = Some("CreateError".to_owned());
                scene.machine().failure_message = Some("no quota".to_owned());
            },
            "healthy",
        ),
        (
            "Machine conditions, then Node checks",
            |scene| {
                machine_condition(scene, 61);
                gone(scene);
            },
            "unhealthy: UnhealthyMachine",
        ),
        (
            "a Machine condition in its grace does not hide a Node that is gone",
            |scene| {
                machine_condition(scene, 10);
                gone(scene);
            },
            "unhealthy: NodeDeleted",
        ),
    ];
    judge_cases(DIALECT, &cases);
}

#[test]
fn messages_are_merged() {
    let mut target = worker("w");
    let mut raw = raw_rules();
    raw.machine_conditions = vec![wanted("NodeHealthy", "False", 60)];
    raw.node_conditions.push(wanted("Disk", "True", 0));
    target.machine().conditions = vec![condition("NodeHealthy", "False", 100)];
    target.node = Ok(NodeState::Present {
        name: "node".to_owned(),
        conditions: vec![condition("Ready", "Unknown", 400), condition("Disk", "True", 5)],
    });
    let rules = Rules::read(DIALECT, &raw).unwrap();
    let Verdict::Unhealthy {
        reason,
        message,
        since,
    } = judge_machine(&rules, &cluster(), &target, now())
    else {
        panic!("not unhealthy");
    };
    assert_eq!(reason, UnhealthyReason::UnhealthyMachine);
    assert_eq!(
        message,
        "condition NodeHealthy of Machine w has been False for more than 1m; \
         condition Ready of Node node has been Unknown for more than 5m; \
         condition Disk of Node node has been True for more than 0s"
    );
    let first = ago(100).checked_add(jiff::SignedDuration::from_nanos(1)).unwrap();
    assert_eq!(since, Some(first), "when the first of them was over");
}

#[test]
fn checks_unhealthy_node_conditions_at_most_100() {
    let mut raw = raw_rules();
    raw.node_conditions = vec![wanted("Ready", "False", 300); 100];
    assert!(Rules::read(DIALECT, &raw).is_ok());
    raw.node_conditions.push(wanted("Ready", "False", 300));
    let malformed = Rules::read(DIALECT, &raw).unwrap_err();
    assert_eq!(malformed.errors[0].path, "spec.checks.unhealthyNodeConditions");
    assert_eq!(malformed.errors[0].problem, Problem::TooManyConditions(101));
}

#[test]
fn checks_unhealthy_machine_conditions() {
    let cases: [Case; 5] = [
        (
            "a Machine match",
            |scene| machine_condition(scene, 61),
            "unhealthy: UnhealthyMachine",
        ),
        (
            "strict",
            |scene| machine_condition(scene, 60),
            "waiting: Grace until after 0 s",
        ),
        (
            "absent never matches",
            |scene| {
                machine_condition(scene, 61);
                scene.machine().conditions.clear();
            },
            "healthy",
        ),
        (
            "overrides the reason",
            |scene| {
                machine_condition(scene, 61);
                scene.node(vec![condition("Ready", "False", 9_000)]);
            },
            "unhealthy: UnhealthyMachine",
        ),
        (
            "while the Machine has no Node, with the earlier next check of both",
            |scene| {
                machine_condition(scene, 10);
                scene.target.node = Ok(NodeState::Unset);
                scene.machine().created = ago(10);
            },
            "waiting: Grace until after 50 s",
        ),
    ];
    judge_cases(DIALECT, &cases);
}

#[test]
fn any_machine_condition_except_five() {
    for kind in [
        "Ready",
        "Available",
        "HealthCheckSucceeded",
        "OwnerRemediated",
        "ExternallyRemediated",
    ] {
        let mut raw = raw_rules();
        raw.machine_conditions = vec![wanted("NodeHealthy", "False", 0), wanted(kind, "False", 0)];
        let malformed = Rules::read(DIALECT, &raw).unwrap_err();
        assert_eq!(
            malformed.errors[0].path,
            "spec.checks.unhealthyMachineConditions[1].type"
        );
        assert_eq!(
            malformed.errors[0].problem,
            Problem::ConditionForbidden(kind.to_owned())
        );
    }
}

#[test]
fn reasons_of_health_check_succeeded() {
    for (reason, name) in [
        (UnhealthyReason::RemediateAnnotation, "HasRemediateAnnotation"),
        (UnhealthyReason::UnhealthyMachine, "UnhealthyMachine"),
        (UnhealthyReason::NodeGone, "NodeDeleted"),
        (UnhealthyReason::NodeStartupTimeout, "NodeStartupTimeout"),
        (UnhealthyReason::UnhealthyNode, "UnhealthyNode"),
    ] {
        assert_eq!(reason.name(DIALECT), name);
    }
}

#[test]
fn re_evaluation_has_no_cap_of_an_hour() {
    let mut raw = raw_rules();
    raw.node_conditions = vec![wanted("Ready", "False", 90_000)];
    let rules = Rules::read(DIALECT, &raw).unwrap();
    let mut machines = [worker("a"), worker("b")];
    machines[0].set_ready("False", 1_000);
    machines[1].set_ready("False", 3_000);
    let all: Vec<_> = machines.iter().collect();
    let assessment = assess(&rules, false, &cluster(), &all, now());
    let look = assessment.look_again.unwrap();
    assert_eq!(look.duration_since(now()).as_secs(), 87_000);
}
