//! Each brake by itself, and all of them in storms.
#![allow(clippy::arithmetic_side_effects, reason = "of small numbers")]

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::{Claim, Domain, Fleet, LATEST_IN_DOMAIN, Limits, OwnView, Share, TOGETHER, TOGETHER_FOR};
use crate::admission::{Key, Remediation, Reply, Situation, Stage, admit};
use crate::phase::Reason;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).expect("in range")
}

const NOW: i64 = 100_000;

/// A quiet cluster of so many Nodes, all of known hosts, watched for a day.
fn quiet(nodes: usize) -> Fleet {
    Fleet {
        hosts: nodes,
        nodes,
        watched_since: Some(at(0)),
        ..Fleet::default()
    }
}

/// What holds up a host of failure domain `a`.
fn brake(limits: &Limits, fleet: &Fleet) -> Option<Reason> {
    let claim = Claim {
        domain: Some("a".to_owned()),
        ..Claim::default()
    };
    limits
        .allow(fleet, &claim, at(NOW))
        .err()
        .map(|brake| brake.reason)
}

fn in_a(domain: Domain) -> BTreeMap<String, Domain> {
    [("a".to_owned(), domain)].into()
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
                begun: used,
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
    let fleet = |hosts, at_work| Fleet {
        domains: in_a(Domain {
            hosts,
            at_work,
            unhealthy_since: Vec::new(),
        }),
        begun: 10,
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

/// 900 virtual machines beside 100 hosts: what is allowed is a share of the hosts.
#[test]
fn invariant_15_nodes_without_a_known_host_allow_nothing_and_are_a_sign_of_a_storm_all_the_same() {
    let limits = Limits::default();
    let fleet = |unhealthy_hosts, unhealthy| Fleet {
        hosts: 100,
        unhealthy_hosts,
        unhealthy,
        ..quiet(1_000)
    };
    let storm = Some(Reason::TooManyUnhealthy);
    for (unhealthy_hosts, unhealthy, wanted) in [
        (30, 30, None),
        (31, 31, storm),
        (100, 100, storm),
        // None of them is a host, and the view of the control plane is as bad.
        (0, 301, storm),
        (1, 300, None),
    ] {
        let found = brake(&limits, &fleet(unhealthy_hosts, unhealthy));
        assert_eq!(found, wanted, "{unhealthy_hosts} hosts, {unhealthy} Nodes");
    }
    for (at_work, wanted) in [(9, None), (10, Some(Reason::WaitingForBudget))] {
        let fleet = Fleet {
            begun: at_work,
            ..fleet(10, 10)
        };
        assert_eq!(brake(&limits, &fleet), wanted, "{at_work} of 100 hosts at once");
    }
}

#[test]
fn hosts_of_one_domain_that_fall_silent_together_are_left_alone_for_a_while() {
    let held = Some(Reason::TooManyUnhealthy);
    for (hosts, apart, ago, wanted) in [
        (20, 0, 0, held),
        (20, 60, 0, held),
        (20, 61, 0, None),
        (20, 60, 599, held),
        (20, 60, 600, None),
        // Nobody could tell a common cause from two of two.
        (3, 0, 0, held),
        (2, 0, 0, None),
    ] {
        let fleet = Fleet {
            domains: in_a(Domain {
                hosts,
                at_work: 0,
                unhealthy_since: vec![at(NOW - ago), at(NOW - ago - apart)],
            }),
            ..quiet(1_000)
        };
        let found = brake(&Limits::default(), &fleet);
        assert_eq!(found, wanted, "{hosts} hosts, {apart} s apart, {ago} s ago");
    }
}

#[test]
fn another_host_that_falls_silent_later_does_not_release_a_domain_that_is_left_alone() {
    let held = Some(Reason::TooManyUnhealthy);
    let latest_apart = |count: i64| (0..count).map(|number| number * 61).collect::<Vec<_>>();
    let mut after_many = latest_apart(11);
    after_many.extend([660, 661]);
    for (ago, wanted) in [
        // Two failed together, and a third one two minutes later.
        (vec![0, 115, 120], held),
        (vec![100, 500, 599, 630], held),
        (vec![100, 600, 640], None),
        (latest_apart(12), None),
        (after_many, None),
    ] {
        let fleet = Fleet {
            domains: in_a(Domain {
                hosts: 40,
                at_work: 0,
                unhealthy_since: ago.iter().map(|ago| at(NOW - ago)).collect(),
            }),
            ..quiet(1_000)
        };
        assert_eq!(brake(&Limits::default(), &fleet), wanted, "{ago:?} s ago");
    }
    let apart = TOGETHER * i32::try_from(LATEST_IN_DOMAIN - 1).unwrap_or(0);
    assert!(apart >= TOGETHER_FOR, "{apart:#}");
}

#[test]
fn nothing_begins_before_the_nodes_were_watched_for_a_while() {
    let limits = Limits::default();
    let since = |seconds: Option<i64>| Fleet {
        watched_since: seconds.map(at),
        ..quiet(20)
    };
    // Also the cool-down of a storm that a predecessor may have seen.
    assert_eq!(brake(&limits, &since(Some(NOW - 120))), None);
    assert_eq!(
        brake(&limits, &since(Some(NOW - 119))),
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

/// A power-off that may never have been sent is repeated where its host is on: not where nothing is allowed, nor by
/// whoever has just begun to watch.
#[test]
fn a_power_off_is_repeated_only_where_any_is_allowed() {
    let again = |limits: &Limits, since: i64, storm: Option<i64>| {
        let fleet = Fleet {
            begun: 100,
            watched_since: Some(at(since)),
            last_storm: storm.map(at),
            ..quiet(100)
        };
        let brake = limits.allow_again(&fleet, at(NOW)).err();
        brake.map(|brake| brake.reason)
    };
    let limits = Limits::default();
    assert_eq!(again(&limits, 0, None), None, "its slot is its own");
    assert_eq!(again(&limits, NOW - 5, None), Some(Reason::WatchingAfterStart));
    assert_eq!(again(&limits, 0, Some(NOW - 5)), Some(Reason::TooManyUnhealthy));
    for share in [Share::Count(0), Share::Percent(0)] {
        let at_once = Limits {
            at_once: share,
            ..limits.clone()
        };
        let in_window = Limits {
            in_window: share,
            ..limits.clone()
        };
        for nothing in [at_once, in_window] {
            assert_eq!(again(&nothing, 0, None), Some(Reason::WaitingForBudget));
        }
    }
}

#[test]
fn a_host_is_powered_off_three_times_a_day_whoever_asks() {
    let limits = Limits::default();
    let asked = |times: &[i64], is_between_attempts| {
        let claim = Claim {
            power_offs_of_host: times.iter().map(|ago| at(NOW - ago)).collect(),
            is_between_attempts,
            ..Claim::default()
        };
        let brake = limits.allow(&quiet(100), &claim, at(NOW)).err();
        brake.map(|brake| brake.reason)
    };
    let repeated = Some(Reason::TooManyPowerCycles);
    assert_eq!(asked(&[60, 3_600], false), None);
    assert_eq!(asked(&[60, 3_600, 86_399], false), repeated);
    assert_eq!(asked(&[60, 3_600, 86_400], false), None, "a day ago");
    assert_eq!(asked(&[60, 3_600], true), None);
    assert_eq!(
        asked(&[60, 3_600, 86_399], true),
        repeated,
        "its own attempts count, too"
    );
    // A predecessor's clock was ahead.
    assert_eq!(asked(&[-60, -3_600, -86_400], false), repeated);
}

#[test]
fn invariant_15_who_may_be_cut_off_itself_begins_nothing() {
    let seconds = |ago: i64| Some(SignedDuration::from_secs(ago));
    for (last_renewal, control_plane, control_plane_ready, is_doubtful) in [
        (None, 0, 0, false),
        (seconds(2), 3, 3, false),
        (seconds(5), 3, 2, false),
        (seconds(6), 3, 3, true),
        (None, 3, 1, true),
        (None, 2, 1, true),
        (None, 1, 1, false),
    ] {
        let fleet = Fleet {
            view: OwnView {
                last_renewal,
                control_plane,
                control_plane_ready,
            },
            ..quiet(20)
        };
        let wanted = is_doubtful.then_some(Reason::OwnViewUncertain);
        assert_eq!(brake(&Limits::default(), &fleet), wanted, "{:?}", fleet.view);
        assert_eq!(brake(&Limits::none(), &fleet), wanted, "whatever the limits are");
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
    let shares = (share.clone(), share.clone(), share.clone(), share);
    (shares, 1_i64..1_200, 0_i64..300, 0_i64..120).prop_map(
        |((at_once, in_window, in_domain, unhealthy), window, cool, hold)| Limits {
            at_once,
            in_window,
            in_domain,
            unhealthy,
            window: SignedDuration::from_secs(window),
            cool_down: SignedDuration::from_secs(cool),
            startup_hold: SignedDuration::from_secs(hold),
            ..Limits::none()
        },
    )
}

/// A host that is silent, in a zone.
fn request(number: usize, zone: usize) -> Remediation {
    let uid = format!("{number:05}");
    Remediation {
        uid: uid.clone(),
        namespace: "a".to_owned(),
        name: uid.clone(),
        created: None,
        keys: [Key::Node {
            cluster: None,
            name: uid,
        }]
        .into(),
        cluster: None,
        domain: Some(zone.to_string()),
        power_offs_of_host: Vec::new(),
        stage: Stage::Waiting,
        asks: true,
    }
}

proptest! {
    /// Whatever falls silent when, no moment sees more power-offs than the limits allow, and none is begun in a storm:
    /// by the one admission, which decides about all that ask at once.
    #[test]
    fn random_storms_never_exceed_a_budget(hosts in hosts(), limits in limits()) {
        let zone = |number: usize| number % 3;
        let in_zone = |of: usize| (0..hosts.len()).filter(|number| zone(*number) == of).count();
        let mut begun: Vec<(usize, i64, i64)> = Vec::new();
        let mut last_storm = None;
        for second in (0..5_000).step_by(7) {
            let is_silent = |host: &Host| (host.silent_from..host.silent_from + host.silent_for).contains(&second);
            let unhealthy = hosts.iter().filter(|host| is_silent(host)).count();
            let at_work = |of: Option<usize>| {
                let here = |number: usize| of.is_none_or(|of| zone(number) == of);
                begun.iter().filter(|(number, began, until)| here(*number) && *began <= second && second < *until).count()
            };
            let domains = (0..3).map(|of| (of.to_string(), Domain {
                hosts: in_zone(of),
                at_work: at_work(Some(of)),
                unhealthy_since: Vec::new(),
            }));
            let mut fleet = Fleet {
                unhealthy,
                unhealthy_hosts: unhealthy,
                begun: at_work(None),
                power_offs: begun.iter().map(|(_, began, _)| at(*began)).collect(),
                domains: domains.collect(),
                ..quiet(hosts.len())
            };
            if limits.is_storm(&fleet) {
                last_storm = Some(at(second));
            }
            fleet.last_storm = last_storm;
            let ask = hosts.iter().enumerate().filter(|(number, host)| {
                is_silent(host) && begun.iter().all(|(other, ..)| other != number)
            });
            let remediations: Vec<_> = ask.map(|(number, _)| request(number, zone(number))).collect();
            let replies = admit(&Situation {
                remediations: &remediations,
                unreadable: &[],
                fleets: &[(None, Ok(fleet.clone()))].into(),
                limits: &limits,
                own_node: None,
                now: at(second),
            });
            for (uid, _) in replies.iter().filter(|(_, reply)| **reply == Reply::Admitted) {
                let number: usize = uid.parse().unwrap();
                prop_assert!(!limits.is_storm(&fleet));
                prop_assert!(at(second).duration_since(at(0)) >= limits.startup_hold.max(limits.cool_down));
                begun.push((number, second, second + hosts[number].takes));
            }
            let at_work = |of: Option<usize>| {
                let here = |number: usize| of.is_none_or(|of| zone(number) == of);
                begun.iter().filter(|(number, began, until)| here(*number) && *began <= second && second < *until).count()
            };
            let window = limits.window.as_secs();
            let in_window = begun.iter().filter(|(_, began, _)| second - began < window).count();
            prop_assert!(at_work(None) <= limits.at_once.of(hosts.len(), 1), "{} at once", at_work(None));
            prop_assert!(in_window <= limits.in_window.of(hosts.len(), 1), "{} in the window", in_window);
            for of in 0..3 {
                let allowed = limits.in_domain.of(in_zone(of), 1);
                prop_assert!(at_work(Some(of)) <= allowed, "{} in zone {of}", at_work(Some(of)));
            }
        }
    }
}
