//! What follows from what the health checks of a Machine say.

use serde_json::json;

use crate::cli::plan::decision::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn opinion(name: &str, asks: Asks, evaluator: Evaluator, says: Says) -> Opinion {
    Opinion {
        check: format!("MachineHealthCheck {name}"),
        asks,
        evaluator,
        says,
    }
}

fn good() -> Asks {
    let template = json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediationTemplate",
        "metadata": {"name": "cycle", "namespace": "metal"}, "spec": {"template": {"spec": {}}},
    });
    Asks::Request(Ok(Box::new(serde_json::from_value(template).unwrap())))
}

fn missing() -> Asks {
    Asks::Request(Err(Remediation::new("TemplateNotFound", "it does not exist")))
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

fn forbidden() -> Says {
    Says::Not(Remediation::new("Forbidden", "too many"))
}

/// `Trigger` or `Request`, or the outcome, and what is said.
fn told(decision: Result<Asked, Remediation>) -> (String, String) {
    match decision {
        Err(not) => (not.outcome, not.why),
        Ok(asked) => {
            let what = asked.template.map_or("Trigger", |_| "Request");
            (what.to_owned(), asked.because)
        }
    }
}

/// What a check alone leads to: the outcome, and a part of what is said.
type Row = (Asks, Evaluator, Says, &'static str, &'static str);

fn leads_to(rows: impl IntoIterator<Item = Row>) {
    for (asks, evaluator, says, outcome, part) in rows {
        let opinion = opinion("a", asks, evaluator, says);
        let (found, why) = told(decide(std::slice::from_ref(&opinion)));
        assert_eq!(found, outcome, "{opinion:?}");
        assert!(why.contains(part), "{part}: {why}");
    }
}

fn wanted(asks: Asks, evaluator: Evaluator, outcome: &'static str, part: &'static str) -> Row {
    (asks, evaluator, Says::Wanted, outcome, part)
}

fn later(asks: Asks, evaluator: Evaluator, outcome: &'static str, part: &'static str) -> Row {
    (asks, evaluator, Says::Later(at(5)), outcome, part)
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
fn a_request_that_has_ended_prevents_another_of_its_own_check_only() {
    let platform = || Evaluator::Platform;
    let over = || Says::Ended("PowerCycleRemediation x has ended".to_owned());
    let why = "PowerCycleRemediation x has ended, and MachineHealthCheck a makes no other request until that is deleted";
    leads_to([
        (good(), platform(), over(), "RequestEnded", why),
        (
            missing(),
            platform(),
            over(),
            "TemplateNotFound",
            "does not exist",
        ),
        (good(), nobody(), over(), "SwitchedOff", "nobody evaluates"),
    ]);
    let ended = || opinion("a", good(), platform(), over());
    let outcome = |other: Opinion| told(decide(&[ended(), other])).0;
    let wanted = |asks, evaluator| outcome(opinion("b", asks, evaluator, Says::Wanted));
    assert_eq!(wanted(good(), platform()), "Request");
    assert_eq!(wanted(Asks::Trigger, ours()), "Trigger");
    assert_eq!(
        outcome(opinion("b", good(), platform(), Says::Nothing)),
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
            Says::Nothing,
            "NotNeeded",
            "no health check wants it",
        ),
        (
            missing(),
            platform(),
            Says::Nothing,
            "NotNeeded",
            "no health check wants it",
        ),
        (good(), platform(), forbidden(), "Forbidden", "too many"),
    ]);
    assert_eq!(told(decide(&[])).0, "NotNeeded");
}

#[test]
fn of_several_checks_the_one_that_begins_something_is_told() {
    let of = opinion;
    let trigger = |name, evaluator| of(name, Asks::Trigger, evaluator, Says::Wanted);
    let request = |name| of(name, good(), Evaluator::Platform, Says::Wanted);
    let other = |name| of(name, another(), Evaluator::Platform, Says::Wanted);
    let held = |name| of(name, good(), Evaluator::Platform, forbidden());
    let waits = |name, second| of(name, Asks::Trigger, ours(), Says::Later(at(second)));
    let table = [
        // A trigger beside a check with a template is not taken up, its request is.
        ([trigger("a", ours()), request("b")], "Request", "Check b has"),
        (
            [trigger("a", nobody()), trigger("b", ours())],
            "Trigger",
            "Check b",
        ),
        ([trigger("a", ours()), trigger("b", ours())], "Trigger", "Check a"),
        (
            [other("a"), trigger("b", Evaluator::Stranger)],
            "AnotherRemediator",
            "Check a",
        ),
        // The limit of a check is its own: it forbids nothing of another.
        ([held("a"), request("b")], "Request", "Check b has"),
        ([held("a"), waits("b", 3)], "Forbidden", "too many"),
        ([waits("late", 9), waits("early", 3)], "Later", "Check early"),
    ];
    for (opinions, outcome, part) in table {
        let (found, why) = told(decide(&opinions));
        assert_eq!(found, outcome, "{opinions:?}");
        assert!(why.contains(part), "{part}: {why}");
    }
}
