//! Two processes that both believe that they lead, over one record of each remediation: every interleaving with so
//! many changes of the one that runs, at every boundary, and every crash and lost answer among them. The one that does
//! not run is frozen with what it was about to write or to do, and goes on with it. This is worse than what the Lease
//! allows: it shows what the record alone keeps, which is written by compare-and-swap, and `not_after`.

use std::collections::{BTreeMap, BTreeSet};

use super::duo::{Duo, Rest};
use super::explorer::fingerprint;
use super::menu::Menu;
use super::shell::{Fault, Sim};
use crate::admission::Stage;
use crate::decision::Decision;
use crate::facts::Origin;
use crate::journal::Journal;
use crate::phase::Phase;

/// A remediation as the API server has it.
#[derive(Clone, Debug, Default, Hash)]
struct Stored {
    journal: Journal,
    version: u32,
    has_finalizer: bool,
    gone: bool,
}

/// One of the two, with what it knows and is about to write or do.
#[derive(Clone)]
struct Process {
    duo: Duo,
    known: [u32; 2],
    doing: Option<(usize, Decision)>,
}

#[derive(Clone)]
struct Run {
    processes: Vec<Process>,
    stored: [Stored; 2],
    current: usize,
    faults: u32,
    switches: u32,
    turns: u32,
    choices: Vec<String>,
    menu: Menu,
    /// Whether a write fits only what was read.
    compares: bool,
}

impl Run {
    fn from(duo: Duo, faults: u32, switches: u32) -> Self {
        let mut second = duo.clone();
        for sim in &mut second.sims {
            sim.process += 1_000;
        }
        let process = |duo| Process {
            duo,
            known: [0; 2],
            doing: None,
        };
        let stored = duo.sims.each_ref().map(|sim| Stored {
            gone: sim.gone,
            ..Stored::default()
        });
        Self {
            processes: vec![process(duo), process(second)],
            stored,
            current: 0,
            faults,
            switches,
            turns: 0,
            choices: Vec::new(),
            menu: Menu::Failures,
            compares: true,
        }
    }

    fn each_sim(&mut self, mutate: fn(&mut Sim)) {
        let sims = self
            .processes
            .iter_mut()
            .flat_map(|process| &mut process.duo.sims);
        sims.for_each(mutate);
    }

    fn duo(&self) -> &Duo {
        &self.processes[self.current].duo
    }

    /// The other one goes on where it stood, in the same world.
    fn switch(&mut self) {
        let world = self.duo().world.clone();
        self.current = 1 - self.current;
        self.processes[self.current].duo.world = world;
    }

    /// Sees the records as they are.
    fn refresh(&mut self) {
        let process = &mut self.processes[self.current];
        for (one, stored) in self.stored.iter().enumerate() {
            let sim = &mut process.duo.sims[one];
            (sim.has_finalizer, sim.gone) = (stored.has_finalizer, stored.gone);
            if process.known[one] != stored.version {
                process.known[one] = stored.version;
                sim.journal = stored.journal.clone();
                process.duo.shown[one] = stored.journal.clone();
                process.duo.rests[one] = Rest::Runs;
            }
            if stored.gone {
                process.duo.rests[one] = Rest::Over;
            }
        }
    }

    /// Whether the process that runs is about to write or do something; lets time pass until it is.
    fn decides(&mut self) -> bool {
        loop {
            if self.processes[self.current].doing.is_some() {
                return true;
            }
            self.refresh();
            let duo = &mut self.processes[self.current].duo;
            match duo.rests.iter().position(|rest| *rest == Rest::Runs) {
                Some(one) => {
                    let decision = duo.decide(one);
                    self.processes[self.current].doing = Some((one, decision));
                }
                None if duo.pass() => {}
                None => return false,
            }
        }
    }

    /// Writes what was decided, or does it once that is written.
    fn go_on(&mut self, fault: Fault) {
        self.turns += 1;
        let process = &mut self.processes[self.current];
        let Some((one, decision)) = process.doing.take() else {
            return;
        };
        let stored = &mut self.stored[one];
        if decision.journal != process.duo.sims[one].journal {
            if self.compares && process.known[one] != stored.version {
                return;
            }
            process.duo.write(one, &decision.journal);
            stored.journal = decision.journal.clone();
            stored.version += 1;
            process.known[one] = stored.version;
            process.doing = Some((one, decision));
            return;
        }
        process.duo.turn(one, decision, fault);
        for (sim, stored) in process.duo.sims.iter().zip(&mut self.stored) {
            (stored.has_finalizer, stored.gone) = (sim.has_finalizer, sim.gone);
        }
    }

    fn crash(&mut self) {
        let process = &mut self.processes[self.current];
        process.doing = None;
        process.duo.restart();
    }
}

