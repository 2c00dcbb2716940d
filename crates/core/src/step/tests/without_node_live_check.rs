//! What changed since the power-off of a host without a Node was decided stops it.

use super::shell::Sim;
use crate::identity::SystemUuid;
use crate::phase::{Phase, Reason};

type Change = fn(&mut Sim);

#[test]
fn a_statement_that_is_taken_back_or_changed_stops_the_power_off() {
    let another = SystemUuid::parse("51c4b3a2-9d0e-4f6a-8b7c-1e2d3f4a5b6c").ok();
    for (stated, reason) in [
        (None, Reason::IdentityUnproven),
        (another, Reason::IdentityMismatch),
    ] {
        let mut sim = Sim::without_node(false);
        sim.run_until(|sim| sim.journal.phase == Phase::PoweringOff);
        sim.host.as_mut().expect("valid").stated_uuid = stated;

        sim.run_until(|sim| sim.journal.phase == Phase::Pending || sim.power_offs() > 0);

        assert_eq!(sim.power_offs(), 0);
        assert_eq!(sim.journal.reason, reason.as_str());
    }
}

#[test]
fn a_host_that_is_found_elsewhere_meanwhile_is_not_powered_off() {
    let mut sim = Sim::without_node(false);
    sim.run_until(|sim| sim.journal.phase == Phase::PoweringOff);
    sim.host.as_mut().expect("valid").bmc = "redfish+https://10.0.0.8".to_owned();

    sim.run_until(|sim| sim.journal.phase == Phase::Pending || sim.power_offs() > 0);

    assert_eq!(sim.power_offs(), 0);
    assert!(
        sim.journal.message.contains("10.0.0.8"),
        "{}",
        sim.journal.message
    );
}

#[test]
fn invariant_6_live_check_at_a_machine_without_a_node() {
    let changes: [(&str, Change); 4] = [
        ("it is deleted", |sim| {
            sim.world.edit_machine(|machine| machine.state.deleting = true);
        }),
        ("it is replaced", |sim| {
            sim.world
                .edit_machine(|machine| machine.uid = "another".to_owned());
        }),
        ("it is provisioned anew", |sim| {
            sim.world
                .edit_machine(|machine| machine.phase = Some("Provisioning".to_owned()));
        }),
        ("it names a Node that is gone", |sim| {
            sim.world
                .edit_machine(|machine| machine.node_name = Some("worker-1".to_owned()));
        }),
    ];
    for (what, change) in changes {
        let mut sim = Sim::without_node(false);
        sim.run_until(|sim| sim.journal.phase == Phase::PoweringOff);
        // Also what only the caches know, since a look that was long.
        for looked in [false, true] {
            let mut sim = sim.clone();
            if !looked {
                sim.live_check = None;
            }
            change(&mut sim);

            sim.run_until(|sim| sim.journal.phase != Phase::PoweringOff || sim.power_offs() > 0);

            assert_eq!(sim.power_offs(), 0, "{what}, {looked}");
        }
    }
}
