use jiff::SignedDuration;
use proptest::prelude::*;

use super::*;
use crate::eligibility::tests::{machine, node};
use crate::facts::{NodeReport, Role};

const RULES: [ControlPlaneRule; 2] = [
    ControlPlaneRule::WithQuorumOfNodes,
    ControlPlaneRule::WithQuorumOfEtcdPods,
];

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000_i64.saturating_add(second)).unwrap()
}

fn lease(renewed: i64) -> NodeReport {
    NodeReport {
        lease_renewed: Some(at(renewed)),
        lease_duration: Some(SignedDuration::from_secs(40)),
        heartbeat: None,
    }
}

/// One of which everything is well.
fn well() -> Member {
    Member {
        roles: vec![Role::ControlPlane],
        standing: MemberState::Ready,
        lease: lease(-10),
        runs_etcd: true,
    }
}

fn not_ready() -> Member {
    Member {
        standing: MemberState::NotReady,
        ..well()
    }
}

/// The host itself, whose Node is `worker`, and these others.
fn members(others: impl IntoIterator<Item = Member>) -> BTreeMap<String, Member> {
    let others = others.into_iter().enumerate();
    let others = others.map(|(number, member)| (format!("other-{number}"), member));
    others.chain([("worker".to_owned(), not_ready())]).collect()
}

fn objection(rule: ControlPlaneRule, members: Members) -> Option<Obstacle> {
    let mut own = node("Unknown");
    own.control_plane = true;
    control_plane_objection(
        Some(&machine()),
        Some(&own),
        &ControlPlane { rule, members },
        at(0),
    )
}

fn is_allowed(rule: ControlPlaneRule, others: impl IntoIterator<Item = Member>) -> bool {
    objection(rule, Members::Live(members(others))).is_none()
}

#[test]
fn a_host_that_is_of_no_control_plane_is_not_asked_for_quorum() {
    let refusing = ControlPlane::default();
    let found = control_plane_objection(Some(&machine()), Some(&node("Unknown")), &refusing, at(0));
    assert_eq!(found, None);
}

#[test]
fn without_a_word_in_the_policy_each_host_of_a_control_plane_is_refused() {
    let healthy = || Members::Live(members([well(), well()]));
    let refused = objection(ControlPlaneRule::default(), healthy()).unwrap();
    assert_eq!(refused.reason, Reason::ControlPlaneRefused);
    assert!(refused.detail.contains("spec.controlPlane"), "{refused}");
    // By its Machine alone, too, whether or not its Node is known.
    let mut master = machine();
    master.control_plane = true;
    for (node, rule, reason) in [
        (
            Some(node("Unknown")),
            ControlPlaneRule::Refuse,
            Some(Reason::ControlPlaneRefused),
        ),
        (None, ControlPlaneRule::Refuse, Some(Reason::ControlPlaneRefused)),
        (None, RULES[0], Some(Reason::ControlPlaneQuorum)),
        (Some(node("Unknown")), RULES[0], None),
    ] {
        let control_plane = ControlPlane {
            rule,
            members: healthy(),
        };
        let found = control_plane_objection(Some(&master), node.as_ref(), &control_plane, at(0));
        assert_eq!(found.map(|found| found.reason), reason, "{node:?} {rule:?}");
    }
}

#[test]
fn members_that_are_not_known_refuse() {
    for rule in RULES {
        for members in [
            Members::NotLooked,
            Members::Unreadable("the server said no".to_owned()),
            Members::Cached(BTreeMap::new()),
            Members::Live(BTreeMap::new()),
        ] {
            let refused = objection(rule, members.clone()).unwrap();
            assert_eq!(refused.reason, Reason::ControlPlaneQuorum, "{members:?}");
        }
    }
}

/// Each row is one other member beside one that is well: of three, each of the two decides.
#[test]
fn what_a_member_has_to_show() {
    let with = |change: fn(&mut Member)| {
        let mut member = well();
        change(&mut member);
        member
    };
    let rows: [(&str, Member, [bool; 2]); 8] = [
        ("well", well(), [true, true]),
        ("not Ready", not_ready(), [false, false]),
        (
            "without a Node",
            with(|one| one.standing = MemberState::NoNode),
            [false, false],
        ),
        (
            "without a Lease",
            with(|one| one.lease = NodeReport::default()),
            [false, false],
        ),
        (
            "Lease ran out",
            with(|one| one.lease = lease(-41)),
            [false, false],
        ),
        (
            "clock a little ahead",
            with(|one| one.lease = lease(9)),
            [true, true],
        ),
        (
            "Lease of the future",
            with(|one| one.lease = lease(11)),
            [false, false],
        ),
        ("no etcd Pod", with(|one| one.runs_etcd = false), [true, false]),
    ];
    for (what, member, expected) in rows {
        for (rule, expected) in RULES.into_iter().zip(expected) {
            let allowed = is_allowed(rule, [well(), member.clone()]);
            assert_eq!(allowed, expected, "{what} {rule:?}");
        }
    }
    let said = objection(RULES[1], Members::Live(members([well(), not_ready()]))).unwrap();
    let expected = "of 3 members 1 others are well, where quorum takes 2; Node other-1 is not Ready";
    assert!(said.detail.contains(expected), "{said}");
}

