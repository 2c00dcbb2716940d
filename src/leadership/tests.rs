//! Who may take the Lease, and when a process that led may do nothing more.

use std::time::Duration;

use http::Request;
use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use tokio::time::Instant;
use tower::{Layer as _, service_fn};

use crate::clock::Clock;
use crate::leadership::candidate::{Candidate, Turn};
use crate::leadership::gate;
use crate::leadership::lead::Lead;

fn lease(version: &str, holder: Option<&str>, seconds: Option<i32>) -> Lease {
    Lease {
        metadata: ObjectMeta {
            resource_version: Some(version.to_owned()),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            holder_identity: holder.map(str::to_owned),
            lease_duration_seconds: seconds,
            lease_transitions: Some(6),
            ..LeaseSpec::default()
        }),
    }
}

fn take(version: &str) -> Turn {
    Turn::Take(7, version.to_owned())
}

#[test]
fn a_lease_of_another_is_taken_when_it_has_not_changed_for_its_whole_length() {
    let (mut candidate, start) = (Candidate::new("me".to_owned()), Instant::now());
    let after = |seconds| start + Duration::from_secs(seconds);
    let held = |version| lease(version, Some("other"), Some(15));
    assert_eq!(candidate.turn(Some(&held("1")), start), Turn::Wait(after(15)));
    assert_eq!(candidate.turn(Some(&held("1")), after(14)), Turn::Wait(after(15)));
    // It was renewed; by whose clock does not matter.
    assert_eq!(candidate.turn(Some(&held("2")), after(14)), Turn::Wait(after(29)));
    assert_eq!(candidate.turn(Some(&held("2")), after(29)), take("2"));
    // Deleted, it may still be held by somebody who does not know yet.
    assert_eq!(candidate.turn(None, after(29)), Turn::Wait(after(44)));
    assert_eq!(candidate.turn(None, after(43)), Turn::Wait(after(44)));
    assert_eq!(candidate.turn(None, after(44)), Turn::Create(1));
    // Made anew by another, it is not the one that was seen.
    assert_eq!(candidate.turn(Some(&held("2")), after(44)), Turn::Wait(after(59)));
}

#[test]
fn what_nobody_else_holds_is_taken_at_once_in_a_new_term() {
    for holder in [None, Some(""), Some("me")] {
        let mut candidate = Candidate::new("me".to_owned());
        assert_eq!(
            candidate.turn(Some(&lease("1", holder, Some(15))), Instant::now()),
            take("1")
        );
    }
}

#[test]
fn a_length_that_makes_no_sense_is_neither_none_nor_for_ever() {
    let start = Instant::now();
    let lengths = [(None, 15), (Some(-1), 15), (Some(i32::MAX), 600), (Some(30), 30)];
    for (stated, counts) in lengths {
        let mut candidate = Candidate::new("me".to_owned());
        let until = start + Duration::from_secs(counts);
        let turn = candidate.turn(Some(&lease("1", Some("other"), stated)), start);
        assert_eq!(turn, Turn::Wait(until), "{stated:?}");
    }
}

#[test]
fn the_lead_ends_with_its_time_or_with_a_jump_of_the_clock() {
    let clock = Clock::start();
    let (now, jumps) = clock.moment();
    let end = Instant::now() + Duration::from_secs(10);
    let lead = Lead::elected(clock.clone(), 7, (end, jumps));
    assert!(lead.holds());
    assert_eq!(lead.at(now).epoch, 7);
    let until = lead.at(now).act_until.unwrap();
    assert!(
        until > now && until <= now + SignedDuration::from_secs(10),
        "{until}"
    );
    assert_eq!(
        lead.bound(end - Duration::from_secs(9)),
        end - Duration::from_secs(9)
    );
    // The machine was frozen: its timer says nothing, and the clock has jumped since the renewal.
    lead.renew(end, jumps + 1);
    assert!(!lead.holds());
    lead.renew(Instant::now(), jumps);
    assert_eq!((lead.holds(), lead.at(now).act_until), (false, None));
}

#[test]
fn invariant_7_nothing_is_written_without_the_lead() {
    let clock = Clock::start();
    let jumps = clock.moment().1;
    let lead = Lead::elected(clock, 1, (Instant::now() + Duration::from_mins(1), jumps));
    let mut gate = gate::layer(&lead).layer(service_fn(|_: Request<()>| async {
        Ok::<_, tower::BoxError>(())
    }));
    let mut passes = |method: &str| {
        let request = Request::builder().method(method).body(()).unwrap();
        gate.check(request).is_ok()
    };
    let writes = ["POST", "PUT", "PATCH", "DELETE"];
    assert!(writes.into_iter().all(&mut passes));
    lead.renew(Instant::now(), jumps);
    assert!(!writes.into_iter().any(&mut passes));
    assert!(["GET", "HEAD"].into_iter().all(passes));
}
