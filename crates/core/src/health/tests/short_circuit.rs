//! The short circuit, each row of its rules, for OpenShift and Cluster API.

use super::objects::Change as _;
use super::objects::{cluster, now, pool, rules, worker};
use crate::health::assess::{Assessment, assess};
use crate::health::dialect::Dialect;
use crate::health::limit::{Amount, IntOrText, Limit};
use crate::health::problem::Problem;
use crate::health::rules::Rules;
use crate::health::target::{NodeState, Target};
use crate::health::verdict::Unknown;

const CLUSTER_API: [Dialect; 2] = [Dialect::ClusterApiV1Beta1, Dialect::ClusterApiV1Beta2];

pub(super) fn text(max: &str) -> IntOrText {
    IntOrText::Text(max.to_owned())
}

fn read(dialect: Dialect, max: &IntOrText) -> Result<Limit, Problem> {
    Limit::read(dialect, Some(max), None).map_err(|error| error.problem)
}

fn range(dialect: Dialect, text: &str) -> Result<Limit, Problem> {
    let any = IntOrText::Integer(1);
    Limit::read(dialect, Some(&any), Some(text)).map_err(|error| error.problem)
}

pub(super) fn assessed(dialect: Dialect, limit: Limit, targets: &[Target]) -> Assessment {
    let rules = Rules {
        limit,
        ..rules(dialect)
    };
    let all: Vec<&Target> = targets.iter().collect();
    assess(&rules, false, &cluster(), &all, now())
}

fn allowed(dialect: Dialect, limit: Limit, size: usize, unhealthy: usize) -> (bool, u32) {
    let allowance = assessed(dialect, limit, &pool(size, unhealthy)).allowance;
    (allowance.allowed, allowance.remediations)
}

#[test]
fn field_and_default() {
    for (dialect, path) in [
        (Dialect::OpenShift, "spec.maxUnhealthy"),
        (Dialect::ClusterApiV1Beta1, "spec.maxUnhealthy"),
        (
            Dialect::ClusterApiV1Beta2,
            "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo",
        ),
    ] {
        let error = Limit::read(dialect, Some(&text("x%")), None).unwrap_err();
        assert_eq!(error.path, path);
        let default = Limit::read(dialect, None, None).unwrap();
        assert_eq!(default.to_string(), "100%");
        assert_eq!(allowed(dialect, default, 4, 4), (true, 0));
    }
}

#[test]
fn range_field() {
    assert_eq!(
        range(Dialect::OpenShift, "[3-5]"),
        Ok(Limit::AtMost(Amount::Machines(1))),
        "none in OpenShift"
    );
    for (dialect, path) in [
        (Dialect::ClusterApiV1Beta1, "spec.unhealthyRange"),
        (
            Dialect::ClusterApiV1Beta2,
            "spec.remediation.triggerIf.unhealthyInRange",
        ),
    ] {
        assert_eq!(
            range(dialect, "[3-5]"),
            Ok(Limit::InRange { from: 3, to: 5 }),
            "wins over the other"
        );
        let error = Limit::read(dialect, None, Some("3-5")).unwrap_err();
        assert_eq!(error.path, path);
    }
    assert_eq!(
        range(Dialect::ClusterApiV1Beta2, ""),
        Ok(Limit::AtMost(Amount::Machines(1)))
    );
    assert_eq!(
        range(Dialect::ClusterApiV1Beta1, ""),
        Err(Problem::RangeMalformed(String::new()))
    );
}

#[test]
fn allowed_when() {
    let two = Limit::AtMost(Amount::Machines(2));
    for dialect in Dialect::ALL {
        for (unhealthy, expected) in [(0, (true, 2)), (1, (true, 1)), (2, (true, 0)), (3, (false, 0))] {
            assert_eq!(allowed(dialect, two, 6, unhealthy), expected, "{unhealthy}");
        }
    }
    let range = Limit::InRange { from: 2, to: 4 };
    for dialect in CLUSTER_API {
        for (unhealthy, expected) in [
            (0, (false, 0)),
            (1, (false, 0)),
            (2, (true, 2)),
            (4, (true, 0)),
            (5, (false, 0)),
        ] {
            assert_eq!(allowed(dialect, range, 6, unhealthy), expected, "{unhealthy}");
        }
    }
}

