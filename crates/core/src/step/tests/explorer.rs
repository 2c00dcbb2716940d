//! Explores what `step` does under every choice of faults and events, and checks every state.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::menu::Menu;
use super::shell::{Fault, MANY_WAITS, Sim, Turn};
use crate::decision::{Act, Decision};
use crate::phase::{Phase, Reason};

/// One run in progress, with the choices that led to it.
#[derive(Clone)]
pub(super) struct Run {
    pub(super) sim: Sim,
    pub(super) choices: Vec<String>,
    budget: u32,
    /// Waits in a row for the end of a pause, which may last for ever.
    pub(super) paused: u32,
    /// Waits after it was given up, while its host may be off.
    given_up: u32,
}

pub(super) struct Explorer {
    menu: Menu,
    seen: BTreeSet<u64>,
    pub(super) states: usize,
    pub(super) runs: usize,
    pub(super) endings: BTreeMap<String, usize>,
    /// What went wrong, how often, and the first story of it.
    pub(super) breaches: BTreeMap<String, (usize, Vec<String>)>,
    /// What else has to hold at the end of a run.
    pub(super) on_end: fn(&Sim) -> Result<(), &'static str>,
}

impl Explorer {
    pub(super) fn new(menu: Menu) -> Self {
        Self {
            menu,
            seen: BTreeSet::new(),
            states: 0,
            runs: 0,
            endings: BTreeMap::new(),
            breaches: BTreeMap::new(),
            on_end: |_| Ok(()),
        }
    }

    /// Explores from a start with so many faults or events in one run, and demands that nothing was breached and
    /// that there was something to explore.
    pub(super) fn demand(mut self, what: &str, start: Sim, budget: u32, at_least: usize) -> Self {
        self.explore(start, budget);
        println!("{what}: {} states, {} runs", self.states, self.runs);
        println!("{:#?}", self.endings);
        assert!(self.breaches.is_empty(), "{what}: {:#?}", self.breaches);
        assert!(self.states >= at_least, "{what}: only {} states", self.states);
        self
    }

    fn explore(&mut self, start: Sim, budget: u32) {
        let mut open = vec![Run {
            sim: start,
            choices: Vec::new(),
            budget,
            paused: 0,
            given_up: 0,
        }];
        while let Some(run) = open.pop() {
            // Runs that differ only in how they came here have one future.
            if self.seen.insert(state(&run)) {
                self.follow(run, &mut open);
            }
        }
    }

    /// Follows a run to its end without further faults, and leaves every branch in `open`.
    fn follow(&mut self, mut run: Run, open: &mut Vec<Run>) {
        let mut before = None;
        loop {
            let phase = run.sim.journal.phase;
            // A state takes long to compare: here is where runs meet again that a fault has parted.
            if before.replace(phase).is_some_and(|before| before != phase) && !self.seen.insert(state(&run)) {
                return;
            }
            self.states += 1;
            let decision = run.sim.decide();
            if run.budget > 0 {
                self.branch(&run, &decision, open);
            }
            let releases = run.sim.released_at.len();
            let turn = run.sim.turn_with(decision, Fault::None);
            self.check_state(&run, releases);
            let waited = turn == Turn::Waited;
            let holds = [Reason::PolicyPaused, Reason::TooManyUnhealthy];
            let paused = waited && holds.iter().any(|reason| run.sim.journal.is_because(*reason));
            run.paused = if paused { run.paused + 1 } else { 0 };
            run.given_up += u32::from(waited && run.sim.owes_power_for_ever());
            if run.paused > 2 || run.given_up > MANY_WAITS {
                self.runs += 1;
                self.check_end(&run);
                return;
            }
            if turn == Turn::Over {
                self.runs += 1;
                run.sim.world.settle();
                self.check_end(&run);
                return;
            }
            if run.sim.counts.turns > 1_500 {
                self.breach(&run, "no end");
                return;
            }
        }
    }

    fn branch(&mut self, run: &Run, decision: &Decision, open: &mut Vec<Run>) {
        let place = format!(
            "{:?}/{:?}",
            run.sim.journal.phase,
            decision.act.as_ref().map(name)
        );
        for fault in self.menu.faults(&run.sim, decision) {
            let mut branch = run.clone();
            branch.budget -= 1;
            branch.choices.push(format!("{place}: {fault:?}"));
            let releases = branch.sim.released_at.len();
            branch.sim.turn_with(decision.clone(), fault);
            self.check_state(&branch, releases);
            open.push(branch);
        }
        for event in self.menu.events(&run.sim) {
            let mut branch = run.clone();
            branch.budget -= 1;
            branch.choices.push(format!("{place}: {event:?}"));
            event.happen(&mut branch.sim);
            open.push(branch);
        }
    }

    pub(super) fn breach(&mut self, run: &Run, what: &str) {
        let entry = self.breaches.entry(what.to_owned()).or_insert_with(|| {
            let mut story = run.choices.clone();
            story.push(format!(
                "-> {:?} {} {}",
                run.sim.journal.phase, run.sim.journal.reason, run.sim.journal.message
            ));
            // A deep exploration may be ended before its end.
            println!("{what}: {story:#?}");
            (0, story)
        });
        entry.0 += 1;
    }
}

/// Nothing but a power cycle in the first attempt, after which the remediation has succeeded.
pub(super) fn one_power_cycle(sim: &Sim) -> Result<(), &'static str> {
    let once = sim.edges(false, 1) == 1 && sim.edges(true, 1) == 1;
    let done = sim.journal.phase == Phase::Succeeded && sim.journal.attempt == 1;
    (once && done)
        .then_some(())
        .ok_or("not exactly one power cycle that ends well")
}

fn name(act: &Act) -> String {
    let text = format!("{act:?}");
    text.chars()
        .take_while(|character| !"{ ".contains(*character))
        .collect()
}

/// What the future of a run depends on.
fn state(run: &Run) -> u64 {
    let sim = &run.sim;
    let memory = (
        &sim.observed,
        &sim.live_check,
        &sim.admitted,
        sim.leads,
        sim.process_started,
    );
    let stored = (&sim.journal, sim.deletion_requested, sim.has_finalizer, sim.gone);
    fingerprint((&sim.world, &sim.host, &sim.fleet, stored, memory, run.budget))
}

/// A number for all of this, the same for the same only.
pub(super) fn fingerprint(all: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    all.hash(&mut hasher);
    hasher.finish()
}
