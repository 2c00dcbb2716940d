//! `machine.openshift.io/v1beta1`, each aspect of its behaviour.

use jiff::SignedDuration;

use super::objects::{Case, Scene, ago, condition, judge_cases, now, raw_rules, wanted};
use crate::facts::Lookup;
use crate::health::dialect::Dialect;
use crate::health::rules::Rules;
use crate::health::target::NodeState;
use crate::health::verdict::Unknown;

#[test]
fn status_phase_failed() {
    judge_cases(
        Dialect::OpenShift,
        &[
            (
                "unhealthy at once",
                |scene| scene.machine().failed = true,
                "unhealthy: MachineFailed",
            ),
            (
                "without a Node, too",
                |scene| {
                    scene.machine().failed = true;
                    scene.target.node = Ok(NodeState::Unset);
                },
                "unhealthy: MachineFailed",
            ),
            (
                "before the Node is looked at",
                |scene| {
                    scene.machine().failed = true;
                    scene.target.node = Ok(NodeState::Gone("node".to_owned()));
                },
                "unhealthy: MachineFailed",
            ),
        ],
    );
}

fn without_node(scene: &mut Scene, updated: Option<i64>) {
    scene.target.node = Ok(NodeState::Unset);
    scene.machine().last_updated = updated.map(ago);
}

#[test]
fn status_node_ref_unset() {
    let cases: [Case; 4] = [
        (
            "longer than nodeStartupTimeout since lastUpdated",
            |scene| without_node(scene, Some(601)),
            "unhealthy: NodeStartupTimeout",
        ),
        (
            "exactly nodeStartupTimeout since lastUpdated",
            |scene| without_node(scene, Some(600)),
            "waiting: NodeStartup until after 0 s",
        ),
        (
            "by the last change of the status and not by creation",
            |scene| without_node(scene, Some(10)),
            "waiting: NodeStartup until after 590 s",
        ),
        (
            "lastUpdated unset",
            |scene| without_node(scene, None),
            "waiting: NodeStartup",
        ),
    ];
    judge_cases(Dialect::OpenShift, &cases);
}

#[test]
fn node_startup_timeout() {
    let cases: [Case; 3] = [
        (
            "default 10m",
            |scene| without_node(scene, Some(599)),
            "waiting: NodeStartup until after 1 s",
        ),
        (
            "another, however short",
            |scene| {
                scene.rules.node_startup_timeout = Some(Ok(SignedDuration::from_secs(5)));
                without_node(scene, Some(6));
            },
            "unhealthy: NodeStartupTimeout",
        ),
        (
            "0 disables",
            |scene| {
                scene.rules.node_startup_timeout = Some(Ok(SignedDuration::ZERO));
                without_node(scene, Some(1_000_000));
            },
            "waiting: NodeStartupUnlimited",
        ),
    ];
    judge_cases(Dialect::OpenShift, &cases);
}

#[test]
fn node_ref_set_and_node_absent() {
    let cases: [Case; 2] = [
        (
            "at once, without grace",
            |scene| {
                scene.machine().last_updated = Some(now());
                scene.target.node = Ok(NodeState::Gone("node".to_owned()));
            },
            "unhealthy: NodeNotFound",
        ),
        (
            "independent of nodeStartupTimeout",
            |scene| {
                scene.rules.node_startup_timeout = Some(Ok(SignedDuration::ZERO));
                scene.target.node = Ok(NodeState::Gone("node".to_owned()));
            },
            "unhealthy: NodeNotFound",
        ),
    ];
    judge_cases(Dialect::OpenShift, &cases);
}

#[test]
fn unhealthy_conditions_at_least_one() {
    let mut raw = raw_rules();
    raw.node_conditions.clear();
    let malformed = Rules::read(Dialect::OpenShift, &raw).unwrap_err();
    assert_eq!(
        malformed.to_string(),
        "spec.unhealthyConditions is empty. List at least one condition."
    );
}

