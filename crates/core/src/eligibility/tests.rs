use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::facts::{Allowed, AllowedNamespaces, NodeCondition, NodeReport, OtherFencer, OutOfService};
use crate::health::UnhealthyCondition;
use crate::health::dialect::Dialect;
use crate::health::rules::{RawCondition, RawRules, Rules};
use crate::health::target::MachineState;
use crate::identity::SystemUuid;
use crate::journal::HostObject;
use crate::machine_api::MachineApi;
use crate::metal3::CycledBy;
use crate::strategy::{Escalation, FencingMode, HostControl};

/// So many minutes after some time.
fn at(minute: i64) -> Timestamp {
    let start = Timestamp::from_second(1_800_000_000).unwrap();
    start.checked_add(SignedDuration::from_mins(minute)).unwrap()
}

/// Everything that a candidate borrows; eligible as it is.
#[derive(Clone)]
struct Known {
    origin: Origin,
    strategy: Strategy,
    signal: Signal,
    machine_uid: Option<String>,
    policy: Lookup<Policy>,
    machine: Lookup<Machine>,
    node: Lookup<Node>,
    node_cluster: Option<Obstacle>,
    health_checks: Vec<Lookup<HealthCheck>>,
    host: Result<Host, Obstacle>,
    node_of_host: Lookup<Node>,
    rival: Option<Rival>,
    power_cycles: Vec<Timestamp>,
    control_plane: ControlPlane,
}

impl Known {
    fn with_node() -> Self {
        Self {
            origin: Origin::Annotation,
            strategy: Strategy::default(),
            signal: Signal::OnMachine { cleared_by_us: false },
            machine_uid: Some("machine-uid".to_owned()),
            policy: Lookup::Present(Policy::in_tests(false)),
            machine: Lookup::Present(machine()),
            node: Lookup::Present(node("Unknown")),
            node_cluster: None,
            health_checks: vec![Lookup::Present(health_check())],
            host: Ok(Host {
                reference: HostObject::Endpoint("worker".to_owned()),
                bmc: "https://10.0.0.1".to_owned(),
                stated_uuid: SystemUuid::parse("4c4c4544-0042-3510-8052-b4c04f4e3732").ok(),
                cycled: CycledBy::Us,
                found_uuid: None,
            }),
            node_of_host: Lookup::Absent,
            rival: None,
            power_cycles: Vec::new(),
            control_plane: ControlPlane::default(),
        }
    }

    fn without_node() -> Self {
        let mut known = Self {
            node: Lookup::Absent,
            ..Self::with_node()
        };
        known.edit_machine(|machine| machine.node_name = None);
        known
    }

    fn allow(&mut self, edit: impl FnOnce(&mut Allowed)) {
        if let Lookup::Present(policy) = &mut self.policy {
            edit(&mut policy.allowed);
        }
    }

    fn edit_machine(&mut self, edit: impl FnOnce(&mut Machine)) {
        if let Lookup::Present(machine) = &mut self.machine {
            edit(machine);
        }
    }

    fn edit_node(&mut self, edit: impl FnOnce(&mut Node)) {
        if let Lookup::Present(node) = &mut self.node {
            edit(node);
        }
    }

    fn edit_check(&mut self, edit: impl FnOnce(&mut HealthCheck)) {
        if let Some(Lookup::Present(check)) = self.health_checks.first_mut() {
            edit(check);
        }
    }

    fn examined(&self) -> Result<Eligible<'_>, Obstacles> {
        let candidate = Candidate {
            origin: self.origin,
            namespace: "machines",
            strategy: Some(&self.strategy),
            taint_is_supported: true,
            signal: self.signal,
            machine_uid: self.machine_uid.as_deref(),
            named_node: None,
            begun_with_node: false,
            policy: Some(&self.policy),
            machine: self.machine.as_ref(),
            node: &self.node,
            node_cluster: self.node_cluster.as_ref(),
            cluster: Some(&Lookup::Absent),
            health_checks: &self.health_checks,
            host: Some(&self.host),
            node_of_host: Some(&self.node_of_host),
            rival: self.rival.as_ref(),
            power_cycles: Some(&self.power_cycles),
            in_vain: &[],
            control_plane: &self.control_plane,
        };
        examine(&candidate, at(0))
    }

    fn rules(&self) -> Vec<Rule> {
        let obstacles = self.examined().err();
        let obstacles = obstacles.iter().flat_map(Obstacles::iter);
        obstacles.map(|one| one.rule).collect()
    }
}

