use jiff::{SignedDuration, Timestamp};

use crate::checker::activation::{Activation, HealthChecker, activation};
use crate::checker::evaluator::{Asks, Evaluator, evaluator};
use crate::checker::platform::{LeaseHistory, LeaseRecord, Platform, platform};
use crate::facts::Lookup;
use crate::machine_api::MachineApi;
use crate::phase::Reason;

/// So many seconds after the process began to look.
fn at(second: i64) -> Timestamp {
    let start = Timestamp::from_second(1_800_000_000).unwrap();
    start.checked_add(SignedDuration::from_secs(second)).unwrap()
}

/// A Lease of 120 s that was renewed for this time; clocks of others may be anywhere.
fn lease(renewal: i64) -> Lookup<LeaseRecord> {
    Lookup::Present(LeaseRecord {
        uid: Some("lease".to_owned()),
        holder: Some("machine-api-controllers-1".to_owned()),
        renewed: Some(Timestamp::from_second(renewal).unwrap()),
        duration: Some(SignedDuration::from_secs(120)),
    })
}

fn short(seconds: i64) -> Lookup<LeaseRecord> {
    Lookup::Present(LeaseRecord {
        duration: Some(SignedDuration::from_secs(seconds)),
        ..LeaseRecord::default()
    })
}

fn failed() -> Lookup<LeaseRecord> {
    Lookup::Unreadable("forbidden".to_owned())
}

/// Second and answer of one reading of the Lease.
type Reading = (i64, Lookup<LeaseRecord>);

/// What is concluded at the time of the last of these readings.
fn concluded(readings: &[Reading], switched_off: bool) -> &'static str {
    let mut seen = LeaseHistory::default();
    let mut now = at(0);
    for (second, read) in readings {
        now = at(*second);
        seen.note(read.clone(), now);
    }
    match platform(&seen, switched_off, now) {
        Platform::Runs => "runs",
        Platform::DoesNotRun(_) => "does not run",
        Platform::Unknown(_) => "unknown",
    }
}

fn is_nobodys(platform: &Platform, activation: &Activation) -> bool {
    let evaluator = evaluator(
        MachineApi::OpenShift,
        Asks::ByAnnotation,
        platform,
        activation,
        Some(false),
    );
    matches!(evaluator, Evaluator::Nobody(_))
}

#[test]
fn who_reads_a_lease_only_once_goes_by_its_time() {
    let now = at(0);
    let renewed = |seconds: i64| now.checked_add(SignedDuration::from_secs(seconds)).unwrap();
    let lease = |seconds: i64| lease(renewed(seconds).as_second());
    for (read, switched_off, expected) in [
        (Lookup::Absent, false, "does not run"),
        (failed(), false, "unknown"),
        (failed(), true, "does not run"),
        (lease(0), false, "runs"),
        (lease(-359), false, "runs"),
        (lease(-360), false, "does not run"),
        // As while the gate is rolled out.
        (lease(-5), true, "runs"),
        // The clock of its holder is ahead, by little or by too much.
        (lease(119), false, "runs"),
        (lease(121), false, "unknown"),
        (short(10), false, "unknown"),
    ] {
        let seen = LeaseHistory::by_its_own_time(read.clone(), now);
        let found = match platform(&seen, switched_off, now) {
            Platform::Runs => "runs",
            Platform::DoesNotRun(_) => "does not run",
            Platform::Unknown(_) => "unknown",
        };
        assert_eq!(found, expected, "{read:?} {switched_off}");
    }
    let seen = LeaseHistory::by_its_own_time(lease(-7), now);
    assert_eq!(seen.since(), Some(renewed(-7)));
}

