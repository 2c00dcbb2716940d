//! `cluster.x-k8s.io/v1beta1`, as of its releases up to 1.10.

use super::objects::{Case, Scene, condition, judge_cases, wanted};
use crate::health::dialect::Dialect;
use crate::health::target::{NodeState, Readiness};
use crate::health::verdict::UnhealthyReason;

const DIALECT: Dialect = Dialect::ClusterApiV1Beta1;

fn gone(scene: &mut Scene) {
    scene.target.node = Ok(NodeState::Gone("node".to_owned()));
}

#[test]
fn order_of_checks() {
    let cases: [Case; 11] = [
        (
            "remediate-machine present: unhealthy",
            |scene| scene.machine().remediate = true,
            "unhealthy: HasRemediateMachineAnnotation",
        ),
        (
            "remediate-machine before failureReason",
            |scene| {
                scene.machine().remediate = true;
                scene.machine().failure_reason = Some("CreateError".to_owned());
            },
            "unhealthy: HasRemediateMachineAnnotation",
        ),
        (
            "failureReason set: unhealthy",
            |scene| scene.machine().failure_reason = Some("CreateError".to_owned()),
            "unhealthy: MachineHasFailure",
        ),
        (
            "failureMessage set: unhealthy",
            |scene| scene.machine().failure_message = Some(String::new()),
            "unhealthy: MachineHasFailure",
        ),
        (
            "failureReason before the Node",
            |scene| {
                scene.machine().failure_reason = Some("CreateError".to_owned());
                gone(scene);
            },
            "unhealthy: MachineHasFailure",
        ),
        ("Node gone: unhealthy at once", gone, "unhealthy: NodeNotFound"),
        (
            "Node gone, also before the cluster infrastructure is ready",
            |scene| {
                gone(scene);
                scene.cluster().infrastructure = Readiness::No;
            },
            "unhealthy: NodeNotFound",
        ),
        (
            "nothing judged until the control plane is initialized",
            |scene| {
                scene.cluster().control_plane = Readiness::No;
                scene.node(vec![condition("Ready", "False", 9_000)]);
            },
            "waiting: ControlPlaneNotInitialized",
        ),
        (
            "control-plane Machines exempt",
            |scene| {
                scene.cluster().control_plane = Readiness::No;
                scene.machine().control_plane = true;
            },
            "unhealthy: NodeStartupTimeout",
        ),
        (
            "nothing judged until the cluster infrastructure is ready; with a Node it counts as healthy",
            |scene| {
                scene.cluster().infrastructure = Readiness::No;
                scene.node(vec![condition("Ready", "False", 9_000)]);
            },
            "waiting: InfrastructureNotReady { counts_as_healthy: true }",
        ),
        (
            "the same without a Node",
            |scene| {
                scene.cluster().infrastructure = Readiness::No;
                scene.target.node = Ok(NodeState::Unset);
            },
            "waiting: InfrastructureNotReady { counts_as_healthy: false }",
        ),
    ];
    judge_cases(DIALECT, &cases);
}

#[test]
fn machine_conditions_are_not_looked_at() {
    let cases: [Case; 1] = [(
        "served in this version from 1.13 only",
        |scene| {
            scene.rules.machine_conditions = vec![wanted("NodeHealthy", "False", 0)];
            scene.machine().conditions = vec![condition("NodeHealthy", "False", 9_000)];
        },
        "healthy",
    )];
    judge_cases(DIALECT, &cases);
}

#[test]
fn reasons_of_health_check_succeeded() {
    for (reason, name) in [
        (
            UnhealthyReason::RemediateAnnotation,
            "HasRemediateMachineAnnotation",
        ),
        (UnhealthyReason::MachineHasFailure, "MachineHasFailure"),
        (UnhealthyReason::NodeGone, "NodeNotFound"),
        (UnhealthyReason::NodeStartupTimeout, "NodeStartupTimeout"),
        (UnhealthyReason::UnhealthyNode, "UnhealthyNode"),
    ] {
        assert_eq!(reason.name(DIALECT), name);
    }
}
