//! The power state machine.

mod commands;

use std::time::Duration;

use super::{Behaviour, Change, Condition, Delays, Occurred, OffHandling, Power, Truth};
use crate::seed::Seeded;

/// What has been accepted and has not happened yet. A machine has at most one such thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pending {
    Nothing,
    /// `due: None` = never.
    Off {
        due: Option<Duration>,
        forced: bool,
        then_on: bool,
    },
    Restart {
        due: Option<Duration>,
    },
    On {
        due: Duration,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Boot {
    Down,
    Booting { due: Duration },
    Up,
}

/// Power of one machine: commands and the passage of time in, changes of the truth out.
///
/// Callers settle the past first: [`advance`](Self::advance) to `now`, then act at `now`, then take
/// the changes with [`drain`](Self::drain).
#[derive(Debug)]
pub(crate) struct PowerMachine {
    power: Power,
    since: Duration,
    boot: Boot,
    boot_id: Option<String>,
    pending: Pending,
    self_on: Option<Duration>,
    /// Whether it has no mains: then nothing powers it on.
    dark: bool,
    delays: Delays,
    behaviour: Behaviour,
    on_to_off: u64,
    off_to_on: u64,
    resets: u64,
    boot_ids: Seeded,
    draws: Seeded,
    occurred: Vec<Occurred>,
}

impl PowerMachine {
    /// A machine at rest since instant zero; one that starts on is booted.
    pub(crate) fn new(power: Power, delays: Delays, mut boot_ids: Seeded, draws: Seeded) -> Self {
        let (boot, boot_id) = match power {
            Power::On => (Boot::Up, Some(boot_ids.uuid())),
            Power::Off => (Boot::Down, None),
        };
        Self {
            power,
            since: Duration::ZERO,
            boot,
            boot_id,
            pending: Pending::Nothing,
            self_on: None,
            dark: false,
            delays,
            behaviour: Behaviour::default(),
            on_to_off: 0,
            off_to_on: 0,
            resets: 0,
            boot_ids,
            draws,
            occurred: Vec::new(),
        }
    }

    /// The truth as of the last call.
    pub(crate) fn truth(&self) -> Truth {
        Truth {
            power: self.power,
            since: self.since,
            booted: self.boot == Boot::Up,
            boot_id: self.boot_id.clone(),
            on_to_off: self.on_to_off,
            off_to_on: self.off_to_on,
            resets: self.resets,
        }
    }

    /// What an honest BMC would say. It knows nothing of a system that is asked to shut down.
    pub(crate) fn condition(&self) -> Condition {
        match (self.power, self.pending) {
            (Power::On, Pending::Off { forced: true, .. }) => Condition::PoweringOff,
            (Power::Off, Pending::On { .. }) => Condition::PoweringOn,
            (Power::On, _) => Condition::On,
            (Power::Off, _) => Condition::Off,
        }
    }

    /// Whether nothing that was asked for is still to happen; booting is not asked for.
    pub(crate) fn is_idle(&self) -> bool {
        self.pending == Pending::Nothing
    }

    /// Current delays.
    pub(crate) fn delays(&self) -> Delays {
        self.delays
    }

    /// Replaces the delays for commands to come.
    pub(crate) fn set_delays(&mut self, delays: Delays) {
        self.delays = delays;
    }

    /// Takes the changes since the last call, oldest first.
    pub(crate) fn drain(&mut self) -> Vec<Occurred> {
        std::mem::take(&mut self.occurred)
    }

    /// Changes the misbehaviour. A stuck power-off is forgotten when the machine unsticks.
    pub(crate) fn set_behaviour(&mut self, behaviour: Behaviour, now: Duration) {
        let was_stuck = self.behaviour.offs == OffHandling::Stuck;
        self.behaviour = behaviour;
        if let Pending::Off { forced, then_on, .. } = self.pending {
            match behaviour.offs {
                OffHandling::Normal if was_stuck => self.pending = Pending::Nothing,
                OffHandling::Normal => {}
                OffHandling::Ignored => self.pending = Pending::Nothing,
                OffHandling::Stuck => {
                    self.pending = Pending::Off {
                        due: None,
                        forced,
                        then_on,
                    }
                }
            }
        }
        self.self_on = match (behaviour.powers_on_by_itself, self.power) {
            (Some(after), Power::Off) if !self.dark => {
                Some(self.self_on.unwrap_or_else(|| now.saturating_add(after)))
            }
            (Some(_), Power::On | Power::Off) | (None, _) => None,
        };
    }

    /// Sets the truth at once, past any misbehaviour: somebody pressed the button.
    pub(crate) fn press(&mut self, to: Power, now: Duration) {
        match (self.power, to) {
            (Power::On, Power::Off) => self.land_off(now),
            (Power::Off, Power::On) => self.land_on(now),
            (Power::On, Power::On) | (Power::Off, Power::Off) => {}
        }
        self.advance(now);
    }

    /// The mains fail: power is gone at once, with everything that was under way.
    pub(crate) fn lose_mains(&mut self, now: Duration) {
        self.pending = Pending::Nothing;
        self.press(Power::Off, now);
        self.self_on = None;
        self.dark = true;
    }

    /// The mains are back. Whether it powers on is the hardware's setting and no command: nothing that happens
    /// to commands happens to that.
    pub(crate) fn regain_mains(&mut self, powers_on: bool, now: Duration) {
        self.dark = false;
        if powers_on {
            self.pending = Pending::On {
                due: now.saturating_add(self.delays.on.draw(&mut self.draws)),
            };
        }
        self.set_behaviour(self.behaviour, now);
        self.advance(now);
    }

    /// The next instant at which something happens by itself.
    pub(crate) fn next_deadline(&self) -> Option<Duration> {
        let pending = match self.pending {
            Pending::Nothing => None,
            Pending::Off { due, .. } | Pending::Restart { due } => due,
            Pending::On { due } => Some(due),
        };
        let boot = match self.boot {
            Boot::Booting { due } => Some(due),
            Boot::Down | Boot::Up => None,
        };
        [pending, boot, self.self_on].into_iter().flatten().min()
    }

    /// Lets everything happen that is due by `now`, in order of its own instant.
    pub(crate) fn advance(&mut self, now: Duration) {
        while let Some(due) = self.next_deadline().filter(|due| *due <= now) {
            self.happen(due);
        }
    }

    fn happen(&mut self, due: Duration) {
        // Booting goes first on a tie: a system that came up and fell in the same instant did come up.
        if self.boot == (Boot::Booting { due }) {
            self.boot_up(due);
            return;
        }
        match self.pending {
            Pending::Off { due: Some(at), .. } if at == due => self.land_off(due),
            Pending::Restart { due: Some(at) } if at == due => {
                self.pending = Pending::Nothing;
                self.reset(due);
            }
            Pending::On { due: at } if at == due => self.land_on(due),
            Pending::Nothing | Pending::Off { .. } | Pending::Restart { .. } | Pending::On { .. } => {
                self.land_on(due);
            }
        }
    }

    fn land_off(&mut self, at: Duration) {
        let then_on = matches!(self.pending, Pending::Off { then_on: true, .. });
        self.power = Power::Off;
        self.since = at;
        self.boot = Boot::Down;
        self.on_to_off = self.on_to_off.saturating_add(1);
        self.record(at, Change::PoweredOff);
        self.pending = if then_on {
            Pending::On {
                due: at.saturating_add(self.delays.on.draw(&mut self.draws)),
            }
        } else {
            Pending::Nothing
        };
        self.self_on = self
            .behaviour
            .powers_on_by_itself
            .map(|after| at.saturating_add(after));
    }

    fn land_on(&mut self, at: Duration) {
        self.power = Power::On;
        self.since = at;
        self.pending = Pending::Nothing;
        self.self_on = None;
        self.off_to_on = self.off_to_on.saturating_add(1);
        self.boot = Boot::Booting {
            due: at.saturating_add(self.delays.boot.draw(&mut self.draws)),
        };
        self.record(at, Change::PoweredOn);
    }

    fn reset(&mut self, at: Duration) {
        self.resets = self.resets.saturating_add(1);
        self.boot = Boot::Booting {
            due: at.saturating_add(self.delays.boot.draw(&mut self.draws)),
        };
        self.record(at, Change::Reset);
    }

    fn boot_up(&mut self, at: Duration) {
        let boot_id = self.boot_ids.uuid();
        self.boot = Boot::Up;
        self.boot_id = Some(boot_id.clone());
        self.record(at, Change::Booted { boot_id });
    }

    fn record(&mut self, at: Duration, change: Change) {
        self.occurred.push(Occurred { at, change });
    }
}