#[derive(Default)]
struct Explored {
    seen: BTreeSet<u64>,
    states: usize,
    runs: usize,
    endings: BTreeMap<String, usize>,
    breaches: BTreeMap<&'static str, (usize, Vec<String>)>,
}

impl Explored {
    fn from(start: Run) -> Self {
        let mut explored = Self::default();
        let mut open = vec![start];
        while let Some(run) = open.pop().filter(|_| explored.breaches.is_empty()) {
            if explored.seen.insert(state(&run)) {
                explored.follow(run, &mut open);
            }
        }
        explored
    }

    fn demand(self, what: &str, at_least: usize) {
        println!("{what}: {} states, {} runs", self.states, self.runs);
        println!("{:#?}", self.endings);
        assert!(self.breaches.is_empty(), "{what}: {:#?}", self.breaches);
        assert!(self.states >= at_least, "{what}: only {} states", self.states);
    }

    fn follow(&mut self, mut run: Run, open: &mut Vec<Run>) {
        loop {
            if !run.decides() {
                // What was frozen goes on at last.
                run.switch();
                if !run.decides() {
                    self.runs += 1;
                    return self.check_end(run);
                }
            }
            if run.turns > 3_000 {
                return self.breach(&run, "no end");
            }
            self.states += 1;
            Self::branch(&run, open);
            self.go_on(&mut run, Fault::None);
        }
    }

    fn go_on(&mut self, run: &mut Run, fault: Fault) {
        let released = |run: &Run| run.duo().sims.each_ref().map(|sim| sim.released_at.len());
        let before = released(run);
        run.go_on(fault);
        if released(run) != before && run.duo().world.host.on {
            self.breach(run, "released while the host was on");
        }
        self.check_state(run);
    }

    fn branch(run: &Run, open: &mut Vec<Run>) {
        let Some((one, decision)) = &run.processes[run.current].doing else {
            return;
        };
        let sim = &run.duo().sims[*one];
        let writes = decision.journal != sim.journal;
        // Who neither writes nor does anything changes nothing by doing it later.
        if !writes && decision.act.is_none() {
            return;
        }
        let about = if writes { "to write" } else { "to act" };
        let place = format!(
            "{} of {one} in {:?}, {about}",
            run.current, decision.journal.phase
        );
        if run.switches > 0 {
            let mut branch = run.clone();
            branch.switches -= 1;
            branch.choices.push(format!("{place}: frozen"));
            branch.switch();
            open.push(branch);
        }
        if run.faults == 0 {
            return;
        }
        let mut crashed = run.clone();
        crashed.faults -= 1;
        crashed.choices.push(format!("{place}: crash"));
        crashed.crash();
        open.push(crashed);
        if writes {
            return;
        }
        for fault in run.menu.faults(sim, decision) {
            let mut branch = run.clone();
            branch.faults -= 1;
            branch.choices.push(format!("{place}: {fault:?}"));
            branch.go_on(fault);
            open.push(branch);
        }
    }

    fn check_state(&mut self, run: &Run) {
        let at_work = |stored: &Stored| !stored.gone && Stage::of(&stored.journal, false) == Stage::Begun;
        if run.stored.iter().all(at_work) {
            self.breach(run, "two at work on one host");
        }
        for (one, stored) in run.stored.iter().enumerate() {
            for attempt in 1..=stored.journal.attempt {
                let [offs, ons] = edges(run, one, attempt);
                if offs > 1 {
                    self.breach(run, "two power-offs in one attempt");
                }
                if ons > 1 {
                    self.breach(run, "two power-ons in one attempt");
                }
            }
        }
    }

    fn check_end(&mut self, mut run: Run) {
        run.processes[run.current].duo.world.settle();
        self.check_state(&run);
        let endings = run.stored.iter().filter(|stored| !stored.gone).map(|stored| {
            let journal = &stored.journal;
            format!("{:?}/{} after {}", journal.phase, journal.reason, journal.attempt)
        });
        let ending = endings.collect::<Vec<_>>().join(", ");
        *self.endings.entry(ending).or_default() += 1;
        for (one, stored) in run.stored.iter().enumerate().filter(|(_, stored)| !stored.gone) {
            if !stored.journal.phase.is_final() {
                self.breach(&run, "one neither went on nor ended");
            }
            let mut cycles = (1..=stored.journal.attempt).map(|attempt| edges(&run, one, attempt));
            let is_whole = if run.menu == Menu::Lies {
                // A BMC that said On too early is found out, and the host comes on in the next attempt.
                let [offs, ons] = cycles.fold([0, 0], |[offs, ons], [off, on]| [offs + off, ons + on]);
                offs == ons
            } else {
                cycles.all(|cycle| cycle == [1, 1])
            };
            if !is_whole {
                self.breach(&run, "not exactly one power cycle in an attempt");
            }
        }
        let succeeded = |stored: &&Stored| stored.journal.phase == Phase::Succeeded;
        let world = &run.duo().world;
        if world.host.boots_well && run.stored.iter().filter(succeeded).count() != 1 {
            self.breach(&run, "not exactly one succeeded");
        }
        if !world.host.on {
            self.breach(&run, "the host is left off");
        }
        if world.tainted() {
            self.breach(&run, "the taint is left behind");
        }
    }

