//! The faults in force on one BMC.

use std::time::Duration;

use super::effect::Effect;
use super::{Asked, Fault, Injection};
use crate::seed::Seeded;

/// A fault that was set.
#[derive(Debug)]
struct Active {
    injection: Injection,
    /// When, as time since the simulation began.
    set: Duration,
}

impl Active {
    fn new(mut injection: Injection, set: Duration) -> Self {
        injection.on = injection.on.or(injection.fault.usual_class());
        Self { injection, set }
    }

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

/// The faults of one BMC. Those that were injected come in their order, then those of the personality;
/// the first that applies wins. One of the personality rests while one of the same name is injected, or
/// what was said could not win over what is usual.
#[derive(Debug)]
pub(crate) struct FaultSet {
    injected: Vec<Active>,
    personality: Vec<Active>,
    now: Duration,
    draws: Seeded,
}

impl FaultSet {
    /// No faults. Chance is drawn from `draws`.
    pub(crate) fn new(draws: Seeded) -> Self {
        Self {
            injected: Vec::new(),
            personality: Vec::new(),
            now: Duration::ZERO,
            draws,
        }
    }

    /// Sets a fault, at the present instant.
    pub(crate) fn add(&mut self, injection: Injection) {
        self.injected.push(Active::new(injection, self.now));
    }

    /// Replaces the faults that belong to the personality.
    pub(crate) fn set_personality(&mut self, faults: Vec<Injection>) {
        let now = self.now;
        let active = faults.into_iter().map(|fault| Active::new(fault, now));
        self.personality = active.collect();
    }

    /// Ends what was injected.
    pub(crate) fn clear(&mut self) {
        self.injected.clear();
    }

    /// Ends the injected faults that a restart of the BMC cures; whether there were any.
    pub(crate) fn cure_by_restart(&mut self) -> bool {
        let before = self.injected.len();
        self.injected
            .retain(|one| !one.injection.fault.is_cured_by_restart());
        self.injected.len() < before
    }

    /// All that were injected and are not used up, also those outside their window.
    pub(crate) fn list(&self) -> Vec<Injection> {
        injections(&self.injected)
    }

    /// Those of the personality, also while they rest.
    pub(crate) fn of_personality(&self) -> Vec<Injection> {
        injections(&self.personality)
    }

    /// Lets time pass up to `now`; the caller looks at [`next_edge`](Self::next_edge) before.
    pub(crate) fn advance(&mut self, now: Duration) {
        self.now = now;
    }

    /// The next instant at which a fault begins or ends by itself.
    pub(crate) fn next_edge(&self) -> Option<Duration> {
        let all = self.injected.iter().chain(&self.personality);
        all.filter_map(|active| active.next_edge(self.now)).min()
    }

    /// Whether a fault of the BMC is in force.
    pub(crate) fn has(&self, fault: &Fault) -> bool {
        self.find(|present| (present == fault).then_some(())).is_some()
    }

    /// What the first fault in force says that is wanted, of those of the BMC.
    pub(super) fn find<T>(&self, wanted: impl Fn(&Fault) -> Option<T>) -> Option<T> {
        self.find_of(None, wanted)
    }

    /// The same, with those of one system.
    pub(super) fn find_of<T>(&self, system: Option<&str>, wanted: impl Fn(&Fault) -> Option<T>) -> Option<T> {
        let injected = self.injected.iter().filter(|one| one.is_in_force(self.now));
        let usual = self.personality.iter().filter(|one| self.is_awake(one, system));
        let all = injected.chain(usual);
        let mut of_system = all.filter(|one| one.injection.is_of(system));
        of_system.find_map(|active| wanted(&active.injection.fault))
    }

    /// Whether one that was set is as wanted, in force or not.
    pub(super) fn any(&self, wanted: impl Fn(&Fault) -> bool) -> bool {
        let mut all = self.injected.iter().chain(&self.personality);
        all.any(|active| wanted(&active.injection.fault))
    }

    /// Whether a fault of the personality is in force for a system.
    fn is_awake(&self, one: &Active, system: Option<&str>) -> bool {
        let name = one.injection.fault.name();
        let rivals = self.injected.iter().filter(|rival| rival.is_in_force(self.now));
        let mut rivals = rivals.filter(|rival| rival.injection.is_of(system));
        one.is_in_force(self.now) && !rivals.any(|rival| rival.injection.fault.name() == name)
    }

    /// The first fault that is wanted and hits what is asked; uses up one of its times. What is wanted must
    /// be what would have an effect: what has none hits nothing.
    pub(super) fn take<T>(
        &mut self,
        asked: &Asked<'_>,
        mut wanted: impl FnMut(Effect) -> Option<T>,
    ) -> Option<(&'static str, T)> {
        let awake: Vec<bool> = self
            .personality
            .iter()
            .map(|one| self.is_awake(one, asked.system))
            .collect();
        let Self {
            injected,
            personality,
            now,
            draws,
        } = self;
        let in_force = injected.iter_mut().filter(|one| one.is_in_force(*now));
        let usual = personality
            .iter_mut()
            .zip(awake)
            .filter_map(|(one, awake)| awake.then_some(one));
        let mut hit = None;
        for one in in_force.chain(usual) {
            if !asked.is_selected_by(&one.injection) {
                continue;
            }
            let Some(found) = wanted(one.injection.fault.effect()) else {
                continue;
            };
            if hits(&mut one.injection, draws) {
                hit = Some((one.injection.fault.name(), found));
                break;
            }
        }
        injected.retain(|one| one.injection.times != Some(0));
        personality.retain(|one| one.injection.times != Some(0));
        hit
    }
}

fn injections(active: &[Active]) -> Vec<Injection> {
    active.iter().map(|one| one.injection.clone()).collect()
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
