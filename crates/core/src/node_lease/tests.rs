use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000_i64.saturating_add(second)).unwrap()
}

fn lease(holder: &str, renewed: i64, seconds: i64) -> Lease {
    Lease {
        holder: Some(holder.to_owned()),
        acquired: Some(at(-5_000)),
        renewed: Some(at(renewed)),
        duration: Some(SignedDuration::from_secs(seconds)),
        transitions: 4,
        node_uid: None,
        uid: "uid".to_owned(),
        resource_version: "17".to_owned(),
    }
}

fn holders() -> Holders {
    Holders::of("7", Some("NodeHealthCheck-workers".to_owned()))
}

const OWN: &str = "baremetal-remediator-7";
const PRODUCER: &str = "NodeHealthCheck-workers";

#[test]
fn the_name_is_that_of_the_node_in_lower_case() {
    assert_eq!(name("Worker-1.Example.org"), "node-worker-1.example.org");
}

#[test]
fn valid_is_what_was_renewed_in_the_past_and_has_not_run_out() {
    let without = |edit: fn(&mut Lease)| {
        let mut lease = lease("another", -10, 60);
        edit(&mut lease);
        lease
    };
    for (what, lease, until) in [
        ("fresh", lease("another", 0, 60), Some(at(60))),
        ("older", lease("another", -50, 60), Some(at(10))),
        ("at its end", lease("another", -60, 60), Some(at(0))),
        ("past its end", lease("another", -61, 60), None),
        ("by a clock that is ahead", lease("another", 10, 60), Some(at(70))),
        ("in the future", lease("another", 11, 60), None),
        ("without renewTime", without(|lease| lease.renewed = None), None),
        ("without a duration", without(|lease| lease.duration = None), None),
        (
            "without a holder",
            without(|lease| lease.holder = None),
            Some(at(50)),
        ),
        (
            "without acquireTime",
            without(|lease| lease.acquired = None),
            Some(at(50)),
        ),
        (
            "of a duration without end",
            lease("another", -10, i64::MAX),
            Some(Timestamp::MAX),
        ),
        ("of a negative duration", lease("another", 0, -1), None),
    ] {
        assert_eq!(lease.valid_until(at(0)), until, "{what}");
    }
}

#[test]
fn it_is_taken_renewed_left_alone_or_waited_for() {
    let there = NodeLease::There;
    for (what, lease, expected) in [
        ("no namespace", NodeLease::Unused, Ok(Acquisition::NotNeeded)),
        ("nobody", NodeLease::Free, Ok(Acquisition::Due)),
        ("run out", there(lease("another", -100, 60)), Ok(Acquisition::Due)),
        ("ours for long", there(lease(OWN, 0, 600)), Ok(Acquisition::Held)),
        (
            "ours for too short",
            there(lease(OWN, 0, 599)),
            Ok(Acquisition::Due),
        ),
        ("ours, run out", there(lease(OWN, -100, 60)), Ok(Acquisition::Due)),
        (
            "of an earlier remediation",
            there(lease("baremetal-remediator-6", 0, 60)),
            Err(()),
        ),
        (
            "the producer's",
            there(lease(PRODUCER, 0, 60)),
            Ok(Acquisition::NotNeeded),
        ),
        (
            "the producer's, run out",
            there(lease(PRODUCER, -100, 60)),
            Ok(Acquisition::Due),
        ),
        ("another's", there(lease("node-maintenance", 0, 60)), Err(())),
        (
            "another checker's",
            there(lease("NodeHealthCheck-workers-2", 0, 60)),
            Err(()),
        ),
        (
            "a nameless one's",
            there(Lease {
                holder: None,
                ..lease("", 0, 60)
            }),
            Err(()),
        ),
    ] {
        let acquisition = acquisition("worker-1", &lease, &holders(), at(600), at(0));
        assert_eq!(acquisition.map_err(|_| ()), expected, "{what}");
    }
}

#[test]
fn who_holds_it_and_until_when_is_said() {
    let held = NodeLease::There(lease("node-maintenance", -30, 3_600));
    for obstacle in [
        acquisition("worker-1", &held, &holders(), at(600), at(0)).unwrap_err(),
        confirm("worker-1", &held, &holders(), at(0)).unwrap_err(),
    ] {
        assert_eq!(obstacle.reason, Reason::NodeLeaseHeld);
        let until = format!("{:.0}", at(3_570));
        for part in ["node-maintenance", "worker-1", until.as_str()] {
            assert!(obstacle.detail.contains(part), "{part}: {}", obstacle.detail);
        }
    }
}

#[test]
fn only_what_is_held_for_us_at_this_moment_lets_a_power_off_pass() {
    let there = NodeLease::There;
    for (what, lease, passes) in [
        ("no namespace", NodeLease::Unused, true),
        ("ours", there(lease(OWN, -10, 60)), true),
        ("the producer's", there(lease(PRODUCER, -10, 60)), true),
        ("nobody's", NodeLease::Free, false),
        ("ours, run out", there(lease(OWN, -100, 60)), false),
        ("the producer's, run out", there(lease(PRODUCER, -100, 60)), false),
        ("another's", there(lease("node-maintenance", -10, 60)), false),
        (
            "another's, run out",
            there(lease("node-maintenance", -100, 60)),
            false,
        ),
    ] {
        let confirmed = confirm("worker-1", &lease, &holders(), at(0));
        assert_eq!(confirmed.is_ok(), passes, "{what}");
    }
}

#[test]
fn a_new_holder_is_counted_and_our_own_renewal_is_not() {
    let there = NodeLease::There;
    let never_acquired = Lease {
        acquired: None,
        ..lease(OWN, -10, 60)
    };
    let untold = Lease {
        transitions: i32::MAX,
        ..lease("another", -100, 60)
    };
    for (what, lease, acquired, transitions, replaces) in [
        ("created", NodeLease::Free, at(0), 0, None),
        (
            "taken over",
            there(lease("another", -100, 60)),
            at(0),
            5,
            Some("17"),
        ),
        ("renewed", there(lease(OWN, -10, 60)), at(-5_000), 4, Some("17")),
        (
            "ours without acquireTime",
            there(never_acquired),
            at(0),
            5,
            Some("17"),
        ),
        ("taken over too often", there(untold), at(0), i32::MAX, Some("17")),
    ] {
        let duration = SignedDuration::from_mins(55);
        let claim = LeaseWrite::of(("worker-1", "node-uid"), &lease, &holders(), duration, at(0));
        assert_eq!(
            (claim.acquired, claim.transitions),
            (acquired, transitions),
            "{what}"
        );
        assert_eq!(claim.replaces.as_deref(), replaces, "{what}");
        let (holder, renewed) = (claim.holder.as_str(), claim.renewed);
        assert_eq!(
            (holder, renewed, claim.duration),
            (OWN, at(0), duration),
            "{what}"
        );
        assert_eq!(
            (claim.node.as_str(), claim.node_uid.as_str()),
            ("worker-1", "node-uid")
        );
    }
}
