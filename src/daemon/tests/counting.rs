//! What the metrics say of remediations, counted from the caches.

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::clock::Clock;
use crate::daemon::counting;
use crate::report::Metrics;

#[test]
fn what_alerts_ask_for_is_counted_and_nothing_beside_it() {
    let (caches, mut writers) = caches();
    let now = Timestamp::now();
    let hours_ago = |hours| (now - SignedDuration::from_hours(hours)).to_string();
    let mut add = |host, number, phase, fields: Value| {
        let mut one = remediation(host, number, phase);
        for (name, value) in fields.as_object().unwrap() {
            one["status"][name] = value.clone();
        }
        apply(&mut writers.remediations, one);
    };
    let intent = json!({
        "verb": "PowerOn", "sends": 1, "journalled": hours_ago(2), "notAfter": hours_ago(2), "epoch": 1,
    });
    let power_off =
        |hours| json!({"phase": "PoweringOff", "at": hours_ago(hours), "reason": "PowerOffRequested"});
    // Three power-offs within a day, in two remediations; and one that is older.
    add(
        0,
        1,
        "Succeeded",
        json!({"timeline": [power_off(30), power_off(5)], "attempt": 2}),
    );
    add(
        0,
        2,
        "Failed",
        json!({"timeline": [power_off(3), power_off(2)], "intent": intent, "attempt": 2}),
    );
    add(
        1,
        1,
        "Failed",
        json!({"timeline": [power_off(30), power_off(3), power_off(2)], "attempt": 3}),
    );
    // One of these was taken back before it was sent.
    add(
        2,
        1,
        "Succeeded",
        json!({"timeline": [power_off(4), power_off(3), power_off(2)], "attempt": 2}),
    );
    add(3, 1, "Booting", json!({"deadline": hours_ago(1)}));
    add(4, 1, "Booting", json!({"deadline": hours_ago(-1)}));
    add(5, 1, "Pending", json!({"reason": "WaitingForBudget"}));
    let metrics = Metrics::default();

    counting::of_remediations(&metrics, &caches, &Clock::start());

    let text = metrics.text().unwrap();
    for line in [
        "remediations{phase=\"Failed\"} 2",
        "remediations{phase=\"Holding\"} 0",
        "remediations_waiting{reason=\"WaitingForBudget\"} 1",
        "remediations_overdue{phase=\"Booting\"} 1",
        "remediations_overdue{phase=\"Pending\"} 0",
        "hosts_left_off 1",
        "hosts_power_cycled_repeatedly 1",
    ] {
        let line = format!("baremetal_remediator_{line}");
        assert!(text.lines().any(|one| one == line), "{line} is not in\n{text}");
    }
}
