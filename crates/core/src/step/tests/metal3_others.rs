//! Others who want a host off that we hold, and a metal3 that does not power it on again.

use jiff::SignedDuration;

use super::metal3::Metal3;
use super::shell::{Fault, Sim, Turn};
use super::world::Cause;
use crate::decision::{Act, Effect, HoldOn, Observation};
use crate::journal::Journal;
use crate::metal3::{CycledBy, HoldWrite};
use crate::phase::{Phase, Reason};

/// How old (ms) what a BareMetalHost says may be at a power-on, with what that takes.
const LOOK_AGE: i64 = 21_000;

impl Sim {
    /// Somebody else wants the host off from now on, for so long (ms).
    pub(super) fn keep_off(&mut self, reason: Reason, takes: i64) {
        let now = self.world.now;
        self.metal3().keep_off(now, reason, takes);
    }

    /// Whether somebody else has wanted the host off for longer than may be unknown.
    pub(super) fn opposes(&self) -> bool {
        let kept_off = self.world.metal3.as_ref().and_then(|metal3| metal3.kept_off);
        kept_off.is_some_and(|(since, _)| since + LOOK_AGE < self.world.now)
    }

    fn power_ons(&self) -> usize {
        let is_on = |sent: &&(i64, Effect)| matches!(sent.1, Effect::PowerOn { .. });
        self.sent.iter().filter(is_on).count()
    }

    fn let_go_of_by_metal3(&self) -> bool {
        let detaches = |hold: &HoldOn| hold.write == HoldWrite::Detach;
        let mut sent = self.sent.iter();
        sent.any(|(_, effect)| matches!(effect, Effect::WriteHold(hold) if detaches(hold)))
    }
}

fn reasons() -> [Reason; 3] {
    [
        Reason::HostHeldBySomeoneElse,
        Reason::HostOffline,
        Reason::HostServicing,
    ]
}

#[test]
fn a_host_that_somebody_else_keeps_off_is_theirs_to_be_powered_on() {
    for (works, reason) in [true, false]
        .into_iter()
        .flat_map(|works| reasons().map(|reason| (works, reason)))
    {
        let mut sim = Sim::with_metal3();
        sim.metal3().operator = works;
        sim.run_until(|sim| sim.journal.phase == Phase::Fencing);
        sim.metal3().operator = true;
        let takes = 3_600_000;
        let begun = sim.world.now;
        sim.keep_off(reason, takes);

        sim.run_until(|sim| sim.world.now >= begun + takes - 100);

        let what = format!("works {works}: {}", sim.journal.message);
        assert!(!sim.world.host.on, "{what}");
        assert_eq!(sim.power_ons(), 0, "{what}");
        assert_eq!(sim.journal.phase, Phase::PoweringOn, "{what}");
        assert!(sim.journal.is_because(reason), "{what}");
        assert!(sim.metal3().view.is_free(), "nothing of ours is on it: {what}");
        let writes = sim.counts.journal_writes;
        assert!(writes < 20, "{writes} writes of the journal");

        sim.run();
        assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
        assert_eq!(sim.power_ons(), 0, "{what}");
        sim.is_given_back();
    }
}

/// While it boots, a Metal3Remediation begins with it.
#[test]
fn a_host_that_is_taken_off_again_while_it_boots_is_theirs() {
    // The second is longer than the deadline.
    for takes in [150_000, 1_800_000] {
        let mut sim = Sim::with_metal3();
        sim.world.host.boot_delay = 100_000;
        sim.run_until(|sim| sim.journal.phase == Phase::Booting);
        let begun = sim.world.now;
        sim.keep_off(Reason::HostHeldBySomeoneElse, takes);

        sim.run_until(|sim| sim.journal.is_because(Reason::HostHeldBySomeoneElse));
        assert_eq!(sim.journal.phase, Phase::Booting);
        sim.run_until(|sim| sim.world.host.on && sim.world.now > begun + takes);
        sim.run_until(|sim| sim.journal.is_because(Reason::WaitingForNode) || sim.journal.phase.is_final());
        assert!(!sim.journal.phase.is_final(), "{}", sim.journal.message);
        let turns = sim.counts.turns;
        assert!(turns < 1_000, "{turns} turns");
        sim.run();

        assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
        assert_eq!(sim.power_ons(), 0);
        sim.is_given_back();
    }
}

