//! Whom a malformed check holds up, and whom it does not.

use super::objects::labels;
use crate::facts::{Lookup, Obstacle};
use crate::health::dialect::Dialect;
use crate::health::limit::IntOrText;
use crate::health::rules::{RawCondition, RawRules, Rules};
use crate::health::selector::{RawRequirement, RawSelector};
use crate::health::{HealthCheck, rules_for, vouching};
use crate::phase::Reason;
use jiff::SignedDuration;

/// What a check has to do with a Machine.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    /// It is followed.
    Followed,
    /// Nothing.
    Nothing,
    /// Unknown: whatever else is said, the Machine is left alone.
    Unknown,
    /// It selects none, and is only named where nobody else speaks.
    Named,
}

fn selecting(match_labels: &[(&str, &str)], operators: &[(&str, &str)]) -> RawRules {
    RawRules {
        selector: RawSelector {
            match_labels: labels(match_labels),
            match_expressions: operators
                .iter()
                .map(|(key, operator)| RawRequirement {
                    key: (*key).to_owned(),
                    operator: (*operator).to_owned(),
                    values: Vec::new(),
                })
                .collect(),
        },
        node_conditions: vec![RawCondition {
            kind: "Ready".to_owned(),
            status: "False".to_owned(),
            timeout: Ok(SignedDuration::from_mins(5)),
        }],
        ..RawRules::default()
    }
}

/// The same with something wrong besides the selector.
fn with(rules: RawRules, spoil: impl FnOnce(&mut RawRules)) -> RawRules {
    let mut rules = rules;
    spoil(&mut rules);
    rules
}

#[test]
fn a_check_that_provably_does_not_select_a_machine_has_nothing_to_do_with_it() {
    let workers: &[(&str, &str)] = &[("role", "worker")];
    let others: &[(&str, &str)] = &[("role", "infra")];
    let limit = |rules: &mut RawRules| rules.max_unhealthy = Some(IntOrText::Text("a few".to_owned()));
    let timeout = |rules: &mut RawRules| {
        rules.node_conditions[0].timeout = Ok(SignedDuration::from_secs(-1));
    };
    let no_conditions = |rules: &mut RawRules| rules.node_conditions.clear();
    for (what, rules, expected) in [
        ("its own", selecting(workers, &[]), Found::Followed),
        ("of others", selecting(others, &[]), Found::Nothing),
        ("all of OpenShift", selecting(&[], &[]), Found::Followed),
        (
            "its own, bad limit",
            with(selecting(workers, &[]), limit),
            Found::Unknown,
        ),
        (
            "of others, bad limit",
            with(selecting(others, &[]), limit),
            Found::Nothing,
        ),
        (
            "its own, bad timeout",
            with(selecting(workers, &[]), timeout),
            Found::Unknown,
        ),
        (
            "of others, bad timeout",
            with(selecting(others, &[]), timeout),
            Found::Nothing,
        ),
        (
            "all, bad timeout",
            with(selecting(&[], &[]), timeout),
            Found::Unknown,
        ),
        (
            "its own, no conditions",
            with(selecting(workers, &[]), no_conditions),
            Found::Unknown,
        ),
        (
            "half of a selector, its own",
            selecting(workers, &[("rack", "Near")]),
            Found::Unknown,
        ),
        (
            "half of a selector, of others",
            selecting(others, &[("rack", "Near")]),
            Found::Nothing,
        ),
        (
            "no values",
            selecting(others, &[("rack", "NotIn")]),
            Found::Nothing,
        ),
        (
            "nothing of a selector",
            selecting(&[], &[("role", "Near")]),
            Found::Named,
        ),
    ] {
        let read = Rules::read(Dialect::OpenShift, &rules);
        let found = match rules_for("one", read, &labels(workers)) {
            Lookup::Present(Ok(_)) => Found::Followed,
            Lookup::Absent => Found::Nothing,
            Lookup::Unreadable(why) | Lookup::Present(Err(why))
                if !why.contains("MachineHealthCheck one") =>
            {
                panic!("{what}: {why}")
            }
            Lookup::Unreadable(_) => Found::Unknown,
            Lookup::Present(Err(_)) => Found::Named,
        };
        assert_eq!(found, expected, "{what}");
    }
}

fn check(name: &str) -> HealthCheck {
    HealthCheck {
        name: name.to_owned(),
        external_baremetal: true,
        paused: false,
        has_template: false,
        conditions: Vec::new(),
        machine_conditions: Vec::new(),
        rules: None,
        malformed: None,
    }
}

#[test]
fn one_that_cannot_be_read_stops_and_one_that_selects_nothing_is_named_where_no_other_vouches() {
    let good = || Lookup::Present(check("good"));
    let paused = || {
        Lookup::Present(HealthCheck {
            paused: true,
            ..check("paused")
        })
    };
    let malformed = || {
        Lookup::Present(HealthCheck {
            malformed: Some("what is wrong".to_owned()),
            ..check("malformed")
        })
    };
    let unreadable = || Lookup::Unreadable("what is wrong".to_owned());
    let wrong = Some((Reason::HealthCheckUnreadable, "what is wrong"));
    for (checks, expected) in [
        (vec![good(), Lookup::Absent], None),
        (vec![good(), malformed()], None),
        (vec![malformed(), good(), malformed()], None),
        (vec![good(), unreadable()], wrong),
        (vec![unreadable(), malformed()], wrong),
        (vec![malformed()], wrong),
        (
            vec![malformed(), paused()],
            Some((Reason::HealthCheckPaused, "MachineHealthCheck paused")),
        ),
        (
            vec![Lookup::Absent],
            Some((Reason::NoHealthCheck, "no MachineHealthCheck")),
        ),
    ] {
        let found: Result<Vec<&str>, Obstacle> =
            vouching(&checks).map(|found| found.iter().map(|check| check.name.as_str()).collect());
        match expected {
            None => assert_eq!(found, Ok(vec!["good"]), "{checks:?}"),
            Some((reason, detail)) => {
                let obstacle = found.expect_err("nobody vouches");
                assert_eq!(obstacle.reason, reason, "{checks:?}");
                assert!(obstacle.detail.starts_with(detail), "{}", obstacle.detail);
            }
        }
    }
}
