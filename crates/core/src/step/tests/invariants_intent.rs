//! Invariants 4, 5 and 6: intents, identity and the live check.

use super::shell::{Fault, Sim, millis};
use super::world::{UUID, at};
use crate::decision::{Act, Effect, Observation};
use crate::facts::{Lookup, Policy, Rival};
use crate::identity::SystemUuid;
use crate::phase::{Phase, Reason};

pub(super) type Change = fn(&mut Sim);

/// What it is, the UUID of the BMC, the UUID of the Node, and why it is refused.
type Identity = (
    &'static str,
    Option<&'static str>,
    Option<&'static str>,
    Option<Reason>,
);

/// A remediation whose power-off is journalled; the live check comes next.
pub(super) fn before_the_live_check() -> Sim {
    let mut sim = Sim::new();
    sim.run_until(|sim| matches!(sim.decide().act, Some(Act::Observe(Observation::LiveCheck))));
    sim.journal_only();
    assert_eq!(sim.journal.phase, Phase::PoweringOff);
    sim
}

#[test]
fn invariant_4_the_intent_is_journalled_before_its_command() {
    let mut sim = Sim::new();
    // The shell of these tests refuses a command whose intent is not journalled.
    sim.run();
    for (sent, effect) in &sim.sent {
        let (Effect::PowerOff { not_after } | Effect::PowerOn { not_after }) = effect else {
            panic!("only commands are noted as sent: {effect:?}");
        };
        assert!(millis(*not_after) >= *sent);
        assert!(millis(*not_after) <= sent + 10_000, "may be sent for too long");
    }
    assert_eq!((sim.edges(false, 1), sim.edges(true, 1)), (1, 1));
}

#[test]
fn invariant_5_right_host() {
    let swapped = "44454c4c-4200-1035-8052-b4c04f4e3732";
    let cases: [Identity; 9] = [
        ("same", Some(UUID), Some(UUID), None),
        ("bytes swapped", Some(swapped), Some(UUID), None),
        (
            "another",
            Some("51c4b3a2-9d0e-4f6a-8b7c-1e2d3f4a5b6c"),
            Some(UUID),
            Some(Reason::IdentityMismatch),
        ),
        ("BMC says none", None, Some(UUID), Some(Reason::IdentityUnproven)),
        (
            "BMC says zero",
            Some("00000000-0000-0000-0000-000000000000"),
            Some(UUID),
            Some(Reason::IdentityUnproven),
        ),
        (
            "BMC says a placeholder",
            Some("03000200-0400-0500-0006-000700080009"),
            Some(UUID),
            Some(Reason::IdentityUnproven),
        ),
        ("Node has none", Some(UUID), None, Some(Reason::IdentityUnproven)),
        (
            "Node has a placeholder",
            Some(UUID),
            Some("FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF"),
            Some(Reason::IdentityUnproven),
        ),
        (
            "both the same placeholder",
            Some("03000200-0400-0500-0006-000700080009"),
            Some("03000200-0400-0500-0006-000700080009"),
            Some(Reason::IdentityUnproven),
        ),
    ];
    for (what, of_bmc, of_node, refusal) in cases {
        let mut sim = Sim::new();
        sim.world.bmc.uuid = of_bmc.map(str::to_owned);
        sim.world
            .edit_node(|node| node.system_uuid = of_node.map(str::to_owned));

        sim.run_until(|sim| sim.power_offs() > 0 || !sim.journal.reason.is_empty());
        sim.run_until(|sim| sim.power_offs() > 0 || sim.journal.phase == Phase::Pending);

        match refusal {
            None => assert_eq!(sim.power_offs(), 1, "{what}: {}", sim.journal.message),
            Some(reason) => {
                assert_eq!(sim.journal.reason, reason.as_str(), "{what}");
                sim.run();
                assert_eq!(sim.power_offs(), 0, "{what}");
                assert_eq!(sim.journal.phase, Phase::Failed, "{what}");
                assert!(sim.journal.message.contains(reason.as_str()), "{what}");
            }
        }
    }
}

#[test]
fn invariant_5_right_host_by_the_stated_uuid() {
    let stated = |uuid: &str| Some(SystemUuid::parse(uuid).expect("valid"));
    let mut proven = Sim::new();
    proven.world.edit_node(|node| node.system_uuid = None);
    proven.host.as_mut().expect("a host").stated_uuid = stated(UUID);
    let mut refused = Sim::new();
    refused.host.as_mut().expect("a host").stated_uuid = stated("51c4b3a2-9d0e-4f6a-8b7c-1e2d3f4a5b6c");

    proven.run();
    refused.run();

    assert_eq!(proven.journal.phase, Phase::Succeeded);
    assert_eq!(refused.power_offs(), 0);
}

#[test]
fn invariant_5_right_host_is_checked_again_when_the_reading_is_old() {
    let mut sim = before_the_live_check();
    sim.world.bmc.uuid = Some("51c4b3a2-9d0e-4f6a-8b7c-1e2d3f4a5b6c".to_owned());
    sim.observed.reads.clear();

    sim.run_until(|sim| sim.journal.phase == Phase::Pending);

    assert_eq!(sim.power_offs(), 0);
    assert_eq!(sim.journal.reason, Reason::IdentityMismatch.as_str());
}

