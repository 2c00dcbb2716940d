//! Who evaluates which check.

use super::super::activation::Activation;
use super::super::evaluator::{Asks, Evaluator, evaluator, operator};
use super::super::platform::Platform;
use crate::facts::Obstacle;
use crate::machine_api::MachineApi::{self, ClusterApi, OpenShift};
use crate::phase::Reason;

/// The name of what there is, and the reason where it has one.
fn named(evaluator: &Evaluator) -> (&'static str, Option<Reason>) {
    match evaluator {
        Evaluator::Platform => ("platform", None),
        Evaluator::Ours(_) => ("ours", None),
        Evaluator::Both => ("both", None),
        Evaluator::NodeHealthCheckOperator => ("operator", None),
        Evaluator::Stranger => ("stranger", None),
        Evaluator::Nobody(why) => ("nobody", Some(why.reason)),
        Evaluator::Unknown(why) => ("unknown", Some(why.reason)),
    }
}

fn standing_in() -> Activation {
    Activation::Active("why".to_owned())
}

fn beside() -> Activation {
    Activation::Alongside("why".to_owned())
}

fn aside(reason: Reason) -> Activation {
    Activation::Inactive(Obstacle::new(reason, "why"))
}

#[test]
fn a_check_with_the_annotation_is_evaluated_by_the_platform_or_by_us_or_by_nobody() {
    let runs = Platform::Runs;
    let gone = Platform::DoesNotRun("gone".to_owned());
    let unknown = Platform::Unknown("unknown".to_owned());
    let switched_off = || aside(Reason::SwitchedOff);
    let table: [(MachineApi, &Platform, Activation, &str, Option<Reason>); 11] = [
        (
            OpenShift,
            &runs,
            aside(Reason::PlatformControllerRuns),
            "platform",
            None,
        ),
        (OpenShift, &runs, switched_off(), "platform", None),
        (OpenShift, &runs, beside(), "both", None),
        (OpenShift, &gone, standing_in(), "ours", None),
        (
            OpenShift,
            &gone,
            switched_off(),
            "nobody",
            Some(Reason::SwitchedOff),
        ),
        (OpenShift, &unknown, beside(), "ours", None),
        (
            OpenShift,
            &unknown,
            aside(Reason::PlatformControllerUnknown),
            "unknown",
            Some(Reason::PlatformControllerUnknown),
        ),
        (
            ClusterApi,
            &runs,
            aside(Reason::PlatformControllerRuns),
            "stranger",
            None,
        ),
        (ClusterApi, &runs, beside(), "stranger", None),
        (ClusterApi, &gone, standing_in(), "ours", None),
        (
            ClusterApi,
            &gone,
            aside(Reason::PolicyMissing),
            "nobody",
            Some(Reason::PolicyMissing),
        ),
    ];
    for (api, platform, activation, who, why) in table {
        for operator in [Some(false), Some(true), None] {
            let found = evaluator(api, Asks::ByAnnotation, platform, &activation, operator);
            assert_eq!(named(&found), (who, why), "{api:?} {platform:?} {activation:?}");
        }
    }
}

/// API, platform, operator; who evaluates it, and the reason where that has one.
type Row<'a> = (MachineApi, &'a Platform, Option<bool>, &'a str, Option<Reason>);

#[test]
fn a_check_with_a_template_is_never_ours_to_evaluate() {
    let runs = Platform::Runs;
    let gone = Platform::DoesNotRun("gone".to_owned());
    let unknown = Platform::Unknown("unknown".to_owned());
    let table: [Row<'_>; 10] = [
        (OpenShift, &runs, Some(false), "platform", None),
        (OpenShift, &runs, Some(true), "platform", None),
        (OpenShift, &gone, Some(true), "operator", None),
        (
            OpenShift,
            &gone,
            None,
            "unknown",
            Some(Reason::PlatformControllerUnknown),
        ),
        (
            ClusterApi,
            &gone,
            None,
            "nobody",
            Some(Reason::HealthChecksUnserved),
        ),
        (
            OpenShift,
            &gone,
            Some(false),
            "nobody",
            Some(Reason::HealthChecksUnserved),
        ),
        (
            OpenShift,
            &unknown,
            Some(false),
            "unknown",
            Some(Reason::PlatformControllerUnknown),
        ),
        (ClusterApi, &runs, Some(false), "platform", None),
        (
            ClusterApi,
            &gone,
            Some(true),
            "nobody",
            Some(Reason::HealthChecksUnserved),
        ),
        (
            ClusterApi,
            &unknown,
            Some(true),
            "unknown",
            Some(Reason::PlatformControllerUnknown),
        ),
    ];
    for (api, platform, operator, who, why) in table {
        for activation in [standing_in(), aside(Reason::SwitchedOff)] {
            let found = evaluator(api, Asks::ByTemplate, platform, &activation, operator);
            assert_eq!(named(&found), (who, why), "{api:?} {platform:?} {operator:?}");
        }
    }
}

#[test]
fn the_operator_evaluates_where_the_gate_is_on_and_its_kind_is_there_and_one_that_cannot_be_read_is_unknown()
{
    let (yes, no) = (Some(true), Some(false));
    for (gate, kind, expected) in [
        (yes, yes, yes),
        (yes, no, no),
        (no, yes, no),
        (no, None, no),
        (None, no, no),
        (None, yes, None),
        (yes, None, None),
        (None, None, None),
    ] {
        assert_eq!(operator(gate, kind), expected, "{gate:?} {kind:?}");
    }
}
