//! Whether a Machine has been without a Node for too long, and nothing else that is wrong with it.

use jiff::{SignedDuration, Timestamp};

use super::objects::{ago, cluster, now, raw_rules, since, worker};
use crate::facts::Lookup;
use crate::health::dialect::Dialect;
use crate::health::node::NotMissed;
use crate::health::rules::Rules;
use crate::health::target::{ClusterState, MachineState, NodeState, Readiness};
use crate::health::{HealthCheck, judge_without_node};
use crate::phase::Reason;

const DIALECTS: [Dialect; 3] = [
    Dialect::OpenShift,
    Dialect::ClusterApiV1Beta1,
    Dialect::ClusterApiV1Beta2,
];

fn check(dialect: Dialect, startup: i64) -> HealthCheck {
    let mut raw = raw_rules();
    raw.node_startup_timeout = Some(Ok(SignedDuration::from_secs(startup)));
    HealthCheck {
        name: "workers".to_owned(),
        external_baremetal: true,
        paused: false,
        has_template: false,
        conditions: Vec::new(),
        machine_conditions: Vec::new(),
        rules: Some(Rules::read(dialect, &raw).unwrap()),
        malformed: None,
    }
}

/// A Machine whose last change of any kind is so long ago.
fn machine(seconds: i64) -> MachineState {
    MachineState {
        created: ago(seconds),
        last_updated: Some(ago(seconds)),
        infrastructure: since(seconds),
        ..worker("one").machine.unwrap()
    }
}

fn judged(
    checks: &[HealthCheck],
    of: &Lookup<ClusterState>,
    machine: &MachineState,
) -> Result<String, NotMissed> {
    let checks: Vec<&HealthCheck> = checks.iter().collect();
    judge_without_node(&checks, of, ("one", machine), NodeState::Unset, now())
}

fn too_long(verdict: &Result<String, NotMissed>) -> bool {
    verdict.is_ok()
}

/// The end of the time for which it may be without a Node; an error where there is no such time.
fn waits(verdict: &Result<String, NotMissed>) -> Result<Option<Timestamp>, String> {
    match verdict {
        Err((Reason::WithinGracePeriod, _, until)) => Ok(*until),
        Ok(_) | Err(_) => Err(format!("{verdict:?}")),
    }
}

fn refused(verdict: Result<String, NotMissed>) -> Option<Reason> {
    verdict.err().map(|(reason, ..)| reason)
}

#[test]
fn the_time_is_over_strictly_after_it() {
    for dialect in DIALECTS {
        for (seconds, expected) in [(599, false), (600, false), (601, true)] {
            let verdict = judged(&[check(dialect, 600)], &cluster(), &machine(seconds));
            assert_eq!(too_long(&verdict), expected, "{dialect:?} {seconds}: {verdict:?}");
            if !expected {
                assert!(waits(&verdict).unwrap().is_some(), "{dialect:?} {seconds}");
            }
        }
    }
}

#[test]
fn a_node_that_is_gone_is_too_long_at_once() {
    for dialect in DIALECTS {
        let check = check(dialect, 600);
        let gone = NodeState::Gone("n".to_owned());
        let verdict = judge_without_node(&[&check], &cluster(), ("one", &machine(1)), gone, now());
        assert!(too_long(&verdict), "{dialect:?}: {verdict:?}");
    }
}

#[test]
fn one_of_several_checks_is_enough_and_the_first_time_is_waited_for() {
    for dialect in DIALECTS {
        let checks = |times: &[i64]| times.iter().map(|time| check(dialect, *time)).collect::<Vec<_>>();
        let of = |times: &[i64]| judged(&checks(times), &cluster(), &machine(900));
        assert!(too_long(&of(&[0, 3_600, 600])), "{dialect:?}");
        let until = Some(
            ago(-901)
                .checked_sub(SignedDuration::from_nanos(999_999_999))
                .unwrap(),
        );
        assert_eq!(waits(&of(&[0, 3_600, 1_800])), Ok(until), "{dialect:?}");
        assert_eq!(
            refused(of(&[0])),
            Some(Reason::NodeStartupUnlimited),
            "{dialect:?}"
        );
        assert_eq!(refused(of(&[])), Some(Reason::NodeMissing), "{dialect:?}");
    }
}

#[test]
fn whatever_else_is_wrong_with_the_machine_is_no_reason() {
    for dialect in DIALECTS {
        let ill = MachineState {
            failed: true,
            remediate: true,
            failure_reason: Some("CreateError".to_owned()),
            failure_message: Some("no".to_owned()),
            conditions: vec![super::objects::condition("Broken", "True", 9_000)],
            ..machine(60)
        };
        let verdict = judged(&[check(dialect, 600)], &cluster(), &ill);
        assert!(waits(&verdict).is_ok(), "{dialect:?}");
    }
}

#[test]
fn nobody_is_to_blame_while_the_cluster_is_not_far_enough_or_not_known() {
    let (Lookup::Present(ready), old) = (cluster(), machine(9_000)) else {
        panic!("it is there");
    };
    let no_control_plane = ClusterState {
        control_plane: Readiness::No,
        ..ready.clone()
    };
    let no_infrastructure = ClusterState {
        infrastructure: Readiness::No,
        ..ready
    };
    for dialect in [Dialect::ClusterApiV1Beta1, Dialect::ClusterApiV1Beta2] {
        let checks = [check(dialect, 600)];
        for state in [&no_control_plane, &no_infrastructure] {
            let verdict = judged(&checks, &Lookup::Present(state.clone()), &old);
            assert_eq!(waits(&verdict), Ok(None), "{dialect:?} {state:?}");
        }
        for unknown in [Lookup::Absent, Lookup::Unreadable("what is wrong".to_owned())] {
            let verdict = judged(&checks, &unknown, &old);
            assert_eq!(refused(verdict), Some(Reason::NodeMissing), "{dialect:?}");
        }
        let skipped = MachineState {
            skip_remediation: true,
            ..machine(9_000)
        };
        let verdict = judged(&checks, &cluster(), &skipped);
        assert_eq!(refused(verdict), Some(Reason::NodeMissing), "{dialect:?}");
    }
    // OpenShift has no Clusters, and counts from the last change of the status alone.
    let unknown_since = MachineState {
        last_updated: None,
        ..machine(9_000)
    };
    let verdict = judged(&[check(Dialect::OpenShift, 600)], &Lookup::Absent, &unknown_since);
    assert_eq!(waits(&verdict), Ok(None));
}
