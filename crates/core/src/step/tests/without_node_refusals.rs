//! What keeps a host without a Node from being power-cycled, one thing at a time.

use jiff::SignedDuration;

use super::objects::{health_check, node, rules};
use super::shell::Sim;
use super::world::at;
use crate::eligibility::{self, Candidate, Rule};
use crate::facts::{Lookup, Obstacle, Origin};
use crate::health::HealthCheck;
use crate::journal::HostObject;
use crate::machine_api::MachineApi;
use crate::phase::{Phase, Reason};

type Change = fn(&mut Sim);

/// What is not as it should be, the reason that is named, and a part of the message.
type Case = (&'static str, Change, Reason, &'static str);

fn startup(timeout: SignedDuration) -> HealthCheck {
    HealthCheck {
        name: "slow".to_owned(),
        rules: Some(rules(Some(timeout))),
        ..health_check()
    }
}

/// Runs until it waits for something, and demands that the BMC was not told anything.
fn waits_for(change: Change) -> (String, String) {
    let mut sim = Sim::without_node(false);
    change(&mut sim);
    sim.run_until(|sim| sim.world.now > 20_000 || sim.power_offs() > 0);
    assert_eq!(sim.power_offs(), 0);
    (sim.journal.reason.clone(), sim.journal.message)
}

fn of_the_host() -> Vec<Case> {
    vec![
        (
            "no UUID is stated",
            |sim| sim.host.as_mut().expect("valid").stated_uuid = None,
            Reason::IdentityUnproven,
            "Set spec.systemUUID of the BMCEndpoint",
        ),
        (
            "a BareMetalHost",
            |sim| {
                let host = sim.host.as_mut().expect("valid");
                host.stated_uuid = None;
                host.reference = HostObject::BareMetalHost("worker-1".to_owned());
            },
            Reason::NodeMissing,
            "BareMetalHost/worker-1 cannot state the system UUID",
        ),
        (
            "the BMC says another UUID",
            |sim| sim.world.bmc.uuid = Some("51c4b3a2-9d0e-4f6a-8b7c-1e2d3f4a5b6c".to_owned()),
            Reason::IdentityMismatch,
            "51c4b3a2",
        ),
        (
            "the BMC says none",
            |sim| sim.world.bmc.uuid = None,
            Reason::IdentityUnproven,
            "no usable system UUID",
        ),
    ]
}

fn of_the_nodes() -> Vec<Case> {
    vec![
        (
            "a Node has the UUID",
            |sim| {
                sim.world.objects.node = Lookup::Present(node("another", "boot-9", "True", at(0), at(0)));
            },
            Reason::NodeMachineMismatch,
            "Node worker-1 has the system UUID",
        ),
        (
            "a Node cannot be read",
            |sim| sim.world.objects.node = Lookup::Unreadable("Node x cannot be read".to_owned()),
            Reason::NodeUnreadable,
            "Node x",
        ),
        (
            "the Nodes cannot be asked",
            |sim| {
                let why = Obstacle::new(Reason::WorkloadClusterUnreachable, "blue does not answer");
                sim.world.objects.node_cluster = Some(why);
            },
            Reason::WorkloadClusterUnreachable,
            "blue does not answer",
        ),
    ]
}

fn of_the_health_checks() -> Vec<Case> {
    vec![
        (
            "not for long enough",
            |sim| {
                sim.world
                    .edit_machine(|machine| machine.state.last_updated = Some(at(-60_000)));
            },
            Reason::WithinGracePeriod,
            "no status.nodeRef",
        ),
        (
            "nobody knows since when",
            |sim| {
                sim.world
                    .edit_machine(|machine| machine.state.last_updated = None);
            },
            Reason::WithinGracePeriod,
            "no status.nodeRef",
        ),
        (
            "without limit",
            |sim| sim.world.objects.health_checks = vec![Lookup::Present(startup(SignedDuration::ZERO))],
            Reason::NodeStartupUnlimited,
            "nodeStartupTimeout",
        ),
        (
            "a health check that judges no Machines",
            |sim| {
                let check = HealthCheck {
                    rules: None,
                    ..health_check()
                };
                sim.world.objects.health_checks = vec![Lookup::Present(check)];
            },
            Reason::NodeMissing,
            "no health check judges",
        ),
    ]
}