#[test]
fn invariant_6_live_check() {
    let changes: [(&str, Change); 16] = [
        ("recovered", |sim| sim.world.revive()),
        ("paused", |sim| {
            sim.world.objects.policy = Lookup::Present(Policy::in_tests(true));
        }),
        ("policy gone", |sim| sim.world.objects.policy = Lookup::Absent),
        ("machine gone", |sim| sim.world.objects.machine = Lookup::Absent),
        ("machine deleting", |sim| {
            sim.world.edit_machine(|machine| machine.state.deleting = true);
        }),
        ("machine replaced", |sim| {
            sim.world.edit_machine(|machine| machine.uid = "other".to_owned());
        }),
        ("trigger gone", |sim| {
            sim.world.edit_machine(|machine| machine.state.triggered = false);
        }),
        ("health check paused", |sim| {
            sim.world.edit_check(|check| check.paused = true);
        }),
        ("health check with a template", |sim| {
            sim.world.edit_check(|check| check.has_template = true);
        }),
        ("health check gone", |sim| sim.world.objects.health_checks.clear()),
        ("node gone", |sim| sim.world.objects.node = Lookup::Absent),
        ("node registered anew", |sim| {
            sim.world.edit_node(|node| node.uid = "other".to_owned());
        }),
        ("node rebooted", |sim| {
            sim.world
                .edit_node(|node| node.boot_id = Some("boot-2".to_owned()));
        }),
        ("lease fresh again", |sim| {
            sim.world.lease.lease_renewed = Some(at(sim.world.now));
        }),
        ("host described and reached by another", |sim| {
            sim.world.objects.rival = Some(Box::new(Rival {
                namespace: "elsewhere".to_owned(),
                name: "twin".to_owned(),
                uuid: SystemUuid::parse(UUID).expect("valid"),
            }));
        }),
        ("lead lost", |sim| sim.leads = false),
    ];
    for (what, change) in changes {
        let mut sim = before_the_live_check();

        change(&mut sim);
        let end = sim.world.now + 9_000;
        let waits = |sim: &Sim| sim.journal.phase != Phase::PoweringOff || sim.world.now > end || !sim.leads;
        sim.run_until(|sim| waits(sim) || sim.power_offs() > 0);

        assert_eq!(sim.power_offs(), 0, "{what}");
        assert!(waits(&sim), "{what}");
        assert_eq!(sim.journal.attempt, i32::from(!sim.leads), "{what}");
    }
}

#[test]
fn invariant_6_live_check_clears_the_trigger_of_a_recovered_node() {
    let mut sim = before_the_live_check();
    sim.world.revive();

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Cancelled, "{}", sim.journal.message);
    assert_eq!(sim.journal.reason, Reason::Recovered.as_str());
    assert!(!sim.world.triggered());
    assert_eq!(sim.power_offs(), 0);
    assert!(sim.journal.trigger_cleared.is_some());
}

#[test]
fn invariant_6_live_check_also_comes_before_a_repeated_command() {
    let changes: [(&str, Change); 5] = [
        ("paused", |sim| {
            sim.world.objects.policy = Lookup::Present(Policy::in_tests(true));
        }),
        ("trigger gone", |sim| {
            sim.world.edit_machine(|machine| machine.state.triggered = false);
        }),
        ("recovered", |sim| sim.world.revive()),
        ("node rebooted", |sim| {
            sim.world
                .edit_node(|node| node.boot_id = Some("boot-2".to_owned()));
        }),
        ("lease fresh again", |sim| {
            sim.world.lease.lease_renewed = Some(at(sim.world.now + 600_000));
        }),
    ];
    for (what, change) in changes {
        let mut sim = before_the_live_check();
        sim.crash();

        change(&mut sim);
        let end = sim.world.now + 170_000;
        sim.run_until(|sim| sim.world.now > end || sim.power_offs() > 0);

        assert_eq!(sim.power_offs(), 0, "{what}");
    }
}

#[test]
fn invariant_6_nothing_is_powered_off_without_any_look() {
    let mut sim = Sim::new();
    sim.run_until(|sim| sim.power_offs() == 1);
    let look = sim.live_check.as_ref().expect("there was a look");
    assert!(sim.sent[0].0 - millis(look.began) <= 2_000);
}

#[test]
fn invariant_6_a_look_from_before_the_intent_is_not_the_live_check() {
    let mut sim = before_the_live_check();
    sim.turn(Fault::None);
    let mut look = sim.live_check.clone().expect("there was a look");
    let intent = sim.journal.intent.clone().expect("journalled");
    look.began = intent.journalled - jiff::SignedDuration::from_millis(1);
    sim.live_check = Some(look);

    assert_eq!(sim.decide().act, Some(Act::Observe(Observation::LiveCheck)));
}
