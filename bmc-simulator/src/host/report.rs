//! What a BMC says the power is: the truth, or what faults make of it.

use std::collections::VecDeque;
use std::time::Duration;

use super::Acting;
use crate::fault::Fault;
use crate::per_machine::Slot;
use crate::power::Condition;

/// Changes remembered for reports that lag behind.
const REMEMBERED: usize = 64;

/// What an honest BMC would have said, and since when.
#[derive(Debug, Default)]
pub(crate) struct History {
    changes: VecDeque<(Duration, Condition)>,
}

impl History {
    /// Notes what is true now.
    pub(super) fn note(&mut self, now: Duration, condition: Condition) {
        if self.changes.back().is_some_and(|(_, last)| *last == condition) {
            return;
        }
        if self.changes.len() >= REMEMBERED {
            self.changes.pop_front();
        }
        self.changes.push_back((now, condition));
    }

    /// What was true at an instant; the oldest that is known when it is too long ago.
    fn at(&self, instant: Duration) -> Option<Condition> {
        let before = self.changes.iter().rev().find(|(since, _)| *since <= instant);
        before.or(self.changes.front()).map(|(_, condition)| *condition)
    }
}

impl Acting<'_> {
    /// The word to report as a system's power state now; absent = null.
    pub(crate) fn reported(&self, slot: Slot) -> Option<String> {
        let faults = self.faults_of(slot);
        if faults.has(&Fault::HostStateUnreachable) {
            None
        } else if faults.has(&Fault::HostStateUnknown) {
            Some(Condition::Off.as_str().to_owned())
        } else {
            self.chassis_power(slot)
        }
    }

    /// The word for the power that the chassis gives a machine, whatever the BMC knows of the system on it.
    pub(crate) fn chassis_power(&self, slot: Slot) -> Option<String> {
        let (faults, machine) = (self.faults_of(slot), self.state.machines.get(slot));
        let honest = machine.power.condition();
        let glitch = honest == Condition::On && self.now < machine.shows_powering_on;
        let present = if glitch { Condition::PoweringOn } else { honest };
        let known = match faults.report_age() {
            Some(age) => {
                let then = self.now.saturating_sub(age);
                machine.history.at(then).unwrap_or(present)
            }
            None => present,
        };
        let flapped = faults.report_flaps().is_some_and(|every| is_odd(self.now, every));
        faults.reported(if flapped { opposite(known) } else { known }.as_str())
    }
}

/// Whether an odd number of spans is over.
fn is_odd(now: Duration, every: Duration) -> bool {
    let spans = now.as_nanos().checked_div(every.as_nanos());
    spans.is_some_and(|spans| spans.rem_euclid(2) == 1)
}

fn opposite(condition: Condition) -> Condition {
    match condition {
        Condition::On | Condition::PoweringOff => Condition::Off,
        Condition::Off | Condition::PoweringOn => Condition::On,
    }
}

#[cfg(test)]
mod tests {
    use super::{Condition, Duration, History, REMEMBERED};

    #[test]
    fn remembers_what_was_true_when() {
        let second = Duration::from_secs;
        let mut history = History::default();
        assert_eq!(history.at(second(1)), None);
        for (at, condition) in [(0, Condition::On), (5, Condition::On), (10, Condition::Off)] {
            history.note(second(at), condition);
        }
        assert_eq!(history.at(second(9)), Some(Condition::On));
        assert_eq!(history.at(second(10)), Some(Condition::Off));
        for at in 11..200 {
            history.note(
                second(at),
                if at % 2 == 0 {
                    Condition::Off
                } else {
                    Condition::On
                },
            );
        }
        assert_eq!(history.changes.len(), REMEMBERED);
        assert_eq!(
            history.at(second(0)),
            history.at(second(200 - 64)),
            "the oldest that is known"
        );
    }
}
