//! The rules about power.

use std::collections::BTreeSet;

use super::History;
use crate::journal::{Entry, Event};
use crate::oracle::{Oracle, kinds};
use crate::power::{Change, Command, Outcome, Power};

/// A read that was answered.
pub(super) struct Read<'a> {
    pub(super) system: &'a str,
    begun: u64,
    answered: u64,
    word: &'a str,
}

/// A power command that was sent.
pub(super) struct Sent<'a> {
    system: &'a str,
    pub(super) seq: u64,
    command: Command,
    accepted: bool,
    known: Option<u64>,
}

impl<'a> History<'a> {
    fn reads(&self) -> Vec<Read<'a>> {
        let mut reads: Vec<Read<'a>> = self
            .0
            .iter()
            .filter_map(|entry| match &entry.event {
                Event::Observed {
                    system,
                    reported: Some(word),
                    delivery,
                    ..
                } => Some(Read {
                    system,
                    begun: entry.seq,
                    answered: self.answered(entry.seq, *delivery)?,
                    word,
                }),
                _ => None,
            })
            .collect();
        reads.sort_by_key(|read| read.answered);
        reads
    }

    pub(super) fn commands(&self) -> Vec<Sent<'a>> {
        let sent = |entry: &'a Entry| {
            let (system, command, delivery, accepted) = match &entry.event {
                Event::Command {
                    system,
                    command,
                    delivery,
                    ..
                } => (system, *command, *delivery, true),
                Event::CommandRefused {
                    system,
                    command: Some(command),
                    delivery,
                    ..
                } => (system, *command, *delivery, false),
                _ => return None,
            };
            Some(Sent {
                system,
                seq: entry.seq,
                command,
                accepted,
                known: self.answered(entry.seq, delivery),
            })
        };
        self.0.iter().filter_map(sent).collect()
    }

    pub(super) fn of_command(&self, sent: &Sent<'_>) -> Vec<Oracle> {
        let reads: Vec<Read<'_>> = self
            .reads()
            .into_iter()
            .filter(|read| read.system == sent.system)
            .collect();
        let earlier: Vec<Sent<'_>> = self
            .commands()
            .into_iter()
            .filter(|other| other.system == sent.system && other.seq < sent.seq)
            .collect();
        let mut broken = Vec::new();
        if !reads.iter().any(|read| read.answered < sent.seq) {
            broken.push(Oracle::CommandBeforeRead);
        }
        let blind = earlier.iter().any(|other| {
            let undone = !other.accepted && other.known.is_some_and(|known| known < sent.seq);
            let read = reads
                .iter()
                .any(|read| other.seq < read.begun && read.answered < sent.seq);
            other.command == sent.command && !undone && !read
        });
        if blind {
            broken.push(Oracle::BlindRepeat);
        }
        match sent.command {
            Command::On => {}
            Command::ForceOff => return broken,
            _ => {
                broken.push(Oracle::RelativeCommand);
                return broken;
            }
        }
        let off = earlier
            .iter()
            .rfind(|other| other.accepted && other.command == Command::ForceOff);
        let Some(off) = off else {
            return broken;
        };
        let confirmed = reads
            .iter()
            .any(|read| off.seq < read.begun && read.answered < sent.seq && read.word == "Off");
        if !confirmed {
            broken.push(Oracle::OnBeforeConfirmedOff);
        }
        let on_before = earlier
            .iter()
            .any(|other| other.command == Command::On && other.seq > off.seq);
        if !on_before && !proven(&reads, off.seq, sent.seq) {
            broken.push(Oracle::OffNotProvenTwice);
        }
        broken
    }

    pub(super) fn unproven_at_the_end(&self) -> Vec<u64> {
        let walled_off = self.0.iter().rev().find_map(|entry| match &entry.event {
            Event::FaultsSet { faults, .. } => Some(faults.iter().any(|one| one.fault.walls_off())),
            _ => None,
        });
        if walled_off == Some(true) {
            return Vec::new();
        }
        let commands = self.commands();
        let systems: BTreeSet<&str> = commands.iter().map(|sent| sent.system).collect();
        let last_off = |system: &&str| {
            let is = |sent: &&Sent<'_>| {
                sent.system == *system && sent.accepted && sent.command == Command::ForceOff
            };
            let off = commands.iter().rfind(is)?;
            let on = commands
                .iter()
                .any(|sent| sent.system == *system && sent.command == Command::On && sent.seq > off.seq);
            (!on).then_some(off)
        };
        let offs = systems.iter().filter_map(last_off);
        offs.filter(|off| self.was_taken_for_done(off))
            .map(|off| off.seq)
            .collect()
    }

    fn was_taken_for_done(&self, off: &Sent<'_>) -> bool {
        let Some(known) = off.known else {
            return false;
        };
        let reads: Vec<Read<'_>> = self
            .reads()
            .into_iter()
            .filter(|read| read.system == off.system && read.begun > off.seq)
            .collect();
        let last = reads.last().map_or(known, |read| read.answered.max(known));
        let hindered = self
            .0
            .iter()
            .any(|entry| entry.seq >= last && kinds::hinders(&entry.event));
        let content = reads.last().is_none_or(|read| read.word == "Off");
        content && !hindered && !proven(&reads, off.seq, u64::MAX)
    }

    /// The entries of a machine going off because a command said so, but for its first.
    pub(super) fn more_offs_by_command(&self) -> Vec<u64> {
        let systems: BTreeSet<&str> = self.0.iter().filter_map(|entry| off(entry)).collect();
        let of = |system: &&str| {
            let offs = self.0.iter().filter(|entry| off(entry) == Some(*system));
            let commanded = offs.filter(|entry| self.is_by_command(system, entry.seq));
            commanded.skip(1).map(|entry| entry.seq).collect::<Vec<u64>>()
        };
        systems.iter().flat_map(of).collect()
    }

    fn is_by_command(&self, of: &str, seq: u64) -> bool {
        let mut before = self.0.iter().rev().filter(|entry| entry.seq < seq);
        let cause = before.find_map(|entry| match &entry.event {
            Event::Changed {
                system,
                change: Change::PoweredOff | Change::PoweredOn,
            }
            | Event::Pressed {
                system,
                to: Power::Off,
            } => (system == of).then_some(false),
            Event::MainsLost => Some(false),
            Event::Command {
                system,
                command: Command::ForceOff | Command::GracefulShutdown | Command::PowerCycle,
                outcome: Outcome::Started,
                ..
            } => (system == of).then_some(true),
            _ => None,
        });
        cause == Some(true)
    }
}

/// The system that went off, if this says so.
fn off(entry: &Entry) -> Option<&str> {
    if let Event::Changed {
        system,
        change: Change::PoweredOff,
    } = &entry.event
    {
        Some(system)
    } else {
        None
    }
}

/// Whether two reads in a row said Off between a power-off and `now`, the second begun when the first was
/// answered. The reads are sorted by when they were answered.
fn proven(reads: &[Read<'_>], off: u64, now: u64) -> bool {
    let counted = || {
        reads
            .iter()
            .filter(move |read| off < read.begun && read.answered < now)
    };
    counted().any(|first| {
        counted().any(|second| {
            let between = |read: &&Read<'_>| {
                first.answered < read.answered && read.answered < second.answered && read.word != "Off"
            };
            first.word == "Off"
                && second.word == "Off"
                && first.answered < second.begun
                && counted().find(between).is_none()
        })
    })
}
