//! Which request a fault hits, and when.

use super::FaultSet;
use std::time::Duration;

use crate::fault::samples::all;
use crate::fault::{Answer, Asked};
use crate::seed::Seeded;
use crate::{Fault, Injection, Probability, RequestClass};

#[test]
fn selects_by_class_and_runs_out() {
    let mut faults = FaultSet::new(Seeded::named(1, "faults"));
    faults.add(Fault::http_status(503).on(RequestClass::Reset).times(2));
    faults.add(Fault::Hang.into());
    let status = Answer::Status {
        status: 503,
        retry_after: None,
    };
    assert_eq!(
        faults.take_answer(RequestClass::SystemGet),
        Some(("hang", Answer::Hang))
    );
    assert_eq!(
        faults.take_answer(RequestClass::Reset),
        Some(("http-status", status.clone()))
    );
    assert_eq!(
        faults.take_answer(RequestClass::Reset),
        Some(("http-status", status))
    );
    assert_eq!(
        faults.take_answer(RequestClass::Reset),
        Some(("hang", Answer::Hang))
    );
    assert_eq!(faults.list().len(), 1);
}

#[test]
fn json_names_match_the_names_in_the_journal() {
    for fault in all() {
        let json = serde_json::to_value(&fault).unwrap();
        let named = |json: &serde_json::Value| {
            let key = json.as_object().and_then(|object| object.keys().next().cloned());
            json.as_str().map(str::to_owned).or(key)
        };
        let name = match json.get("ipmi") {
            Some(inner) => named(inner).map(|name| format!("ipmi-{name}")),
            None => named(&json),
        };
        assert_eq!(name.as_deref(), Some(fault.name()));
        let injection = Injection::from(fault);
        let text = serde_json::to_string(&injection).unwrap();
        assert_eq!(
            serde_json::from_str::<Injection>(&text).unwrap(),
            injection,
            "{text}"
        );
    }
}

fn asked(path: &str) -> Asked<'_> {
    Asked {
        class: RequestClass::Other,
        http: Some(("GET", path)),
        system: None,
    }
}

fn hit(faults: &mut FaultSet, path: &str) -> bool {
    faults.take_answer(asked(path)).is_some()
}

#[test]
fn selects_by_path_and_method_and_spares_the_first() {
    let mut faults = FaultSet::new(Seeded::named(1, "faults"));
    faults.add(
        Injection::from(Fault::Hang)
            .path("/redfish/v1/Chassis*")
            .method("get")
            .skip(1)
            .times(1),
    );
    assert!(!hit(&mut faults, "/redfish/v1/Systems"));
    assert!(!hit(&mut faults, "/redfish/v1/Chassis"), "spared");
    assert!(
        faults.take_answer(RequestClass::Other).is_none(),
        "no path at all"
    );
    assert!(hit(&mut faults, "/redfish/v1/Chassis/1"));
    assert!(!hit(&mut faults, "/redfish/v1/Chassis/1"), "used up");
}

#[test]
fn holds_only_in_its_window() {
    let second = Duration::from_secs;
    let mut faults = FaultSet::new(Seeded::named(1, "faults"));
    faults.advance(second(10));
    faults.add(Injection::from(Fault::WrongUuid).window(second(2), second(5)));
    assert_eq!(faults.next_edge(), Some(second(12)));
    assert!(!faults.of("1").has(&Fault::WrongUuid));
    faults.advance(second(12));
    assert!(faults.of("1").has(&Fault::WrongUuid));
    assert_eq!(faults.next_edge(), Some(second(15)));
    faults.advance(second(15));
    assert!(!faults.of("1").has(&Fault::WrongUuid));
    assert_eq!(faults.next_edge(), None);
}

#[test]
fn chance_is_the_seeds() {
    let run = |seed| -> Vec<bool> {
        let mut faults = FaultSet::new(Seeded::named(seed, "faults"));
        faults.add(Injection::from(Fault::Hang).probability(Probability::new(0.5).unwrap()));
        (0..64).map(|_| hit(&mut faults, "/")).collect()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    let hits = run(1).into_iter().filter(|hit| *hit).count();
    assert!((16..=48).contains(&hits), "{hits} of 64");
}

#[test]
fn is_of_one_system_or_of_all() {
    let mut faults = FaultSet::new(Seeded::named(1, "faults"));
    faults.set_personality(vec![Fault::AcceptAndIgnore.into()]);
    let ignore = |faults: &FaultSet, system| faults.of(system).behaviour().ignore_commands;
    assert!(ignore(&faults, "a") && ignore(&faults, "b"));
    let once = Injection::from(Fault::AcceptAndIgnore);
    faults.add(
        once.system("a")
            .window(Duration::from_secs(0), Duration::from_secs(1)),
    );
    assert!(
        ignore(&faults, "a") && ignore(&faults, "b"),
        "one rests, the other does not"
    );
    faults.add(Injection::from(Fault::WrongUuid).system("a"));
    assert!(faults.of("a").has(&Fault::WrongUuid) && !faults.of("b").has(&Fault::WrongUuid));

    faults.add(Injection::from(Fault::Hang).system("a"));
    let about = |system| Asked { system, ..asked("/") };
    assert!(faults.take_answer(about(Some("b"))).is_none());
    assert!(faults.take_answer(about(None)).is_none());
    assert!(faults.take_answer(about(Some("a"))).is_some());
}