fn rival() -> Rival {
    Rival {
        namespace: "elsewhere".to_owned(),
        name: "twin".to_owned(),
        uuid: SystemUuid::parse("4c4c4544-0042-3510-8052-b4c04f4e3732").unwrap(),
    }
}

pub(super) fn machine() -> Machine {
    Machine {
        namespace: "machines".to_owned(),
        name: "worker".to_owned(),
        uid: "machine-uid".to_owned(),
        authoritative_elsewhere: None,
        foreign_mark: None,
        trigger_answered_by: None,
        api: MachineApi::OpenShift,
        cluster: None,
        pause: None,
        controller_owner: Some("MachineSet/workers".to_owned()),
        unhealthy_by_itself: None,
        control_plane: false,
        node_name: Some("worker".to_owned()),
        provider_id: None,
        phase: Some("Running".to_owned()),
        state: MachineState {
            triggered: true,
            last_updated: Some(at(-60)),
            ..MachineState::default()
        },
        resource_version: "10".to_owned(),
    }
}

pub(super) fn node(ready: &str) -> Node {
    Node {
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
            since: Some(at(-60)),
        }],
        out_of_service: OutOfService::No,
        other_fencer: None,
        heartbeat: None,
        lost_since: None,
    }
}

fn another_node() -> Node {
    Node {
        name: "beside".to_owned(),
        ..node("True")
    }
}

fn health_check() -> HealthCheck {
    let raw = RawRules {
        node_conditions: vec![RawCondition {
            kind: "Ready".to_owned(),
            status: "Unknown".to_owned(),
            timeout: Ok(SignedDuration::from_secs(60)),
        }],
        node_startup_timeout: Some(Ok(SignedDuration::from_mins(10))),
        ..RawRules::default()
    };
    HealthCheck {
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
        rules: Rules::read(Dialect::OpenShift, &raw).ok(),
        malformed: None,
    }
}

#[test]
fn nothing_speaks_against_a_host_whose_node_is_dead_or_missing() {
    let with_node = Known::with_node();
    assert!(
        matches!(
            with_node.examined(),
            Ok(Eligible::Unhealthy {
                silence_only: true,
                ..
            })
        ),
        "{:?}",
        with_node.examined()
    );
    let without = Known::without_node();
    assert!(
        matches!(
            without.examined(),
            Ok(Eligible::WithoutNode {
                why: NoNode::NeverJoined,
                ..
            })
        ),
        "{:?}",
        without.examined()
    );
}

/// One change that breaks one rule, with the reason that is told, and whether a trigger is then put there, and taken
/// up.
type Case = (fn(&mut Known), Rule, Reason, (bool, bool));

