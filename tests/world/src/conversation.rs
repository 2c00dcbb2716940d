//! What a remediation says to a BMC and asks it, by purpose.

use std::sync::Arc;
use std::time::Duration;

use bmc_simulator::{Change, Command, Entry, Event};

/// The pause between two reads of a host whose workloads are being released.
const WATCH_EVERY: Duration = Duration::from_secs(5);

/// Reads of the power state by their purpose, and the commands.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    pub identity: u64,
    pub force_off: u64,
    pub off_polls: u64,
    pub off_proof: u64,
    pub watch: u64,
    pub on: u64,
    pub on_reads: u64,
    /// From the accepted power-off to power off in truth.
    pub off_took: Duration,
}

impl Conversation {
    /// Sorts the journal's entries; `proof` is how many reads the evidence of Off holds.
    pub fn of(entries: &[Arc<Entry>], proof: usize) -> Self {
        let proof = u64::try_from(proof).unwrap_or(u64::MAX);
        let mut this = Self::default();
        let mut told = None;
        for entry in entries {
            if let Event::Command { command, .. } = &entry.event {
                match command {
                    Command::On => this.on = this.on.saturating_add(1),
                    Command::ForceOff => {
                        this.force_off = this.force_off.saturating_add(1);
                        told.get_or_insert(entry.elapsed);
                    }
                    Command::GracefulShutdown
                    | Command::GracefulRestart
                    | Command::ForceRestart
                    | Command::PowerCycle => {}
                }
            } else if let Event::Changed {
                change: Change::PoweredOff,
                ..
            } = &entry.event
            {
                this.off_took = told
                    .map(|told| entry.elapsed.saturating_sub(told))
                    .unwrap_or_default();
            } else if let Event::Observed { reported, .. } = &entry.event {
                this.read(reported.as_deref(), proof);
            }
        }
        this
    }

    fn read(&mut self, reported: Option<&str>, proof: u64) {
        let kind = match (self.force_off, self.on) {
            (0, _) => &mut self.identity,
            (_, 0) if self.off_proof >= proof => &mut self.watch,
            (_, 0) if reported == Some("Off") => &mut self.off_proof,
            (_, 0) => &mut self.off_polls,
            _ => &mut self.on_reads,
        };
        *kind = kind.saturating_add(1);
    }

    /// Reads that are counted apart: nobody can say beforehand how long a host takes.
    pub fn apart(&self) -> u64 {
        self.off_polls.saturating_add(self.watch)
    }

    /// 4 + log2(T_off / 0.5 s).
    pub fn polls_allowed(&self) -> u64 {
        let halves = u64::try_from(self.off_took.as_millis()).unwrap_or(u64::MAX) / 500;
        u64::from(halves.max(1).ilog2()).saturating_add(4)
    }
}

/// Reads of a host while its workloads are being released, which takes so long.
pub fn watch_allowed(release: Duration) -> u64 {
    release.as_secs().div_ceil(WATCH_EVERY.as_secs()).max(1)
}
