//! Selectors are read as strictly as apimachinery reads them.

use proptest::prelude::*;

use super::objects::labels;
use crate::health::problem::Problem;
use crate::health::selector::{RawRequirement, RawSelector, Selector};

fn requirement(key: &str, operator: &str, values: &[&str]) -> RawSelector {
    RawSelector {
        match_labels: labels(&[]),
        match_expressions: vec![RawRequirement {
            key: key.to_owned(),
            operator: operator.to_owned(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        }],
    }
}

#[test]
fn operators() {
    let objects = [
        labels(&[("zone", "a")]),
        labels(&[("zone", "b")]),
        labels(&[("zone", "")]),
        labels(&[]),
    ];
    for (operator, values, selected) in [
        ("In", vec!["a", "c"], [true, false, false, false]),
        ("In", vec![""], [false, false, true, false]),
        ("NotIn", vec!["a", "c"], [false, true, true, true]),
        ("Exists", vec![], [true, true, true, false]),
        ("DoesNotExist", vec![], [false, false, false, true]),
    ] {
        let (selector, problems) = Selector::read(&requirement("zone", operator, &values));
        assert_eq!(problems, [], "{operator}");
        let found = objects.each_ref().map(|labels| selector.matches(labels));
        assert_eq!(found, selected, "{operator} {values:?}");
    }
}

#[test]
fn all_requirements_have_to_be_met() {
    let mut raw = requirement("zone", "Exists", &[]);
    raw.match_labels = labels(&[("role", "worker")]);
    let (selector, problems) = Selector::read(&raw);
    assert_eq!(problems, []);
    assert!(selector.matches(&labels(&[("role", "worker"), ("zone", "")])));
    assert!(!selector.matches(&labels(&[("role", "worker")])));
    assert!(!selector.matches(&labels(&[("zone", "a")])));
}

#[test]
fn what_is_malformed_is_no_requirement() {
    let key = |text: &str| Problem::LabelKeyInvalid(text.to_owned());
    let long = "x".repeat(64);
    let long_prefix = format!("{}/x", "y".repeat(254));
    for (raw, problem) in [
        (
            requirement("zone", "in", &["a"]),
            Problem::OperatorUnknown("in".to_owned()),
        ),
        (
            requirement("zone", "Gt", &["1"]),
            Problem::OperatorUnknown("Gt".to_owned()),
        ),
        (
            requirement("zone", "In", &[]),
            Problem::ValuesMissing("zone".to_owned()),
        ),
        // Taken at its word it would select everything.
        (
            requirement("zone", "NotIn", &[]),
            Problem::ValuesMissing("zone".to_owned()),
        ),
        (
            requirement("zone", "Exists", &["a"]),
            Problem::ValuesUnwanted("zone".to_owned()),
        ),
        (
            requirement("zone", "DoesNotExist", &["a"]),
            Problem::ValuesUnwanted("zone".to_owned()),
        ),
        (
            requirement("zone", "In", &["a", "b c"]),
            Problem::LabelValueInvalid("b c".to_owned()),
        ),
        (
            requirement("zone", "In", &[&long]),
            Problem::LabelValueInvalid(long.clone()),
        ),
        (requirement("", "Exists", &[]), key("")),
        (requirement("a b", "Exists", &[]), key("a b")),
        (requirement("-a", "Exists", &[]), key("-a")),
        (requirement("a.", "Exists", &[]), key("a.")),
        (requirement("/a", "Exists", &[]), key("/a")),
        (requirement("a/", "Exists", &[]), key("a/")),
        (requirement("a/b/c", "Exists", &[]), key("a/b/c")),
        (requirement("A.b/c", "Exists", &[]), key("A.b/c")),
        (requirement("a..b/c", "Exists", &[]), key("a..b/c")),
        (requirement(&long, "Exists", &[]), key(&long)),
        (requirement(&long_prefix, "Exists", &[]), key(&long_prefix)),
    ] {
        let (selector, problems) = Selector::read(&raw);
        assert_eq!((selector.is_empty(), problems), (true, vec![problem]));
    }
}

#[test]
fn well_known_keys_are_keys() {
    for key in [
        "machine.openshift.io/cluster-api-machine-role",
        "cluster.x-k8s.io/control-plane",
        "nodepool",
        "A_b-c.D",
        "1",
        &"x".repeat(63),
    ] {
        let (_, problems) = Selector::read(&requirement(key, "Exists", &[]));
        assert_eq!(problems, [], "{key}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(20_000) })]

    /// What can be understood is never less than one requirement, and each more selects less.
    #[test]
    fn any_text_is_a_requirement_or_a_problem(
        key in ".{0,10}",
        value in ".{0,10}",
        operator in prop_oneof!["In|NotIn|Exists|DoesNotExist", ".{0,5}"],
    ) {
        let mut raw = requirement(&key, &operator, &[&value]);
        let (selector, problems) = Selector::read(&raw);
        prop_assert_eq!(selector.is_empty(), !problems.is_empty());
        raw.match_labels = labels(&[("role", "worker")]);
        let (narrower, _) = Selector::read(&raw);
        for listed in [labels(&[]), labels(&[("role", "worker")]), labels(&[(&key, &value)])] {
            prop_assert!(!narrower.matches(&listed) || selector.matches(&listed));
        }
    }
}
