//! The faults in force on one BMC.

use std::time::Duration;

use super::effect::{Aftermath, Answer, Connection, Effect};
use super::{Asked, CertificateDefect, Fault, Injection, IpmiEffect};
use crate::RequestClass;
use crate::power::{Behaviour, OffHandling};
use crate::seed::Seeded;

/// A fault that was set.
#[derive(Debug)]
struct Active {
    injection: Injection,
    /// When, as time since the simulation began.
    set: Duration,
}

impl Active {
    fn is_in_force(&self, now: Duration) -> bool {
        let age = now.saturating_sub(self.set);
        self.injection.window.is_none_or(|window| window.holds(age))
    }

    /// The next instant after `now` at which it begins or ends by itself.
    fn next_edge(&self, now: Duration) -> Option<Duration> {
        let window = self.injection.window?;
        let edges = [window.from, window.until].map(|edge| self.set.saturating_add(edge));
        edges.into_iter().find(|edge| *edge > now)
    }
}

/// The faults of one BMC, in the order they were injected; the first that applies wins.
#[derive(Debug)]
pub(crate) struct FaultSet {
    active: Vec<Active>,
    now: Duration,
    draws: Seeded,
}

impl FaultSet {
    /// No faults. Chance is drawn from `draws`.
    pub(crate) fn new(draws: Seeded) -> Self {
        Self {
            active: Vec::new(),
            now: Duration::ZERO,
            draws,
        }
    }

    /// Sets a fault, at the present instant.
    pub(crate) fn add(&mut self, mut injection: Injection) {
        injection.on = injection.on.or(injection.fault.usual_class());
        self.active.push(Active {
            injection,
            set: self.now,
        });
    }

    pub(crate) fn clear(&mut self) {
        self.active.clear();
    }

    /// All faults that were set and not used up, also those outside their window.
    pub(crate) fn list(&self) -> Vec<Injection> {
        self.active
            .iter()
            .map(|active| active.injection.clone())
            .collect()
    }

    /// Lets time pass up to `now`; the caller looks at [`next_edge`](Self::next_edge) before.
    pub(crate) fn advance(&mut self, now: Duration) {
        self.now = now;
    }

    /// The next instant at which a fault begins or ends by itself.
    pub(crate) fn next_edge(&self) -> Option<Duration> {
        let edges = self.active.iter().filter_map(|active| active.next_edge(self.now));
        edges.min()
    }

    pub(crate) fn has(&self, fault: &Fault) -> bool {
        self.find(|present| (present == fault).then_some(())).is_some()
    }

    /// What the faults mean to the machine.
    pub(crate) fn behaviour(&self) -> Behaviour {
        let offs = if self.has(&Fault::LieOffWhileOn) {
            OffHandling::Ignored
        } else if self.has(&Fault::StuckPoweringOff) {
            OffHandling::Stuck
        } else {
            OffHandling::Normal
        };
        Behaviour {
            offs,
            ignore_commands: self.has(&Fault::AcceptAndIgnore),
            lose_on_while_powering_off: self.has(&Fault::LoseOnWhilePoweringOff),
            powers_on_by_itself: self.find(|fault| {
                if let Fault::PowersOnByItself { after } = fault {
                    Some(*after)
                } else {
                    None
                }
            }),
            lose_on_after_off: self.find(|fault| {
                if let Fault::OnLostAfterOff { within } = fault {
                    Some(*within)
                } else {
                    None
                }
            }),
        }
    }

    /// What is wrong with the certificate that is presented.
    pub(crate) fn certificate_defect(&self) -> Option<CertificateDefect> {
        self.find(|fault| {
            if let Fault::Certificate(defect) = fault {
                Some(*defect)
            } else {
                None
            }
        })
    }

    /// How old what is reported is.
    pub(crate) fn report_age(&self) -> Option<Duration> {
        self.find(|fault| {
            if let Fault::StaleReads { age } = fault {
                Some(*age)
            } else {
                None
            }
        })
    }

    /// How long the truth and its opposite are reported in turn.
    pub(crate) fn report_flaps(&self) -> Option<Duration> {
        self.find(|fault| {
            if let Fault::ReportFlaps { every } = fault {
                Some(*every)
            } else {
                None
            }
        })
    }

    /// Requests in one second at which the BMC gives up.
    pub(crate) fn rate_limit(&self) -> Option<u32> {
        self.find(|fault| {
            if let Fault::CrashAbove { requests_per_second } = fault {
                Some(*requests_per_second)
            } else {
                None
            }
        })
    }

    /// What becomes of a connection that was just accepted.
    pub(crate) fn take_connection(&mut self) -> Option<(&'static str, Connection)> {
        self.take(&RequestClass::Connect.into(), |effect| {
            if let Effect::Connection(what) = effect {
                Some(what)
            } else {
                None
            }
        })
    }