#[test]
fn what_is_unknown_does_not_help_to_reach_the_lower_end_of_a_range() {
    let range = Limit::InRange { from: 2, to: 3 };
    let mut machines = pool(6, 1);
    let unreachable = Err(Unknown::NodeUnreachable("timed out".to_owned()));
    machines[4].node = unreachable.clone();
    let allowance = |machines: &[Target]| assessed(Dialect::ClusterApiV1Beta2, range, machines).allowance;
    assert!(!allowance(&machines).allowed, "one known, one unknown");
    machines[1].set_ready("Unknown", 3_600);
    assert!(allowance(&machines).allowed, "two known, one unknown");
    machines[5].node = unreachable;
    assert!(!allowance(&machines).allowed, "four that are not healthy");
}

#[test]
fn percent_rounding() {
    for dialect in Dialect::ALL {
        let forty = read(dialect, &text("40%")).unwrap();
        assert_eq!(allowed(dialect, forty, 4, 1), (true, 0), "1.6 is 1");
        assert_eq!(allowed(dialect, forty, 4, 2), (false, 0), "1.6 is 1");
        let one = read(dialect, &text("1%"));
        assert_eq!(allowed(dialect, one.unwrap(), 99, 1), (false, 0), "0.99 is 0");
        let more = read(dialect, &text("150%")).unwrap();
        assert_eq!(allowed(dialect, more, 4, 4), (true, 2));
    }
}

#[test]
fn string_3() {
    assert_eq!(
        read(Dialect::OpenShift, &text("3")),
        Ok(Limit::AtMost(Amount::Machines(3)))
    );
    for dialect in CLUSTER_API {
        assert_eq!(
            read(dialect, &text("3")),
            Err(Problem::NotAPercentage("3".to_owned()))
        );
    }
}

#[test]
fn not_parsable_or_out_of_bounds() {
    for text in [
        "",
        "%",
        "4O%",
        "40 %",
        "2.5",
        "2.5%",
        "abc",
        "99999999999999999999%",
    ] {
        for dialect in Dialect::ALL {
            assert!(read(dialect, &self::text(text)).is_err(), "{dialect:?} {text:?}");
        }
    }
    for dialect in Dialect::ALL {
        assert!(
            read(dialect, &IntOrText::Integer(1 << 40)).is_err(),
            "more than 32 bits"
        );
    }
    for negative in [IntOrText::Integer(-1), text("-1"), text("-40%")] {
        let limit = read(Dialect::OpenShift, &negative).unwrap();
        assert_eq!(allowed(Dialect::OpenShift, limit, 4, 0), (true, 0), "counts as 0");
        assert_eq!(allowed(Dialect::OpenShift, limit, 4, 1), (false, 0));
    }
    for dialect in CLUSTER_API {
        let limit = read(dialect, &IntOrText::Integer(-1)).unwrap();
        assert_eq!(
            allowed(dialect, limit, 4, 0),
            (false, 0),
            "not even none is few enough"
        );
        assert_eq!(
            range(dialect, "[5-3]"),
            Err(Problem::RangeReversed { from: 5, to: 3 })
        );
        for text in [
            "[3-5",
            "3-5]",
            "[3]",
            "[-5]",
            "[3-]",
            "[3-5-7]",
            "[ 3-5]",
            "[+3-5]",
            "[3-4294967296]",
            "(3-5)",
        ] {
            assert_eq!(
                range(dialect, text),
                Err(Problem::RangeMalformed(text.to_owned()))
            );
        }
    }
}

#[test]
fn counts_as_unhealthy() {
    for dialect in Dialect::ALL {
        let mut machines = pool(8, 0);
        machines[1].set_ready("Unknown", 10);
        machines[2].machine().deleting = true;
        machines[3].node = Ok(NodeState::Unset);
        machines[3].machine().last_updated = Some(now());
        machines[3].machine().created = now();
        machines[4].machine().triggered = true;
        machines[5].under_remediation = true;
        machines[6].node = Err(Unknown::NodeUnreachable("timed out".to_owned()));
        machines[7].machine = Err("status".to_owned());
        let assessment = assessed(dialect, Limit::default(), &machines);
        assert_eq!(
            (assessment.counts.expected, assessment.counts.healthy),
            (8, 1),
            "{dialect:?}"
        );
        assert_eq!(assessment.remediate().len(), 0, "none of them is remediated");

        let mut skipped = worker("skipped");
        skipped.machine().skip_remediation = true;
        machines.push(skipped);
        let assessment = assessed(dialect, Limit::default(), &machines);
        let counts = match dialect {
            Dialect::OpenShift => (9, 2),
            Dialect::ClusterApiV1Beta1 | Dialect::ClusterApiV1Beta2 => (8, 1),
        };
        assert_eq!(
            (assessment.counts.expected, assessment.counts.healthy),
            counts,
            "{dialect:?}"
        );
    }
}