#[test]
fn a_lease_is_judged_by_its_changes_and_never_by_its_clock() {
    let far_future = 4_000_000_000;
    let table: &[(&[Reading], &str)] = &[
        (&[], "unknown"),
        (&[(0, Lookup::Absent)], "does not run"),
        // Read once: that says nothing, whatever its time is.
        (&[(0, lease(1))], "unknown"),
        (&[(0, lease(far_future))], "unknown"),
        // Renewed, also by a clock that went back.
        (&[(0, lease(1)), (10, lease(2))], "runs"),
        (&[(0, lease(far_future)), (10, lease(1))], "runs"),
        // Three times its duration without a change, since it was first seen or since the last change.
        (&[(0, lease(1)), (359, lease(1))], "unknown"),
        (&[(0, lease(1)), (360, lease(1))], "does not run"),
        (&[(0, lease(1)), (10, lease(2)), (369, lease(2))], "runs"),
        (&[(0, lease(1)), (10, lease(2)), (370, lease(2))], "does not run"),
        // Back again, at once.
        (&[(0, lease(1)), (360, lease(1)), (361, lease(2))], "runs"),
        // Two minutes are the least, half an hour the most.
        (&[(0, short(1)), (119, short(1))], "unknown"),
        (&[(0, short(1)), (120, short(1))], "does not run"),
        (&[(0, short(i64::MAX)), (1799, short(i64::MAX))], "unknown"),
        (&[(0, short(i64::MAX)), (1800, short(i64::MAX))], "does not run"),
        // Made anew: nobody was seen to renew it.
        (&[(0, Lookup::Absent), (10, lease(1))], "unknown"),
        (
            &[(0, lease(1)), (10, lease(2)), (20, Lookup::Absent)],
            "does not run",
        ),
        // Not readable: not known. What comes after is compared with what was before.
        (&[(0, failed())], "unknown"),
        (&[(0, lease(1)), (10, failed()), (20, lease(2))], "runs"),
        (&[(0, lease(1)), (10, lease(2)), (20, failed())], "unknown"),
        // The time of a failure is not held against its holder, unless it had given up before.
        (&[(0, lease(1)), (350, failed()), (370, lease(1))], "unknown"),
        (&[(0, lease(1)), (360, failed()), (370, lease(1))], "does not run"),
    ];
    for (readings, expected) in table {
        assert_eq!(concluded(readings, false), *expected, "{readings:?}");
    }
}

#[test]
fn the_feature_gate_decides_unless_the_lease_is_renewed_all_the_same() {
    let table: &[(&[Reading], &str)] = &[
        (&[], "does not run"),
        (&[(0, lease(1))], "does not run"),
        (&[(0, failed())], "does not run"),
        (&[(0, lease(1)), (10, lease(2))], "runs"),
        (&[(0, lease(1)), (10, lease(2)), (370, lease(2))], "does not run"),
    ];
    for (readings, expected) in table {
        assert_eq!(concluded(readings, true), *expected, "{readings:?}");
    }
}

#[test]
fn a_clock_that_jumps_does_not_make_a_lease_old() {
    let mut seen = LeaseHistory::default();
    seen.note(lease(1), at(0));
    seen.count_from(at(1000));
    assert!(matches!(platform(&seen, false, at(1359)), Platform::Unknown(_)));
    assert!(matches!(
        platform(&seen, false, at(1360)),
        Platform::DoesNotRun(_)
    ));
}

#[test]
fn it_stands_in_where_it_is_wanted_and_nobody_else_does_it() {
    let runs = Platform::Runs;
    let off = Platform::DoesNotRun("there is no Lease".to_owned());
    let unknown = Platform::Unknown("forbidden".to_owned());
    let unreadable: Lookup<HealthChecker> = Lookup::Unreadable("spec".to_owned());
    let auto = Lookup::Present(HealthChecker::Auto);
    let always = Lookup::Present(HealthChecker::Always);
    let never = Lookup::Present(HealthChecker::Never);
    let absent = Lookup::Absent;
    // Whether the checks are known to be nobody's comes last.
    let table = [
        (&auto, &runs, Reason::PlatformControllerRuns, false),
        (&auto, &off, Reason::StandingIn, false),
        (&auto, &unknown, Reason::PlatformControllerUnknown, false),
        (&always, &runs, Reason::StandingIn, false),
        (&always, &off, Reason::StandingIn, false),
        (&always, &unknown, Reason::StandingIn, false),
        (&never, &runs, Reason::SwitchedOff, false),
        (&never, &off, Reason::SwitchedOff, true),
        (&never, &unknown, Reason::SwitchedOff, false),
        (&absent, &runs, Reason::PolicyMissing, false),
        (&absent, &off, Reason::PolicyMissing, true),
        (&unreadable, &off, Reason::PolicyUnreadable, true),
        (&unreadable, &unknown, Reason::PolicyUnreadable, false),
    ];
    for (wanted, platform, reason, unserved) in table {
        let decided = activation(wanted, platform);
        let found = match &decided {
            Activation::Active(_) | Activation::Alongside(_) => Reason::StandingIn,
            Activation::Inactive(obstacle) => obstacle.reason,
        };
        assert_eq!(found, reason, "{wanted:?} {platform:?}");
        assert_eq!(decided.is_active(), reason == Reason::StandingIn);
        let is_alone = decided.is_active() && matches!(platform, Platform::DoesNotRun(_));
        assert_eq!(decided.is_alone(), is_alone, "{wanted:?} {platform:?}");
        assert_eq!(
            is_nobodys(platform, &decided),
            unserved,
            "{wanted:?} {platform:?}"
        );
    }
    assert!(!Activation::default().is_active(), "before anything is known");
}