/// Its Node is given back first what it is owed.
#[test]
fn a_remediation_that_is_deleted_while_somebody_else_keeps_the_host_off_goes_when_it_owes_nothing() {
    for (phase, owes) in [
        (Phase::Holding, false),
        (Phase::PoweringOff, false),
        (Phase::Fencing, true),
        (Phase::PoweringOn, true),
    ] {
        for later in [0, 900_000] {
            let mut sim = Sim::with_metal3();
            sim.run_until(|sim| sim.journal.phase == phase && (!owes || sim.world.tainted()));
            let begun = sim.world.now;
            sim.keep_off(Reason::HostOffline, 7_200_000);
            sim.run_until(|sim| sim.world.now >= begun + later || !owes);
            sim.deletion_requested = true;

            sim.run_until(|sim| sim.world.now >= begun + 7_000_000);

            let what = format!("{phase:?} {later}: {}", sim.journal.message);
            assert_eq!(sim.gone, !owes, "{what}");
            assert_eq!(sim.power_ons(), 0, "{what}");
            assert!(sim.metal3().view.is_free(), "{what}");
            sim.run();
            assert!(sim.gone, "{what}");
            assert!(!sim.world.tainted(), "{what}");
        }
    }
}

/// Nothing that others write is lost in a crash, nor while the BareMetalHost cannot be read.
#[test]
fn a_host_is_left_to_others_by_whoever_takes_over_and_while_nothing_can_be_read() {
    for turn in 0.. {
        let mut sim = Sim::with_metal3();
        sim.run_until(|sim| sim.journal.phase == Phase::Fencing);
        sim.keep_off(Reason::HostOffline, 3_600_000);
        let turns = sim.counts.turns + turn;
        sim.run_until(|sim| sim.counts.turns >= turns);
        let left = sim
            .journal
            .hold
            .as_ref()
            .is_some_and(|hold| hold.left_to_others.is_some());
        sim.crash();
        let end = sim.world.now + 1_800_000;
        while sim.world.now < end {
            let act = sim.decide().act;
            let reads = matches!(act, Some(Act::Observe(Observation::BareMetalHost)));
            // It is known from the journal, or has to be read.
            let fault = if reads && left {
                Fault::Refused
            } else {
                Fault::None
            };
            sim.turn(fault);
        }
        assert_eq!(sim.power_ons(), 0, "turn {turn}: {}", sim.journal.message);
        assert!(!sim.world.host.on);
        sim.run();
        assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
        sim.is_given_back();
        if turn > 60 {
            break;
        }
    }
}

#[test]
fn a_host_that_was_given_up_is_left_to_others_too() {
    let mut sim = Sim::with_metal3();
    sim.run_until(|sim| sim.journal.phase == Phase::Fencing);
    sim.world.bmc.obeys_on = false;
    sim.metal3().operator = false;
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Failed, "{}", sim.journal.message);
    assert!(!sim.world.host.on);
    sim.keep_off(Reason::HostHeldBySomeoneElse, 3_600_000);
    sim.metal3().operator = true;
    sim.world.bmc.obeys_on = true;
    let (begun, before) = (sim.world.now, sim.power_ons());
    let end = begun + 3_500_000;
    while sim.world.now < end {
        sim.turn(Fault::None);
    }
    assert!(!sim.world.host.on, "{}", sim.journal.message);
    let soon = sim
        .sent
        .iter()
        .filter(|(at, effect)| matches!(effect, Effect::PowerOn { .. }) && *at > begun + LOOK_AGE);
    assert_eq!(soon.count(), 0, "{before} before: {:?}", sim.sent);
    assert!(
        sim.journal.message.contains("kept off by another"),
        "{}",
        sim.journal.message
    );
    sim.run_until(|sim| sim.world.host.on);
}

/// What an earlier attempt held is of no concern to one that is made directly.
#[test]
fn an_attempt_that_is_made_directly_leaves_the_host_of_an_earlier_one_alone() {
    let mut sim = Sim::with_metal3();
    sim.world.bmc.obeys_off = false;
    sim.metal3().ironic = false;
    sim.run_until(|sim| sim.journal.phase == Phase::Pending && sim.journal.attempt == 1);
    sim.run_until(|sim| sim.journal.standing_hold().is_none());
    sim.world.bmc.obeys_off = true;
    if let Ok(host) = &mut sim.host {
        host.cycled = CycledBy::Us;
    }
    let before = sim.world.now;
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    let later = sim.sent.iter().filter(|(at, _)| *at > before);
    let held = later.filter(|(_, effect)| matches!(effect, Effect::WriteHold(_)));
    assert_eq!(held.count(), 0, "{:?}", sim.sent);
}

