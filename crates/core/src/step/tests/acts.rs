//! How the shell of the tests carries out observations and effects, and what goes wrong.

use super::fallback::WHY;
use super::metal3::forbidden;
use super::shell::{API_LATENCY, BMC_LATENCY, Fault, Sim, is_storm, millis, no_secret, unreachable};

use super::world::at;
use crate::brakes::{Claim, Fleet};
use crate::confirmation::LiveWord;
use crate::decision::{Effect, Observation};
use crate::facts::{LiveCheck, Lookup, NodeReport, OutOfService};
use crate::journal::{EscalationKind, HostState, Subject, Verb};
use crate::node_lease::NodeLease;
use crate::observed::{IntentKey, PowerRead, Reading, Sent};
use crate::phase::Phase;
use crate::power::{PowerState, Protocol};
use crate::power_command::{CommandAnswer, CommandCame, CommandError, Refusal};

/// How long after a command that counts as perhaps carried out it is carried out: less than the 20 s after
/// which it counts as lost.
const LATE: i64 = 15_000;

const UUID_OF_ANOTHER: &str = "00000000-0000-0000-0000-0cc47a000001";

impl Sim {
    pub(super) fn observe(&mut self, observation: Observation, fault: Fault) {
        let began = at(self.world.now);
        match observation {
            Observation::Power => return self.read_power(fault),
            Observation::LiveCheck => self.counts.looks += 1,
            Observation::Report => self.counts.reports += 1,
            Observation::Cleanup => self.counts.cleanups += 1,
            Observation::NodeLease => return self.read_node_lease(fault),
            Observation::BareMetalHost => return self.read_bare_metal_host(fault),
            Observation::Admission => {
                if self.is_alone {
                    self.admitted = self.ask(true);
                }
                return;
            }
        }
        let read = Reading {
            began,
            found: self.world.lease.clone(),
        };
        let objects = self.seen();
        let remaining = self.world.pods.clone();
        let node_lease = self.seen_of_lease();
        self.pass(API_LATENCY);
        if fault == Fault::Refused {
            return self.write_failed();
        }
        match observation {
            Observation::Power
            | Observation::NodeLease
            | Observation::BareMetalHost
            | Observation::Admission => {}
            Observation::LiveCheck => {
                if let Ok(lease) = &node_lease {
                    self.leases_were_unused = *lease == NodeLease::Unused;
                }
                let had_no_node = self.journal.subject.as_ref().is_some_and(Subject::had_no_node);
                // Of a host without a Node, no Lease is looked at.
                let report = if had_no_node {
                    NodeReport::default()
                } else {
                    read.found.clone()
                };
                let metal3 = self.world.metal3.as_ref().map(|metal3| metal3.seen());
                let forbidden = metal3.as_ref().and_then(forbidden);
                let look = LiveCheck {
                    began,
                    objects,
                    report,
                    host: forbidden.or_else(|| self.host.clone().err()).map_or(Ok(()), Err),
                    bare_metal_host: metal3,
                    node_lease,
                    fleet: Fleet::clone(&self.fleet),
                    claim: Claim::default(),
                    own_node: self.own_node.clone(),
                    confirm_off: Some(LiveWord {
                        word: self.word.clone().map_or(Lookup::Absent, Lookup::Present),
                        guarded_since: self.guarded_since.clone(),
                    }),
                };
                if !had_no_node {
                    self.observed.note_live_check(&look, at(self.world.now));
                }
                self.live_check = Some(look);
            }
            Observation::Report => self.observed.note_report(read),
            Observation::Cleanup => self.observed.note_cleanup(Reading {
                began,
                found: remaining,
            }),
        }
    }

    fn read_power(&mut self, fault: Fault) {
        if self.journal.phase == Phase::Fencing {
            self.counts.watch_reads += 1;
        } else {
            self.counts.bmc_reads += 1;
        }
        let began = at(self.world.now);
        let word = if let Fault::Says(word) = fault {
            Some(word)
        } else {
            self.world.word()
        };
        self.pass(self.world.bmc.latency);
        let ended = at(self.world.now);
        if !self.world.bmc.has_secret {
            self.observed.note_own_failure(ended, no_secret());
            return;
        }
        if fault == Fault::Refused || !self.world.bmc.reachable {
            self.observed.note_read_failure(ended, unreachable());
            return;
        }
        if word == Some("Off") {
            self.saw_off = Some(self.journal.attempt);
        }
        let power = PowerState::from_literal(word);
        let uuid = if fault == Fault::AnotherHost {
            Some(UUID_OF_ANOTHER.to_owned())
        } else {
            self.world.bmc.uuid.clone()
        };
        let command_failure = self.world.command_failure(power);
        self.observed.note_read(PowerRead {
            began,
            ended,
            power,
            protocol: self.world.bmc.protocol,
            literal: word.map(str::to_owned),
            serial: None,
            uuid,
            system: self.world.bmc.system.clone(),
            session: None,
            command_failure,
            fallback: (self.world.bmc.protocol == Protocol::Ipmi).then(|| WHY.to_owned()),
            certificate: None,
            host: HostState::default(),
        });
    }

