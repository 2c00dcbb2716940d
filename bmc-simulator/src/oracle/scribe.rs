//! Writes histories that could be, from whatever happens next.

use std::time::Duration;

use proptest::prelude::*;

use crate::journal::{Delivery, Ended, Entry, Event, Tried, Via};
use crate::power::{Change, Command, Outcome, Power};
use crate::{Fault, RequestClass};

/// What may happen next; numbers choose among what is there.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Observed(u8, Option<&'static str>, Delivery, u8),
    Command(u8, Command, bool, Delivery, u8),
    Refused(u8, Option<Command>, Delivery),
    Answered(prop::sample::Index, bool),
    Failed(u8, u8, bool, Delivery),
    FailedWithout,
    Accepted(u8, u8, bool),
    Rotated(u8),
    Opened(bool, Delivery),
    Ended(prop::sample::Index, u8),
    Changed(u8, u8),
    Pressed(u8, bool),
    Mains,
    Reboot,
    Faults(u8),
}

fn delivery() -> impl Strategy<Value = Delivery> {
    prop_oneof![4 => Just(Delivery::Sent), 2 => Just(Delivery::Late), 1 => Just(Delivery::Lost)]
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        4 => Just(Command::On),
        6 => Just(Command::ForceOff),
        1 => Just(Command::PowerCycle),
        1 => Just(Command::GracefulRestart),
    ]
}

fn word() -> impl Strategy<Value = Option<&'static str>> {
    prop_oneof![4 => Just(Some("Off")), 2 => Just(Some("On")), 1 => Just(Some("PoweringOff")), 1 => Just(None)]
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        8 => (0..2_u8, word(), delivery(), 0..4_u8).prop_map(|(a, b, c, d)| Step::Observed(a, b, c, d)),
        6 => (0..2_u8, command(), any::<bool>(), delivery(), 0..4_u8)
            .prop_map(|(a, b, c, d, e)| Step::Command(a, b, c, d, e)),
        2 => (0..2_u8, prop::option::of(command()), delivery()).prop_map(|(a, b, c)| Step::Refused(a, b, c)),
        6 => (index(), any::<bool>()).prop_map(|(a, b)| Step::Answered(a, b)),
        4 => (0..2_u8, 0..2_u8, any::<bool>(), delivery()).prop_map(|(a, b, c, d)| Step::Failed(a, b, c, d)),
        1 => Just(Step::FailedWithout),
        2 => (0..2_u8, 0..2_u8, any::<bool>()).prop_map(|(a, b, c)| Step::Accepted(a, b, c)),
        1 => (0..2_u8).prop_map(Step::Rotated),
        3 => (any::<bool>(), delivery()).prop_map(|(a, b)| Step::Opened(a, b)),
        3 => (index(), 0..4_u8).prop_map(|(a, b)| Step::Ended(a, b)),
        4 => (0..2_u8, 0..3_u8).prop_map(|(a, b)| Step::Changed(a, b)),
        1 => (0..2_u8, any::<bool>()).prop_map(|(a, b)| Step::Pressed(a, b)),
        1 => Just(Step::Mains),
        1 => Just(Step::Reboot),
        1 => (0..3_u8).prop_map(Step::Faults),
    ]
}

/// Only what the rules about reading look at, of one system: dense enough for answers that overtake each
/// other.
pub(super) fn look() -> impl Strategy<Value = Step> {
    let word = prop_oneof![4 => Just(Some("Off")), 1 => Just(Some("On"))];
    let late = prop_oneof![Just(Delivery::Sent), Just(Delivery::Late)];
    let asked = prop_oneof![Just(Command::On), Just(Command::ForceOff)];
    prop_oneof![
        4 => (word, late).prop_map(|(word, delivery)| Step::Observed(0, word, delivery, 9)),
        2 => asked.prop_map(|command| Step::Command(0, command, true, Delivery::Sent, 9)),
        3 => any::<prop::sample::Index>().prop_map(|index| Step::Answered(index, true)),
    ]
}

/// Turns steps into a history that could be: answers to what waits for one, ends of what is open.
#[derive(Default)]
pub(super) struct Scribe {
    pub(super) history: Vec<Entry>,
    awaited: Vec<u64>,
    open: Vec<(String, bool)>,
    opened: u32,
}

fn tried(user: u8, password: u8, over_ipmi: bool) -> Tried {
    let protocol = if over_ipmi { "ipmi" } else { "redfish" };
    Tried {
        user: format!("user-{user}"),
        credentials: format!("{protocol}-{user}-{password}"),
    }
}

fn system(number: u8) -> String {
    format!("system-{number}")
}

