//! Two remediations of one host in one process, each driven by the real `step`, and between them the real `admit`.
//! What each is told of the other is what a cache shows that lags by one write.

use super::shell::{Fault, RESTART, Sim, millis};
use super::world::{World, at};
use crate::admission::{Key, Remediation, Replies, Reply, Situation, Stage, admit};
use crate::brakes::{Fleet, Limits};
use crate::decision::{Act, Decision, Observation};
use crate::facts::OutOfService;
use crate::journal::Journal;
use crate::phase::Phase;

/// How it is decided who may begin.
pub(super) type Admit = fn(&Situation<'_>) -> Replies;

/// When one of them has to be looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Rest {
    /// It has something to do.
    Runs,
    /// Nothing until then, or until something changes.
    Until(i64),
    /// Nothing any more.
    Over,
}

#[derive(Clone)]
pub(super) struct Duo {
    pub(super) world: World,
    pub(super) sims: [Sim; 2],
    pub(super) rests: [Rest; 2],
    /// What the cache shows of their journals.
    pub(super) shown: [Journal; 2],
    /// Who was admitted. A crash loses it.
    pub(super) admitted: [bool; 2],
    tainted_by: Option<usize>,
    pub(super) admit: Admit,
    /// Whether it is remembered who was admitted until the cache shows it.
    pub(super) remembers: bool,
    pub(super) turns: u32,
}

impl Duo {
    /// Both begin in the world of the first.
    pub(super) fn new(mut sims: [Sim; 2]) -> Self {
        let [first, second] = &mut sims;
        let world = first.world.clone();
        second.earlier_attempts = 100;
        (first.is_alone, second.is_alone) = (false, false);
        Self {
            world,
            sims,
            rests: [Rest::Runs; 2],
            shown: [Journal::default(), Journal::default()],
            admitted: [false; 2],
            tainted_by: None,
            admit,
            remembers: true,
            turns: 0,
        }
    }

    /// What one of them decides now.
    pub(super) fn decide(&mut self, one: usize) -> Decision {
        self.within(one, |sim| sim.decide())
    }

    /// One of them writes its journal, and nothing else yet.
    pub(super) fn write(&mut self, one: usize, journal: &Journal) {
        self.within(one, |sim| sim.write_journal(journal.clone()));
    }

    /// One turn of one of them: it journals and acts, or rests.
    pub(super) fn turn(&mut self, one: usize, decision: Decision, fault: Fault) {
        self.turns += 1;
        let (version, asks) = (self.world.version, asks(&decision));
        self.admitted[one] &= self.reply(one, false) == Reply::Admitted;
        if decision.journal.phase == Phase::Pending && !asks {
            self.admitted[one] = false;
        }
        let (acts, look_again) = (decision.act.is_some(), decision.look_again);
        let changes = decision.journal != self.sims[one].journal;
        self.shown[one] = self.sims[one].journal.clone();
        self.within(one, |sim| {
            if acts || fault != Fault::None {
                sim.turn_with(decision, fault);
            } else if changes {
                sim.journal_only();
            }
        });
        if is_crash(fault) {
            return self.crash();
        }
        if asks {
            self.admitted[one] = self.reply(one, true) == Reply::Admitted;
        }
        self.rests[one] = match look_again {
            _ if self.is_over(one) => Rest::Over,
            _ if acts => Rest::Runs,
            Some(time) => Rest::Until(millis(time)),
            None => Rest::Over,
        };
        if self.rests[one] != Rest::Runs {
            self.shown[one] = self.sims[one].journal.clone();
        }
        if self.rests[one] == Rest::Over || self.world.version != version {
            self.wake(1 - one);
        }
    }

    /// The producer of one of them takes its request back.
    pub(super) fn delete(&mut self, one: usize) {
        let sim = &mut self.sims[one];
        sim.deletion_requested = true;
        sim.gone = !sim.has_finalizer;
        self.rests[one] = if sim.gone { Rest::Over } else { Rest::Runs };
        self.wake(1 - one);
    }

    /// Lets time pass until one of them has something to do. Answers whether anything can happen at all.
    pub(super) fn pass(&mut self) -> bool {
        let until = self.rests.iter().filter_map(|rest| match rest {
            Rest::Until(time) => Some(*time),
            Rest::Runs | Rest::Over => None,
        });
        let Some(until) = until.min() else {
            return false;
        };
        let next = self.world.next_event().map_or(until, |event| event.min(until));
        self.world.advance(next.max(self.world.now));
        self.wake(0);
        self.wake(1);
        true
    }

