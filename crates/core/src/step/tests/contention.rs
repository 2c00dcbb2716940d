//! Two remediations that want one host, through the real `admit` and the real `step`: every interleaving of their
//! turns with so many switches, and every crash, lost answer and withdrawal among them. Never are two at work on the
//! host, each attempt causes one power cycle, and whoever waits goes on or ends after the other.

use std::collections::{BTreeMap, BTreeSet};

use super::duo::{Duo, Rest, asks};
use super::explorer::fingerprint;
use super::menu::Menu;
use super::shell::{Fault, Sim};
use crate::admission::{Remediation, Replies, Situation, Stage, admit};
use crate::decision::Decision;
use crate::facts::Origin;
use crate::phase::Phase;

/// One run in progress.
#[derive(Clone)]
struct Run {
    duo: Duo,
    current: usize,
    faults: u32,
    switches: u32,
    choices: Vec<String>,
}

/// What was explored.
#[derive(Default)]
struct Explored {
    seen: BTreeSet<u64>,
    states: usize,
    runs: usize,
    /// How often one asked while the other was at work, or was about to be.
    contended: usize,
    endings: BTreeMap<String, usize>,
    breaches: BTreeMap<&'static str, (usize, Vec<String>)>,
}

impl Explored {
    fn from(duo: Duo, faults: u32, switches: u32) -> Self {
        let mut explored = Self::default();
        let mut open = vec![Run {
            duo,
            current: 0,
            faults,
            switches,
            choices: Vec::new(),
        }];
        while let Some(run) = open.pop() {
            // Runs that differ only in how they came here have one future.
            if explored.seen.insert(state(&run)) {
                explored.follow(run, &mut open);
            }
        }
        explored
    }

    /// Demands that nothing was breached, and that there was something to explore.
    fn demand(self, what: &str, at_least: usize) -> Self {
        println!(
            "{what}: {} states, {} runs, contended {} times",
            self.states, self.runs, self.contended
        );
        println!("{:#?}", self.endings);
        assert!(self.breaches.is_empty(), "{what}: {:#?}", self.breaches);
        assert!(self.states >= at_least, "{what}: only {} states", self.states);
        assert!(self.contended > 0, "{what}: the two never met");
        self
    }

    fn follow(&mut self, mut run: Run, open: &mut Vec<Run>) {
        loop {
            if !run.duo.rests.contains(&Rest::Runs) {
                if run.duo.pass() {
                    continue;
                }
                self.runs += 1;
                run.duo.world.settle();
                return self.check_end(&run);
            }
            if run.duo.turns > 1_500 {
                return self.breach(&run, "no end");
            }
            self.states += 1;
            if run.duo.rests[run.current] != Rest::Runs {
                run.current = 1 - run.current;
            }
            let one = run.current;
            let decision = run.duo.decide(one);
            Self::branch(&run, &decision, open);
            let other = run.duo.stage(1 - one);
            let is_beside = other == Stage::Begun || run.duo.admitted[1 - one];
            let held = run.duo.sims[one].admitted.denied().is_some();
            self.contended += usize::from(is_beside && (held || asks(&decision)));
            run.duo.turn(one, decision, Fault::None);
            self.check_state(&run);
        }
    }

    fn branch(run: &Run, decision: &Decision, open: &mut Vec<Run>) {
        let (one, other) = (run.current, 1 - run.current);
        let place = format!("{one} in {:?}", run.duo.sims[one].journal.phase);
        if run.switches > 0 && run.duo.rests[other] == Rest::Runs {
            let mut branch = run.clone();
            branch.current = other;
            branch.switches -= 1;
            let decided = branch.duo.decide(other);
            // One that has nothing to do changes nothing by doing it earlier.
            if decided.act.is_some() || decided.journal != branch.duo.sims[other].journal {
                branch.choices.push(format!("{place}: the other goes first"));
                open.push(branch);
            }
        }
        if run.faults == 0 {
            return;
        }
        for fault in Menu::CrashesAndLostAnswers.faults(&run.duo.sims[one], decision) {
            let mut branch = run.clone();
            branch.faults -= 1;
            branch.choices.push(format!("{place}: {fault:?}"));
            branch.duo.turn(one, decision.clone(), fault);
            open.push(branch);
        }
        if !run.duo.sims[one].deletion_requested && !run.duo.sims[one].journal.phase.is_final() {
            let mut branch = run.clone();
            branch.faults -= 1;
            branch.choices.push(format!("{place}: deleted"));
            branch.duo.delete(one);
            open.push(branch);
        }
    }

    fn check_state(&mut self, run: &Run) {
        let duo = &run.duo;
        if [0, 1].map(|one| duo.stage(one)) == [Stage::Begun; 2] {
            self.breach(run, "two at work on one host");
        }
        for sim in &duo.sims {
            for attempt in 1..=sim.journal.attempt {
                if edges(duo, sim, false, attempt) > 1 {
                    self.breach(run, "two power-offs in one attempt");
                }
                if edges(duo, sim, true, attempt) > 1 {
                    self.breach(run, "two power-ons in one attempt");
                }
            }
        }
    }