#[allow(clippy::too_many_lines)] // One table.
fn cases_with_node() -> Vec<Case> {
    vec![
        (
            |known| known.signal = Signal::Stopped,
            Rule::Requested,
            Reason::RemediationInterruptedByNHC,
            (true, true),
        ),
        (
            |known| known.edit_machine(|machine| machine.state.triggered = false),
            Rule::Requested,
            Reason::TriggerWithdrawn,
            (true, true),
        ),
        (
            |known| known.edit_machine(|machine| machine.uid = "another".to_owned()),
            Rule::SameMachine,
            Reason::MachineReplaced,
            (false, false),
        ),
        (
            |known| known.machine = Lookup::Absent,
            Rule::SameMachine,
            Reason::MachineNotFound,
            (false, false),
        ),
        (
            |known| known.machine = Lookup::Unreadable("spec".to_owned()),
            Rule::MachineKnown,
            Reason::MachineUnreadable,
            (false, false),
        ),
        (
            |known| known.edit_machine(|machine| machine.state.deleting = true),
            Rule::MachineStays,
            Reason::MachineDeleting,
            (false, false),
        ),
        (
            |known| known.edit_machine(|machine| machine.state.failed = true),
            Rule::MachineIsOurs,
            Reason::MachineFailed,
            (false, false),
        ),
        (
            |known| known.edit_machine(|machine| machine.authoritative_elsewhere = Some("x".to_owned())),
            Rule::MachineIsOurs,
            Reason::MachineNotAuthoritative,
            (false, false),
        ),
        (
            |known| known.edit_machine(|machine| machine.foreign_mark = Some("x".to_owned())),
            Rule::MachineIsOurs,
            Reason::AnotherRemediatorActive,
            (false, false),
        ),
        (
            |known| known.node = Lookup::Present(node("True")),
            Rule::Unhealthy,
            Reason::Recovered,
            (true, true),
        ),
        (
            |known| known.edit_machine(|machine| machine.control_plane = true),
            Rule::ControlPlane,
            Reason::ControlPlaneRefused,
            (false, false),
        ),
        (
            |known| {
                known.edit_node(|node| {
                    node.other_fencer = Some(Box::new(OtherFencer {
                        name: "x".to_owned(),
                        taint: "y".to_owned(),
                    }));
                });
            },
            Rule::NodeIsOurs,
            Reason::AnotherRemediatorActive,
            (true, true),
        ),
        (
            |known| known.edit_node(|node| node.control_plane = true),
            Rule::ControlPlane,
            Reason::ControlPlaneRefused,
            (false, false),
        ),
        (
            |known| {
                known.edit_node(|node| node.control_plane = true);
                known.control_plane.rule = ControlPlaneRule::WithQuorumOfNodes;
            },
            Rule::ControlPlane,
            Reason::ControlPlaneQuorum,
            (false, false),
        ),
        (
            |known| known.edit_node(|node| node.machine_link = Some("machines/another".to_owned())),
            Rule::NodeBelongs,
            Reason::NodeMachineMismatch,
            (false, true),
        ),
        (
            |known| known.node_of_host = Lookup::Present(another_node()),
            Rule::NodeBelongs,
            Reason::HostAmbiguous,
            (false, true),
        ),
        (
            |known| known.node = Lookup::Unreadable("status".to_owned()),
            Rule::NodeBelongs,
            Reason::NodeUnreadable,
            (false, true),
        ),
        (
            |known| {
                known.node = Lookup::Unreadable("down".to_owned());
                known.node_cluster = Some(Obstacle::new(Reason::WorkloadClusterUnreachable, "down"));
            },
            Rule::NodeBelongs,
            Reason::WorkloadClusterUnreachable,
            (false, true),
        ),
        (
            |known| known.policy = Lookup::Present(Policy::in_tests(true)),
            Rule::PolicyAllows,
            Reason::PolicyPaused,
            (true, true),
        ),
        (
            |known| known.policy = Lookup::Absent,
            Rule::PolicyAllows,
            Reason::PolicyMissing,
            (true, true),
        ),
        (
            |known| known.allow(|allowed| allowed.namespaces.machines = Some(["others".to_owned()].into())),
            Rule::AllowedHere,
            Reason::NamespaceNotAllowed,
            (false, false),
        ),
        (
            |known| known.allow(|allowed| allowed.namespaces.endpoints = Some([].into())),
            Rule::AllowedHere,
            Reason::NamespaceNotAllowed,
            (false, false),
        ),
        (
            |known| known.allow(|allowed| allowed.escalations = Some(vec![Escalation::MachineOwner])),
            Rule::AllowedHere,
            Reason::StrategyNotAllowed,
            (false, false),
        ),
        (
            |known| {
                if let Lookup::Present(policy) = &mut known.policy {
                    policy.limits.longest = SignedDuration::from_mins(284);
                }
            },
            Rule::AllowedHere,
            Reason::StrategyNotAllowed,
            (false, false),
        ),
        (
            |known| known.edit_machine(|machine| machine.pause = Some("is paused".to_owned())),
            Rule::NotPaused,
            Reason::MachinePaused,
            (false, false),
        ),
        (
            |known| known.edit_machine(|machine| machine.trigger_answered_by = Some("x".to_owned())),
            Rule::TriggerIsOurs,
            Reason::TriggerAnsweredElsewhere,
            (false, false),
        ),
        (
            |known| known.health_checks.clear(),
            Rule::HealthCheckAsks,
            Reason::NoHealthCheck,
            (false, false),
        ),
        (
            |known| known.edit_check(|check| check.paused = true),
            Rule::HealthCheckAsks,
            Reason::HealthCheckPaused,
            (false, false),
        ),
        (
            |known| known.edit_node(|node| node.conditions[0].since = Some(at(0))),
            Rule::UnhealthyForLong,
            Reason::WithinGracePeriod,
            (true, true),
        ),
        (
            |known| known.rival = Some(rival()),
            Rule::OneOwner,
            Reason::HostAmbiguous,
            (false, true),
        ),
        (
            |known| known.power_cycles = vec![at(-1)],
            Rule::NotTooOften,
            Reason::PowerCycledRecently,
            (true, false),
        ),
    ]
}

