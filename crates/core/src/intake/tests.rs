use jiff::SignedDuration;

use super::*;
use crate::facts::{
    AllowedNamespaces, ControlPlaneRule, Member, MemberState, Members, NodeCondition, NodeReport,
    OutOfService, Role,
};
use crate::health::UnhealthyCondition;
use crate::health::target::MachineState;
use crate::phase::Reason;

fn machine(name: &str) -> Machine {
    Machine {
        namespace: "machines".to_owned(),
        name: name.to_owned(),
        uid: "machine-uid".to_owned(),
        authoritative_elsewhere: None,
        foreign_mark: None,
        trigger_answered_by: None,
        api: crate::machine_api::MachineApi::OpenShift,
        cluster: None,
        pause: None,
        controller_owner: None,
        unhealthy_by_itself: None,
        control_plane: false,
        node_name: Some(name.to_owned()),
        provider_id: None,
        phase: None,
        state: MachineState {
            triggered: true,
            ..MachineState::default()
        },
        resource_version: "10".to_owned(),
    }
}

fn vouching() -> Vec<Lookup<HealthCheck>> {
    vec![Lookup::Present(HealthCheck {
        name: "workers".to_owned(),
        external_baremetal: true,
        paused: false,
        has_template: false,
        conditions: vec![UnhealthyCondition {
            kind: "Ready".to_owned(),
            status: "Unknown".to_owned(),
            timeout: SignedDuration::from_secs(60),
        }],
        machine_conditions: Vec::new(),
        rules: None,
        malformed: None,
    })]
}

fn earlier(name: &str, phase: Phase) -> Remediation {
    Remediation {
        name: name.to_owned(),
        phase,
        trigger_cleared: None,
        power_cycles: Vec::new(),
        failed_untouched: None,
        quarantined: None,
    }
}

fn policy() -> Lookup<Policy> {
    Lookup::Present(Policy::in_tests(false))
}

fn decided(remediations: &[Remediation], taken: &[&str]) -> Intake {
    let is_taken = |name: &str| taken.contains(&name);
    let known = (
        &node("Unknown"),
        &vouching()[..],
        &ControlPlane::default(),
        &policy(),
    );
    decide(&machine("worker"), known, remediations, is_taken, at(0))
}

/// So many minutes after some time.
fn at(minute: i64) -> Timestamp {
    let start = Timestamp::from_second(1_800_000_000).unwrap();
    start.checked_add(SignedDuration::from_mins(minute)).unwrap()
}

/// A Node whose condition Ready has this status for long.
fn node(ready: &str) -> Lookup<Node> {
    Lookup::Present(Node {
        name: "worker".to_owned(),
        uid: "node-uid".to_owned(),
        resource_version: "1".to_owned(),
        machine_link: None,
        provider_id: None,
        system_uuid: None,
        boot_id: None,
        control_plane: false,
        conditions: vec![NodeCondition {
            kind: "Ready".to_owned(),
            status: ready.to_owned(),
            since: Some(at(-10_000)),
        }],
        out_of_service: OutOfService::No,
        other_fencer: None,
        heartbeat: None,
        lost_since: None,
    })
}

fn created(name: &str) -> Intake {
    Intake::Create(name.to_owned())
}

#[test]
fn remediations_are_counted_up_and_taken_names_are_passed_over() {
    assert_eq!(decided(&[], &[]), created("worker-1"));
    let over = [
        earlier("worker-2", Phase::Succeeded),
        earlier("worker-10", Phase::Cancelled),
    ];
    assert_eq!(decided(&over, &[]), created("worker-11"));
    assert_eq!(decided(&over, &["worker-11", "worker-12"]), created("worker-13"));
    let by_hand = [earlier("worker", Phase::Succeeded)];
    assert_eq!(decided(&by_hand, &["worker"]), created("worker-1"));
}

