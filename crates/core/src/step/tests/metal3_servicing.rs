//! metal3 begins to service the firmware of a host that we have asked it to hold off.

use super::metal3::Services;
use super::shell::Sim;
use super::world::Cause;
use crate::decision::Effect;
use crate::metal3::HoldWrite;
use crate::phase::{Phase, Reason};

impl Sim {
    /// Whether anything was sent since then that takes the host from metal3, or its power.
    fn was_disturbed(&self, since: i64) -> bool {
        self.sent.iter().any(|(sent, effect)| {
            let detaches = matches!(effect, Effect::WriteHold(hold) if hold.write == HoldWrite::Detach);
            *sent >= since && (detaches || matches!(effect, Effect::PowerOff { .. }))
        })
    }
}

#[test]
fn a_host_whose_servicing_begins_instead_of_its_power_off_is_left_to_metal3_until_it_has_finished() {
    let mut sim = Sim::with_metal3();
    let takes = 400_000;
    sim.metal3().services = Some((Services::AtOnce, takes));
    sim.run_until(|sim| {
        sim.world
            .metal3
            .as_ref()
            .is_some_and(|metal3| metal3.view.servicing)
    });
    let begun = sim.world.now;

    sim.run_until(|sim| sim.world.now >= begun + takes || sim.journal.phase.is_final());

    assert!(!sim.was_disturbed(begun), "{:?}", sim.sent);
    assert_eq!(sim.world.times_switched(false), 0);
    let told: Vec<&str> = sim
        .journal
        .failed_attempts
        .iter()
        .map(|one| one.reason.as_str())
        .collect();
    assert_eq!(told, [Reason::HostServicing.as_str()]);
    assert_eq!(sim.journal.phase, Phase::Pending, "{}", sim.journal.message);
    assert!(
        sim.journal.standing_hold().is_none(),
        "nothing of ours waits for its end"
    );
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    sim.is_given_back();
}

#[test]
fn a_host_that_is_powered_on_to_be_serviced_while_it_is_held_is_not_released_any_further() {
    let mut sim = Sim::with_metal3();
    let takes = 300_000;
    sim.world.pods = vec!["clings".to_owned()];
    sim.metal3().services = Some((Services::OnceItIsOff, takes));
    sim.run_until(|sim| {
        sim.world
            .metal3
            .as_ref()
            .is_some_and(|metal3| metal3.view.servicing)
    });
    let begun = sim.world.now;
    sim.run_until(|sim| sim.world.now >= begun + takes || sim.journal.phase.is_final());
    assert!(!sim.was_disturbed(begun), "{:?}", sim.sent);
    let late = sim.released_at.iter().filter(|at| **at > begun + 1_000).count();
    assert_eq!(
        late, 0,
        "released at {:?}, serviced since {begun}",
        sim.released_at
    );
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    let by_us = sim
        .world
        .host
        .edges
        .iter()
        .filter(|edge| edge.cause != Cause::Metal3);
    assert_eq!(by_us.count(), 0, "{:?}", sim.world.host.edges);
    sim.is_given_back();
}