#[test]
fn the_caches_have_neither_leases_nor_pods_and_ask_for_none() {
    let cached = |ready: bool| Member {
        standing: if ready {
            MemberState::Ready
        } else {
            MemberState::NotReady
        },
        lease: NodeReport::default(),
        runs_etcd: false,
        ..well()
    };
    for rule in RULES {
        for (second, allowed) in [(true, true), (false, false)] {
            let found = objection(rule, Members::Cached(members([cached(true), cached(second)])));
            assert_eq!(found.is_none(), allowed, "{rule:?}");
        }
    }
}

#[test]
fn each_role_has_a_quorum_of_its_own() {
    let of = |roles: &[Role], member: Member| Member {
        roles: roles.to_vec(),
        ..member
    };
    let (both, etcd, api) = (&Role::ALL[..], &[Role::Etcd][..], &[Role::ControlPlane][..]);
    let allowed = |own: &[Role], others: &[Member]| {
        let mut members = members(others.iter().cloned());
        members.insert("worker".to_owned(), of(own, not_ready()));
        objection(RULES[0], Members::Live(members)).is_none()
    };
    // Two for the API server alone do not make up for one that has etcd.
    let split = [
        of(api, well()),
        of(api, well()),
        of(etcd, well()),
        of(etcd, not_ready()),
    ];
    assert!(!allowed(etcd, &split));
    assert!(allowed(api, &split));
    assert!(!allowed(both, &split));
    assert!(allowed(both, &[of(both, well()), of(both, well())]));
    // By its Machine alone it is not known what a host is for: it may be either.
    assert!(!allowed(&[], &split));
    for (others, expected) in [
        (&split[..], false),
        (&[of(api, well()), of(api, well())], true),
        (&[], false),
    ] {
        let mut members = members(others.iter().cloned());
        members.remove("worker");
        let found = objection(RULES[0], Members::Live(members));
        assert_eq!(found.is_none(), expected, "{found:?}");
    }
}

/// Every number of members, and every set of others that are well.
#[test]
fn invariant_12_a_fence_leaves_more_than_half_of_the_members_well() {
    let mut allowed = 0;
    for others in 0..7_usize {
        for well_ones in 0..1_u32 << others {
            let is_well = |number: usize| well_ones & 1 << number != 0;
            let others_of = || (0..others).map(|number| if is_well(number) { well() } else { not_ready() });
            let keeps = 2 * usize::try_from(well_ones.count_ones()).unwrap() > others + 1;
            for rule in RULES {
                assert_eq!(is_allowed(rule, others_of()), keeps, "{well_ones:b} of {others}");
                allowed += u32::from(keeps);
            }
        }
    }
    assert!(allowed > 50, "only {allowed}");
    assert!(!is_allowed(RULES[0], []), "the only member");
}

fn any_member() -> impl Strategy<Value = Member> {
    let standing = prop_oneof![
        4 => Just(MemberState::Ready),
        1 => Just(MemberState::NotReady),
        1 => Just(MemberState::NoNode),
    ];
    let lease = prop_oneof![
        4 => (-40..=10_i64).prop_map(lease),
        1 => (-100..100_i64).prop_map(lease),
        1 => Just(NodeReport::default()),
    ];
    (standing, lease, prop::bool::weighted(0.8)).prop_map(|(standing, lease, runs_etcd)| Member {
        standing,
        lease,
        runs_etcd,
        ..well()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Of 1, 3, 5 or 7 members no fence leaves fewer than a majority that has shown everything the policy names.
    #[test]
    fn invariant_12_of_any_members_nothing_but_full_evidence_counts(
        others in prop::sample::select(vec![0_usize, 2, 4, 6])
            .prop_flat_map(|count| prop::collection::vec(any_member(), count)),
        rule in prop::sample::select(RULES.to_vec()),
    ) {
        let shows_all = |member: &&Member| {
            let renewed = member.lease.lease_renewed;
            let renews = renewed.is_some_and(|renewed| renewed > at(-40) && renewed <= at(10));
            let etcd = member.runs_etcd || rule == ControlPlaneRule::WithQuorumOfNodes;
            member.standing == MemberState::Ready && renews && etcd
        };
        let well = others.iter().filter(shows_all).count();
        prop_assert_eq!(is_allowed(rule, others.clone()), well > others.len().saturating_add(1) / 2);
    }
}