fn of_the_machine_and_the_request() -> Vec<Case> {
    vec![
        (
            "being provisioned",
            |sim| {
                sim.world
                    .edit_machine(|machine| machine.phase = Some("Provisioning".to_owned()));
            },
            Reason::MachineNotProvisioned,
            "phase Provisioning",
        ),
        (
            "nobody knows whether it is provisioned",
            |sim| {
                sim.world.edit_machine(|machine| machine.phase = None);
            },
            Reason::MachineNotProvisioned,
            "no status.phase",
        ),
        (
            "the control plane",
            |sim| {
                sim.world.edit_machine(|machine| machine.control_plane = true);
            },
            Reason::ControlPlaneRefused,
            "control-plane",
        ),
        (
            "an owner of the control plane",
            |sim| {
                let owner = Some("ControlPlaneMachineSet/cluster".to_owned());
                sim.world.edit_machine(|machine| machine.controller_owner = owner);
            },
            Reason::ControlPlaneRefused,
            "ControlPlaneMachineSet/cluster",
        ),
        (
            "a person asks",
            |sim| {
                sim.origin = Origin::Request;
                sim.expected_machine_uid = None;
            },
            Reason::NodeMissing,
            "no health check asks",
        ),
        (
            "the request names a Node",
            |sim| {
                sim.origin = Origin::Request;
                sim.named_node = Some("worker-1".to_owned());
            },
            Reason::NodeMissing,
            "no status.nodeRef",
        ),
    ]
}

#[test]
fn invariant_5_right_host_without_a_node_by_nothing_but_a_statement_that_no_node_contradicts() {
    let groups = [
        of_the_host(),
        of_the_nodes(),
        of_the_health_checks(),
        of_the_machine_and_the_request(),
    ];
    for (what, change, reason, part) in groups.into_iter().flatten() {
        let (found, message) = waits_for(change);
        assert_eq!(found, reason.as_str(), "{what}: {message}");
        assert!(message.contains(part), "{what}: {message}");
        assert!(message.ends_with(reason.advice()), "{what}: {message}");
    }
}

#[test]
fn one_check_whose_time_is_over_is_enough() {
    let mut sim = Sim::without_node(false);
    let unlimited = Lookup::Present(startup(SignedDuration::ZERO));
    let long = Lookup::Present(startup(SignedDuration::from_hours(9)));
    sim.world.objects.health_checks = vec![unlimited, long, Lookup::Present(health_check())];

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
}

#[test]
fn the_time_is_waited_for_and_then_it_is_power_cycled() {
    let mut sim = Sim::without_node(false);
    // Ten minutes are the default, and an attempt may be held up for as long.
    sim.world
        .edit_machine(|machine| machine.state.last_updated = Some(at(-300_000)));

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    let (off, _) = sim.sent.first().expect("it was powered off");
    assert!(*off > 300_000, "powered off after {off} ms");
}

/// What is wrong with a Machine apart from its Node says nothing of a host that is on its way.
#[test]
fn another_ailment_of_the_machine_does_not_shorten_the_time() {
    let (reason, _) = waits_for(|sim| {
        sim.world.edit_machine(|machine| {
            machine.api = MachineApi::ClusterApi;
            machine.unhealthy_by_itself = Some("cluster.x-k8s.io/remediate-machine".to_owned());
            machine.state.remediate = true;
            machine.state.failure_reason = Some("CreateError".to_owned());
            machine.state.last_updated = Some(at(-60_000));
        });
    });
    assert_eq!(reason, Reason::WithinGracePeriod.as_str());
}

#[test]
fn nobody_asks_for_a_host_that_nobody_named() {
    let asked = |change: Change| {
        let mut sim = Sim::without_node(false);
        change(&mut sim);
        let facts = sim.facts();
        let candidate = Candidate {
            host: Some(&facts.host),
            ..Candidate::of_trigger(
                facts.objects.machine.as_ref(),
                &facts.objects.node,
                &facts.objects.health_checks,
            )
        };
        let refused = eligibility::examine(&candidate, at(0)).err()?;
        let refused = refused.against_a_new_trigger()?;
        assert_eq!(refused.rule, Rule::HostIsStated);
        let obstacle = refused.obstacle.clone();
        Some((obstacle.reason, obstacle.for_people()))
    };
    // What the BMC says comes later.
    for (what, change, reason, says) in of_the_host().into_iter().take(2) {
        let (refused, told) = asked(change).unwrap_or_else(|| panic!("{what}: it is asked for"));
        assert_eq!(refused, reason, "{what}");
        assert!(told.contains(says), "{what}: {told}");
    }
    assert_eq!(asked(|_| {}), None);
    let with_node: Change = |sim| {
        *sim = Sim::new();
        sim.host = Err(Obstacle::new(Reason::HostNotFound, "none"));
    };
    assert_eq!(asked(with_node), None, "a Node is asked for as ever");
}
