//! The short circuit of NodeHealthChecks, each row of its rules.
//! Source: medik8s/node-healthcheck-operator `getMinHealthy`, `ValidateMinHealthyMaxUnhealthy`.

use proptest::prelude::*;

use super::node_checks::{asked_for, assessed, node, nodes, raw_node_rules};
use super::objects::{condition, counts};
use super::short_circuit::text;
use crate::health::limit::IntOrText;
use crate::health::node_health_check::assess::{Held, NodeAssessment, NodesStopped};
use crate::health::node_health_check::rules::{NodeRules, RawNodeRules};
use crate::health::node_health_check::threshold::{Share, Threshold};
use crate::health::problem::Problem;

fn number(number: i64) -> IntOrText {
    IntOrText::Integer(number)
}

fn min(raw: &IntOrText) -> Result<Threshold, Problem> {
    Threshold::read(Some(raw), None).map_err(|error| error.problem)
}

fn max(raw: &IntOrText) -> Result<Threshold, Problem> {
    Threshold::read(None, Some(raw)).map_err(|error| error.problem)
}

fn needed(threshold: &Result<Threshold, Problem>, selected: u32) -> u32 {
    threshold.clone().unwrap().needed(selected).unwrap()
}

#[test]
fn field_and_default() {
    let read = |min: Option<i64>, max: Option<i64>| {
        let raw = RawNodeRules {
            min_healthy: min.map(number),
            max_unhealthy: max.map(number),
            ..raw_node_rules()
        };
        NodeRules::read(&raw).map(|rules| rules.threshold.to_string())
    };
    assert_eq!(read(Some(2), None).as_deref(), Ok("spec.minHealthy 2"));
    assert_eq!(read(None, Some(2)).as_deref(), Ok("spec.maxUnhealthy 2"));
    assert_eq!(
        read(None, None).unwrap_err().to_string(),
        "spec.minHealthy is missing, and so is spec.maxUnhealthy. Write one of them.",
        "no default"
    );
    assert_eq!(
        read(Some(2), Some(2)).unwrap_err().to_string(),
        "spec.minHealthy stands beside spec.maxUnhealthy. Remove one of them.",
        "not even where both say the same"
    );
}

#[test]
fn range_field() {
    for range in ["[1-2]", "1-2"] {
        let refused = Err(Problem::NotAPercentage(range.to_owned()));
        assert_eq!(
            (min(&text(range)), max(&text(range))),
            (refused.clone(), refused),
            "none"
        );
    }
}

#[test]
fn allowed_when() {
    for (row, threshold, healthy, allowed) in [
        ("healthy > minHealthy", min(&number(3)), 4, true),
        ("healthy = minHealthy", min(&number(3)), 3, true),
        ("healthy < minHealthy", min(&number(3)), 2, false),
        ("minHealthy 0", min(&number(0)), 0, true),
        ("minHealthy 100%", min(&text("100%")), 4, false),
        ("minHealthy beyond all", min(&number(6)), 5, false),
        ("maxUnhealthy 2 is minHealthy 3 of 5", max(&number(2)), 3, true),
        ("maxUnhealthy 2 is minHealthy 3 of 5", max(&number(2)), 2, false),
        ("maxUnhealthy 0%", max(&text("0%")), 4, false),
        ("maxUnhealthy 100%", max(&text("100%")), 0, true),
    ] {
        let allowance = threshold.unwrap().allowance(counts(5, healthy)).unwrap();
        assert_eq!(allowance.allowed, allowed, "{row}");
    }
}

#[test]
fn percent_rounding() {
    for (row, threshold, selected, expected) in [
        ("51% of 5 is 2.55, so 3", min(&text("51%")), 5, 3),
        ("51% of 1 is 0.51, so 1", min(&text("51%")), 1, 1),
        ("40% of 5 is 2", min(&text("40%")), 5, 2),
        ("1% of 101 is 1.01, so 2", min(&text("1%")), 101, 2),
        ("maxUnhealthy 40% of 6 is 2.4, so 3", max(&text("40%")), 6, 3),
        ("maxUnhealthy 40% of 25 is 10", max(&text("40%")), 25, 15),
        ("maxUnhealthy 1% of 1 is 0.01, so 1", max(&text("1%")), 1, 0),
        ("of none", min(&text("51%")), 0, 0),
        ("of very many", min(&text("100%")), u32::MAX, u32::MAX),
    ] {
        assert_eq!(needed(&threshold, selected), expected, "{row}");
    }
}

#[test]
fn string_3() {
    let refused = Err(Problem::NotAPercentage("3".to_owned()));
    assert_eq!((min(&text("3")), max(&text("3"))), (refused.clone(), refused));
}

#[test]
fn not_parsable_or_out_of_bounds() {
    for malformed in [
        "", "%", "4O%", "40 %", "2.5%", "-40%", "+4%", "101%", "0040%", "abc",
    ] {
        let refused = Err(Problem::NotAPercentage(malformed.to_owned()));
        assert_eq!(
            (min(&text(malformed)), max(&text(malformed))),
            (refused.clone(), refused)
        );
    }
    assert_eq!(
        (min(&number(-1)), max(&number(-1))),
        (Err(Problem::Negative), Err(Problem::Negative))
    );
    let too_long = Problem::NotANumber((1_i64 << 40).to_string());
    assert_eq!(min(&number(1 << 40)), Err(too_long), "more than 32 bits");

    let three = max(&number(3)).unwrap();
    assert_eq!(three.needed(3), Ok(0), "as many as there are");
    assert_eq!(
        three.needed(2).unwrap_err().to_string(),
        "spec.maxUnhealthy is more than the 2 Nodes that are selected. Write a smaller number or a percentage"
    );
    let assessment = assessed(|scene| scene.rules.max_unhealthy = Some(number(5)));
    assert!(asked_for(&assessment).is_empty());
    let unusable = three.needed(2).map_err(|_| Problem::MoreThanSelected(4));
    let Some(NodesStopped::ThresholdUnusable(error)) = assessment.stopped else {
        panic!("not unusable");
    };
    assert_eq!(Err(error.problem), unusable);
}

