//! What a careful power client never does, judged by the journal.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ipmi::Ended;
use crate::journal::{Entry, Event};
use crate::power::Command;

/// A rule about what clients do to one BMC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Oracle {
    /// No On after a forced power-off before Off was read: the power-off may still come.
    OnBeforeConfirmedOff,
    /// No power command twice without a read in between: the first may have been carried out.
    BlindRepeat,
    /// No power command before the power state was read at all.
    CommandBeforeRead,
    /// Only `On` and `ForceOff`: what the others do depends on the state, or on the operating system.
    RelativeCommand,
    /// No second login after one was rejected, as long as the credentials are the same: BMCs lock accounts.
    TryAfterRejection,
    /// No session is left open at the end.
    LeakedSession,
}

impl Oracle {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::OnBeforeConfirmedOff,
        Self::BlindRepeat,
        Self::CommandBeforeRead,
        Self::RelativeCommand,
        Self::TryAfterRejection,
        Self::LeakedSession,
    ];

    /// The name used in JSON and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OnBeforeConfirmedOff => "on-before-confirmed-off",
            Self::BlindRepeat => "blind-repeat",
            Self::CommandBeforeRead => "command-before-read",
            Self::RelativeCommand => "relative-command",
            Self::TryAfterRejection => "try-after-rejection",
            Self::LeakedSession => "leaked-session",
        }
    }
}

impl std::fmt::Display for Oracle {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A rule that was broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Breach {
    /// Which rule.
    pub oracle: Oracle,
    /// At which host.
    pub host: String,
    /// Number of the journal entry that broke it; for a leaked session the one that opened it.
    pub seq: u64,
    /// What happened, in a sentence.
    pub text: String,
}

impl std::fmt::Display for Breach {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            oracle,
            host,
            seq,
            text,
        } = self;
        write!(formatter, "{oracle} at {host}, journal entry {seq}: {text}")
    }
}

/// Judges journal entries, in their order. Entries that the journal no longer keeps are not judged.
pub(crate) fn judge(entries: &[Arc<Entry>], oracles: &[Oracle]) -> Vec<Breach> {
    let mut hosts: BTreeMap<&str, Case> = BTreeMap::new();
    let mut breaches = Vec::new();
    for entry in entries {
        let case = hosts.entry(&entry.host).or_default();
        for (oracle, text) in case.hear(entry.seq, &entry.event) {
            breaches.push(Breach {
                oracle,
                host: entry.host.clone(),
                seq: entry.seq,
                text,
            });
        }
    }
    for (host, case) in hosts {
        breaches.extend(case.sessions.into_iter().map(|(session, seq)| Breach {
            oracle: Oracle::LeakedSession,
            host: host.to_owned(),
            seq,
            text: format!("session {session} is still open"),
        }));
    }
    breaches.retain(|breach| oracles.contains(&breach.oracle));
    breaches.sort_by_key(|breach| breach.seq);
    breaches
}

/// What has to be remembered of one host.
#[derive(Debug, Default)]
struct Case {
    /// What was asked about the power of each of its systems: a decoy's is not the machine's.
    systems: BTreeMap<String, PowerCase>,
    rejected: bool,
    /// Open sessions and the entries that opened them.
    sessions: BTreeMap<String, u64>,
}

/// What has to be remembered of the power of one system.
#[derive(Debug, Default)]
struct PowerCase {
    /// Whether it was read at all.
    read: bool,
    /// Commands since the last read.
    since_read: BTreeSet<&'static str>,
    /// A forced power-off that no Off was read after.
    unconfirmed: bool,
}

impl Case {
    fn system(&mut self, id: &str) -> &mut PowerCase {
        self.systems.entry(id.to_owned()).or_default()
    }

    fn hear(&mut self, seq: u64, event: &Event) -> Vec<(Oracle, String)> {
        match event {
            Event::Observed { system, reported, .. } => {
                self.system(system).observed(reported.as_deref());
                Vec::new()
            }
            Event::Command { system, command, .. } => self.system(system).commanded(*command),
            Event::AuthFailed { .. } => {
                let again = std::mem::replace(&mut self.rejected, true);
                let text = || "a login was tried again after one was rejected".to_owned();
                again
                    .then(|| (Oracle::TryAfterRejection, text()))
                    .into_iter()
                    .collect()
            }
            Event::CredentialsRotated => {
                self.rejected = false;
                self.sessions.clear();
                Vec::new()
            }
            Event::SessionCreated { session } => {
                self.sessions.insert(session.clone(), seq);
                Vec::new()
            }
            Event::SessionDeleted { session } => {
                self.sessions.remove(session);
                Vec::new()
            }
            Event::SessionExpired { session } => {
                self.sessions.remove(session);
                let text = format!("session {session} was left to its time-out");
                vec![(Oracle::LeakedSession, text)]
            }
            Event::BmcRebooted | Event::MainsLost => {
                self.sessions.clear();
                Vec::new()
            }
            Event::IpmiSessionOpened { session, .. } => {
                self.sessions.insert(format!("{session} over IPMI"), seq);
                Vec::new()
            }
            Event::IpmiSessionEnded { session, reason } => match reason {
                Ended::Closed | Ended::CredentialsRotated | Ended::BmcGone => {
                    self.sessions.remove(&format!("{session} over IPMI"));
                    Vec::new()
                }
                Ended::Idle => {
                    self.sessions.remove(&format!("{session} over IPMI"));
                    let text = format!("session {session} over IPMI was left to its time-out");
                    vec![(Oracle::LeakedSession, text)]
                }
            },
            Event::TcpAccepted
            | Event::TlsHandshake
            | Event::TlsFailed
            | Event::CommandRefused { .. }
            | Event::Changed { .. }
            | Event::Pressed { .. }
            | Event::BmcStage { .. }
            | Event::MainsRestored
            | Event::FaultApplied { .. }
            | Event::FaultsSet { .. }
            | Event::DelaysSet { .. }
            | Event::RedfishSet { .. }
            | Event::CertificateSwapped { .. } => Vec::new(),
        }
    }
}

impl PowerCase {
    fn observed(&mut self, reported: Option<&str>) {
        self.read = true;
        self.since_read.clear();
        self.unconfirmed &= reported != Some("Off");
    }

    fn commanded(&mut self, command: Command) -> Vec<(Oracle, String)> {
        let name = name(command);
        let mut broken = Vec::new();
        if !self.read {
            broken.push((
                Oracle::CommandBeforeRead,
                format!("{name} was sent before the power state was read"),
            ));
        }
        if !self.since_read.insert(name) {
            broken.push((
                Oracle::BlindRepeat,
                format!("{name} was sent again without a read in between"),
            ));
        }
        match command {
            Command::On if self.unconfirmed => broken.push((
                Oracle::OnBeforeConfirmedOff,
                "On was sent before the power-off was seen to be done".to_owned(),
            )),
            Command::On => {}
            Command::ForceOff => self.unconfirmed = true,
            Command::GracefulShutdown
            | Command::GracefulRestart
            | Command::ForceRestart
            | Command::PowerCycle => {
                broken.push((Oracle::RelativeCommand, format!("{name} was sent")));
            }
        }
        broken
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