    fn breach(&mut self, run: &Run, what: &'static str) {
        let story = || {
            let mut story = run.choices.clone();
            story.extend(run.stored.iter().map(|stored| {
                let journal = &stored.journal;
                format!("-> {:?} {} {}", journal.phase, journal.reason, journal.message)
            }));
            story.push(format!("{:?}", run.duo().world.host.edges));
            story
        };
        self.breaches.entry(what).or_insert_with(|| (0, story())).0 += 1;
    }
}

/// Power-offs and power-ons that a remediation has caused in one attempt.
fn edges(run: &Run, one: usize, attempt: i32) -> [usize; 2] {
    let duo = run.duo();
    let ours = duo.sims[one].cause(attempt);
    [false, true].map(|on| {
        let edges = duo.world.host.edges.iter();
        edges.filter(|edge| edge.on == on && edge.cause == ours).count()
    })
}

/// What the future of a run depends on.
fn state(run: &Run) -> u64 {
    let budget = (run.current, run.faults, run.switches);
    let process = |process: &Process| {
        let duo = &process.duo;
        let memory = duo.sims.each_ref().map(|sim| {
            let (observed, look) = (&sim.observed, &sim.live_check);
            fingerprint((observed, look, &sim.journal, sim.process_started))
        });
        let (rests, admitted, shown) = (duo.rests, duo.admitted, &duo.shown);
        fingerprint((memory, rests, admitted, shown, &process.known, &process.doing))
    };
    let processes = run.processes.iter().map(process).collect::<Vec<_>>();
    fingerprint((budget, processes, &run.stored, &run.duo().world))
}

fn one(set_up: fn(&mut Sim)) -> Duo {
    let mut sim = Sim::new();
    set_up(&mut sim);
    let mut none = sim.clone();
    none.gone = true;
    let mut duo = Duo::new([sim, none]);
    duo.rests[1] = Rest::Over;
    duo
}

fn two() -> Duo {
    let first = Sim::new();
    let mut second = first.clone();
    second.origin = Origin::Request;
    Duo::new([first, second])
}

#[test]
fn of_two_that_believe_that_they_lead_at_most_one_acts() {
    Explored::from(Run::from(one(|_| {}), 0, 3)).demand("three changes", 10_000);
    Explored::from(Run::from(one(|_| {}), 1, 2)).demand("one fault, two changes", 10_000);
    let slow = |sim: &mut Sim| {
        sim.world.host.off_delay = 7_000;
        sim.world.bmc.going_off_word = "PoweringOff";
    };
    Explored::from(Run::from(one(slow), 0, 2)).demand("slow host, two changes", 1_000);
    let deletes = |sim: &mut Sim| sim.taint_supported = false;
    Explored::from(Run::from(one(deletes), 0, 2)).demand("node deletion, two changes", 1_000);
}

#[test]
fn what_keeps_two_leaders_apart_is_found_out_where_it_is_missing() {
    type Mutant = (&'static str, fn(&mut Run));
    let mutants: [Mutant; 2] = [
        ("a write does not compare", |run| run.compares = false),
        ("a command is sent after its time", |run| {
            run.each_sim(|sim| sim.heeds_not_after = false);
        }),
    ];
    for (what, mutate) in mutants {
        let mut run = Run::from(one(|_| {}), 0, 3);
        mutate(&mut run);
        let explored = Explored::from(run);
        assert!(
            !explored.breaches.is_empty(),
            "{what}: {} states",
            explored.states
        );
    }
}

#[test]
fn two_that_lead_and_two_requests_for_one_host() {
    Explored::from(Run::from(two(), 0, 2)).demand("two requests, two changes", 10_000);
}

/// What each of the two is told is wrong, wherever it matters, and the other one goes on from there.
#[test]
fn two_that_lead_two_requests_for_one_host_and_a_bmc_that_lies() {
    let lied_to = |duo, lies, changes| {
        let run = Run {
            menu: Menu::Lies,
            ..Run::from(duo, lies, changes)
        };
        Explored::from(run)
    };
    lied_to(one(|_| {}), 1, 2).demand("a lie, two changes", 100_000);
    lied_to(two(), 1, 1).demand("two requests, a lie, one change", 50_000);
    // Millions of states each.
    if cfg!(feature = "deep-exploration") {
        lied_to(two(), 1, 2).demand("two requests, a lie, two changes", 1_000_000);
        lied_to(two(), 2, 1).demand("two requests, two lies, one change", 1_000_000);
    }
}