#[test]
fn nothing_is_begun_beside_one_that_is_at_work_or_in_quarantine() {
    let at_work = [earlier("worker-1", Phase::Booting)];
    assert_eq!(decided(&at_work, &[]), Intake::Nothing);
    let failed = Remediation {
        quarantined: Some(at(-60)),
        ..earlier("by-hand", Phase::Failed)
    };
    // Whatever came after it: one that failed with it, or one that only looked.
    for phase in [Phase::Failed, Phase::Cancelled, Phase::Succeeded] {
        let all = [failed.clone(), earlier("worker-2", phase)];
        let Intake::Skip { obstacle, look_again } = decided(&all, &[]) else {
            panic!("taken up although one failed");
        };
        assert_eq!((obstacle.reason, look_again), (Reason::Quarantined, None));
        assert!(
            obstacle.detail.contains("PowerCycleRemediation by-hand"),
            "{}",
            obstacle.detail
        );
    }
}

#[test]
fn one_that_failed_and_does_not_quarantine_is_followed_by_another() {
    let lifted = Remediation {
        power_cycles: vec![at(-60)],
        ..earlier("worker-1", Phase::Failed)
    };
    assert_eq!(decided(&[lifted], &[]), created("worker-2"));
}

#[test]
fn the_attempts_of_a_failed_remediation_count_after_its_quarantine() {
    let failed = |cycles: &[i64]| Remediation {
        power_cycles: cycles.iter().copied().map(at).collect(),
        ..earlier("worker-1", Phase::Failed)
    };
    let reason = |cycles: &[i64]| match decided(&[failed(cycles)], &[]) {
        Intake::Skip { obstacle, .. } => Some(obstacle.reason),
        Intake::Create(_) | Intake::Nothing => None,
    };
    assert_eq!(reason(&[-150, -80, -15]), Some(Reason::TooManyPowerCycles));
    assert_eq!(reason(&[-60, -8]), Some(Reason::PowerCycledRecently));
    assert_eq!(reason(&[-60, -15]), None);
}

#[test]
fn what_failed_in_vain_is_tried_again_after_growing_pauses() {
    const DAY: i64 = 24 * 60;
    let failed_at = |minutes: &[i64]| -> Vec<Remediation> {
        let failed = minutes.iter().enumerate();
        failed
            .map(|(index, minute)| Remediation {
                failed_untouched: Some(at(*minute)),
                ..earlier(&format!("worker-{}", index + 1), Phase::Failed)
            })
            .collect()
    };
    for (minutes, expected) in [
        (&[0][..], Some(5)),
        (&[-4], Some(1)),
        (&[-5], None),
        (&[-20, 0], Some(10)),
        (&[-20, -10], None),
        (&[-60, -30, -1], Some(19)),
        (&[-60, -30, -20], None),
        // One that is a day old counts no more.
        (&[-DAY, -60, -1], Some(9)),
    ] {
        let found = match decided(&failed_at(minutes), &[]) {
            Intake::Skip { obstacle, look_again } => {
                assert_eq!(obstacle.reason, Reason::RemediationFailedRecently);
                let until = look_again.expect("it is known until when");
                assert!(
                    obstacle.detail.contains(&format!("not before {until}")),
                    "{obstacle}"
                );
                Some(until.duration_since(at(0)).as_mins())
            }
            Intake::Create(_) => None,
            Intake::Nothing => panic!("the trigger was overlooked"),
        };
        assert_eq!(found, expected, "{minutes:?}");
    }
}

#[test]
fn the_trigger_of_a_node_that_is_well_does_not_wait_for_such_a_pause() {
    let failed = Remediation {
        failed_untouched: Some(at(0)),
        ..earlier("worker-1", Phase::Failed)
    };
    let known = (
        &node("True"),
        &vouching()[..],
        &ControlPlane::default(),
        &policy(),
    );
    let decision = decide(&machine("worker"), known, &[failed], |_| false, at(0));
    assert_eq!(decision, created("worker-2"));
}

#[test]
fn a_view_from_before_the_trigger_was_removed_is_not_taken_up() {
    let mut over = earlier("worker-1", Phase::Succeeded);
    over.trigger_cleared = Some("11".to_owned());
    assert_eq!(decided(&[over.clone()], &[]), Intake::Nothing);
    over.trigger_cleared = Some("9".to_owned());
    assert_eq!(decided(&[over], &[]), created("worker-2"));
}

#[test]
fn no_number_is_left() {
    let last = [earlier(&format!("worker-{}", u32::MAX), Phase::Succeeded)];
    assert_eq!(
        decided(&last, &[&format!("worker-{}", u32::MAX)]),
        Intake::Nothing
    );
}

