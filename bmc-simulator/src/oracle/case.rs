//! One BMC on trial: hears entry by entry what happened, and remembers no more than it must.

use std::collections::BTreeMap;

use super::kinds::{ends_in_off, hinders, over_ipmi, via};
use super::late::Late;
use super::logins::LoginCase;
use super::power::{PowerCase, Sent};
use super::sessions::SessionCase;
use super::{Breach, Broken, Oracle};
use crate::journal::{Delivery, Ended, Entry, Event, Tried, Via};
use crate::power::{Change, Command, Outcome, Power};

/// Breaches of one rule that are remembered; who breaks it more often is found guilty all the same.
const REMEMBERED: usize = 100;

/// What has to be remembered of one BMC.
#[derive(Debug, Default)]
pub(crate) struct Case {
    pub(super) systems: BTreeMap<String, PowerCase>,
    pub(super) logins: LoginCase,
    pub(super) sessions: SessionCase,
    /// Answers under way, by the entry that they belong to; as many as there are requests under way.
    pub(super) late: BTreeMap<u64, Late>,
    /// The newest entry of what may have kept a client from reading.
    pub(super) hindered: Option<u64>,
    /// A fault is in force that may keep clients from reading, and tells nobody when it does.
    pub(super) walled_off: bool,
    pub(super) breaches: BTreeMap<Oracle, Vec<Breach>>,
}

impl Case {
    /// Judges the next entry of this BMC.
    pub(crate) fn hear(&mut self, entry: &Entry) {
        if hinders(&entry.event) {
            self.hindered = Some(entry.seq);
        }
        if let Some(via) = via(&entry.event) {
            self.used(via);
        }
        for (oracle, text) in self.judge(entry.seq, &entry.event) {
            let known = self.breaches.entry(oracle).or_default();
            if known.len() < REMEMBERED {
                known.push(Breach {
                    oracle,
                    host: entry.host.clone(),
                    seq: entry.seq,
                    text,
                });
            }
        }
    }

    /// Whether it belongs into the journal that these credentials were accepted.
    pub(crate) fn concerns_login(&self, tried: &Tried) -> bool {
        let late =
            |late: &Late| matches!(late, Late::Rejected { tried: earlier, .. } if earlier.user == tried.user);
        self.logins.concerns(tried) || self.late.values().any(late)
    }

    fn judge(&mut self, seq: u64, event: &Event) -> Vec<Broken> {
        match event {
            Event::Observed {
                system,
                reported: Some(word),
                delivery,
                ..
            } => {
                self.observed(seq, system, word, *delivery);
                Vec::new()
            }
            Event::Command {
                system,
                command,
                outcome,
                delivery,
                ..
            } => {
                let off_is_coming = *outcome == Outcome::Started && ends_in_off(*command);
                self.system(system).off_is_coming |= off_is_coming;
                self.commanded(system, seq, *command, true, *delivery)
            }
            Event::CommandRefused {
                system,
                command: Some(command),
                delivery,
                ..
            } => self.commanded(system, seq, *command, false, *delivery),
            Event::AuthFailed {
                class,
                tried: Some(tried),
                delivery,
                ..
            } => self.login_failed(seq, tried, class.is_ipmi(), *delivery),
            Event::LoginAccepted { tried, .. } => {
                self.late.retain(
                    |_, late| !matches!(late, Late::Rejected { tried: earlier, .. } if earlier == tried),
                );
                self.logins.accepted(tried)
            }
            Event::CredentialsRotated { users } => {
                self.forget_late(|tried| users.contains(&tried.user));
                self.logins.changed(users);
                Vec::new()
            }
            Event::Answered { of, status } => {
                self.answered(seq, *of, status.is_some());
                Vec::new()
            }
            Event::SessionCreated {
                session, delivery, ..
            } => {
                self.opened(session.clone(), seq, *delivery);
                Vec::new()
            }
            Event::IpmiSessionOpened {
                session, delivery, ..
            } => {
                self.opened(over_ipmi(session), seq, *delivery);
                Vec::new()
            }
            Event::SessionDeleted { session } => self.ended(session, Ended::Closed),
            Event::SessionExpired { session } => self.ended(session, Ended::Idle),
            Event::SessionEnded { session, reason } => self.ended(session, *reason),
            Event::IpmiSessionEnded { session, reason } => self.ended(&over_ipmi(session), *reason),
            Event::Changed { system, change } => self.changed(system, change),
            Event::Pressed { system, to } => {
                self.system(system).off_is_coming &= *to != Power::Off;
                Vec::new()
            }
            Event::MainsLost => {
                self.mains_lost();
                Vec::new()
            }
            Event::BmcRebooted => {
                self.hang_up();
                Vec::new()
            }
            Event::FaultsSet {
                faults,
                personality_faults,
            } => {
                let mut all = faults.iter().chain(personality_faults);
                self.walled_off = all.any(|one| one.fault.walls_off());
                Vec::new()
            }
            Event::TcpAccepted
            | Event::TlsHandshake
            | Event::TlsFailed
            | Event::BmcStage { .. }
            // A null is no power state: the client knows no more than before.
            | Event::Observed { reported: None, .. }
            | Event::CommandRefused { command: None, .. }
            | Event::AuthFailed { tried: None, .. }
            | Event::MainsRestored
            | Event::FaultApplied { .. }
            | Event::DelaysSet { .. }
            | Event::RedfishSet { .. }
            | Event::CertificateSwapped { .. } => Vec::new(),
        }
    }

