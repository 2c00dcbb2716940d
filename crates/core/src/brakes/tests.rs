//! Each brake by itself, and all of them in storms.
#![allow(clippy::arithmetic_side_effects, reason = "of small numbers")]

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::{Domain, Fleet, Limits, Share};
use crate::phase::Reason;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).expect("in range")
}

const NOW: i64 = 100_000;

/// A quiet cluster of so many Nodes, watched for a day.
fn quiet(nodes: usize) -> Fleet {
    Fleet {
        nodes,
        watched_since: Some(at(0)),
        ..Fleet::default()
    }
}

fn brake(limits: &Limits, fleet: &Fleet) -> Option<Reason> {
    limits.allow(fleet, at(NOW)).err().map(|brake| brake.reason)
}

#[test]
fn without_a_word_a_tenth_of_the_hosts_is_under_remediation_at_once() {
    let limits = Limits::default();
    for (nodes, allowed) in [
        (0, 1),
        (1, 1),
        (3, 1),
        (19, 1),
        (20, 2),
        (1_000, 100),
        (10_000, 1_000),
    ] {
        for used in [allowed - 1, allowed] {
            let fleet = Fleet {
                at_work: used,
                ..quiet(nodes)
            };
            let wanted = (used == allowed).then_some(Reason::WaitingForBudget);
            assert_eq!(brake(&limits, &fleet), wanted, "{used} of {nodes}");
        }
    }
}

#[test]
fn a_power_off_counts_for_as_long_as_the_window_is() {
    let limits = Limits::default();
    for (ago, wanted) in [(599, Some(Reason::WaitingForBudget)), (600, None)] {
        let fleet = Fleet {
            power_offs: vec![at(NOW - ago)],
            ..quiet(10)
        };
        assert_eq!(brake(&limits, &fleet), wanted, "{ago} s ago");
    }
}

#[test]
fn a_failure_domain_has_limits_of_its_own() {
    let limits = Limits {
        at_once: Share::Count(100),
        in_window: Share::Count(100),
        ..Limits::default()
    };
    let fleet = |nodes, at_work| Fleet {
        domain: Some(Domain {
            name: "a".to_owned(),
            nodes,
            at_work,
        }),
        at_work: 10,
        ..quiet(1_000)
    };
    for (nodes, at_work, wanted) in [
        (20, 0, None),
        (20, 1, Some(Reason::WaitingForBudget)),
        (40, 1, None),
        (40, 2, Some(Reason::WaitingForBudget)),
    ] {
        assert_eq!(
            brake(&limits, &fleet(nodes, at_work)),
            wanted,
            "{at_work} of {nodes}"
        );
    }
}

#[test]
fn nothing_begins_while_many_nodes_are_unhealthy_and_a_while_after() {
    let limits = Limits::default();
    // A switch has failed, or our own view of the cluster.
    for (nodes, few) in [(3, 2), (6, 2), (10, 3), (20, 6), (1_000, 300)] {
        for unhealthy in [few, few + 1, nodes] {
            let fleet = Fleet {
                unhealthy,
                ..quiet(nodes)
            };
            let wanted = (unhealthy > few).then_some(Reason::TooManyUnhealthy);
            assert_eq!(brake(&limits, &fleet), wanted, "{unhealthy} of {nodes}");
        }
    }
    for (ago, wanted) in [(119, Some(Reason::TooManyUnhealthy)), (120, None)] {
        let fleet = Fleet {
            last_storm: Some(at(NOW - ago)),
            ..quiet(20)
        };
        assert_eq!(brake(&limits, &fleet), wanted, "{ago} s ago");
    }
}

#[test]
fn nothing_begins_before_the_nodes_were_watched_for_a_while() {
    let limits = Limits::default();
    let since = |seconds: Option<i64>| Fleet {
        watched_since: seconds.map(at),
        ..quiet(20)
    };
    assert_eq!(brake(&limits, &since(Some(NOW - 60))), None);
    assert_eq!(
        brake(&limits, &since(Some(NOW - 59))),
        Some(Reason::WatchingAfterStart)
    );
    assert_eq!(
        brake(&limits, &since(Some(NOW + 5))),
        Some(Reason::WatchingAfterStart)
    );
    assert_eq!(brake(&limits, &since(None)), Some(Reason::WatchingAfterStart));
    assert_eq!(brake(&Limits::none(), &since(None)), None);
}

