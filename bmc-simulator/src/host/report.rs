//! What a BMC says the power is: the truth, or what faults make of it.

use std::collections::VecDeque;
use std::time::Duration;

use super::Acting;
use super::core::HostState;
use crate::fault::Fault;
use crate::per_machine::Slot;
use crate::power::Condition;
use crate::spec::Identities;

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

    /// When the first change after an instant was; absent = before everything.
    fn next_after(&self, instant: Option<Duration>) -> Option<Duration> {
        let mut changes = self.changes.iter().map(|(since, _)| *since);
        changes.find(|since| instant.is_none_or(|instant| *since > instant))
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
        self.reported_at(slot, self.now, self.power(slot).condition())
    }

    /// The word to report at an instant at which this is true.
    pub(crate) fn reported_at(&self, slot: Slot, at: Duration, honest: Condition) -> Option<String> {
        let faults = self.faults_of(slot);
        if faults.has(&Fault::HostStateUnreachable) {
            None
        } else if faults.has(&Fault::HostStateUnknown) {
            Some(Condition::Off.as_str().to_owned())
        } else {
            self.chassis_power_at(slot, at, honest)
        }
    }

    /// The word for the power that the chassis gives a machine, whatever the BMC knows of the system on it.
    pub(crate) fn chassis_power(&self, slot: Slot) -> Option<String> {
        self.chassis_power_at(slot, self.now, self.power(slot).condition())
    }

    fn chassis_power_at(&self, slot: Slot, at: Duration, honest: Condition) -> Option<String> {
        let (faults, machine) = (self.faults_of(slot), self.state.machines.get(slot));
        let glitch = honest == Condition::On && at < machine.shows_powering_on;
        let present = if glitch { Condition::PoweringOn } else { honest };
        let known = match faults.report_age() {
            Some(age) => {
                let then = at.saturating_sub(age);
                machine.history.at(then).unwrap_or(present)
            }
            None => present,
        };
        let flapped = faults.report_flaps().is_some_and(|every| is_odd(at, every));
        faults.reported(if flapped { opposite(known) } else { known }.as_str())
    }
}

impl HostState {
    /// The next instant at which what is reported changes though nothing happens to a machine; absent while
    /// nobody is told of it.
    pub(super) fn next_report(&self, identities: &Identities) -> Option<Duration> {
        if !self.redfish.has_subscribers() {
            return None;
        }
        let now = self.settled;
        let edges = self.machines.slots().flat_map(|slot| {
            let machine = self.machines.get(slot);
            let faults = self.faults.of(&identities.real(slot).id);
            let aged = faults.report_age().and_then(|age| {
                let told = now.checked_sub(age);
                let next = machine.history.next_after(told)?;
                Some(next.saturating_add(age))
            });
            let flapped = faults.report_flaps().and_then(|every| next_multiple(now, every));
            let shown = Some(machine.shows_powering_on).filter(|until| *until > now);
            [aged, flapped, shown]
        });
        edges.flatten().min()
    }
}

/// The first instant after `now` at which another span is over.
fn next_multiple(now: Duration, every: Duration) -> Option<Duration> {
    let over = now.as_nanos().checked_rem(every.as_nanos())?;
    let left = every.as_nanos().checked_sub(over)?;
    let left = Duration::from_nanos(u64::try_from(left).ok()?);
    now.checked_add(left)
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
