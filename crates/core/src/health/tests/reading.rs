//! What is malformed selects nothing, and says what is wrong with which field.

use jiff::SignedDuration;
use proptest::prelude::*;

use super::objects::{counts, labels, raw_rules, wanted};
use super::short_circuit::text;
use crate::health::dialect::Dialect;
use crate::health::limit::{IntOrText, Limit};
use crate::health::rules::{CLUSTER_NAME_LABEL, Malformed, RawRules, Rules};
use crate::health::selector::RawRequirement;

/// What is wrong with rules in the three dialects, when a field is changed.
fn complaints(edit: fn(&mut RawRules)) -> [String; 3] {
    Dialect::ALL.map(|dialect| {
        let mut raw = raw_rules();
        edit(&mut raw);
        match Rules::read(dialect, &raw) {
            Ok(_) => "-".to_owned(),
            Err(malformed) => malformed.to_string(),
        }
    })
}

#[test]
fn the_example_is_well_formed() {
    assert_eq!(complaints(|_| {}), ["-", "-", "-"]);
}

#[test]
fn a_timeout_that_is_none_or_negative_names_its_field() {
    assert_eq!(
        complaints(|raw| raw.node_conditions[1].timeout = Err("5 minutes".to_owned())),
        [
            "spec.unhealthyConditions[1].timeout is \"5 minutes\", which is no duration. Write one such as 5m.",
            "spec.unhealthyConditions[1].timeout is \"5 minutes\", which is no duration. Write one such as 5m.",
            "spec.checks.unhealthyNodeConditions[1].timeoutSeconds is \"5 minutes\", which is no duration. \
             Write one such as 5m.",
        ]
    );
    assert_eq!(
        complaints(|raw| raw.node_startup_timeout = Some(Ok(SignedDuration::from_secs(-1)))),
        [
            "spec.nodeStartupTimeout is negative. Write 0 or more.",
            "spec.nodeStartupTimeout is negative. Write 0 or more.",
            "spec.checks.nodeStartupTimeoutSeconds is negative. Write 0 or more.",
        ]
    );
    assert_eq!(
        complaints(|raw| raw.node_startup_timeout = Some(Ok(SignedDuration::from_secs(29)))),
        [
            "-",
            "spec.nodeStartupTimeout is shorter than 30 s. Write at least 30 s, or 0 to switch it off.",
            "spec.checks.nodeStartupTimeoutSeconds is shorter than 30 s. Write at least 30 s, or 0 to switch it off.",
        ]
    );
}

#[test]
fn a_condition_lacks_nothing() {
    let incomplete = |edit: fn(&mut RawRules)| {
        for complaint in complaints(edit) {
            assert!(
                complaint.ends_with("[0] lacks its type or its status. Write both."),
                "{complaint}"
            );
        }
    };
    incomplete(|raw| raw.node_conditions[0].kind.clear());
    incomplete(|raw| raw.node_conditions[0].status.clear());
    assert_eq!(
        complaints(|raw| raw.machine_conditions = vec![wanted("NodeHealthy", "Perhaps", 0)]),
        [
            "-",
            "-",
            "spec.checks.unhealthyMachineConditions[0].status is \"Perhaps\". Write True, False or Unknown.",
        ]
    );
}

#[test]
fn cluster_api_needs_its_cluster() {
    let unnamed = "spec.clusterName is empty. Name the Cluster of the Machines.";
    assert_eq!(complaints(|raw| raw.cluster_name = None), ["-", unnamed, unnamed]);
    let foreign = "spec.selector asks for the Cluster \"test\". Name the one of spec.clusterName or none.";
    assert_eq!(
        complaints(|raw| {
            let label = (CLUSTER_NAME_LABEL.to_owned(), "test".to_owned());
            raw.selector.match_labels.extend([label]);
        }),
        ["-", foreign, foreign]
    );
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let mut raw = raw_rules();
    raw.selector.match_labels = labels(&[("a b", "c")]);
    raw.node_conditions[0].timeout = Err("x".to_owned());
    raw.node_startup_timeout = Some(Err("y".to_owned()));
    raw.max_unhealthy = Some(text("z"));
    let malformed = Rules::read(Dialect::OpenShift, &raw).unwrap_err();
    let paths: Vec<&str> = malformed.errors.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "spec.selector",
            "spec.unhealthyConditions[0].timeout",
            "spec.nodeStartupTimeout",
            "spec.maxUnhealthy",
        ]
    );
}

#[test]
fn the_scope_is_what_is_understood_of_the_selector() {
    let worker = labels(&[("role", "worker"), (CLUSTER_NAME_LABEL, "prod")]);
    let other_cluster = labels(&[("role", "worker"), (CLUSTER_NAME_LABEL, "test")]);
    let master = labels(&[("role", "master"), (CLUSTER_NAME_LABEL, "prod")]);
    let holds = |dialect, edit: fn(&mut RawRules)| {
        let mut raw = raw_rules();
        raw.max_unhealthy = Some(text("x"));
        edit(&mut raw);
        let malformed = Rules::read(dialect, &raw).unwrap_err();
        [&worker, &other_cluster, &master].map(|labels| malformed.concerns(labels))
    };
    let unknown_operator = |raw: &mut RawRules| {
        raw.selector.match_expressions = vec![RawRequirement {
            key: "zone".to_owned(),
            operator: "=".to_owned(),
            values: vec!["a".to_owned()],
        }];
    };
    let nothing_left = |raw: &mut RawRules| raw.selector.match_labels = labels(&[("", "x")]);
    let empty = |raw: &mut RawRules| raw.selector.match_labels.clear();
    let openshift = Dialect::OpenShift;
    assert_eq!(holds(openshift, |_| {}), [true, true, false]);
    assert_eq!(holds(openshift, unknown_operator), [true, true, false]);
    assert_eq!(holds(openshift, nothing_left), [false, false, false]);
    assert_eq!(
        holds(openshift, empty),
        [true, true, true],
        "an empty selector is well-formed"
    );
    for dialect in [Dialect::ClusterApiV1Beta1, Dialect::ClusterApiV1Beta2] {
        assert_eq!(holds(dialect, |_| {}), [true, false, false]);
        assert_eq!(holds(dialect, unknown_operator), [true, false, false]);
        assert_eq!(holds(dialect, nothing_left), [false, false, false]);
        assert_eq!(holds(dialect, empty), [false, false, false], "refused there");
    }
    let nothing_known = Malformed::unreadable("workers", "spec".to_owned());
    assert!(!nothing_known.concerns(&worker));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(20_000) })]

    #[test]
    fn any_text_is_a_limit_or_an_error(
        max in prop_oneof![".{0,12}", "[-+]?[0-9]{0,22}%?"],
        range in prop_oneof![".{0,12}", "\\[?[0-9]{0,12}-?[0-9]{0,12}\\]?"],
        expected: u32,
        healthy: u32,
    ) {
        for dialect in Dialect::ALL {
            let max = IntOrText::Text(max.clone());
            for range in [None, Some(range.as_str())] {
                if let Ok(limit) = Limit::read(dialect, Some(&max), range) {
                    let allowance = limit.allowance(dialect, counts(expected, healthy));
                    prop_assert!(allowance.allowed || allowance.remediations == 0);
                }
            }
        }
    }
}
