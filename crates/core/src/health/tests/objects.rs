//! A worker, its Node, its Cluster and a health check, all well, to be changed by a case.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::facts::{Lookup, NodeCondition};
use crate::health::dialect::Dialect;
use crate::health::judgement::judge_machine;
use crate::health::limit::Counts;
use crate::health::rules::{CLUSTER_NAME_LABEL, RawCondition, RawRules, Rules};
use crate::health::selector::{RawSelector, Selector};
use crate::health::target::{ClusterState, MachineState, NodeState, Readiness, Target};
use crate::health::verdict::Verdict;

const DAY: i64 = 86_400;

pub(super) fn now() -> Timestamp {
    "2026-06-01T12:00:00Z".parse().unwrap()
}

/// So many seconds before now.
pub(super) fn ago(seconds: i64) -> Timestamp {
    now().checked_sub(SignedDuration::from_secs(seconds)).unwrap()
}

pub(super) fn since(seconds: i64) -> Readiness {
    Readiness::Yes {
        since: Some(ago(seconds)),
    }
}

pub(super) fn condition(kind: &str, status: &str, seconds: i64) -> NodeCondition {
    NodeCondition {
        kind: kind.to_owned(),
        status: status.to_owned(),
        since: Some(ago(seconds)),
    }
}

pub(super) fn wanted(kind: &str, status: &str, seconds: i64) -> RawCondition {
    RawCondition {
        kind: kind.to_owned(),
        status: status.to_owned(),
        timeout: Ok(SignedDuration::from_secs(seconds)),
    }
}

pub(super) fn labels(listed: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    listed.iter().map(owned).collect()
}

/// A worker of Cluster `prod` whose Node has been Ready for a day.
pub(super) fn worker(name: &str) -> Target {
    Target {
        name: name.to_owned(),
        labels: labels(&[("role", "worker"), (CLUSTER_NAME_LABEL, "prod")]),
        machine: Ok(MachineState {
            created: ago(30 * DAY),
            deleting: false,
            triggered: false,
            failed: false,
            last_updated: Some(ago(30 * DAY)),
            control_plane: false,
            paused: false,
            skip_remediation: false,
            remediate: false,
            failure_reason: None,
            failure_message: None,
            infrastructure: since(30 * DAY),
            conditions: Vec::new(),
        }),
        node: Ok(NodeState::Present {
            name: format!("node-of-{name}"),
            conditions: vec![condition("Ready", "True", DAY)],
        }),
        under_remediation: false,
    }
}

/// Workers of which the first `unhealthy` have had a silent Node for an hour.
pub(super) fn pool(size: usize, unhealthy: usize) -> Vec<Target> {
    let mut pool: Vec<Target> = (0..size).map(|number| worker(&format!("w{number:02}"))).collect();
    for target in pool.iter_mut().take(unhealthy) {
        target.set_ready("Unknown", 3600);
    }
    pool
}

pub(super) fn cluster() -> Lookup<ClusterState> {
    Lookup::Present(ClusterState {
        paused: false,
        infrastructure: since(30 * DAY),
        control_plane: since(30 * DAY),
    })
}

/// The example of all three documentations: workers, Ready False or Unknown for 300 s.
pub(super) fn raw_rules() -> RawRules {
    RawRules {
        selector: RawSelector {
            match_labels: labels(&[("role", "worker")]),
            match_expressions: Vec::new(),
        },
        cluster_name: Some("prod".to_owned()),
        node_conditions: vec![wanted("Ready", "Unknown", 300), wanted("Ready", "False", 300)],
        ..RawRules::default()
    }
}

pub(super) fn rules(dialect: Dialect) -> Rules {
    Rules::read(dialect, &raw_rules()).unwrap()
}

/// Of which something is known of all.
pub(super) fn counts(expected: u32, healthy: u32) -> Counts {
    Counts {
        expected,
        healthy,
        unknown: 0,
    }
}

/// Rules that select every Machine.
pub(super) fn rules_for_all(dialect: Dialect) -> Rules {
    Rules {
        selector: Selector::default(),
        ..rules(dialect)
    }
}

/// What a case changes.
pub(super) struct Scene {
    pub(super) rules: RawRules,
    pub(super) cluster: Lookup<ClusterState>,
    pub(super) target: Target,
}

impl Scene {
    pub(super) fn machine(&mut self) -> &mut MachineState {
        self.target.machine()
    }

    pub(super) fn cluster(&mut self) -> &mut ClusterState {
        match &mut self.cluster {
            Lookup::Present(cluster) => cluster,
            Lookup::Absent | Lookup::Unreadable(_) => panic!("no Cluster"),
        }
    }

    pub(super) fn node(&mut self, conditions: Vec<NodeCondition>) {
        self.target.node = Ok(NodeState::Present {
            name: "node".to_owned(),
            conditions,
        });
    }
}

/// Changes of a Target that many cases make.
pub(super) trait Change {
    /// Its Machine.
    fn machine(&mut self) -> &mut MachineState;

    /// The Node has had this status of Ready for so many seconds.
    fn set_ready(&mut self, status: &str, seconds: i64);
}

impl Change for Target {
    fn machine(&mut self) -> &mut MachineState {
        self.machine.as_mut().unwrap()
    }

    fn set_ready(&mut self, status: &str, seconds: i64) {
        self.node = Ok(NodeState::Present {
            name: format!("node-of-{}", self.name),
            conditions: vec![condition("Ready", status, seconds)],
        });
    }
}

/// A row, what is changed for it, and what is to be said.
pub(super) type Case = (&'static str, fn(&mut Scene), &'static str);

/// Judges the worker of each case. Where a verdict has an end, it is another one at this instant, and not
/// before.
pub(super) fn judge_cases(dialect: Dialect, cases: &[Case]) {
    for (row, edit, expected) in cases {
        let mut scene = Scene {
            rules: raw_rules(),
            cluster: cluster(),
            target: worker("w"),
        };
        edit(&mut scene);
        let rules = Rules::read(dialect, &scene.rules).unwrap();
        let judge = |time| judge_machine(&rules, &scene.cluster, &scene.target, time);
        let verdict = judge(now());
        assert_eq!(summary(dialect, &verdict), *expected, "{row}");
        if let Some(until) = verdict.until() {
            let before = until.checked_sub(SignedDuration::from_nanos(1)).unwrap();
            assert_eq!(judge(before), verdict, "{row}: before {until}");
            assert_ne!(judge(until), verdict, "{row}: at {until}");
        }
    }
}

/// A verdict in few words; times in seconds from now.
pub(super) fn summary(dialect: Dialect, verdict: &Verdict) -> String {
    match verdict {
        Verdict::Healthy => "healthy".to_owned(),
        Verdict::Skipped(why) => format!("skipped: {why:?}"),
        Verdict::Waiting { why, until: None } => format!("waiting: {why:?}"),
        Verdict::Waiting {
            why,
            until: Some(until),
        } => {
            let rest = until.duration_since(now());
            let rest = rest.checked_sub(SignedDuration::from_nanos(1)).unwrap();
            assert_eq!(rest.subsec_nanos(), 0, "{until}");
            format!("waiting: {why:?} until after {} s", rest.as_secs())
        }
        Verdict::Unhealthy { reason, .. } => format!("unhealthy: {}", reason.name(dialect)),
        Verdict::Unknown(what) => format!("unknown: {what:?}"),
    }
}