#[test]
fn nothing_begins_once_several_hosts_did_not_return() {
    let limits = Limits::default();
    let with = |count: usize, ago: i64| Fleet {
        failed: vec![at(NOW - ago); count],
        ..quiet(20)
    };
    assert_eq!(brake(&limits, &with(2, 3_600)), None);
    assert_eq!(brake(&limits, &with(3, 3_600)), Some(Reason::TooManyFailed));
    assert_eq!(brake(&limits, &with(3, 86_400)), None);
}

#[test]
fn zero_allows_nothing() {
    let open = Limits::none();
    for share in [Share::Count(0), Share::Percent(0)] {
        for limits in [
            Limits {
                at_once: share,
                ..open.clone()
            },
            Limits {
                in_window: share,
                ..open.clone()
            },
        ] {
            assert_eq!(
                brake(&limits, &quiet(1_000)),
                Some(Reason::WaitingForBudget),
                "{share}"
            );
        }
    }
}

#[test]
fn a_share_is_read_as_it_is_written_and_nothing_else_is() {
    for text in ["0", "7", "10000", "0%", "10%", "100%"] {
        assert_eq!(text.parse::<Share>().unwrap().to_string(), text);
    }
    for text in [
        "",
        "%",
        "-1",
        "+1",
        "1.5",
        "101%",
        " 5",
        "5 %",
        "ten",
        "4294967296",
        "0x3",
        "\u{0663}",
    ] {
        let error = text.parse::<Share>().unwrap_err().to_string();
        assert!(error.contains("write 3 or 10%"), "{error}");
    }
}

/// One host of a cluster in a storm.
#[derive(Clone, Copy, Debug)]
struct Host {
    silent_from: i64,
    silent_for: i64,
    takes: i64,
}

fn hosts() -> impl Strategy<Value = Vec<Host>> {
    let host = (0_i64..3_000, 1_i64..4_000, 30_i64..900).prop_map(|(silent_from, silent_for, takes)| Host {
        silent_from,
        silent_for,
        takes,
    });
    proptest::collection::vec(host, 1..60)
}

fn limits() -> impl Strategy<Value = Limits> {
    let share = prop_oneof![
        (0_u32..8).prop_map(Share::Count),
        (0_u32..=100).prop_map(Share::Percent)
    ];
    let shares = (share.clone(), share.clone(), share);
    (shares, 1_i64..1_200, 0_i64..300, 0_i64..120).prop_map(
        |((at_once, in_window, unhealthy), window, cool, hold)| Limits {
            at_once,
            in_window,
            unhealthy,
            window: SignedDuration::from_secs(window),
            cool_down: SignedDuration::from_secs(cool),
            startup_hold: SignedDuration::from_secs(hold),
            ..Limits::none()
        },
    )
}

proptest! {
    /// Whatever falls silent when, no moment sees more power-offs than the limits allow, and none is begun in a storm.
    #[test]
    fn random_storms_never_exceed_a_budget(hosts in hosts(), limits in limits()) {
        let mut begun: Vec<(usize, i64, i64)> = Vec::new();
        let mut last_storm = None;
        for second in (0..5_000).step_by(7) {
            let is_silent = |host: &Host| (host.silent_from..host.silent_from + host.silent_for).contains(&second);
            let unhealthy = hosts.iter().filter(|host| is_silent(host)).count();
            if limits.is_storm(unhealthy, hosts.len()) {
                last_storm = Some(at(second));
            }
            for (number, host) in hosts.iter().enumerate().filter(|(_, host)| is_silent(host)) {
                if begun.iter().any(|(other, ..)| *other == number) {
                    continue;
                }
                let fleet = Fleet {
                    nodes: hosts.len(),
                    unhealthy,
                    at_work: begun.iter().filter(|(.., until)| *until > second).count(),
                    power_offs: begun.iter().map(|(_, began, _)| at(*began)).collect(),
                    failed: Vec::new(),
                    watched_since: Some(at(0)),
                    last_storm,
                    domain: None,
                };
                if limits.allow(&fleet, at(second)).is_ok() {
                    prop_assert!(!limits.is_storm(unhealthy, hosts.len()));
                    prop_assert!(at(second).duration_since(at(0)) >= limits.startup_hold);
                    begun.push((number, second, second + host.takes));
                }
            }
            let at_once = begun.iter().filter(|(_, began, until)| *began <= second && second < *until).count();
            let window = limits.window.as_secs();
            let in_window = begun.iter().filter(|(_, began, _)| second - began < window).count();
            prop_assert!(at_once <= limits.at_once.of(hosts.len(), 1), "{} at once", at_once);
            prop_assert!(in_window <= limits.in_window.of(hosts.len(), 1), "{} in the window", in_window);
        }
    }
}
