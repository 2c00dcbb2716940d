use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use remediator_core::phase::Reason;
use serde_json::{Value, json};

use super::texts::{LONGEST, Why};
use super::*;
use crate::watch::caches::testing::{Writers, apply, caches};

const START: &str = "2026-01-01T00:00:00Z";

fn after(seconds: i64) -> Timestamp {
    let start: Timestamp = START.parse().unwrap();
    start.checked_add(SignedDuration::from_secs(seconds)).unwrap()
}

fn remediation(number: i64, status: &Value) -> Value {
    json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
        "metadata": {
            "name": format!("one-{number:04}"), "namespace": "metal", "uid": number.to_string(),
            "creationTimestamp": after(number).to_string(),
        },
        "spec": {"machineName": format!("machine-{number}")}, "status": status,
    })
}

fn add(writers: &mut Writers, number: i64, status: &Value) {
    apply(&mut writers.remediations, remediation(number, status));
}

fn policy(writers: &mut Writers, allowed: &Value, used: &Value) {
    let document = json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "RemediationPolicy",
        "metadata": {"name": "default"}, "spec": {},
        "status": {"conditions": [allowed, {
            "type": "RoleComplete", "status": "False", "reason": "RoleIncomplete",
            "message": "a rule is missing", "lastTransitionTime": START,
        }], "used": used},
    });
    apply(&mut writers.policies, document);
}

fn made(caches: &Caches) -> Value {
    serde_json::to_value(known(caches, &Findings::default())).unwrap()
}