fn cases_without_node() -> Vec<Case> {
    vec![
        (
            |known| {
                known.edit_machine(|machine| {
                    machine.controller_owner = Some("KubeadmControlPlane/x".to_owned());
                });
            },
            Rule::ControlPlane,
            Reason::ControlPlaneRefused,
            (false, false),
        ),
        (
            |known| {
                known.origin = Origin::Request;
                known.signal = Signal::Stands;
                known.health_checks.clear();
            },
            Rule::MachineIsMeant,
            Reason::NodeMissing,
            (true, true),
        ),
        (
            |known| known.edit_machine(|machine| machine.phase = Some("Provisioning".to_owned())),
            Rule::Provisioned,
            Reason::MachineNotProvisioned,
            (false, false),
        ),
        (
            |known| known.edit_machine(|machine| machine.state.last_updated = Some(at(-1))),
            Rule::NodeIsMissed,
            Reason::WithinGracePeriod,
            (false, true),
        ),
        (
            |known| known.host = Err(Obstacle::new(Reason::HostNotFound, "none")),
            Rule::HostIsStated,
            Reason::HostNotFound,
            (false, true),
        ),
        (
            |known| known.host.as_mut().unwrap().stated_uuid = None,
            Rule::HostIsStated,
            Reason::IdentityUnproven,
            (false, true),
        ),
        (
            |known| known.node_of_host = Lookup::Present(node("True")),
            Rule::HostHasNoNode,
            Reason::NodeMachineMismatch,
            (true, true),
        ),
    ]
}

#[test]
fn each_rule_stops_whom_it_is_to_stop() {
    let with_node = cases_with_node()
        .into_iter()
        .map(|case| (Known::with_node(), case));
    let without = cases_without_node()
        .into_iter()
        .map(|case| (Known::without_node(), case));
    for (mut known, (change, rule, reason, (put, taken_up))) in with_node.chain(without) {
        change(&mut known);
        let what = format!("{rule:?} {reason:?}");
        let obstacles = known.examined().expect_err(&what);
        assert_eq!(
            (obstacles.first().rule, obstacles.first().obstacle.reason),
            (rule, reason)
        );
        assert_eq!(
            obstacles.against_a_new_trigger().is_none(),
            put,
            "{what}: {obstacles:?}"
        );
        assert_eq!(
            obstacles.against_taking_up().is_none(),
            taken_up,
            "{what}: {obstacles:?}"
        );
    }
}

#[test]
fn every_rule_is_broken_by_some_case() {
    let cases = cases_with_node().into_iter().chain(cases_without_node());
    let mut broken: Vec<Rule> = cases.map(|(_, rule, ..)| rule).collect();
    broken.sort();
    broken.dedup();
    assert_eq!(broken.len(), Rule::NotTooOften as usize + 1, "{broken:?}");
}