#[test]
fn unhealthy_conditions_or_same_status_strictly_longer_and_absent_never_matches() {
    let cases: [Case; 8] = [
        (
            "longer than the timeout",
            |scene| scene.node(vec![condition("Ready", "Unknown", 301)]),
            "unhealthy: UnhealthyNode",
        ),
        (
            "or: the other of the list",
            |scene| scene.node(vec![condition("Ready", "False", 301)]),
            "unhealthy: UnhealthyNode",
        ),
        (
            "strict",
            |scene| scene.node(vec![condition("Ready", "Unknown", 300)]),
            "waiting: Grace until after 0 s",
        ),
        (
            "another status",
            |scene| scene.node(vec![condition("Ready", "True", 9_000)]),
            "healthy",
        ),
        (
            "absent never matches",
            |scene| scene.node(vec![condition("Other", "Unknown", 9_000)]),
            "healthy",
        ),
        ("no conditions at all", |scene| scene.node(vec![]), "healthy"),
        (
            "timeout 0s, after an instant",
            |scene| {
                scene.rules.node_conditions = vec![wanted("Ready", "Unknown", 0)];
                scene.node(vec![condition("Ready", "Unknown", 1)]);
            },
            "unhealthy: UnhealthyNode",
        ),
        (
            "timeout 0s, at the very instant",
            |scene| {
                scene.rules.node_conditions = vec![wanted("Ready", "Unknown", 0)];
                scene.node(vec![condition("Ready", "Unknown", 0)]);
            },
            "waiting: Grace until after 0 s",
        ),
    ];
    judge_cases(Dialect::OpenShift, &cases);
}

#[test]
fn grace_period() {
    let cases: [Case; 5] = [
        (
            "next check when the rest is over",
            |scene| scene.node(vec![condition("Ready", "Unknown", 100)]),
            "waiting: Grace until after 200 s",
        ),
        (
            "the minimum of all",
            |scene| {
                scene.rules.node_conditions.push(wanted("Disk", "True", 60));
                scene.node(vec![
                    condition("Ready", "Unknown", 100),
                    condition("Disk", "True", 10),
                ]);
            },
            "waiting: Grace until after 50 s",
        ),
        (
            "one over, one pending",
            |scene| {
                scene.rules.node_conditions.push(wanted("Disk", "True", 60));
                scene.node(vec![
                    condition("Ready", "Unknown", 100),
                    condition("Disk", "True", 61),
                ]);
            },
            "unhealthy: UnhealthyNode",
        ),
        (
            "a known end comes before an unknown one",
            |scene| {
                scene.rules.node_conditions.push(wanted("Disk", "True", 60));
                let mut silent = condition("Ready", "Unknown", 0);
                silent.since = None;
                scene.node(vec![silent, condition("Disk", "True", 10)]);
            },
            "waiting: Grace until after 50 s",
        ),
        (
            "since an unknown time",
            |scene| {
                let mut silent = condition("Ready", "Unknown", 0);
                silent.since = None;
                scene.node(vec![silent]);
            },
            "waiting: Grace",
        ),
    ];
    judge_cases(Dialect::OpenShift, &cases);
}

#[test]
fn healthy() {
    let cases: [Case; 8] = [
        ("no match", |_| {}, "healthy"),
        (
            "pending grace",
            |scene| scene.node(vec![condition("Ready", "False", 1)]),
            "waiting: Grace until after 299 s",
        ),
        (
            "in deletion",
            |scene| scene.machine().deleting = true,
            "waiting: Deleting",
        ),
        (
            "Node object unknown",
            |scene| scene.target.node = Err(Unknown::Node("status.conditions".to_owned())),
            "unknown: Node(\"status.conditions\")",
        ),
        (
            "trigger present",
            |scene| scene.machine().triggered = true,
            "waiting: Triggered",
        ),
        (
            "remediation under way",
            |scene| scene.target.under_remediation = true,
            "waiting: UnderRemediation",
        ),
        (
            "annotations that are only looked at on the health check, or are Cluster API's",
            |scene| {
                scene.machine().paused = true;
                scene.machine().skip_remediation = true;
                scene.machine().remediate = true;
                scene.machine().failure_reason = Some("CreateError".to_owned());
                scene.cluster = Lookup::Absent;
            },
            "healthy",
        ),
        (
            "Machine that cannot be read",
            |scene| scene.target.machine = Err("metadata.name".to_owned()),
            "unknown: Machine(\"metadata.name\")",
        ),
    ];
    judge_cases(Dialect::OpenShift, &cases);
}