impl Scribe {
    pub(super) fn write(&mut self, event: Event) {
        let seq = u64::try_from(self.history.len()).unwrap().saturating_add(1);
        let late = match &event {
            Event::Observed { delivery, .. }
            | Event::Command { delivery, .. }
            | Event::CommandRefused { delivery, .. }
            | Event::AuthFailed { delivery, .. }
            | Event::SessionCreated { delivery, .. }
            | Event::IpmiSessionOpened { delivery, .. } => *delivery == Delivery::Late,
            Event::TcpAccepted
            | Event::TlsHandshake
            | Event::TlsFailed
            | Event::SessionDeleted { .. }
            | Event::SessionEnded { .. }
            | Event::SessionExpired { .. }
            | Event::IpmiSessionEnded { .. }
            | Event::LoginAccepted { .. }
            | Event::Answered { .. }
            | Event::Changed { .. }
            | Event::Pressed { .. }
            | Event::BmcRebooted
            | Event::BmcStage { .. }
            | Event::MainsLost
            | Event::MainsRestored
            | Event::FaultApplied { .. }
            | Event::FaultsSet { .. }
            | Event::DelaysSet { .. }
            | Event::RedfishSet { .. }
            | Event::CredentialsRotated { .. }
            | Event::CertificateSwapped { .. } => false,
        };
        if late {
            self.awaited.push(seq);
        }
        self.history.push(Entry {
            seq,
            host: "a".to_owned(),
            wall: jiff::Timestamp::UNIX_EPOCH,
            elapsed: Duration::ZERO,
            event,
        });
    }

    /// By which door: one of the open sessions, if there is such a one.
    fn via(&self, number: u8) -> Via {
        match self.open.get(usize::from(number)) {
            Some((session, true)) => Via::IpmiSession(session.clone()),
            Some((session, false)) => Via::RedfishSession(session.clone()),
            None => Via::RedfishBasic,
        }
    }

    pub(super) fn take(&mut self, step: &Step) {
        let status = Some(200);
        match step.clone() {
            Step::Observed(number, word, delivery, via) => self.write(Event::Observed {
                system: system(number),
                via: self.via(via),
                reported: word.map(str::to_owned),
                truth: Power::On,
                status,
                delivery,
            }),
            Step::Command(number, command, started, delivery, via) => self.write(Event::Command {
                system: system(number),
                command,
                via: self.via(via),
                outcome: if started {
                    Outcome::Started
                } else {
                    Outcome::NoChange
                },
                status,
                delivery,
            }),
            Step::Refused(number, command, delivery) => self.write(Event::CommandRefused {
                system: system(number),
                command,
                via: Via::RedfishBasic,
                status,
                delivery,
                reason: String::new(),
            }),
            Step::Answered(index, sent) => {
                if !self.awaited.is_empty() {
                    let of = self.awaited.remove(index.index(self.awaited.len()));
                    self.write(Event::Answered {
                        of,
                        status: sent.then_some(200),
                    });
                }
            }
            Step::Failed(user, password, ipmi, delivery) => self.write(Event::AuthFailed {
                class: class(ipmi),
                tried: Some(tried(user, password, ipmi)),
                status,
                delivery,
            }),
            Step::FailedWithout => self.write(Event::AuthFailed {
                class: RequestClass::Other,
                tried: None,
                status,
                delivery: Delivery::Sent,
            }),
            Step::Accepted(user, password, ipmi) => self.write(Event::LoginAccepted {
                class: class(ipmi),
                tried: tried(user, password, ipmi),
            }),
            Step::Rotated(user) => self.write(Event::CredentialsRotated {
                users: vec![tried(user, 0, false).user],
            }),
            Step::Opened(ipmi, delivery) => self.open(ipmi, delivery),
            Step::Ended(index, how) => self.end(index, how),
            Step::Changed(number, what) => self.write(Event::Changed {
                system: system(number),
                change: if what == 0 {
                    Change::PoweredOn
                } else {
                    Change::PoweredOff
                },
            }),
            Step::Pressed(number, on) => self.write(Event::Pressed {
                system: system(number),
                to: if on { Power::On } else { Power::Off },
            }),
            Step::Mains => self.write(Event::MainsLost),
            Step::Reboot => self.write(Event::BmcRebooted),
            Step::Faults(0) => self.write(Event::FaultsSet {
                faults: vec![Fault::Blackhole.into()],
                personality_faults: Vec::new(),
            }),
            Step::Faults(_) => self.write(Event::FaultsSet {
                faults: Vec::new(),
                personality_faults: Vec::new(),
            }),
        }
    }

    fn open(&mut self, ipmi: bool, delivery: Delivery) {
        self.opened = self.opened.saturating_add(1);
        let session = self.opened.to_string();
        self.open.push((session.clone(), ipmi));
        self.write(if ipmi {
            Event::IpmiSessionOpened {
                session,
                username: String::new(),
                limit: crate::Privilege::User,
                cipher_suite: 17,
                status: Some(0),
                delivery,
            }
        } else {
            Event::SessionCreated {
                session,
                status: Some(201),
                delivery,
            }
        });
    }

    fn end(&mut self, index: prop::sample::Index, how: u8) {
        if self.open.is_empty() {
            return;
        }
        let (session, ipmi) = self.open.remove(index.index(self.open.len()));
        let reason = [Ended::Idle, Ended::Closed, Ended::BmcGone, Ended::AccountDeleted][usize::from(how)];
        self.write(match (ipmi, reason) {
            (true, reason) => Event::IpmiSessionEnded { session, reason },
            (false, Ended::Idle) => Event::SessionExpired { session },
            (false, Ended::Closed) => Event::SessionDeleted { session },
            (false, reason) => Event::SessionEnded { session, reason },
        });
    }
}

fn class(ipmi: bool) -> RequestClass {
    if ipmi {
        RequestClass::IpmiRakp3
    } else {
        RequestClass::Other
    }
}