fn names(document: &Value, list: &str) -> Vec<String> {
    let list = document[list].as_array().unwrap().iter();
    list.map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_remediation_is_where_a_person_looks_for_it() {
    let (caches, mut writers) = caches();
    let intent = json!({
        "verb": "PowerOn", "sends": 1, "journalled": START, "notAfter": START, "epoch": 1,
    });
    let pending = json!({"phase": "Pending", "reason": "WaitingForBudget", "message": ""});
    add(&mut writers, 1, &pending);
    add(&mut writers, 2, &json!({"phase": "Booting"}));
    add(&mut writers, 3, &json!({"phase": "AwaitingConfirmation"}));
    add(&mut writers, 4, &json!({"phase": "Failed", "intent": intent}));
    add(
        &mut writers,
        5,
        &json!({"phase": "Failed", "phaseStarted": after(900).to_string()}),
    );
    add(
        &mut writers,
        6,
        &json!({"phase": "Succeeded", "phaseStarted": after(1000).to_string()}),
    );
    add(
        &mut writers,
        7,
        &json!({"phase": "Cancelled", "phaseStarted": after(800).to_string()}),
    );
    add(&mut writers, 8, &json!({"phase": "PoweringOff"}));
    add(&mut writers, 9, &json!({"phase": 9}));
    apply(
        &mut writers.remediations,
        json!({
            "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
            "metadata": {"name": "one-0010", "namespace": "metal", "uid": "10"}, "spec": {"nodeName": "worker"},
        }),
    );

    let document = made(&caches);

    assert_eq!(names(&document, "running"), ["one-0002", "one-0008"]);
    // What has left its host off goes first.
    let waiting = ["one-0004", "one-0010", "one-0001", "one-0003"];
    assert_eq!(names(&document, "waiting"), waiting);
    assert_eq!(document["waiting"][0]["leftOff"], true);
    assert_eq!(document["waiting"][1]["host"], "worker");
    assert_eq!(
        names(&document, "history"),
        ["one-0006", "one-0005", "one-0007"],
        "newest first"
    );
    assert_eq!(document["unreadable"], 1);
    assert_eq!(
        document["waiting"][2]["advice"],
        Reason::WaitingForBudget.advice()
    );
}

#[test]
fn the_advice_stands_beside_the_message_and_not_in_it() {
    let advice = Reason::BmcUnreachable.advice();
    let why = Why::of(
        "BmcUnreachable",
        &format!("nobody answers at 192.0.2.7. {advice}"),
    );
    assert_eq!(
        (why.message.as_str(), why.advice),
        ("nobody answers at 192.0.2.7.", advice)
    );
    let unknown = Why::of("FromTheFuture", "something new");
    assert_eq!((unknown.message.as_str(), unknown.advice), ("something new", ""));
}

#[test]
fn the_policy_says_what_is_used_what_holds_up_and_what_else_is_wrong() {
    let (caches, mut writers) = caches();
    let missing = made(&caches);
    assert_eq!(missing["policy"]["allowed"], false);
    assert_eq!(missing["policy"]["reason"], "PolicyMissing");

    let held = json!({
        "type": "RemediationAllowed", "status": "False", "reason": "TooManyUnhealthy",
        "message": "4 of 10 hosts are unhealthy", "lastTransitionTime": START,
    });
    let used = json!({
        "concurrent": "1 of 3", "window": "2 of 3", "unhealthyHosts": "4 of 3", "failed": "nonsense",
        "failureDomains": "rack-1: 1 of 1",
    });
    policy(&mut writers, &held, &used);
    let policy = &made(&caches)["policy"];
    assert_eq!(
        (&policy["allowed"], &policy["since"]),
        (&json!(false), &json!(START))
    );
    assert_eq!(policy["advice"], Reason::TooManyUnhealthy.advice());
    let limits = json!([
        {"field": "maxConcurrent", "used": 1, "allowed": 3}, {"field": "maxPerWindow", "used": 2, "allowed": 3},
        {"field": "maxUnhealthy", "used": 4, "allowed": 3},
    ]);
    assert_eq!(policy["limits"], limits);
    assert_eq!(policy["problems"][0]["message"], "a rule is missing");
}

#[test]
fn bmcs_are_counted_and_those_that_are_not_ready_are_named() {
    let (caches, mut writers) = caches();
    for (name, ready) in [
        ("a", Some(("True", "BmcReady"))),
        ("b", None),
        ("c", Some(("False", "BmcUnreachable"))),
        ("d", Some(("Unknown", "ReadinessChecksOff"))),
    ] {
        let conditions = ready.map(|(status, reason)| {
            json!([{
                "type": "Ready", "status": status, "reason": reason, "message": "",
                "lastTransitionTime": START,
            }])
        });
        apply(
            &mut writers.endpoints,
            json!({
                "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "BMCEndpoint",
                "metadata": {"name": name, "namespace": "metal", "uid": name},
                "spec": {
                    "machineName": name, "address": "redfish+https://192.0.2.7",
                    "credentialsSecret": {"name": "bmc"},
                },
                "status": {"conditions": conditions.unwrap_or(json!([]))},
            }),
        );
    }
    let bmcs = &made(&caches)["bmcs"];
    assert_eq!((&bmcs["ready"], &bmcs["unchecked"]), (&json!(1), &json!(2)));
    assert_eq!(bmcs["notReady"][0]["host"], "BMCEndpoint/c");
    assert_eq!(bmcs["notReady"][0]["advice"], Reason::BmcUnreachable.advice());
    assert_eq!(bmcs["notReady"].as_array().unwrap().len(), 1);
}

/// However many there are, and however long their texts: a phone loads it, and many readers take little memory.
#[test]
fn the_document_is_bounded_and_says_what_it_leaves_out() {
    let (caches, mut writers) = caches();
    let entry = json!({"phase": "Booting", "at": START, "reason": "r".repeat(2000)});
    let timeline = vec![entry; 60];
    for (number, phase) in (0..900).zip(["Pending", "Booting", "Succeeded"].into_iter().cycle()) {
        let status = json!({"phase": phase, "message": "\u{fc}".repeat(5000), "timeline": timeline});
        add(&mut writers, number, &status);
    }
    let document = made(&caches);
    for (list, shown) in [("running", 100), ("waiting", 100), ("history", 50)] {
        let all = document[list].as_array().unwrap();
        let left_out = document[format!("{list}LeftOut")].as_u64().unwrap();
        assert_eq!((all.len(), left_out), (shown, 300 - shown as u64), "{list}");
        let message = all[0]["message"].as_str().unwrap();
        assert_eq!(message.chars().count(), LONGEST + 1, "and an ellipsis");
        assert_eq!(all[0]["timeline"].as_array().unwrap().len(), 20);
    }
    let shown: BTreeSet<String> = names(&document, "running").into_iter().collect();
    assert!(shown.contains("one-0001"), "the oldest: {shown:?}");
    let bytes = document.to_string().len();
    assert!(bytes < 1_200_000, "{bytes}");
}