    pub(super) fn system(&mut self, id: &str) -> &mut PowerCase {
        self.systems.entry(id.to_owned()).or_default()
    }

    fn observed(&mut self, seq: u64, system: &str, word: &str, delivery: Delivery) {
        match delivery {
            Delivery::Sent => self.system(system).observed(seq, seq, word),
            Delivery::Late => {
                let (system, word) = (system.to_owned(), word.to_owned());
                self.late.insert(seq, Late::Read { system, word });
            }
            Delivery::Lost => {}
        }
    }

    fn commanded(
        &mut self,
        system: &str,
        seq: u64,
        command: Command,
        accepted: bool,
        delivery: Delivery,
    ) -> Vec<Broken> {
        if delivery == Delivery::Late {
            let system = system.to_owned();
            let late = if accepted {
                Late::Accepted { system }
            } else {
                Late::Refused { system }
            };
            self.late.insert(seq, late);
        }
        self.system(system).commanded(Sent {
            seq,
            command,
            accepted,
            delivery,
        })
    }

    fn login_failed(&mut self, seq: u64, tried: &Tried, over_ipmi: bool, delivery: Delivery) -> Vec<Broken> {
        let broken = self.logins.failed(tried);
        match delivery {
            Delivery::Sent => self.logins.rejected(tried, seq, over_ipmi),
            Delivery::Late => {
                let tried = tried.clone();
                self.late.insert(seq, Late::Rejected { tried, over_ipmi });
            }
            Delivery::Lost => {}
        }
        broken
    }

    fn opened(&mut self, session: String, seq: u64, delivery: Delivery) {
        self.sessions.opened(session, seq, delivery == Delivery::Sent);
        if delivery == Delivery::Late {
            self.late.insert(seq, Late::Session);
        }
    }

    fn ended(&mut self, session: &str, reason: Ended) -> Vec<Broken> {
        match reason {
            Ended::Idle => {
                let leaked = self.sessions.expired(session);
                leaked
                    .map(|text| (Oracle::LeakedSession, text))
                    .into_iter()
                    .collect()
            }
            Ended::Closed
            | Ended::CredentialsRotated
            | Ended::AccountDeleted
            | Ended::AccountDisabled
            | Ended::BmcGone => {
                self.sessions.ended(session);
                Vec::new()
            }
        }
    }

    fn changed(&mut self, system: &str, change: &Change) -> Vec<Broken> {
        let system = self.system(system);
        match change {
            Change::PoweredOff => system.powered_off(),
            Change::PoweredOn => {
                system.off_is_coming = false;
                Vec::new()
            }
            Change::Reset | Change::Booted { .. } => Vec::new(),
        }
    }

    fn mains_lost(&mut self) {
        self.hang_up();
        for system in self.systems.values_mut() {
            system.off_is_coming = false;
        }
    }

    fn used(&mut self, via: &Via) {
        match via {
            Via::RedfishBasic => {}
            Via::RedfishSession(session) => self.sessions.used(session),
            Via::IpmiSession(session) => self.sessions.used(&over_ipmi(session)),
        }
    }
}
