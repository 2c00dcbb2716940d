use serde_json::{Value, json};

use super::*;

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
fn without_a_node_an_attempt_counts_by_its_power_on() {
    let subject = json!({
        "noNode": "NeverJoined", "host": "h", "bmc": "b", "system": "s", "systemUUID": "u", "identity": "i",
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