    /// Whether a connection is reset because a request came over it before.
    pub(crate) fn take_reuse(&mut self, asked: Asked<'_>) -> Option<&'static str> {
        self.take(&asked, |effect| (effect == Effect::Reuse).then_some(()))
            .map(|(name, ())| name)
    }

    /// Whether this makes the BMC reboot.
    pub(crate) fn take_reboot<'a>(&mut self, asked: impl Into<Asked<'a>>) -> Option<&'static str> {
        self.take(&asked.into(), |effect| (effect == Effect::Reboot).then_some(()))
            .map(|(name, ())| name)
    }

    /// Whether an On that comes so long after the machine went off is refused.
    pub(crate) fn take_too_soon<'a>(&mut self, asked: impl Into<Asked<'a>>, off_for: Duration) -> bool {
        let too_soon = |effect| {
            if let Effect::TooSoon(within) = effect {
                (off_for < within).then_some(())
            } else {
                None
            }
        };
        self.take(&asked.into(), too_soon).is_some()
    }

    /// The word to report when the machine's own is `honest`; absent = null.
    pub(crate) fn reported(&self, honest: &str) -> Option<String> {
        let literal = self.find(|fault| {
            if let Fault::ReportLiteral(literal) = fault {
                Some(literal.clone())
            } else {
                None
            }
        });
        let lie = self.has(&Fault::LieOffWhileOn);
        literal.unwrap_or_else(|| Some(if lie { "Off" } else { honest }.to_owned()))
    }

    /// The answer to give in place of the real one.
    pub(crate) fn take_answer<'a>(&mut self, asked: impl Into<Asked<'a>>) -> Option<(&'static str, Answer)> {
        self.take(&asked.into(), |effect| {
            if let Effect::Answer(answer) = effect {
                Some(answer)
            } else {
                None
            }
        })
    }

    /// What to do to the real answer.
    pub(crate) fn take_aftermath<'a>(
        &mut self,
        asked: impl Into<Asked<'a>>,
    ) -> Option<(&'static str, Aftermath)> {
        self.take(&asked.into(), |effect| {
            if let Effect::Aftermath(what) = effect {
                Some(what)
            } else {
                None
            }
        })
    }

    /// Whether this request's credentials are refused whatever they are.
    pub(crate) fn take_rejection<'a>(&mut self, asked: impl Into<Asked<'a>>) -> bool {
        self.take(&asked.into(), |effect| (effect == Effect::Login).then_some(()))
            .is_some()
    }

    /// Whether a reset to the present state is refused.
    pub(crate) fn take_conflict<'a>(&mut self, asked: impl Into<Asked<'a>>) -> bool {
        self.take(&asked.into(), |effect| (effect == Effect::Conflict).then_some(()))
            .is_some()
    }

    /// What is done to a request over IPMI, of what is wanted.
    pub(crate) fn take_ipmi<T>(
        &mut self,
        class: RequestClass,
        wanted: impl Fn(IpmiEffect) -> Option<T>,
    ) -> Option<(&'static str, T)> {
        self.take(&class.into(), |effect| {
            if let Effect::Ipmi(effect) = effect {
                wanted(effect)
            } else {
                None
            }
        })
    }

    fn find<T>(&self, wanted: impl Fn(&Fault) -> Option<T>) -> Option<T> {
        let in_force = self.active.iter().filter(|active| active.is_in_force(self.now));
        in_force.map(|active| &active.injection.fault).find_map(wanted)
    }

    /// The first fault that is wanted and hits what is asked; uses up one of its times.
    fn take<T>(
        &mut self,
        asked: &Asked<'_>,
        wanted: impl Fn(Effect) -> Option<T>,
    ) -> Option<(&'static str, T)> {
        let Self { active, now, draws } = self;
        let mut hit = None;
        for (index, one) in active.iter_mut().enumerate() {
            let name = one.injection.fault.name();
            if !one.is_in_force(*now) || !asked.is_selected_by(&one.injection) {
                continue;
            }
            let Some(found) = wanted(one.injection.fault.effect()) else {
                continue;
            };
            if hits(&mut one.injection, draws) {
                hit = Some((index, (name, found)));
                break;
            }
        }
        let (index, found) = hit?;
        if active
            .get(index)
            .is_some_and(|one| one.injection.times == Some(0))
        {
            active.remove(index);
        }
        Some(found)
    }
}

/// Whether a fault that applies hits now; counts what it spares and what it hits.
fn hits(injection: &mut Injection, draws: &mut Seeded) -> bool {
    if let Some(skip) = injection.skip.as_mut().filter(|skip| **skip > 0) {
        *skip = skip.saturating_sub(1);
        return false;
    }
    let by_chance = injection
        .probability
        .is_none_or(|probability| probability.hits(draws.next()));
    if by_chance {
        injection.times = injection.times.map(|times| times.saturating_sub(1));
    }
    by_chance
}

#[cfg(test)]
#[path = "set_tests.rs"]
mod tests;
