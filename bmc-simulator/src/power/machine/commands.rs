//! What each command means in each state.

use std::time::Duration;

use super::{Boot, Pending, PowerMachine};
use crate::power::{Command, OffHandling, Outcome, Power};

impl PowerMachine {
    /// Accepts a command at `now`.
    pub(crate) fn command(&mut self, command: Command, now: Duration) -> Outcome {
        if self.behaviour.ignore_commands {
            return Outcome::Ignored;
        }
        let outcome = match command {
            Command::On => self.ask_on(now),
            Command::ForceOff => self.ask_off(now, false),
            Command::PowerCycle if self.power == Power::On => self.ask_off(now, true),
            Command::GracefulShutdown if self.power == Power::On => self.ask_shutdown(now),
            Command::GracefulRestart if self.power == Power::On => self.ask_restart(now),
            Command::ForceRestart if self.power == Power::On => {
                self.reset(now);
                if self.behaviour.restart_hangs {
                    self.boot = Boot::Down;
                }
                Outcome::Started
            }
            // A machine without power has nothing to restart or to shut down.
            Command::PowerCycle
            | Command::GracefulShutdown
            | Command::GracefulRestart
            | Command::ForceRestart => Outcome::NoChange,
        };
        self.advance(now);
        outcome
    }

    fn ask_on(&mut self, now: Duration) -> Outcome {
        match (self.power, self.pending) {
            (Power::On, Pending::Off { .. }) if self.behaviour.lose_on_while_powering_off => Outcome::Lost,
            (
                Power::On,
                Pending::Off {
                    due,
                    forced,
                    then_on: false,
                },
            ) => {
                self.pending = Pending::Off {
                    due,
                    forced,
                    then_on: true,
                };
                Outcome::Started
            }
            (Power::On, _) | (Power::Off, Pending::On { .. }) => Outcome::NoChange,
            (Power::Off, _) if self.went_off_too_lately(now) => Outcome::Lost,
            (Power::Off, Pending::Nothing | Pending::Off { .. } | Pending::Restart { .. }) => {
                self.pending = Pending::On {
                    due: now.saturating_add(self.delays.on.draw(&mut self.draws)),
                };
                Outcome::Started
            }
        }
    }

    fn went_off_too_lately(&self, now: Duration) -> bool {
        let off_for = now.saturating_sub(self.since);
        let within = self.behaviour.lose_on_after_off;
        self.on_to_off > 0 && within.is_some_and(|within| off_for < within)
    }

    fn ask_off(&mut self, now: Duration, then_on: bool) -> Outcome {
        match (self.power, self.pending) {
            (Power::Off, Pending::On { .. }) => {
                self.pending = Pending::Nothing;
                Outcome::Started
            }
            (Power::Off, _) => Outcome::NoChange,
            (Power::On, pending) => match self.behaviour.offs {
                OffHandling::Ignored => Outcome::Ignored,
                OffHandling::Stuck => {
                    self.pending = Pending::Off {
                        due: None,
                        forced: true,
                        then_on,
                    };
                    Outcome::Started
                }
                OffHandling::Normal => self.schedule_off(now, then_on, pending),
            },
        }
    }

    /// A repeated power-off never postpones the first; the newest command decides what follows it.
    fn schedule_off(&mut self, now: Duration, then_on: bool, pending: Pending) -> Outcome {
        let fresh = now.saturating_add(self.delays.off.draw(&mut self.draws));
        let due = match pending {
            Pending::Off {
                due: Some(earlier), ..
            } => earlier.min(fresh),
            Pending::Off { due: None, .. }
            | Pending::Nothing
            | Pending::Restart { .. }
            | Pending::On { .. } => fresh,
        };
        let wanted = Pending::Off {
            due: Some(due),
            forced: true,
            then_on,
        };
        let outcome = if pending == wanted {
            Outcome::NoChange
        } else {
            Outcome::Started
        };
        self.pending = wanted;
        outcome
    }

    fn ask_shutdown(&mut self, now: Duration) -> Outcome {
        match (self.behaviour.offs, self.pending) {
            (OffHandling::Ignored, _) => Outcome::Ignored,
            (_, Pending::Off { .. }) => Outcome::NoChange,
            (handling, Pending::Nothing | Pending::Restart { .. } | Pending::On { .. }) => {
                let due = match handling {
                    OffHandling::Stuck => None,
                    OffHandling::Normal | OffHandling::Ignored => self.graceful_due(now),
                };
                let stuck = handling == OffHandling::Stuck;
                self.pending = Pending::Off {
                    due,
                    forced: stuck,
                    then_on: false,
                };
                Outcome::Started
            }
        }
    }

    fn ask_restart(&mut self, now: Duration) -> Outcome {
        if self.pending != Pending::Nothing {
            return Outcome::NoChange;
        }
        self.pending = Pending::Restart {
            due: self.graceful_due(now),
        };
        Outcome::Started
    }

    fn graceful_due(&mut self, now: Duration) -> Option<Duration> {
        let delay = self.delays.graceful_shutdown?;
        Some(now.saturating_add(delay.draw(&mut self.draws)))
    }
}