/// Whatever else is broken: the order is that of the rules, and each keeps being found.
#[test]
fn of_two_broken_rules_the_first_in_order_is_told_and_none_is_lost() {
    let hides_the_rest = |rule| matches!(rule, Rule::SameMachine | Rule::MachineKnown);
    // Each of these changes the same thing.
    let excludes = |one: Rule, other: Rule| {
        let of_node = |rule| matches!(rule, Rule::Unhealthy | Rule::NodeBelongs | Rule::UnhealthyForLong);
        let is_said_by_node = |rule| matches!(rule, Rule::ControlPlane | Rule::NodeIsOurs);
        let of_checks = |rule| matches!(rule, Rule::TriggerIsOurs | Rule::HealthCheckAsks);
        let of_policy = |rule| matches!(rule, Rule::PolicyAllows | Rule::AllowedHere);
        let without_a_judge = |a, b| of_checks(a) && (of_node(b) || b == a);
        of_node(one) && of_node(other)
            || of_checks(one) && of_checks(other)
            || of_policy(one) && of_policy(other)
            || without_a_judge(one, other)
            || without_a_judge(other, one)
            || is_said_by_node(one) && of_node(other)
            || is_said_by_node(other) && of_node(one)
    };
    let mut compared = 0;
    for (change, rule, ..) in cases_with_node() {
        for (change_too, other, ..) in cases_with_node() {
            if rule == other || hides_the_rest(rule) || hides_the_rest(other) || excludes(rule, other) {
                continue;
            }
            let mut known = Known::with_node();
            change(&mut known);
            change_too(&mut known);
            let found = known.rules();
            assert!(found.is_sorted(), "{found:?}");
            assert!(
                found.contains(&rule) && found.contains(&other),
                "{rule:?} {other:?}: {found:?}"
            );
            compared += 1;
        }
    }
    assert!(compared > 150, "only {compared}");
}

#[test]
fn what_nobody_has_looked_up_stops_nothing() {
    let mut known = Known::without_node();
    known.policy = Lookup::Absent;
    known.host = Err(Obstacle::new(Reason::HostNotFound, "none"));
    known.node_of_host = Lookup::Present(node("True"));
    known.power_cycles = vec![at(-1)];
    // With a host that is not known no Node is compared.
    let rules = [Rule::PolicyAllows, Rule::HostIsStated, Rule::NotTooOften];
    assert_eq!(known.rules(), rules);
    let candidate = Candidate::of_trigger(known.machine.as_ref(), &known.node, &known.health_checks);
    assert!(examine(&candidate, at(0)).is_ok());
}

#[test]
fn who_has_two_owners_is_told_where_both_are() {
    for mut known in [Known::with_node(), Known::without_node()] {
        known.rival = Some(rival());
        let told = known.examined().unwrap_err().first().obstacle.detail.clone();
        assert!(
            told.contains("namespace machines") && told.contains("twin in namespace elsewhere"),
            "{told}"
        );
    }
}

#[test]
fn the_trigger_of_a_node_that_is_well_is_needless_unless_somebody_else_decides() {
    let needless = |change: fn(&mut Known)| {
        let mut known = Known::with_node();
        known.node = Lookup::Present(node("True"));
        change(&mut known);
        known.examined().is_err_and(|obstacles| obstacles.is_needless())
    };
    assert!(needless(|_| {}));
    assert!(needless(
        |known| known.edit_machine(|machine| machine.control_plane = true)
    ));
    for change in [
        (|known| known.node = Lookup::Present(node("Unknown"))) as fn(&mut Known),
        |known| known.edit_machine(|machine| machine.state.deleting = true),
        |known| known.edit_machine(|machine| machine.foreign_mark = Some("x".to_owned())),
        |known| known.edit_machine(|machine| machine.trigger_answered_by = Some("x".to_owned())),
        |known| known.health_checks.clear(),
    ] {
        assert!(!needless(change));
    }
}

#[test]
fn a_valid_lease_contradicts_a_silent_node() {
    let report = |renewed: i64| NodeReport {
        lease_renewed: Some(at(renewed)),
        lease_duration: Some(SignedDuration::from_secs(40)),
        heartbeat: None,
    };
    assert_eq!(contradiction(&node("Unknown"), &report(-1), at(0)), None);
    let found = contradiction(&node("Unknown"), &report(0), at(0)).map(|obstacle| obstacle.reason);
    assert_eq!(found, Some(Reason::NodeStillReporting));
}

