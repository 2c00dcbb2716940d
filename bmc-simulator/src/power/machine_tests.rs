//! Every rule of the power state machine, at exact instants.

use std::time::Duration;

use super::{Behaviour, Change, Command, Condition, Delays, OffHandling, Outcome, Power, PowerMachine};
use crate::seed::Seeded;

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Off after 4 s, on after 2 s, booted 10 s later, graceful shutdown after 20 s.
fn machine(power: Power) -> PowerMachine {
    let delays = Delays {
        off: at(4).into(),
        on: at(2).into(),
        boot: at(10).into(),
        graceful_shutdown: Some(at(20).into()),
    };
    PowerMachine::new(power, delays, Seeded::named(1, "m"), Seeded::named(1, "delays"))
}

fn changes(machine: &mut PowerMachine) -> Vec<(u64, &'static str)> {
    let name = |change: &Change| match change {
        Change::PoweredOff => "off",
        Change::PoweredOn => "on",
        Change::Reset => "reset",
        Change::Booted { .. } => "booted",
    };
    machine
        .drain()
        .iter()
        .map(|occurred| (occurred.at.as_secs(), name(&occurred.change)))
        .collect()
}

#[test]
fn force_off_lands_after_its_delay_and_not_before() {
    let mut m = machine(Power::On);
    assert_eq!(m.command(Command::ForceOff, at(1)), Outcome::Started);
    m.advance(Duration::from_millis(4_999));
    assert_eq!(
        (m.truth().power, m.condition()),
        (Power::On, Condition::PoweringOff)
    );
    m.advance(at(5));
    assert_eq!((m.truth().power, m.condition()), (Power::Off, Condition::Off));
    assert_eq!(m.truth().since, at(5));
    assert!(!m.truth().booted);
}

#[test]
fn repeated_force_off_neither_postpones_nor_counts_twice() {
    let mut m = machine(Power::On);
    m.command(Command::ForceOff, at(0));
    assert_eq!(m.command(Command::ForceOff, at(3)), Outcome::NoChange);
    m.advance(at(60));
    assert_eq!(m.command(Command::ForceOff, at(61)), Outcome::NoChange);
    m.advance(at(90));
    assert_eq!(changes(&mut m), [(4, "off")]);
    assert_eq!(m.truth().on_to_off, 1);
}

#[test]
fn on_boots_with_a_new_boot_id() {
    let mut m = machine(Power::On);
    let before = m.truth().boot_id;
    m.command(Command::ForceOff, at(0));
    m.advance(at(5));
    m.command(Command::On, at(6));
    assert_eq!(m.condition(), Condition::PoweringOn);
    m.advance(at(17));
    assert_eq!((m.condition(), m.truth().booted), (Condition::On, false));
    m.advance(at(18));
    assert_eq!(changes(&mut m), [(4, "off"), (8, "on"), (18, "booted")]);
    assert!(m.truth().booted && m.truth().boot_id != before);
}

#[test]
fn on_during_a_pending_off_wins_after_the_off() {
    let mut m = machine(Power::On);
    m.command(Command::ForceOff, at(0));
    assert_eq!(m.command(Command::On, at(1)), Outcome::Started);
    m.advance(at(60));
    assert_eq!(changes(&mut m), [(4, "off"), (6, "on"), (16, "booted")]);
}

#[test]
fn on_during_a_pending_off_can_be_lost() {
    let mut m = machine(Power::On);
    m.set_behaviour(
        Behaviour {
            lose_on_while_powering_off: true,
            ..Behaviour::default()
        },
        at(0),
    );
    m.command(Command::ForceOff, at(0));
    assert_eq!(m.command(Command::On, at(1)), Outcome::Lost);
    m.advance(at(600));
    assert_eq!(m.truth().power, Power::Off);
}

#[test]
fn force_off_takes_back_a_pending_on() {
    let mut m = machine(Power::Off);
    m.command(Command::On, at(0));
    m.command(Command::ForceOff, at(1));
    m.advance(at(600));
    assert_eq!((m.truth().power, m.truth().off_to_on), (Power::Off, 0));
    let mut m = machine(Power::On);
    m.command(Command::ForceOff, at(0));
    m.command(Command::On, at(1));
    m.command(Command::ForceOff, at(2));
    m.advance(at(600));
    assert_eq!(changes(&mut m), [(4, "off")]);
}

#[test]
fn ignored_offs_leave_it_on_even_when_one_was_pending() {
    let mut m = machine(Power::On);
    m.command(Command::ForceOff, at(0));
    m.set_behaviour(
        Behaviour {
            offs: OffHandling::Ignored,
            ..Behaviour::default()
        },
        at(1),
    );
    assert_eq!(m.command(Command::ForceOff, at(2)), Outcome::Ignored);
    assert_eq!(m.command(Command::PowerCycle, at(2)), Outcome::Ignored);
    m.advance(at(600));
    assert_eq!((m.truth().power, m.condition()), (Power::On, Condition::On));
}