/// What is decided at minute 0 after remediations that ended at these minutes.
fn after_power_cycles(ready: &str, ended: &[i64]) -> Intake {
    let remediations: Vec<Remediation> = (1..)
        .zip(ended)
        .map(|(number, minute)| Remediation {
            power_cycles: vec![at(*minute)],
            ..earlier(&format!("worker-{number}"), Phase::Succeeded)
        })
        .collect();
    let known = (&node(ready), &vouching()[..], &ControlPlane::default(), &policy());
    decide(&machine("worker"), known, &remediations, |_| false, at(0))
}

/// Why a trigger has to wait, and until which minute.
type Waits = Option<(Reason, i64)>;

fn waits(ended: &[i64]) -> Waits {
    match after_power_cycles("Unknown", ended) {
        Intake::Skip { obstacle, look_again } => {
            let until = look_again?;
            let told = format!("not before {until}");
            assert!(obstacle.detail.contains(&told), "{}", obstacle.detail);
            Some((obstacle.reason, until.duration_since(at(0)).as_mins()))
        }
        Intake::Create(_) => None,
        Intake::Nothing => panic!("the trigger was overlooked"),
    }
}

#[test]
fn a_host_is_not_power_cycled_again_and_again() {
    use Reason::{PowerCycledRecently, TooManyPowerCycles};
    const DAY: i64 = 24 * 60;
    let table: &[(&[i64], Waits)] = &[
        (&[], None),
        // Five minutes after the first.
        (&[0], Some((PowerCycledRecently, 5))),
        (&[-4], Some((PowerCycledRecently, 1))),
        (&[-5], None),
        // Ten after the second within a day.
        (&[-100, -4], Some((PowerCycledRecently, 6))),
        (&[-100, -10], None),
        // One that is a day old counts no more.
        (&[-DAY, -4], Some((PowerCycledRecently, 1))),
        (&[1 - DAY, -4], Some((PowerCycledRecently, 6))),
        // Three within a day are enough, until the first of them is a day old.
        (&[-100, -50, -20], Some((TooManyPowerCycles, DAY - 100))),
        (&[-DAY, -50, -20], None),
        (&[-DAY - 7, -100, -50, -20], Some((TooManyPowerCycles, DAY - 100))),
        // More than three, such as by a person: the third newest counts.
        (&[-200, -100, -50, -20], Some((TooManyPowerCycles, DAY - 100))),
        // The order of the names says nothing.
        (&[-20, -100, -50], Some((TooManyPowerCycles, DAY - 100))),
        // Ended in what is the future by this clock.
        (&[3], Some((PowerCycledRecently, 8))),
    ];
    for (ended, expected) in table {
        assert_eq!(waits(ended), *expected, "{ended:?}");
    }
}

#[test]
fn every_attempt_of_a_remediation_counts() {
    let waits_after = |cycles: &[i64]| {
        let over = Remediation {
            power_cycles: cycles.iter().copied().map(at).collect(),
            ..earlier("worker-1", Phase::Succeeded)
        };
        match decided(&[over], &[]) {
            Intake::Skip { obstacle, .. } => Some(obstacle.reason),
            Intake::Create(_) | Intake::Nothing => None,
        }
    };
    assert_eq!(waits_after(&[-40, -8]), Some(Reason::PowerCycledRecently));
    assert_eq!(waits_after(&[-40, -12]), None);
    assert_eq!(waits_after(&[-80, -40, -20]), Some(Reason::TooManyPowerCycles));
}

#[test]
fn one_that_did_not_power_the_host_off_delays_nothing() {
    let over = [earlier("worker-1", Phase::Cancelled)];
    assert_eq!(decided(&over, &[]), created("worker-2"));
}

#[test]
fn the_trigger_of_a_node_that_is_well_is_taken_up_at_once_to_be_taken_off() {
    assert_eq!(after_power_cycles("True", &[-3, -2, -1]), created("worker-4"));
}