    fn check_end(&mut self, run: &Run) {
        self.check_state(run);
        let duo = &run.duo;
        let ending = duo.sims.each_ref().map(|sim| {
            let gone = if sim.gone { " gone" } else { "" };
            format!("{:?}/{}{gone}", sim.journal.phase, sim.journal.reason)
        });
        *self.endings.entry(ending.join(", ")).or_default() += 1;
        for sim in &duo.sims {
            if !sim.journal.phase.is_final() && !sim.gone {
                self.breach(run, "one neither went on nor ended");
            }
            for attempt in 1..=sim.journal.attempt {
                let cycle = [false, true].map(|on| edges(duo, sim, on, attempt));
                let is_whole = if sim.deletion_requested {
                    cycle[0] == cycle[1]
                } else {
                    cycle == [1, 1]
                };
                if !is_whole {
                    self.breach(run, "not exactly one power cycle in an attempt");
                }
            }
        }
        if !duo.world.host.on {
            self.breach(run, "the host is left off");
        }
        let is_told = |sim: &Sim| sim.journal.phase == Phase::Failed && sim.journal.message.contains("taint");
        if duo.world.tainted() && !duo.sims.iter().any(is_told) {
            self.breach(run, "the taint is left behind silently");
        }
        let deleted = duo.sims.iter().any(|sim| sim.deletion_requested);
        let succeeded = duo
            .sims
            .iter()
            .filter(|sim| sim.journal.phase == Phase::Succeeded);
        if !deleted && duo.world.host.boots_well && succeeded.count() != 1 {
            self.breach(run, "not exactly one succeeded");
        }
    }

    fn breach(&mut self, run: &Run, what: &'static str) {
        let story = || {
            let mut story = run.choices.clone();
            story.extend(run.duo.sims.iter().map(|sim| {
                let journal = &sim.journal;
                format!("-> {:?} {} {}", journal.phase, journal.reason, journal.message)
            }));
            story
        };
        self.breaches.entry(what).or_insert_with(|| (0, story())).0 += 1;
    }
}

/// Power changes that one of them has caused in one attempt.
fn edges(duo: &Duo, sim: &Sim, on: bool, attempt: i32) -> usize {
    let ours = sim.cause(attempt);
    let edges = duo.world.host.edges.iter();
    edges.filter(|edge| edge.on == on && edge.cause == ours).count()
}

/// What the future of a run depends on.
fn state(run: &Run) -> u64 {
    let duo = &run.duo;
    let budget = (run.current, run.faults, run.switches);
    let sims = duo.sims.each_ref().map(|sim| {
        let (journal, observed, look) = (&sim.journal, &sim.observed, &sim.live_check);
        let flags = (
            sim.deletion_requested,
            sim.has_finalizer,
            sim.gone,
            sim.process_started,
        );
        fingerprint((journal, observed, look, flags))
    });
    let (rests, admitted) = (duo.rests, duo.admitted);
    fingerprint((budget, &duo.world, rests, admitted, &duo.shown, sims))
}

/// The trigger of a Machine, and a request of a person for the same.
fn both(set_up: fn(&mut Sim)) -> Duo {
    let mut first = Sim::new();
    set_up(&mut first);
    let mut second = first.clone();
    second.origin = Origin::Request;
    Duo::new([first, second])
}

#[test]
fn two_that_want_one_host_are_never_both_at_work_whatever_crashes() {
    let explored = Explored::from(both(|_| {}), 1, 2).demand("one fault, two switches", 50_000);
    // Either goes first, and the other ends as soon as the Node is back.
    for ending in [
        "Succeeded/Rebooted, Cancelled/Recovered",
        "Cancelled/Recovered, Succeeded/Rebooted",
    ] {
        assert!(explored.endings.contains_key(ending), "{:?}", explored.endings);
    }
}

/// Takes a minute: `make explore` runs it, in release mode.
#[cfg(feature = "deep-exploration")]
#[test]
fn exploration_of_two_that_want_one_host_after_two_faults() {
    Explored::from(both(|_| {}), 2, 2).demand("two faults, two switches", 400_000);
}

#[test]
fn two_that_want_a_host_which_does_not_come_back() {
    let explored = Explored::from(both(|sim| sim.world.host.boots_well = false), 1, 1);
    let explored = explored.demand("no boot", 50_000);
    let quarantined = explored
        .endings
        .keys()
        .any(|ending| ending.contains("Quarantined"));
    assert!(
        quarantined,
        "what has failed is not begun anew: {:?}",
        explored.endings
    );
}

/// An admission that lets everybody in.
fn admit_everyone(situation: &Situation<'_>) -> Replies {
    let alone = situation.remediations.iter().flat_map(|one| {
        admit(&Situation {
            remediations: std::slice::from_ref(one),
            ..*situation
        })
    });
    alone.collect()
}

/// An admission that knows who has begun, and does not keep those apart who were admitted a moment ago.
fn admit_beside_the_admitted(situation: &Situation<'_>) -> Replies {
    let all = situation.remediations;
    let alone = all.iter().map(|own| {
        let is_seen = |one: &&Remediation| one.uid == own.uid || one.stage != Stage::Admitted;
        let remediations: &[Remediation] = &all.iter().filter(is_seen).cloned().collect::<Vec<_>>();
        let seen = Situation {
            remediations,
            ..*situation
        };
        (own.uid.clone(), admit(&seen)[&own.uid].clone())
    });
    alone.collect()
}

#[test]
fn an_admission_that_lets_two_in_is_found_out() {
    type Mutant = (&'static str, fn(&mut Duo));
    let mutants: [Mutant; 3] = [
        ("admits everyone", |duo| duo.admit = admit_everyone),
        ("does not count who was admitted", |duo| {
            duo.admit = admit_beside_the_admitted;
        }),
        ("forgets who was admitted", |duo| duo.remembers = false),
    ];
    for (what, mutate) in mutants {
        let mut duo = both(|_| {});
        mutate(&mut duo);
        let explored = Explored::from(duo, 0, 2);
        assert!(
            explored.breaches.contains_key("two at work on one host"),
            "{what}: {} states and no breach",
            explored.states
        );
    }
}