    fn wake(&mut self, one: usize) {
        if let Rest::Until(_) = self.rests[one] {
            self.rests[one] = Rest::Runs;
        }
    }

    pub(super) fn is_over(&self, one: usize) -> bool {
        let sim = &self.sims[one];
        sim.gone
    }

    pub(super) fn stage(&self, one: usize) -> Stage {
        let sim = &self.sims[one];
        if sim.gone {
            return Stage::Over;
        }
        Stage::of(&sim.journal, sim.deletion_requested)
    }

    /// The process dies, and its successor begins a while later.
    pub(super) fn restart(&mut self) {
        self.world.advance(self.world.now + RESTART);
        self.crash();
    }

    /// The process has died, and its successor lists everything anew.
    fn crash(&mut self) {
        let now = self.world.now;
        for (one, sim) in self.sims.iter_mut().enumerate() {
            sim.forget();
            sim.process_started = now;
            self.shown[one] = sim.journal.clone();
            self.admitted[one] = false;
            if self.rests[one] != Rest::Over {
                self.rests[one] = Rest::Runs;
            }
        }
    }

    /// What one of them is told. Its own journal is known as it is.
    fn reply(&self, own: usize, asks: bool) -> Reply {
        if self.sims[own].journal.phase != Phase::Pending {
            return Reply::NotAsked;
        }
        let all = [0, 1].map(|one| {
            let is_own = one == own;
            let journal = if is_own {
                &self.sims[one].journal
            } else {
                &self.shown[one]
            };
            let stage = Stage::of(journal, self.sims[one].deletion_requested);
            let is_admitted = self.admitted[one] && stage != Stage::Begun && (is_own || self.remembers);
            Remediation {
                uid: uid(one),
                namespace: "machines".to_owned(),
                name: uid(one),
                created: Some(at(0)),
                keys: [Key::Bmc("10.0.0.1".to_owned())].into(),
                cluster: None,
                domain: None,
                power_offs_of_host: Vec::new(),
                stage: if self.sims[one].gone {
                    Stage::Over
                } else if is_admitted {
                    Stage::Admitted
                } else {
                    stage
                },
                asks: asks && is_own,
            }
        });
        let situation = Situation {
            remediations: &all,
            unreadable: &[],
            fleets: &[(None, Ok(Fleet::clone(&self.sims[own].fleet)))].into(),
            limits: &Limits::none(),
            own_node: None,
            now: at(self.world.now),
        };
        (self.admit)(&situation)[&uid(own)].clone()
    }

    /// Does something with one of them in the world that both share.
    fn within<T>(&mut self, one: usize, act: impl FnOnce(&mut Sim) -> T) -> T {
        self.sims[one].admitted = self.reply(one, false);
        // The taint of another that is still at work is not ours to remove.
        let of_other = self.tainted_by == Some(1 - one) && !self.sims[1 - one].journal.phase.is_final();
        let hides = of_other && self.world.tainted() && self.retaint(OutOfService::Foreign);
        let releases = self.sims[one].released_at.len();
        std::mem::swap(&mut self.world, &mut self.sims[one].world);
        let done = act(&mut self.sims[one]);
        std::mem::swap(&mut self.world, &mut self.sims[one].world);
        if self.sims[one].released_at.len() > releases {
            self.tainted_by = Some(one);
        }
        if hides
            && self
                .world
                .node()
                .is_some_and(|node| node.out_of_service == OutOfService::Foreign)
        {
            self.retaint(OutOfService::Ours("pcr-uid".to_owned()));
        }
        done
    }

    /// Shows the taint as another one's; this is no change of the Node.
    fn retaint(&mut self, taint: OutOfService) -> bool {
        if let crate::facts::Lookup::Present(node) = &mut self.world.objects.node {
            node.out_of_service = taint;
            return true;
        }
        false
    }
}

/// Whether a decision asks to begin.
pub(super) fn asks(decision: &Decision) -> bool {
    decision.act == Some(Act::Observe(Observation::Admission))
}

fn uid(one: usize) -> String {
    ["elder", "younger"][one].to_owned()
}

fn is_crash(fault: Fault) -> bool {
    matches!(
        fault,
        Fault::CrashBeforeJournal
            | Fault::CrashAfterJournal
            | Fault::CrashAfterAct
            | Fault::CrashToClockBehind
    )
}