    pub(super) fn perform(&mut self, effect: Effect, fault: Fault) {
        let not_after = match &effect {
            Effect::PowerOff { not_after }
            | Effect::PowerOn { not_after }
            | Effect::Restart { not_after } => Some(*not_after),
            Effect::TaintNode { not_after, .. } | Effect::DeleteNode { not_after, .. } => Some(*not_after),
            Effect::AskOwner(machine) | Effect::DeleteMachine(machine) => Some(machine.not_after),
            Effect::WriteHold(hold) => Some(hold.not_after),
            Effect::AddFinalizer
            | Effect::RemoveFinalizer
            | Effect::ReleaseHost(_)
            | Effect::RestoreNode { .. }
            | Effect::UntaintNode { .. }
            | Effect::ClearTrigger { .. }
            | Effect::TakeNodeLease(_)
            | Effect::ReleaseNodeLease { .. } => None,
        };
        if let (Some(not_after), Fault::TooLate) = (not_after, fault) {
            self.world.advance(millis(not_after) + 1);
            return;
        }
        let late = not_after.is_some_and(|not_after| at(self.world.now) > not_after);
        if late && self.heeds_not_after {
            return;
        }
        match effect {
            Effect::PowerOff { .. } => self.command(Verb::PowerOff, effect, fault),
            Effect::Restart { .. } => self.command(Verb::Restart, effect, fault),
            Effect::PowerOn { .. } => {
                self.opposed |= self.opposes();
                self.command(Verb::PowerOn, effect, fault);
            }
            Effect::WriteHold(ref hold) => self.write_to_host(&hold.host, Some(hold), (&effect, fault)),
            Effect::ReleaseHost(ref host) => self.write_to_host(host, None, (&effect, fault)),
            Effect::TakeNodeLease(_) | Effect::ReleaseNodeLease { .. } => {
                self.write_node_lease(&effect, fault);
            }
            Effect::AddFinalizer
            | Effect::RemoveFinalizer
            | Effect::TaintNode { .. }
            | Effect::DeleteNode { .. }
            | Effect::RestoreNode { .. }
            | Effect::UntaintNode { .. }
            | Effect::ClearTrigger { .. } => self.write(effect, fault),
            Effect::AskOwner(machine) => self.escalate(EscalationKind::MachineOwner, &machine, fault),
            Effect::DeleteMachine(machine) => self.escalate(EscalationKind::MachineDeletion, &machine, fault),
        }
    }

    fn command(&mut self, verb: Verb, effect: Effect, fault: Fault) {
        self.counts.bmc_commands += 1;
        let attempt = self.journal.attempt;
        let intent = self
            .journal
            .intent
            .clone()
            .expect("an intent is journalled before a command");
        assert_eq!(intent.verb, verb, "the journalled intent is another one");
        if verb == Verb::PowerOff && self.saw_off == Some(attempt) && self.world.host.on {
            let said = self.observed.last_read().map(|read| read.power);
            self.second_power_off |= said != Some(PowerState::Off) && self.edges(false, attempt) > 0;
        }
        if verb.takes_down() {
            let subject = self.journal.subject.as_ref();
            if subject.is_some_and(Subject::had_no_node) {
                let looked = self
                    .live_check
                    .as_ref()
                    .map_or(i64::MIN, |look| millis(look.began));
                let member = self.world.node().is_some() && self.world.registered <= looked;
                self.cycled_a_member |= member || self.live_check.is_none();
            } else {
                self.unheld_power_off |= !self.holds_at_live_check();
            }
            let is_first = self
                .journal
                .intent
                .as_ref()
                .is_some_and(|intent| intent.sends == 1);
            let look = self.live_check.as_ref();
            self.unbraked_power_off |= is_first && look.is_some_and(|look| is_storm(&look.fleet));
        }
        self.sent.push((self.world.now, effect));
        self.pass(BMC_LATENCY);
        let lost = matches!(
            fault,
            Fault::CommandLost | Fault::Refused | Fault::TaskFails { obeyed: false }
        ) || !self.world.bmc.is_there();
        let failed = matches!(fault, Fault::TaskFails { .. });
        self.world.bmc.failed_to = (failed && verb != Verb::Restart).then_some(verb == Verb::PowerOn);
        if !lost {
            let late = if fault == Fault::CarriedOutLate { LATE } else { 0 };
            let cause = self.cause(attempt);
            match verb {
                Verb::PowerOff | Verb::PowerOn => {
                    self.world.command_after(late, verb == Verb::PowerOn, cause);
                }
                Verb::Restart => self.world.reset_after(late, cause),
            }
        }
        let unanswered = |came| {
            Err(CommandError {
                came,
                obstacle: unreachable(),
            })
        };
        let answer = match fault {
            Fault::AnswerLost | Fault::CarriedOutLate | Fault::CommandLost => {
                unanswered(CommandCame::Unknown)
            }
            Fault::Refused => Ok(CommandAnswer::Refused {
                class: Refusal::Busy,
                text: "no".to_owned(),
                retry_after: None,
            }),
            Fault::None
            | Fault::CrashBeforeJournal
            | Fault::CrashAfterJournal
            | Fault::CrashAfterAct
            | Fault::CrashToClockBehind
            | Fault::TooLate
            | Fault::TaskFails { .. }
            | Fault::Says(_)
            | Fault::AnotherHost => {
                if self.world.bmc.is_there() {
                    Ok(CommandAnswer::Accepted)
                } else {
                    unanswered(CommandCame::NotSent)
                }
            }
        };
        self.observed.note_sent(Sent {
            intent: IntentKey {
                verb,
                attempt,
                sends: intent.sends,
                epoch: intent.epoch,
                process: intent.process,
            },
            at: at(self.world.now),
            answer,
        });
    }

