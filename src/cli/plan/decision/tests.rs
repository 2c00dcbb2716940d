//! What follows from what the health checks of a Machine say.

use remediator_core::strategy::{FencingMode, HostControl};

use crate::cli::plan::decision::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn claim(name: &str, asks: Asks, evaluator: Evaluator, says: CheckVerdict) -> CheckOpinion {
    CheckOpinion {
        check: format!("MachineHealthCheck {name}"),
        asks,
        evaluator,
        says,
    }
}

fn request(strategy: Result<Strategy, Unusable>) -> Asks {
    Asks::Request {
        template: "metal/cycle".to_owned(),
        by: Producer::Template("cycle".to_owned()),
        strategy,
    }
}

fn good() -> Asks {
    request(Ok(Strategy::default()))
}

fn missing() -> Asks {
    request(Err(Unusable {
        outcome: "TemplateNotFound",
        why: "it does not exist".to_owned(),
    }))
}

fn another() -> Asks {
    Asks::Another("Metal3RemediationTemplate reboot".to_owned())
}

fn nobody() -> Evaluator {
    Evaluator::Nobody(Obstacle::new(Reason::SwitchedOff, "it is Never"))
}

fn unknown() -> Evaluator {
    Evaluator::Unknown(Obstacle::new(Reason::PlatformControllerUnknown, "forbidden"))
}

fn ours() -> Evaluator {
    Evaluator::Ours("there is no Lease".to_owned())
}

fn forbidden() -> CheckVerdict {
    CheckVerdict::Forbidden("too many".to_owned())
}

fn unwanted() -> CheckVerdict {
    CheckVerdict::Unwanted("it is being deleted".to_owned())
}

/// `Trigger` or `Request`, or the outcome, and what is said.
fn told(course: PlanDecision) -> (String, String) {
    match course {
        PlanDecision::Not { outcome, why } => (outcome, why),
        PlanDecision::Asked(asked) => {
            let what = match asked.origin {
                Origin::Annotation => "Trigger",
                Origin::Request => "Request",
            };
            (what.to_owned(), asked.because)
        }
    }
}

/// What a check alone leads to: the outcome, and a part of what is said.
type Row = (Asks, Evaluator, CheckVerdict, &'static str, &'static str);

fn leads_to(rows: impl IntoIterator<Item = Row>) {
    for (asks, evaluator, says, outcome, part) in rows {
        let claim = claim("a", asks, evaluator, says);
        let (found, why) = told(decide(false, std::slice::from_ref(&claim)));
        assert_eq!(found, outcome, "{claim:?}");
        assert!(why.contains(part), "{part}: {why}");
    }
}

fn wanted(asks: Asks, evaluator: Evaluator, outcome: &'static str, part: &'static str) -> Row {
    (asks, evaluator, CheckVerdict::Wanted, outcome, part)
}

fn later(asks: Asks, evaluator: Evaluator, outcome: &'static str, part: &'static str) -> Row {
    (asks, evaluator, CheckVerdict::Later(at(5)), outcome, part)
}

#[test]
fn what_a_check_wants_begins_only_where_somebody_evaluates_it() {
    let (platform, operator) = (Evaluator::Platform, Evaluator::NodeHealthCheckOperator);
    let set = "as soon as the trigger is set for MachineHealthCheck a";
    let made = "as soon as MachineHealthCheck a has made its request";
    let nobodys = "nobody evaluates MachineHealthCheck a: it is Never. Set";
    leads_to([
        wanted(Asks::Trigger, ours(), "Trigger", set),
        wanted(Asks::Trigger, platform.clone(), "Trigger", set),
        wanted(Asks::Trigger, Evaluator::Both, "Trigger", set),
        wanted(Asks::Trigger, nobody(), "SwitchedOff", nobodys),
        wanted(
            Asks::Trigger,
            unknown(),
            "PlatformControllerUnknown",
            "nobody knows who",
        ),
        wanted(
            Asks::Trigger,
            Evaluator::Stranger,
            "StrategyNotKnown",
            "would have the Machine replaced",
        ),
        wanted(good(), platform.clone(), "Request", made),
        wanted(good(), operator, "Request", made),
        wanted(good(), nobody(), "SwitchedOff", nobodys),
        wanted(
            missing(),
            platform.clone(),
            "TemplateNotFound",
            "MachineHealthCheck a: it does not exist",
        ),
        wanted(
            another(),
            platform,
            "AnotherRemediator",
            "Metal3RemediationTemplate reboot",
        ),
        wanted(another(), nobody(), "SwitchedOff", nobodys),
    ]);
}

#[test]
fn what_would_be_in_the_way_is_told_while_there_is_still_time() {
    let (platform, operator) = (Evaluator::Platform, Evaluator::NodeHealthCheckOperator);
    let stranger = Evaluator::Stranger;
    leads_to([
        later(
            Asks::Trigger,
            ours(),
            "Later",
            "by MachineHealthCheck a, if nothing changes",
        ),
        later(Asks::Trigger, nobody(), "SwitchedOff", "nobody evaluates"),
        later(Asks::Trigger, stranger, "StrategyNotKnown", "replaced"),
        later(missing(), operator, "TemplateNotFound", "does not exist"),
        later(another(), platform, "Later", "if nothing changes"),
    ]);
}

