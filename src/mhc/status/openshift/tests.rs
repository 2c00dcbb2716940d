use remediator_core::checker::pass::{Denied, StatusCounts};

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn wanted(healthy: u32, allowed: bool) -> Status {
    let denied = Denied {
        reason: "TooManyUnhealthy",
        message: "too many".to_owned(),
    };
    Status {
        targets: Vec::new(),
        counts: Some(StatusCounts {
            expected: 3,
            healthy,
            remediations: u32::MAX,
        }),
        allowed: if allowed { Ok(()) } else { Err(denied) },
    }
}

fn written(present: &MachineHealthCheckStatus, wanted: &Status, now: Timestamp) -> MachineHealthCheckStatus {
    serde_json::from_value(changed(present, wanted, now).unwrap()).unwrap()
}

#[test]
fn what_stands_already_is_not_written_again_and_the_time_is_that_of_the_change() {
    let first = written(&MachineHealthCheckStatus::default(), &wanted(2, true), at(1));
    assert_eq!(first.remediations_allowed, Some(i64::from(i32::MAX)));
    assert_eq!(changed(&first, &wanted(2, true), at(2)), None);
    let counted = written(&first, &wanted(1, true), at(3));
    assert_eq!(counted.current_healthy, Some(1));
    assert_eq!(counted.conditions, first.conditions, "allowed since then");
    let denied = written(&counted, &wanted(1, false), at(4));
    let condition = &denied.conditions.unwrap()[0];
    assert_eq!(condition.last_transition_time, Time(at(4)));
    assert_eq!(condition.severity.as_deref(), Some("Warning"));
    assert_eq!(condition.reason.as_deref(), Some("TooManyUnhealthy"));
}

#[test]
fn conditions_of_others_stay_and_so_do_the_numbers_of_a_check_that_became_malformed() {
    let foreign = OpenShiftCondition {
        kind: "Foreign".to_owned(),
        ..condition(&wanted(2, true), None, at(1))
    };
    let mut present = written(&MachineHealthCheckStatus::default(), &wanted(2, true), at(1));
    present.conditions.as_mut().unwrap().push(foreign.clone());
    let malformed = Status {
        counts: None,
        ..wanted(0, false)
    };
    let patch = changed(&present, &malformed, at(2)).unwrap();
    assert!(patch.get("expectedMachines").is_none());
    let after: MachineHealthCheckStatus = serde_json::from_value(patch).unwrap();
    assert!(after.conditions.unwrap().contains(&foreign));
}