#[test]
fn a_host_of_the_control_plane_is_refused_until_its_node_is_well() {
    let by_machine = |ready: &str| {
        let mut master = machine("worker");
        master.control_plane = true;
        (master, node(ready))
    };
    let by_node = |ready: &str| {
        let Lookup::Present(mut master) = node(ready) else {
            panic!("there is a Node");
        };
        master.control_plane = true;
        (machine("worker"), Lookup::Present(master))
    };
    let without_node = (
        { by_machine("True").0 },
        Lookup::Unreadable("its cluster is down".to_owned()),
    );
    for (machine, node, is_refused) in [
        (by_machine("Unknown").0, by_machine("Unknown").1, true),
        (by_node("Unknown").0, by_node("Unknown").1, true),
        (without_node.0, without_node.1, true),
        (by_machine("True").0, by_machine("True").1, false),
        (by_node("True").0, by_node("True").1, false),
    ] {
        let known = (&node, &vouching()[..], &ControlPlane::default(), &policy());
        match decide(&machine, known, &[], |_| false, at(0)) {
            Intake::Skip { obstacle, .. } => {
                assert!(
                    is_refused && obstacle.reason == Reason::ControlPlaneRefused,
                    "{obstacle:?}"
                );
            }
            decision @ (Intake::Nothing | Intake::Create(_)) => {
                assert!(!is_refused && decision == created("worker-1"), "{decision:?}");
            }
        }
    }
}

#[test]
fn a_host_of_the_control_plane_is_taken_up_where_the_others_keep_quorum() {
    let member = |name: &str, standing| {
        let member = Member {
            roles: vec![Role::ControlPlane],
            standing,
            lease: NodeReport::default(),
            runs_etcd: false,
        };
        (name.to_owned(), member)
    };
    for (other, taken_up) in [(MemberState::Ready, true), (MemberState::NotReady, false)] {
        let members = [
            member("worker", MemberState::NotReady),
            member("b", MemberState::Ready),
            member("c", other),
        ];
        let control_plane = ControlPlane {
            rule: ControlPlaneRule::WithQuorumOfNodes,
            members: Members::Cached(members.into()),
        };
        let mut master = machine("worker");
        master.control_plane = true;
        let known = (&node("Unknown"), &vouching()[..], &control_plane, &policy());
        let decision = decide(&master, known, &[], |_| false, at(0));
        match &decision {
            Intake::Skip { obstacle, .. } if !taken_up => {
                assert_eq!(obstacle.reason, Reason::ControlPlaneQuorum);
            }
            Intake::Skip { .. } | Intake::Nothing | Intake::Create(_) => {
                assert!(taken_up && decision == created("worker-1"), "{decision:?}");
            }
        }
    }
}

#[test]
fn a_node_that_is_well_but_of_another_machine_lifts_nothing() {
    let Lookup::Present(mut other) = node("True") else {
        panic!("there is a Node");
    };
    other.machine_link = Some("machines/another".to_owned());
    let over = Remediation {
        power_cycles: vec![at(-1)],
        ..earlier("worker-1", Phase::Succeeded)
    };
    let known = (
        &Lookup::Present(other),
        &vouching()[..],
        &ControlPlane::default(),
        &policy(),
    );
    assert!(matches!(
        decide(&machine("worker"), known, &[over], |_| false, at(0)),
        Intake::Skip {
            look_again: Some(_),
            ..
        }
    ));
}

#[test]
fn a_machine_of_a_namespace_that_is_not_allowed_is_left_alone_even_if_its_node_is_well() {
    for (namespaces, is_taken_up) in [(["machines", "others"], true), (["machine", "others"], false)] {
        let mut policy = Policy::in_tests(false);
        policy.allowed.namespaces = AllowedNamespaces {
            machines: Some(namespaces.map(str::to_owned).into()),
            // It is about who else may make remediations.
            requests: Some([].into()),
            ..AllowedNamespaces::default()
        };
        let policy = Lookup::Present(policy);
        for ready in ["Unknown", "True"] {
            let known = (&node(ready), &vouching()[..], &ControlPlane::default(), &policy);
            match decide(&machine("worker"), known, &[], |_| false, at(0)) {
                Intake::Skip { obstacle, .. } => {
                    assert!(!is_taken_up, "{obstacle:?}");
                    assert_eq!(obstacle.reason, Reason::NamespaceNotAllowed);
                }
                decision @ (Intake::Nothing | Intake::Create(_)) => {
                    assert!(is_taken_up && decision == created("worker-1"), "{decision:?}");
                }
            }
        }
    }
}