#[test]
fn a_request_that_has_ended_stands_in_the_way_of_its_own_check_only() {
    let platform = || Evaluator::Platform;
    let over = || CheckVerdict::Ended("PowerCycleRemediation x has ended".to_owned());
    leads_to([
        (
            good(),
            platform(),
            over(),
            "RequestEnded",
            "PowerCycleRemediation x has ended, and MachineHealthCheck a makes no other until that is deleted",
        ),
        (
            missing(),
            platform(),
            over(),
            "TemplateNotFound",
            "does not exist",
        ),
        (good(), nobody(), over(), "SwitchedOff", "nobody evaluates"),
    ]);
    let ended = || claim("a", good(), platform(), over());
    let outcome = |other: CheckOpinion| told(decide(false, &[ended(), other])).0;
    assert_eq!(
        outcome(claim("b", good(), platform(), CheckVerdict::Wanted)),
        "Request"
    );
    assert_eq!(
        outcome(claim("b", Asks::Trigger, ours(), CheckVerdict::Wanted)),
        "Trigger"
    );
    assert_eq!(
        outcome(claim("b", good(), platform(), CheckVerdict::Nothing)),
        "RequestEnded"
    );
}

#[test]
fn nothing_follows_from_nothing_and_from_what_is_forbidden() {
    let platform = || Evaluator::Platform;
    leads_to([
        (
            Asks::Trigger,
            nobody(),
            CheckVerdict::Nothing,
            "NotNeeded",
            "no health check wants it",
        ),
        (
            missing(),
            platform(),
            CheckVerdict::Nothing,
            "NotNeeded",
            "no health check wants it",
        ),
        (
            good(),
            platform(),
            forbidden(),
            "Forbidden",
            "MachineHealthCheck a: too many",
        ),
        (
            Asks::Trigger,
            ours(),
            unwanted(),
            "NotNeeded",
            "it is being deleted",
        ),
    ]);
    assert_eq!(told(decide(false, &[])).0, "NotNeeded");
}

#[test]
fn of_several_checks_the_one_that_begins_something_is_told() {
    let of = claim;
    let trigger = |name, evaluator| of(name, Asks::Trigger, evaluator, CheckVerdict::Wanted);
    let request = |name| of(name, good(), Evaluator::Platform, CheckVerdict::Wanted);
    let other = |name| of(name, another(), Evaluator::Platform, CheckVerdict::Wanted);
    let held = |name| of(name, good(), Evaluator::Platform, forbidden());
    let waits = |name, second| of(name, Asks::Trigger, ours(), CheckVerdict::Later(at(second)));
    let table = [
        // A trigger beside a check with a template is not taken up, its request is.
        ([trigger("a", ours()), request("b")], "Request", "Check b has"),
        (
            [trigger("a", nobody()), trigger("b", ours())],
            "Trigger",
            "Check b",
        ),
        (
            [trigger("a", ours()), trigger("b", ours())],
            "Trigger",
            "Check a, MachineHealthCheck b",
        ),
        (
            [other("a"), trigger("b", Evaluator::Stranger)],
            "StrategyNotKnown",
            "Check b",
        ),
        // The limit of a check is its own: it forbids nothing of another.
        ([held("a"), request("b")], "Request", "Check b has"),
        ([held("a"), waits("b", 3)], "Forbidden", "Check a"),
        ([waits("late", 9), waits("early", 3)], "Later", "Check early"),
    ];
    for (claims, outcome, part) in table {
        let (found, why) = told(decide(false, &claims));
        assert_eq!(found, outcome, "{claims:?}");
        assert!(why.contains(part), "{part}: {why}");
    }
}

#[test]
fn a_request_does_what_its_template_says_and_a_trigger_what_is_the_default() {
    let strategy = Strategy {
        fencing: FencingMode::NodeDeletion,
        host_control: HostControl::Direct,
        ..Strategy::default()
    };
    let by_template = claim(
        "a",
        request(Ok(strategy.clone())),
        Evaluator::Platform,
        CheckVerdict::Wanted,
    );
    let PlanDecision::Asked(asked) = decide(false, std::slice::from_ref(&by_template)) else {
        panic!("it is asked for");
    };
    assert_eq!(asked.strategy, strategy);
    assert_eq!(asked.template.as_deref(), Some("metal/cycle"));
    assert_eq!(asked.by, Some(Producer::Template("cycle".to_owned())));
    // The trigger is there, whatever any check says.
    let PlanDecision::Asked(asked) = decide(true, &[by_template]) else {
        panic!("it is asked for");
    };
    assert_eq!((asked.origin, asked.template), (Origin::Annotation, None));
    assert_eq!(asked.strategy, Strategy::default());
}
