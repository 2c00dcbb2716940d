//! Every example and number of the documents that users know. Each case names its file and line:
//!
//! * 000: OKD documentation, "Deploying machine health checks" (`000_4e9515d60cab5855.txt`)
//! * 002: openshift/enhancements `machine-health-checking.md` (`002_34a6ddd081c6559e.txt`)
//! * 003: Cluster API book, "Configure a MachineHealthCheck" (`003_8d8fc813154f8209.txt`)
//!
//! The examples of these are read in [`super::seed_examples`], and the numbers are in
//! [`super::documented_limits`]. 001 documents NodeHealthChecks, which their own operator
//! evaluates.
//!
//! What other controllers do is none of these: 000:15 to 000:17 and 002:93 to 002:97 delete Machines, 003:95 to
//! 003:144 (`maxRetry` 5, `retryPeriod` 2m, `minHealthyPeriod` 2h, 1h by default) and 003:224 to 003:231 bind
//! KubeadmControlPlane when it replaces Machines, 002:324 to 002:416 (15 minutes) the autoscaler. Of
//! control-plane Machines no host is power-cycled at all.

use jiff::SignedDuration;

use super::objects::Change as _;
use super::objects::{
    Scene, ago, cluster, condition, judge_cases, labels, now, pool, raw_rules, wanted, worker,
};
use super::short_circuit::assessed;
use crate::health::assess::{Stopped, assess};
use crate::health::dialect::Dialect;
use crate::health::limit::{IntOrText, Limit};
use crate::health::overlap::{Check, evaluate};
use crate::health::rules::Rules;
use crate::health::selector::{RawRequirement, RawSelector, Selector};
use crate::health::target::{NodeState, Target};

const BOTH: [Dialect; 2] = [Dialect::ClusterApiV1Beta1, Dialect::ClusterApiV1Beta2];

#[test]
fn what_makes_a_machine_of_openshift_unhealthy() {
    judge_cases(
        Dialect::OpenShift,
        &[
            (
                "000:27 the node is removed",
                |scene| scene.target.node = Ok(NodeState::Gone("node".to_owned())),
                "unhealthy: NodeNotFound",
            ),
            (
                "000:28 the node does not join",
                |scene: &mut Scene| {
                    scene.target.node = Ok(NodeState::Unset);
                    scene.machine().last_updated = Some(ago(601));
                },
                "unhealthy: NodeStartupTimeout",
            ),
            (
                "000:30 phase Failed",
                |scene| scene.machine().failed = true,
                "unhealthy: MachineFailed",
            ),
            (
                "000:54 NotReady for 300s",
                |scene| scene.target.set_ready("False", 301),
                "unhealthy: UnhealthyNode",
            ),
            (
                "000:9 NotReady for 15 minutes",
                |scene| {
                    scene.rules.node_conditions = vec![wanted("Ready", "False", 900)];
                    scene.target.set_ready("False", 901);
                },
                "unhealthy: UnhealthyNode",
            ),
            (
                "000:9 NotReady, not yet for 15 minutes",
                |scene| {
                    scene.rules.node_conditions = vec![wanted("Ready", "False", 900)];
                    scene.target.set_ready("False", 900);
                },
                "waiting: Grace until after 0 s",
            ),
            (
                "000:9 a permanent condition of the node-problem-detector",
                |scene| {
                    scene.rules.node_conditions = vec![wanted("KernelDeadlock", "True", 0)];
                    let deadlock = condition("KernelDeadlock", "True", 1);
                    scene.node(vec![condition("Ready", "True", 9_000), deadlock]);
                },
                "unhealthy: UnhealthyNode",
            ),
            (
                "002:89 no nodeRef for 10 minutes",
                |scene| {
                    scene.target.node = Ok(NodeState::Unset);
                    scene.machine().last_updated = Some(ago(601));
                },
                "unhealthy: NodeStartupTimeout",
            ),
            (
                "002:89 no nodeRef, not yet for 10 minutes",
                |scene| {
                    scene.target.node = Ok(NodeState::Unset);
                    scene.machine().last_updated = Some(ago(600));
                },
                "waiting: NodeStartup until after 0 s",
            ),
            (
                "002:107 ready=Unknown for more than 10m",
                |scene| {
                    scene.rules.node_conditions = vec![wanted("Ready", "Unknown", 600)];
                    scene.node(vec![condition("Ready", "Unknown", 600)]);
                },
                "waiting: Grace until after 0 s",
            ),
        ],
    );
}

#[test]
fn what_makes_a_machine_of_cluster_api_unhealthy() {
    judge_cases(
        Dialect::ClusterApiV1Beta1,
        &[
            (
                "003:23 and 003:234 failureReason",
                |scene| scene.machine().failure_reason = Some("CreateError".to_owned()),
                "unhealthy: MachineHasFailure",
            ),
            (
                "003:43 startup timeout of 0",
                |scene| {
                    scene.rules.node_startup_timeout = Some(Ok(SignedDuration::ZERO));
                    scene.target.node = Ok(NodeState::Unset);
                },
                "waiting: NodeStartupUnlimited",
            ),
            (
                "003:232 the Node is removed",
                |scene| scene.target.node = Ok(NodeState::Gone("node".to_owned())),
                "unhealthy: NodeNotFound",
            ),
            (
                "003:233 no Node joins",
                |scene| scene.target.node = Ok(NodeState::Unset),
                "unhealthy: NodeStartupTimeout",
            ),
        ],
    );
}