/// baremetal-operator dies, or its host is paused, once it has powered the host off: Ironic has recorded that it is to
/// be off, and puts that right.
#[test]
fn a_metal3_that_undoes_a_power_on_is_named_and_is_not_fought() {
    let dies: fn(&mut Metal3) = |metal3| metal3.operator = false;
    let is_paused: fn(&mut Metal3) = |metal3| metal3.view.paused = true;
    for (ends, named) in [(dies, "baremetal-operator works"), (is_paused, "/paused off")] {
        let mut sim = Sim::with_metal3();
        // No boot ends between two syncs of Ironic.
        sim.world.host.boot_delay = 150_000;
        sim.run_until(|sim| sim.journal.phase == Phase::Fencing);
        ends(sim.metal3());
        let begun = sim.world.now;

        while sim.world.now < begun + 3_600_000 {
            assert_ne!(sim.turn(Fault::None), Turn::Over, "{}", sim.journal.message);
        }

        let told = sim.journal.message.clone();
        let switched_on = sim.world.times_switched(true);
        assert!(
            switched_on <= 8,
            "switched on {switched_on} times in an hour: {told}"
        );
        assert!(told.contains(named), "{told}");
        let now = sim.world.now;
        let metal3 = sim.metal3();
        (metal3.operator, metal3.view.paused) = (true, false);
        let healed = |journal: &Journal| journal.phase == Phase::Succeeded || journal.intent.is_none();
        sim.run_until(|sim| healed(&sim.journal) && sim.world.host.on || sim.world.now > now + 3_600_000);
        assert!(sim.world.host.on, "{}", sim.journal.message);
        let last = sim.world.host.edges.last().map(|edge| edge.cause);
        assert_eq!(last, Some(Cause::Metal3));
    }
}

/// Ironic fails to power the host on, and only Ironic.
#[test]
fn a_host_that_metal3_cannot_power_on_is_let_go_of_and_powered_on_directly() {
    let mut sim = Sim::with_metal3();
    sim.world.host.boot_delay = 150_000;
    sim.run_until(|sim| sim.journal.phase == Phase::Fencing);
    sim.metal3().powers_on = false;

    sim.run_until(|sim| sim.world.host.on);

    assert!(sim.let_go_of_by_metal3(), "{:?}", sim.sent);
    assert!(sim.metal3().view.detached, "Ironic would switch it off again");
    assert_eq!(sim.power_ons(), 1);
    sim.metal3().powers_on = true;
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert_eq!(
        (sim.world.times_switched(false), sim.world.times_switched(true)),
        (1, 1)
    );
    sim.is_given_back();
}

/// The API server took it, and neither answered nor carried it out for a while; the power-off may have a deadline that is
/// over before that.
#[test]
fn a_first_hold_that_arrives_late_is_still_ours() {
    for deadline in [15, 180] {
        let mut sim = Sim::with_metal3();
        if let Ok(strategy) = &mut sim.strategy {
            strategy.deadlines.power_off = SignedDuration::from_secs(deadline);
        }
        sim.run_until(|sim| matches!(sim.decide().act, Some(Act::Effect(Effect::WriteHold(_)))));
        sim.turn(Fault::CommandLost);
        let sent = sim.world.now;
        sim.run_until(|sim| sim.world.now >= sent + 45_000);
        assert_eq!(sim.journal.phase, Phase::Holding, "{}", sim.journal.message);
        assert_eq!(sim.journal.attempt, 1);
        let now = sim.world.now;
        sim.metal3().edit(now, |view| view.held = true);

        sim.run();

        assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
        assert_eq!(
            (sim.world.times_switched(false), sim.world.times_switched(true)),
            (1, 1)
        );
        sim.is_given_back();
    }
}

/// Somebody works in the host: metal3 must not power it on meanwhile.
#[test]
fn a_host_that_a_person_wants_off_stays_held_until_its_remediation_is_deleted() {
    let mut sim = Sim::with_metal3();
    sim.run_until(|sim| sim.journal.phase == Phase::Fencing);
    sim.leave_off = true;

    let end = sim.world.now + 3_600_000;
    while sim.world.now < end && sim.turn(Fault::None) != Turn::Over {}

    assert_eq!(sim.journal.phase, Phase::Failed, "{}", sim.journal.message);
    assert!(
        sim.journal.message.contains("held off by BareMetalHost"),
        "{}",
        sim.journal.message
    );
    assert!(!sim.world.host.on && sim.metal3().view.held);

    sim.deletion_requested = true;
    sim.run();

    assert!(sim.gone);
    sim.is_given_back();
}

/// However short the time for a power-off is, the daemon has half of it when metal3 does nothing.
#[test]
fn a_host_of_a_dead_metal3_is_powered_off_directly_within_a_short_deadline() {
    for seconds in [60, 120, 150] {
        let mut sim = Sim::with_metal3();
        let strategy = sim.strategy.as_mut().expect("it is in order");
        strategy.deadlines.power_off = SignedDuration::from_secs(seconds);
        (sim.metal3().operator, sim.metal3().ironic) = (false, false);
        sim.run_until(|sim| sim.journal.phase > Phase::PoweringOff || sim.journal.attempt > 1);
        assert_eq!(sim.journal.attempt, 1, "{seconds}: {}", sim.journal.message);
        let hold = sim.journal.hold.clone().expect("it is held");
        assert!(
            hold.kicked < hold.detached && hold.detached < hold.direct,
            "{seconds}: {hold:?}"
        );
        sim.run();
        assert_eq!(
            sim.journal.phase,
            Phase::Succeeded,
            "{seconds}: {}",
            sim.journal.message
        );
    }
}
