//! The gate that numbers the calls of a daemon and has a fault happen at one of them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::calls::JOURNAL;
use super::{Fault, What, When};
use crate::front::views::View;
use crate::front::{Call, Gate};

/// The phase before the first journal entry of a daemon.
const START: &str = "Start";

/// Numbers the calls of each daemon anew, by phase and name: how often something is polled in one phase changes no
/// number in the next.
#[derive(Default)]
pub struct Stage {
    state: Mutex<State>,
    progress: watch::Sender<Progress>,
    view: watch::Sender<View>,
}

#[derive(Default)]
struct State {
    /// The next one comes to the daemon that runs when the one before has happened.
    armed: VecDeque<Fault>,
    phase: Option<String>,
    numbers: HashMap<String, u32>,
    calls: Vec<String>,
}

/// What the gate waits for, and who kills and thaws daemons.
#[derive(Debug, Default, Clone, Copy)]
struct Progress {
    life: u64,
    /// How many faults have been met.
    struck: usize,
    /// Nothing passes any more: the daemon is killed, or stands still.
    shut: bool,
}

impl Stage {
    /// What the daemon called so far was before the scenario began; from now on these faults happen, one after the
    /// other.
    pub fn begin(&self, faults: Vec<Fault>) {
        self.take_calls();
        self.state().armed = faults.into();
    }

    /// Waits until the calls of so many faults have come.
    pub async fn struck(&self, count: usize) {
        // It is ours, and so it stays.
        let _ = self
            .progress
            .subscribe()
            .wait_for(|now| now.struck >= count)
            .await;
    }

    /// The daemon is dead; another one will be started. Answers what it called.
    pub fn next_life(&self) -> Vec<String> {
        let calls = self.take_calls();
        self.progress.send_modify(|now| {
            now.life = now.life.saturating_add(1);
            now.shut = false;
        });
        calls
    }

    /// The daemon goes on.
    pub fn thawed(&self) {
        self.progress.send_modify(|now| now.shut = false);
    }

    /// What this daemon has called so far.
    pub fn calls(&self) -> Vec<String> {
        self.state().calls.clone()
    }

    fn take_calls(&self) -> Vec<String> {
        let mut state = self.state();
        state.phase = None;
        state.numbers.clear();
        std::mem::take(&mut state.calls)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Numbers a call; the fault if it is meant.
    fn meets(&self, name: &str) -> Option<Fault> {
        let mut state = self.state();
        let phase = state.phase.clone().unwrap_or_else(|| START.to_owned());
        let named = format!("{phase}/{name}");
        let number = state.numbers.entry(named.clone()).or_default();
        *number = number.saturating_add(1);
        let call = format!("{named}#{number}");
        if let Some(phase) = name.strip_prefix(JOURNAL) {
            state.phase = Some(phase.to_owned());
        }
        state.calls.push(call.clone());
        state.armed.pop_front_if(|fault| fault.call == call)
    }

    /// Nothing passes until whoever waits for the fault says so.
    fn strike(&self, shuts: bool) {
        self.progress.send_modify(|now| {
            now.struck = now.struck.saturating_add(1);
            now.shut = shuts;
        });
    }

    /// Waits until calls pass. Those of a daemon that is dead never do. Whether they did at once.
    async fn open(&self, life: u64) -> bool {
        let passes = |now: &Progress| !now.shut && now.life == life;
        let mut progress = self.progress.subscribe();
        let at_once = passes(&progress.borrow());
        // Ours, and so it stays.
        let _ = progress.wait_for(passes).await;
        at_once
    }

    fn view_for_a_while(&self, view: View, lasts: Duration) {
        let seen = self.view.clone();
        seen.send_replace(view);
        tokio::spawn(async move {
            tokio::time::sleep(lasts).await;
            seen.send_replace(View::Live);
        });
    }

    /// What a fault does at this moment; whether the call goes on.
    async fn happens(&self, fault: &Fault, when: When, life: u64) -> bool {
        if fault.when != when {
            return true;
        }
        self.strike(matches!(fault.what, What::Kill | What::Freeze));
        match fault.what {
            What::Drop => return false,
            What::Delay => tokio::time::sleep(fault.what.lasts()).await,
            // After a call its answer is on its way; what comes next waits.
            What::Kill | What::Freeze if when == When::After => {}
            What::Kill | What::Freeze => {
                self.open(life).await;
            }
            What::See(view) => self.view_for_a_while(view, fault.what.lasts()),
        }
        true
    }
}

impl Gate for Stage {
    fn life(&self) -> u64 {
        self.progress.borrow().life
    }

    fn view(&self) -> watch::Receiver<View> {
        self.view.subscribe()
    }

    async fn pass<A: Send>(&self, call: &Call, made: impl Future<Output = A> + Send) -> Option<A> {
        if !self.open(call.life).await {
            // It was made before the daemon stood still, which was meant to make none. No answer, and no late command.
            return None;
        }
        let Some(fault) = self.meets(&call.name) else {
            return Some(made.await);
        };
        if !self.happens(&fault, When::Before, call.life).await {
            return None;
        }
        let answer = made.await;
        if !self.happens(&fault, When::During, call.life).await {
            return None;
        }
        self.happens(&fault, When::After, call.life).await;
        Some(answer)
    }
}