#[test]
fn what_the_policy_does_not_allow_is_told_by_its_field_and_what_it_lists_is_let_pass() {
    type Narrow = fn(&mut Allowed);
    let of_others = || Some(["others".to_owned()].into());
    let cases: [(Narrow, &str); 6] = [
        (
            |allowed| allowed.namespaces.machines = Some([].into()),
            "Machine worker is in namespace machines, which spec.allowed.namespaces.machines of the RemediationPolicy does \
             not list",
        ),
        (
            |allowed| allowed.namespaces.endpoints = Some([].into()),
            "BMCEndpoint/worker is in namespace machines, which spec.allowed.namespaces.endpoints",
        ),
        (
            |allowed| allowed.namespaces.requests = Some([].into()),
            "this request is in namespace machines, which spec.allowed.namespaces.requests",
        ),
        (
            |allowed| allowed.fencing_modes = Some(vec![FencingMode::OutOfServiceTaint]),
            "fencingMode is Automatic, and spec.allowed.fencingModes of the RemediationPolicy lists [OutOfServiceTaint]",
        ),
        (
            |allowed| allowed.host_controls = Some(vec![HostControl::Direct]),
            "hostControl is Managed, and spec.allowed.hostControls of the RemediationPolicy lists [Direct]",
        ),
        (
            |allowed| allowed.escalations = Some(vec![Escalation::MachineOwner]),
            "escalation is None, and spec.allowed.escalations of the RemediationPolicy lists [MachineOwner]",
        ),
    ];
    for (narrow, says) in cases {
        let mut known = Known::with_node();
        known.origin = Origin::Request;
        known.signal = Signal::Stands;
        known.health_checks.clear();
        assert!(known.examined().is_ok(), "{says}: {:?}", known.rules());
        known.allow(narrow);
        let refused = known.examined().expect_err(says);
        assert!(refused.first().obstacle.detail.starts_with(says), "{refused:?}");
        // It is not among those lists that name everything else.
        if let Lookup::Present(policy) = &mut known.policy {
            let namespaces = &mut policy.allowed.namespaces;
            for list in [
                &mut namespaces.machines,
                &mut namespaces.endpoints,
                &mut namespaces.requests,
            ] {
                *list = list.take().and_then(|_| of_others());
            }
        }
        assert_eq!(known.rules(), [Rule::AllowedHere], "{says}");
        let here = ["machines".to_owned(), "others".to_owned()];
        known.allow(|allowed| {
            *allowed = Allowed {
                namespaces: AllowedNamespaces {
                    machines: Some(here.clone().into()),
                    endpoints: Some(here.clone().into()),
                    requests: Some(here.into()),
                },
                fencing_modes: Some(vec![FencingMode::NodeDeletion, FencingMode::Automatic]),
                host_controls: Some(vec![HostControl::Managed]),
                escalations: Some(vec![Escalation::MachineOwner, Escalation::None]),
            };
        });
        assert!(known.examined().is_ok(), "{says}: {:?}", known.rules());
    }
}

#[test]
fn lists_of_namespaces_are_about_nothing_else() {
    let none = || Some([].into());
    let mut known = Known::with_node();
    known.allow(|allowed| allowed.namespaces.requests = none());
    let own = known.strategy.clone();
    let by_triggers = |known: &mut Known, triggers: Option<Strategy>| {
        if let Lookup::Present(policy) = &mut known.policy {
            policy.triggers = triggers;
        }
    };
    by_triggers(&mut known, Some(own.clone()));
    assert!(known.examined().is_ok(), "a trigger is no request");
    // What says it was made for one does what the policy says of triggers, where nobody may ask for anything else.
    let other = Strategy {
        host_control: HostControl::Direct,
        ..own.clone()
    };
    for triggers in [None, Some(other)] {
        by_triggers(&mut known, triggers);
        let refused = known.examined().expect_err("it is not what spec.triggers says");
        assert_eq!(refused.first().obstacle.reason, Reason::StrategyNotAllowed);
        let mut listed = known.clone();
        listed.allow(|allowed| allowed.namespaces.requests = Some(["machines".to_owned()].into()));
        assert!(listed.examined().is_ok(), "who may ask may choose");
    }
    by_triggers(&mut known, Some(own));
    if let Ok(host) = &mut known.host {
        host.reference = HostObject::BareMetalHost("worker".to_owned());
    }
    known.allow(|allowed| allowed.namespaces.endpoints = none());
    assert!(known.examined().is_ok(), "a BareMetalHost is no BMCEndpoint");
}
