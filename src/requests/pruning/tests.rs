use serde_json::{Value, json};

use super::*;
use remediator_api::keys;

fn remediation(name: &str, change: impl FnOnce(&mut Value)) -> PowerCycleRemediation {
    let mut remediation = json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
        "metadata": {
            "name": name, "uid": format!("uid-of-{name}"), "resourceVersion": "7",
            "annotations": {keys::ORIGIN_ANNOTATION: keys::ORIGIN_EXTERNAL_REMEDIATION},
        },
        "spec": {"machineName": "worker-7"}, "status": {"phase": "Succeeded"},
    });
    change(&mut remediation);
    serde_json::from_value(remediation).unwrap()
}

fn judged(name: &str, change: impl FnOnce(&mut Value)) -> Option<Finished> {
    finished(&remediation(name, change), "worker-7")
}

fn finished_one(number: u32, acted: bool, owes: bool) -> Finished {
    Finished {
        name: format!("worker-7-{number}"),
        uid: format!("uid-of-worker-7-{number}"),
        resource_version: String::new(),
        number,
        acted,
        owes,
    }
}

/// The number of the one that goes. In `owing` stand those that still owe something.
fn goes(numbers: &[u32], owing: &[u32]) -> Option<u32> {
    let finished = |number: &u32| finished_one(*number, true, owing.contains(number));
    surplus(numbers.iter().map(finished).collect(), |_| false).map(|one| one.number)
}

#[test]
fn those_that_only_looked_push_out_none_that_acted() {
    let history = |acted: &[u32]| {
        let finished = |number: u32| finished_one(number, acted.contains(&number), false);
        surplus((1..=7).map(finished).collect(), |_| false).map(|one| one.number)
    };
    assert_eq!(history(&[1]), Some(2));
    assert_eq!(history(&[1, 2, 3, 4]), Some(1));
    assert_eq!(history(&[5, 6, 7]), Some(1));
}

#[test]
fn one_whose_taint_stands_on_a_node_stays() {
    let finished = (1..=5).map(|number| finished_one(number, true, false)).collect();
    let goes = surplus(finished, |uid| uid == "uid-of-worker-7-1");
    assert_eq!(goes.map(|one| one.number), Some(2));
}

#[test]
fn the_oldest_goes_when_more_than_three_newer_ones_are_there() {
    assert_eq!(goes(&[], &[]), None);
    assert_eq!(goes(&[1, 2, 3], &[]), None);
    assert_eq!(goes(&[3, 1, 4, 2], &[]), Some(1));
    // Numbers and not texts, and gaps do not matter.
    assert_eq!(goes(&[10, 9, 11, 100, 12], &[]), Some(9));
}

#[test]
fn one_that_owes_something_stays_and_another_goes_instead() {
    assert_eq!(goes(&[1, 2, 3, 4, 5], &[1]), Some(2));
    assert_eq!(goes(&[1, 2, 3, 4, 5], &[1, 2]), None);
    assert_eq!(
        goes(&[1, 2, 3, 4], &[4]),
        Some(1),
        "one that owes is kept as one of three"
    );
}

#[test]
fn only_what_the_intake_made_and_is_over_counts() {
    let ours = judged("worker-7-12", |_| {}).unwrap();
    assert_eq!((ours.number, ours.owes), (12, false));
    assert_eq!(
        (ours.uid.as_str(), ours.resource_version.as_str()),
        ("uid-of-worker-7-12", "7")
    );
    for phase in ["Failed", "Cancelled"] {
        assert!(judged("worker-7-1", |one| one["status"]["phase"] = json!(phase)).is_some());
    }

    for phase in [
        "Pending",
        "Holding",
        "PoweringOff",
        "Fencing",
        "PoweringOn",
        "Booting",
    ] {
        assert_eq!(
            judged("worker-7-1", |one| one["status"]["phase"] = json!(phase)),
            None
        );
    }
    assert_eq!(judged("worker-7-1", |one| one["status"] = Value::Null), None);
    assert_eq!(
        judged("worker-7-1", |one| one["metadata"]["annotations"] = json!({})),
        None
    );
    let deleting = |one: &mut Value| one["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(judged("worker-7-1", deleting), None);
    for name in [
        "worker-7",
        "worker-7-by-hand",
        "worker-7-",
        "worker-71",
        "worker-8-1",
    ] {
        assert_eq!(judged(name, |_| {}), None, "{name}");
    }
}

#[test]
fn a_host_left_off_and_a_saved_node_are_owed() {
    let owes = |name: &str, status: Value| {
        let judged = judged(name, |one| one["status"] = status);
        judged.map(|one| one.owes)
    };
    let at = "2026-01-01T00:00:00Z";
    let intent = |verb: &str| {
        let intent = json!({"verb": verb, "sends": 1, "journalled": at, "notAfter": at, "epoch": 1});
        json!({"phase": "Failed", "intent": intent})
    };
    let release = |saved: Value| {
        let release = json!({"by": "NodeDeletion", "decided": at, "bootID": "b", "savedNode": saved});
        json!({"phase": "Failed", "release": release})
    };

    assert_eq!(owes("worker-7-1", intent("PowerOff")), Some(true));
    assert_eq!(owes("worker-7-1", intent("PowerOn")), Some(true));
    assert_eq!(
        owes("worker-7-1", release(json!({"labels": {"a": "b"}}))),
        Some(true)
    );
    assert_eq!(owes("worker-7-1", release(Value::Null)), Some(false));
    assert_eq!(owes("worker-7-5", json!({"phase": "Failed"})), Some(false));
}

/// A name of 253 characters leaves no room for a number; the intake cuts it short, and the number is found all the same.
#[test]
fn a_name_that_was_cut_short_has_its_number() {
    let machine = "w".repeat(253);
    let name = format!("{}-3", "w".repeat(240));
    let cut = finished(&remediation(&name, |_| {}), &machine).unwrap();
    assert_eq!(cut.number, 3);
}