#[test]
fn counts_as_unhealthy() {
    let assessment = assessed(|scene| {
        scene.nodes = nodes(5, 1);
        scene.nodes[1].conditions = Ok(vec![condition("Ready", "Unknown", 10)]);
        scene.nodes[2].requested = true;
        scene.nodes[3].conditions = Err("status".to_owned());
        scene.rules.max_unhealthy = Some(number(4));
    });
    assert_eq!(
        (
            assessment.counts.expected,
            assessment.counts.healthy,
            assessment.counts.unknown
        ),
        (5, 1, 1),
        "unhealthy, waiting, request still there, unknown"
    );
    assert_eq!(
        asked_for(&assessment),
        ["n00"],
        "though only one of them is remediated"
    );
}

/// Four of five are silent, two of which have a request, and the fifth recovered with its request still there.
fn blocked() -> NodeAssessment {
    assessed(|scene| {
        scene.nodes = nodes(4, 4);
        scene.nodes.push(node("n04"));
        for requested in [0, 1, 4] {
            scene.nodes[requested].requested = true;
        }
    })
}

#[test]
fn when_blocked() {
    let assessment = blocked();
    assert_eq!(assessment.stopped, Some(NodesStopped::TooFewHealthy));
    assert!(asked_for(&assessment).is_empty(), "nothing new in this pass");
    let held: Vec<Option<Held>> = assessment.nodes.iter().map(|one| one.held.clone()).collect();
    let open = Some(Held::Requested);
    assert_eq!(
        held,
        [open.clone(), open, None, None, None],
        "open requests go on"
    );
    for stopped in [NodesStopped::TooFewHealthy, NodesStopped::Storm] {
        assert!(
            !stopped.keeps_requests(),
            "requests of recovered Nodes are deleted"
        );
    }
}

#[test]
fn signal_and_retry() {
    let message = |assessment: &NodeAssessment| assessment.allowance.clone().unwrap().message;
    assert_eq!(
        message(&blocked()),
        "Remediation is not allowed: 0 of 5 Nodes are healthy, and spec.maxUnhealthy 1 asks for 4"
    );
    assert_eq!(
        blocked().look_again,
        None,
        "at the next change, not after a while"
    );
    assert_eq!(
        message(&assessed(|_| {})),
        "Remediation is allowed: 3 of 4 Nodes are healthy, and spec.maxUnhealthy 1 asks for 3"
    );
}

#[test]
fn when_allowed() {
    let assessment = assessed(|scene| {
        scene.nodes = nodes(9, 3);
        scene.nodes.reverse();
        scene.rules.max_unhealthy = Some(number(3));
    });
    assert_eq!(asked_for(&assessment), ["n00", "n01", "n02"], "one after another");
    assert_eq!(
        assessment.allowance.unwrap().remediations,
        0,
        "information, not a cap"
    );
}

#[test]
fn storm_mode_blocks_until_it_is_over_although_enough_are_healthy() {
    let assessment = assessed(|scene| scene.around.storm = true);
    assert!(assessment.allowance.unwrap().allowed);
    assert_eq!(assessment.stopped, Some(NodesStopped::Storm));
}

fn threshold() -> impl Strategy<Value = Threshold> {
    let share = prop_oneof![
        (0_u32..40).prop_map(Share::Nodes),
        (0_u32..=100).prop_map(Share::Percent)
    ];
    (share, any::<bool>()).prop_map(|(share, min)| {
        if min {
            Threshold::MinHealthy(share)
        } else {
            Threshold::MaxUnhealthy(share)
        }
    })
}

proptest! {
    #[test]
    fn one_more_unhealthy_allows_nothing(threshold in threshold(), selected in 1_u32..40, healthy in 1_u32..40) {
        let healthy = healthy.min(selected);
        let allowed = |healthy| threshold.allowance(counts(selected, healthy)).is_ok_and(|one| one.allowed);
        prop_assert!(allowed(healthy) || !allowed(healthy.saturating_sub(1)));
    }

    #[test]
    fn a_percentage_of_healthy_ones_is_met_exactly(percent in 0_u32..=100, selected in 0_u32..400, healthy in 0_u32..400) {
        let healthy = healthy.min(selected);
        let threshold = Threshold::MinHealthy(Share::Percent(percent));
        let allowed = threshold.allowance(counts(selected, healthy)).unwrap().allowed;
        prop_assert_eq!(allowed, healthy.saturating_mul(100) >= percent.saturating_mul(selected));
    }

    #[test]
    fn any_text_is_a_threshold_or_an_error(raw in prop_oneof![".{0,12}", "[-+]?[0-9]{0,22}%?"], selected: u32) {
        for threshold in [min(&text(&raw)), max(&text(&raw))].into_iter().flatten() {
            prop_assert!(threshold.needed(selected).is_ok_and(|needed| needed <= selected));
        }
    }
}