#[test]
fn selectors() {
    let master = labels(&[("cluster-api-machine-role", "master")]);
    let worker = labels(&[("cluster-api-machine-role", "worker"), ("zone", "a")]);
    let infra = labels(&[]);
    let exact = RawSelector {
        match_labels: labels(&[("cluster-api-machine-role", "worker")]),
        match_expressions: Vec::new(),
    };
    let not_master = RawSelector {
        match_labels: labels(&[]),
        match_expressions: vec![RawRequirement {
            key: "cluster-api-machine-role".to_owned(),
            operator: "NotIn".to_owned(),
            values: vec!["master".to_owned()],
        }],
    };
    for (line, raw, selected) in [
        ("002:293 empty", RawSelector::default(), [true, true, true]),
        ("002:300 exact labels", exact, [false, true, false]),
        ("002:311 all that are not master", not_master, [false, true, true]),
    ] {
        let (selector, problems) = Selector::read(&raw);
        assert!(problems.is_empty(), "{line}");
        let found = [&master, &worker, &infra].map(|labels| selector.matches(labels));
        assert_eq!(found, selected, "{line}");
    }
}

#[test]
fn failed_machines_beyond_the_limit_stop_everything() {
    let mut machines = pool(6, 1);
    for failed in &mut machines[1..4] {
        failed.machine().failed = true;
    }
    let limit = Limit::read(Dialect::OpenShift, Some(&IntOrText::Integer(3)), None).unwrap();
    let assessment = assessed(Dialect::OpenShift, limit, &machines);
    assert_eq!(assessment.stopped, Some(Stopped::TooManyUnhealthy), "002:343");
    assert!(assessment.remediate().is_empty(), "002:348");
    machines[3].machine().failed = false;
    let assessment = assessed(Dialect::OpenShift, limit, &machines);
    assert_eq!(assessment.remediate().len(), 1, "002:361");
}

#[test]
fn skipping_remediation() {
    let skipped = |edit: fn(&mut Scene), says| {
        judge_cases(Dialect::ClusterApiV1Beta2, &[("003:214", edit, says)]);
    };
    skipped(
        |scene| scene.machine().skip_remediation = true,
        "skipped: SkipRemediation",
    );
    skipped(|scene| scene.machine().paused = true, "skipped: Paused");
    let mut silent = worker("w");
    silent.set_ready("Unknown", 3_600);
    for dialect in BOTH {
        let rules = Rules::read(dialect, &raw_rules()).unwrap();
        let by_check = assess(&rules, true, &cluster(), &[&silent], now());
        assert_eq!(by_check.stopped, Some(Stopped::CheckPaused), "003:216");
        let by_cluster = assess(
            &rules,
            false,
            &super::overlap::paused_cluster(),
            &[&silent],
            now(),
        );
        assert_eq!(by_cluster.stopped, Some(Stopped::ClusterPaused), "003:217");
        for assessment in [by_check, by_cluster] {
            assert!(assessment.remediate().is_empty());
        }
    }
}

fn check(name: &str, role: Option<&str>, max: i64) -> Check {
    let mut raw = raw_rules();
    raw.max_unhealthy = Some(IntOrText::Integer(max));
    raw.selector.match_labels = labels(&role.map(|role| ("role", role)).into_iter().collect::<Vec<_>>());
    Check {
        name: name.to_owned(),
        paused: false,
        rules: Rules::read(Dialect::OpenShift, &raw),
        cluster: cluster(),
    }
}

#[test]
fn of_two_checks_over_one_machine_the_stricter_one_blocks() {
    let machines = pool(10, 3);
    let (generous, strict) = (check("generous", None, 10), check("strict", None, 2));
    let alone = evaluate(std::slice::from_ref(&generous), &machines, now());
    assert_eq!(alone.remediate.len(), 3, "002:441");
    let checks = [generous, strict];
    let both = evaluate(&checks, &machines, now());
    assert_eq!((both.remediate.len(), both.forbidden.len()), (0, 3), "002:442");
    assert_eq!(both.forbidden[0].check, "strict");
}

#[test]
fn control_plane_machines_are_counted_by_a_check_that_covers_all() {
    let mut machines: Vec<Target> = pool(4, 1);
    for number in 0..3 {
        let mut master = worker(&format!("m{number}"));
        master.labels = labels(&[("role", "master")]);
        machines.push(master);
    }
    machines[4].set_ready("Unknown", 3_600);
    let one = [check("all", None, 1)];
    let evaluation = evaluate(&one, &machines, now());
    assert!(evaluation.remediate.is_empty(), "002:444, 002:453");
    let workers = [check("workers", Some("worker"), 1)];
    let evaluation = evaluate(&workers, &machines, now());
    assert_eq!(evaluation.remediate.len(), 1, "002:452");
}

/// A MachineDisruptionBudget (002:247, `maxUnavailable: 5`) was never made; a check over all says the same.
#[test]
fn no_remediation_if_5_or_more_are_down_across_cattle_and_pets() {
    let check = [check("all", None, 4)];
    for (down, remediated) in [(4, 4), (5, 0), (6, 0)] {
        let mut machines = pool(10, down);
        for pet in &mut machines[3..] {
            pet.labels = labels(&[("role", "pet")]);
        }
        let evaluation = evaluate(&check, &machines, now());
        assert_eq!(evaluation.remediate.len(), remediated, "002:256, 002:277: {down}");
    }
}
