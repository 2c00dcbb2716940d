//! Rules about power commands, and about reading before and after them. One case for each system: what a
//! decoy says of its power is not the machine's.

use std::collections::BTreeMap;

use super::proof::Proof;
use super::{Broken, Oracle};
use crate::journal::Delivery;
use crate::power::Command;

/// What has to be remembered of the power of one system.
#[derive(Debug, Default)]
pub(super) struct PowerCase {
    /// Whether a read of it was ever answered.
    read: bool,
    /// The newest of each command that no read was begun and answered after.
    since_read: BTreeMap<&'static str, u64>,
    /// Refused commands whose answer is under way: until it is there they are as good as carried out.
    being_refused: BTreeMap<u64, &'static str>,
    /// The newest forced power-off that no Off was read after.
    unconfirmed: Option<u64>,
    pub(super) proof: Proof,
    /// A command was carried out that ends in a power-off, which did not come yet.
    pub(super) off_is_coming: bool,
    /// How often commands powered it off.
    power_cycles: u64,
}

/// A command as it was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) seq: u64,
    pub(super) command: Command,
    /// Whether the BMC took it.
    pub(super) accepted: bool,
    /// Whether the client knows that.
    pub(super) delivery: Delivery,
}

impl PowerCase {
    /// A read was answered. `begun` is when the BMC looked, `answered` when it said so.
    pub(super) fn observed(&mut self, begun: u64, answered: u64, word: &str) {
        self.read = true;
        self.since_read.retain(|_, sent| *sent > begun);
        self.being_refused.retain(|sent, _| *sent > begun);
        let off = word == "Off";
        if off && self.unconfirmed.is_some_and(|sent| sent < begun) {
            self.unconfirmed = None;
        }
        self.proof.observed(begun, answered, off);
    }

    /// A command was sent.
    pub(super) fn commanded(&mut self, sent: Sent) -> Vec<Broken> {
        let name = name(sent.command);
        let mut broken = Vec::new();
        if !self.read {
            let text = format!("{name} was sent before the power state was read");
            broken.push((Oracle::CommandBeforeRead, text));
        }
        if self.since_read.contains_key(name) || self.being_refused.values().any(|other| *other == name) {
            let text = format!("{name} was sent again without a read in between");
            broken.push((Oracle::BlindRepeat, text));
        }
        match (sent.accepted, sent.delivery) {
            (true, _) | (false, Delivery::Lost) => drop(self.since_read.insert(name, sent.seq)),
            (false, Delivery::Late) => drop(self.being_refused.insert(sent.seq, name)),
            // Who knows that a command was refused knows that it was not carried out.
            (false, Delivery::Sent) => {}
        }
        broken.extend(self.by_kind(sent));
        broken
    }

    fn by_kind(&mut self, sent: Sent) -> Vec<Broken> {
        match sent.command {
            Command::On => self.asked_on(),
            Command::ForceOff => {
                if sent.accepted {
                    self.unconfirmed = Some(sent.seq);
                    self.proof.begin(sent.seq, sent.delivery == Delivery::Sent);
                }
                Vec::new()
            }
            Command::GracefulShutdown
            | Command::GracefulRestart
            | Command::ForceRestart
            | Command::PowerCycle => {
                vec![(
                    Oracle::RelativeCommand,
                    format!("{} was sent", name(sent.command)),
                )]
            }
        }
    }

    fn asked_on(&mut self) -> Vec<Broken> {
        let mut broken = Vec::new();
        if self.unconfirmed.is_some() {
            let text = "On was sent before the power-off was seen to be done".to_owned();
            broken.push((Oracle::OnBeforeConfirmedOff, text));
        }
        if self.proof.is_open() {
            let text = "On was sent before two reads in a row had said Off".to_owned();
            broken.push((Oracle::OffNotProvenTwice, text));
            // One power-off is told of once.
            self.proof = Proof::default();
        }
        broken
    }

    /// The machine went off. Breaks a rule when commands did that before.
    pub(super) fn powered_off(&mut self) -> Vec<Broken> {
        if !std::mem::take(&mut self.off_is_coming) {
            return Vec::new();
        }
        self.power_cycles = self.power_cycles.saturating_add(1);
        if self.power_cycles < 2 {
            return Vec::new();
        }
        let text = format!("commands powered the machine off {} times", self.power_cycles);
        vec![(Oracle::MoreThanOnePowerCycle, text)]
    }

    /// The client learnt late that a command was refused, or never will.
    pub(super) fn refused(&mut self, seq: u64, known: bool) {
        let Some(name) = self.being_refused.remove(&seq).filter(|_| !known) else {
            return;
        };
        let newest = self.since_read.entry(name).or_default();
        *newest = seq.max(*newest);
    }
}

fn name(command: Command) -> &'static str {
    match command {
        Command::On => "On",
        Command::ForceOff => "ForceOff",
        Command::GracefulShutdown => "GracefulShutdown",
        Command::GracefulRestart => "GracefulRestart",
        Command::ForceRestart => "ForceRestart",
        Command::PowerCycle => "PowerCycle",
    }
}