    pub(super) fn write_failed(&mut self) {
        let (now, versions) = (at(self.world.now), self.world.objects.versions());
        self.observed
            .note_write_failure(now, "the server said no".to_owned(), versions);
    }

    fn write(&mut self, effect: Effect, fault: Fault) {
        self.counts.api_writes += 1;
        self.pass(API_LATENCY);
        if fault == Fault::Refused || (self.refuses)(&effect) || !self.write_is_valid(&effect) {
            return self.write_failed();
        }
        match effect {
            Effect::AddFinalizer => self.has_finalizer = true,
            Effect::RemoveFinalizer => {
                self.has_finalizer = false;
                self.gone = self.deletion_requested;
            }
            Effect::TaintNode { .. } => {
                self.released_at.push(self.world.now);
                self.world.tainted_by_us();
            }
            Effect::DeleteNode { .. } => {
                self.released_at.push(self.world.now);
                self.lease_goes_with_its_node();
                self.world.removed_by_us();
            }
            Effect::RestoreNode { saved, .. } => {
                self.world.metadata = saved;
                self.world.edit_node(|_| {});
                self.note_restored();
            }
            Effect::UntaintNode { .. } => self
                .world
                .edit_node(|node| node.out_of_service = OutOfService::No),
            Effect::ClearTrigger { .. } => {
                let mut version = String::new();
                self.world.edit_machine(|machine| {
                    machine.state.triggered = false;
                    machine.state.remediate = false;
                });
                if let Lookup::Present(machine) = &self.world.objects.machine {
                    version.clone_from(&machine.resource_version);
                }
                self.observed.trigger_cleared = Some(version);
            }
            Effect::PowerOff { .. }
            | Effect::PowerOn { .. }
            | Effect::Restart { .. }
            | Effect::WriteHold(_)
            | Effect::ReleaseHost(_)
            | Effect::AskOwner(_)
            | Effect::DeleteMachine(_)
            | Effect::TakeNodeLease(_)
            | Effect::ReleaseNodeLease { .. } => {}
        }
    }

    fn note_restored(&mut self) {
        self.observed.node_restored = self.world.node().map(|node| node.uid.clone());
    }

    fn write_is_valid(&self, effect: &Effect) -> bool {
        let node = self.world.node();
        let version = node.map(|node| node.resource_version.as_str());
        match effect {
            Effect::TaintNode { resource_version, .. }
            | Effect::RestoreNode { resource_version, .. }
            | Effect::UntaintNode { resource_version, .. } => version == Some(resource_version),
            Effect::DeleteNode {
                uid,
                resource_version,
                ..
            } => version == Some(resource_version) && node.map(|node| &node.uid) == Some(uid),
            Effect::ClearTrigger { uid, .. } => match &self.world.objects.machine {
                Lookup::Present(machine) => machine.uid == *uid,
                Lookup::Absent | Lookup::Unreadable(_) => false,
            },
            Effect::AddFinalizer
            | Effect::RemoveFinalizer
            | Effect::PowerOff { .. }
            | Effect::PowerOn { .. }
            | Effect::Restart { .. }
            | Effect::WriteHold(_)
            | Effect::ReleaseHost(_)
            | Effect::AskOwner(_)
            | Effect::DeleteMachine(_)
            | Effect::TakeNodeLease(_)
            | Effect::ReleaseNodeLease { .. } => true,
        }
    }
}
