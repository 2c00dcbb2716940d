use serde_json::{Value, json};

use super::*;
use crate::watch::caches::testing::{apply, caches};

fn cycles(phase: &str, attempt: i32, timeline: &[(&str, &str)]) -> Vec<String> {
    cycles_of(&Value::Null, (phase, attempt), timeline)
}

fn cycles_of(subject: &Value, (phase, attempt): (&str, i32), timeline: &[(&str, &str)]) -> Vec<String> {
    let entry = |(phase, at): &(&str, &str)| json!({"phase": phase, "at": at, "reason": "Any"});
    let timeline: Vec<Value> = timeline.iter().map(entry).collect();
    let remediation: PowerCycleRemediation = serde_json::from_value(json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
        "metadata": {"name": "worker-1"}, "spec": {},
        "status": {
            "phase": phase, "phaseStarted": "2026-01-01T02:00:00Z", "attempt": attempt, "timeline": timeline,
            "subject": subject,
        },
    }))
    .unwrap();
    let cycles = earlier(&remediation).power_cycles;
    cycles.iter().map(ToString::to_string).collect()
}

#[test]
fn attempts_that_were_proven_off_count_each_and_the_last_from_the_end() {
    const END: &str = "2026-01-01T02:00:00Z";
    let (first, second) = ("2026-01-01T00:10:00Z", "2026-01-01T01:10:00Z");
    let fencing = [("PoweringOff", "2026-01-01T00:00:00Z"), ("Fencing", first)];
    let again = [fencing.as_slice(), &[("Fencing", second)]].concat();
    assert_eq!(cycles("Succeeded", 1, &fencing), [END]);
    assert_eq!(cycles("Succeeded", 2, &again), [first, END]);
    // The first attempt ended before Off was proven.
    assert_eq!(cycles("Succeeded", 2, &fencing), [END]);
    assert_eq!(cycles("Failed", 1, &fencing[..1]), [END]);
    assert!(cycles("Cancelled", 0, &[]).is_empty());
    assert!(cycles("Booting", 2, &again).is_empty(), "it has not ended");
}

#[test]
fn a_reset_counts_as_one_once_it_was_sent() {
    let (first, second) = ("2026-01-01T00:10:00Z", "2026-01-01T00:50:00Z");
    let timeline = [
        ("Restarting", "2026-01-01T00:00:00Z"),
        ("Booting", first),
        ("Pending", "2026-01-01T00:40:00Z"),
        ("Restarting", "2026-01-01T00:45:00Z"),
        ("Pending", "2026-01-01T00:46:00Z"),
        ("Restarting", "2026-01-01T00:47:00Z"),
        ("Booting", second),
        ("Pending", "2026-01-01T01:30:00Z"),
        ("Restarting", "2026-01-01T01:40:00Z"),
        ("Booting", "2026-01-01T01:41:00Z"),
    ];
    assert_eq!(
        cycles("Failed", 3, &timeline),
        [first, second, "2026-01-01T02:00:00Z"]
    );
}

#[test]
fn without_a_node_an_attempt_counts_by_its_power_on() {
    let subject = json!({
        "noNode": "NeverJoined", "host": "BMCEndpoint/h", "bmc": "b", "system": "s", "systemUUID": "u", "identity": "i",
    });
    let first = "2026-01-01T00:10:00Z";
    let timeline = [
        ("PoweringOff", "2026-01-01T00:00:00Z"),
        ("PoweringOn", first),
        ("PoweringOff", "2026-01-01T01:00:00Z"),
        ("PoweringOn", "2026-01-01T01:10:00Z"),
    ];
    let found = cycles_of(&subject, ("Failed", 2), &timeline);
    assert_eq!(found, [first, "2026-01-01T02:00:00Z"]);
}

fn failed(attempt: i32, metadata: &Value, lifted: Option<&str>) -> PowerCycleRemediation {
    let mut remediation = json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
        "metadata": {"name": "worker-1", "namespace": "machines", "uid": "uid"}, "spec": {"machineName": "worker"},
        "status": {
            "phase": "Failed", "phaseStarted": "2026-01-01T02:00:00Z", "attempt": attempt, "reason": "BootDeadlineExceeded",
            "message": "",
        },
    });
    for (key, value) in metadata.as_object().into_iter().flatten() {
        remediation["metadata"][key] = value.clone();
    }
    if let Some(lifted) = lifted {
        remediation["status"]["quarantineLifted"] = json!(lifted);
    }
    serde_json::from_value(remediation).unwrap()
}

#[test]
fn a_failure_quarantines_or_was_in_vain_or_neither() {
    let deleted = json!({"deletionTimestamp": "2026-01-01T03:00:00Z"});
    let stopped = json!({"annotations": {"remediation.medik8s.io/nhc-timed-out": "now"}});
    let lifted = Some("2026-01-01T03:00:00Z");
    for (attempt, metadata, lifted, quarantined, in_vain) in [
        (1, &Value::Null, None, true, false),
        (0, &Value::Null, None, false, true),
        (1, &Value::Null, lifted, false, false),
        (1, &deleted, None, false, false),
        (1, &stopped, None, false, false),
    ] {
        let found = earlier(&failed(attempt, metadata, lifted));
        let story = format!("{attempt} {metadata} {lifted:?}");
        assert_eq!(found.quarantined.is_some(), quarantined, "{story}");
        assert_eq!(found.failed_untouched.is_some(), in_vain, "{story}");
        assert_eq!(found.power_cycles.len(), usize::from(attempt > 0), "{story}");
    }
}

#[test]
fn a_machine_in_quarantine_is_counted_once() {
    let (caches, mut writers) = caches();
    let machine = json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": {"name": "worker", "namespace": "machines", "uid": "machine-uid"}, "spec": {},
    });
    for (uid, attempt, lifted) in [
        ("first", 1, None),
        ("second", 2, None),
        ("in-vain", 0, None),
        ("lifted", 1, Some("2026-01-01T03:00:00Z")),
    ] {
        let one = failed(attempt, &json!({"name": uid, "uid": uid}), lifted);
        apply(&mut writers.remediations, serde_json::to_value(one).unwrap());
    }
    let expected = |openshift| BTreeMap::from([("machine.openshift.io", openshift), ("cluster.x-k8s.io", 0)]);
    assert_eq!(quarantined(&caches), expected(0), "the Machine is gone");
    apply(&mut writers.openshift, machine);
    assert_eq!(quarantined(&caches), expected(1));
}