#[test]
fn stuck_off_stays_until_cleared_and_is_then_forgotten() {
    let mut m = machine(Power::On);
    m.set_behaviour(
        Behaviour {
            offs: OffHandling::Stuck,
            ..Behaviour::default()
        },
        at(0),
    );
    assert_eq!(m.condition(), Condition::On);
    m.command(Command::ForceOff, at(1));
    m.advance(at(6000));
    assert_eq!(
        (m.truth().power, m.condition()),
        (Power::On, Condition::PoweringOff)
    );
    m.set_behaviour(Behaviour::default(), at(6000));
    m.advance(at(9000));
    assert_eq!(m.condition(), Condition::On);
    m.command(Command::ForceOff, at(9000));
    m.advance(at(9004));
    assert_eq!(m.truth().power, Power::Off);
}

#[test]
fn graceful_shutdown_is_slow_silent_or_never_and_force_off_overtakes_it() {
    let mut m = machine(Power::On);
    m.command(Command::GracefulShutdown, at(0));
    assert_eq!(m.condition(), Condition::On);
    m.command(Command::ForceOff, at(1));
    m.advance(at(5));
    assert_eq!(changes(&mut m), [(5, "off")]);

    let mut hung = machine(Power::On);
    hung.set_delays(Delays {
        graceful_shutdown: None,
        ..hung.delays()
    });
    assert_eq!(hung.command(Command::GracefulShutdown, at(0)), Outcome::Started);
    assert_eq!(hung.next_deadline(), None);

    let mut polite = machine(Power::On);
    polite.command(Command::GracefulShutdown, at(0));
    polite.advance(at(20));
    assert_eq!(changes(&mut polite), [(20, "off")]);
}

#[test]
fn restarts_keep_the_power_and_change_the_boot_id() {
    for command in [Command::ForceRestart, Command::GracefulRestart] {
        let mut m = machine(Power::On);
        let before = m.truth().boot_id;
        assert_eq!(m.command(command, at(0)), Outcome::Started, "{command:?}");
        m.advance(at(100));
        let truth = m.truth();
        assert_eq!(
            (truth.on_to_off, truth.resets, truth.booted),
            (0, 1, true),
            "{command:?}"
        );
        assert_ne!(truth.boot_id, before, "{command:?}");
        let mut off = machine(Power::Off);
        assert_eq!(off.command(command, at(0)), Outcome::NoChange, "{command:?}");
    }
}

#[test]
fn power_cycle_is_off_then_on() {
    let mut m = machine(Power::On);
    m.command(Command::PowerCycle, at(0));
    m.advance(at(60));
    assert_eq!(changes(&mut m), [(4, "off"), (6, "on"), (16, "booted")]);
}

#[test]
fn powers_on_by_itself_each_time_it_was_off_for_long_enough() {
    let mut m = machine(Power::Off);
    m.set_behaviour(
        Behaviour {
            powers_on_by_itself: Some(at(30)),
            ..Behaviour::default()
        },
        at(5),
    );
    assert_eq!(m.condition(), Condition::Off);
    m.advance(at(40));
    m.command(Command::ForceOff, at(50));
    m.advance(at(200));
    assert_eq!(
        changes(&mut m),
        [
            (35, "on"),
            (45, "booted"),
            (54, "off"),
            (84, "on"),
            (94, "booted")
        ],
        "30 s after it was off, twice"
    );
}

#[test]
fn the_button_acts_at_once_and_past_every_misbehaviour() {
    let mut m = machine(Power::On);
    m.set_behaviour(
        Behaviour {
            offs: OffHandling::Ignored,
            ignore_commands: true,
            ..Behaviour::default()
        },
        at(0),
    );
    assert_eq!(m.command(Command::ForceOff, at(0)), Outcome::Ignored);
    m.press(Power::Off, at(1));
    m.press(Power::Off, at(2));
    m.press(Power::On, at(3));
    assert_eq!(changes(&mut m), [(1, "off"), (3, "on")]);
}

#[test]
fn zero_delays_land_within_the_call() {
    let mut m = PowerMachine::new(
        Power::On,
        Delays::default(),
        Seeded::named(1, "z"),
        Seeded::named(1, "d"),
    );
    m.command(Command::PowerCycle, at(1));
    assert_eq!(changes(&mut m), [(1, "off"), (1, "on"), (1, "booted")]);
}
