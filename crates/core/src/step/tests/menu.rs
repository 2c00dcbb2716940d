//! What may go wrong or happen at every turn of an explored run.

use super::shell::{Fault, Sim, is_storm};
use super::world::{Cause, Kubelet};
use crate::decision::{Act, Decision, Effect, Observation};
use crate::facts::{Lookup, Obstacle, Policy};
use crate::node_lease::NodeLease;
use crate::phase::{Phase, Reason};

/// Which choices there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Menu {
    Everything,
    /// The same, and every object that a remediation refers to may be deleted.
    Deletions,
    CrashesAndLostAnswers,
    /// The same, and what is refused, fails, or comes too late.
    Failures,
    /// A BMC that delays and loses commands and answers, and says what is not so.
    Lies,
}

impl Menu {
    /// The faults that this menu has for a decision.
    pub(super) fn faults(self, sim: &Sim, decision: &Decision) -> Vec<Fault> {
        let mut faults = faults(sim, decision);
        faults.retain(|fault| self.offers(*fault));
        faults
    }

    /// What others may do now.
    pub(super) fn events(self, sim: &Sim) -> impl Iterator<Item = Event> {
        let any = match self {
            Self::Everything => COMMON,
            Self::Deletions => EVENTS.len(),
            Self::CrashesAndLostAnswers | Self::Failures | Self::Lies => 0,
        };
        EVENTS.into_iter().take(any).filter(|event| event.applies(sim))
    }

    fn offers(self, fault: Fault) -> bool {
        match fault {
            Fault::CrashBeforeJournal | Fault::CrashAfterJournal | Fault::CrashAfterAct => self != Self::Lies,
            Fault::AnswerLost | Fault::CarriedOutLate | Fault::CommandLost => true,
            Fault::Refused | Fault::TooLate => !matches!(self, Self::CrashesAndLostAnswers | Self::Lies),
            Fault::TaskFails { .. } | Fault::Says(_) => {
                matches!(self, Self::Everything | Self::Deletions | Self::Lies)
            }
            Fault::None | Fault::CrashToClockBehind | Fault::AnotherHost => {
                matches!(self, Self::Everything | Self::Deletions)
            }
        }
    }
}

/// What others do between two turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Event {
    HostComesOn,
    NodeReportsAgain,
    NodeBootsByItself,
    RemediationDeleted,
    PolicyPaused,
    MachineDeleted,
    TriggerWithdrawn,
    BmcDies,
    BmcComesBack,
    LeaseTakenByAnother,
    LeaseGivenBack,
    BootsAtLast,
    NodeJoins,
    LeadLost,
    LeadTakenOver,
    ManyNodesFallSilent,
    PersonSwitchesOff,
    PersonIsWrong,
    KeptOffByAnother,
    TakenOffline,
    PowerOffForbidden,
    PowerOffAllowed,
    PolicyDeleted,
    HealthChecksDeleted,
    NodeDeleted,
    EndpointDeleted,
    SecretDeleted,
    BareMetalHostDeleted,
}

/// How many of the events are not deletions.
const COMMON: usize = 22;

/// For how long (ms) somebody else keeps a host off.
pub(super) const KEPT_OFF: i64 = 200_000;

const EVENTS: [Event; 28] = [
    Event::HostComesOn,
    Event::NodeReportsAgain,
    Event::NodeBootsByItself,
    Event::RemediationDeleted,
    Event::PolicyPaused,
    Event::MachineDeleted,
    Event::TriggerWithdrawn,
    Event::BmcDies,
    Event::BmcComesBack,
    Event::BootsAtLast,
    Event::NodeJoins,
    Event::LeaseTakenByAnother,
    Event::LeaseGivenBack,
    Event::LeadLost,
    Event::LeadTakenOver,
    Event::ManyNodesFallSilent,
    Event::PersonSwitchesOff,
    Event::PersonIsWrong,
    Event::KeptOffByAnother,
    Event::TakenOffline,
    Event::PowerOffForbidden,
    Event::PowerOffAllowed,
    Event::PolicyDeleted,
    Event::HealthChecksDeleted,
    Event::NodeDeleted,
    Event::EndpointDeleted,
    Event::SecretDeleted,
    Event::BareMetalHostDeleted,
];

impl Event {
    fn applies(self, sim: &Sim) -> bool {
        match self {
            Self::HostComesOn => !sim.world.host.on,
            Self::NodeReportsAgain => {
                sim.world.host.on && sim.power_offs() == 0 && !sim.world.began_without_node
            }
            // Also between the last look and the moment in which a power-off comes about.
            Self::NodeBootsByItself => {
                let world = &sim.world;
                let dead = world.host.on && world.host.kubelet == Kubelet::Dead;
                dead && !world.began_without_node
            }
            Self::NodeJoins => {
                let world = &sim.world;
                let dead = world.host.on && world.host.kubelet == Kubelet::Dead;
                world.began_without_node && dead && world.objects.node == Lookup::Absent
            }
            Self::RemediationDeleted => !sim.deletion_requested,
            Self::PolicyPaused => {
                matches!(&sim.world.objects.policy, Lookup::Present(policy) if !policy.paused)
            }
            Self::MachineDeleted => sim.world.objects.machine != Lookup::Absent,
            Self::TriggerWithdrawn => sim.world.triggered(),
            Self::BmcDies => sim.world.bmc.reachable,
            Self::BmcComesBack => !sim.world.bmc.reachable,
            Self::BootsAtLast => {
                sim.world.host.on && !sim.world.host.boots_well && sim.journal.phase >= Phase::Booting
            }
            Self::LeaseTakenByAnother => {
                sim.world.node_lease != NodeLease::Unused && !sim.lease_is_of_another()
            }
            Self::LeaseGivenBack => sim.lease_is_of_another(),
            Self::LeadLost => sim.leads,
            Self::LeadTakenOver => !sim.leads,
            Self::ManyNodesFallSilent => !is_storm(&sim.fleet),
            Self::PersonSwitchesOff | Self::PersonIsWrong => {
                sim.journal.phase == Phase::AwaitingConfirmation && sim.word.is_none()
            }
            Self::KeptOffByAnother | Self::TakenOffline => {
                let metal3 = sim.world.metal3.as_ref();
                let is_ours = (Phase::Holding..=Phase::Booting).contains(&sim.journal.phase);
                metal3.is_some_and(|metal3| is_ours && metal3.kept_off.is_none())
            }
            Self::PowerOffForbidden | Self::PowerOffAllowed => {
                let metal3 = sim.world.metal3.as_ref();
                let is_forbidden = metal3.map(|metal3| metal3.view.power_off_disabled);
                is_forbidden == Some(self == Self::PowerOffAllowed)
            }
            Self::PolicyDeleted => sim.world.objects.policy != Lookup::Absent,
            Self::HealthChecksDeleted => !sim.world.objects.health_checks.is_empty(),
            Self::NodeDeleted => sim.world.node().is_some() && !sim.world.host.on,
            Self::EndpointDeleted => sim.host.is_ok(),
            Self::SecretDeleted => sim.world.bmc.has_secret,
            Self::BareMetalHostDeleted => sim.world.metal3.is_some(),
        }
    }

    pub(super) fn happen(self, sim: &mut Sim) {
        match self {
            Self::HostComesOn => sim.world.command(true, Cause::Outside),
            Self::NodeReportsAgain => sim.world.revive(),
            Self::NodeBootsByItself => sim.world.boot_by_itself(),
            Self::NodeJoins => sim.world.join(),
            Self::RemediationDeleted => {
                sim.deletion_requested = true;
                sim.gone = !sim.has_finalizer;
            }
            Self::PolicyPaused => sim.world.objects.policy = Lookup::Present(Policy::in_tests(true)),
            Self::MachineDeleted => sim.world.objects.machine = Lookup::Absent,
            Self::TriggerWithdrawn => sim.world.edit_machine(|machine| machine.state.triggered = false),
            Self::BmcDies => sim.world.bmc.reachable = false,
            Self::BootsAtLast => {
                sim.world.host.boots_well = true;
                sim.world.host.kubelet = Kubelet::Booting {
                    until: sim.world.now + 1_000,
                };
            }
            Self::BmcComesBack => {
                sim.world.bmc.reachable = true;
                sim.world.bmc.reachable_since = sim.world.now;
            }
            Self::LeaseTakenByAnother => sim.another_takes_the_lease(),
            Self::LeaseGivenBack => sim.world.node_lease = NodeLease::Free,
            Self::LeadLost => sim.leads = false,
            Self::LeadTakenOver => {
                sim.crash();
                sim.leads = true;
            }
            Self::ManyNodesFallSilent => sim.fleet.unhealthy = 20,
            Self::PersonSwitchesOff => sim.person_says_off(true),
            Self::PersonIsWrong => sim.person_says_off(false),
            Self::KeptOffByAnother => sim.keep_off(Reason::HostHeldBySomeoneElse, KEPT_OFF),
            Self::TakenOffline => sim.keep_off(Reason::HostOffline, KEPT_OFF),
            Self::PowerOffForbidden | Self::PowerOffAllowed => {
                let (now, is_forbidden) = (sim.world.now, self == Self::PowerOffForbidden);
                sim.metal3()
                    .edit(now, |view| view.power_off_disabled = is_forbidden);
            }
            Self::PolicyDeleted => sim.world.objects.policy = Lookup::Absent,
            Self::HealthChecksDeleted => sim.world.objects.health_checks.clear(),
            Self::NodeDeleted => sim.world.objects.node = Lookup::Absent,
            Self::EndpointDeleted => {
                sim.host = Err(Obstacle::new(Reason::HostNotFound, "no BMCEndpoint"));
            }
            Self::SecretDeleted => sim.world.bmc.has_secret = false,
            Self::BareMetalHostDeleted => {
                sim.world.metal3 = None;
                sim.host = Err(Obstacle::new(Reason::HostNotFound, "no BareMetalHost"));
            }
        }
    }
}

/// The faults that make a difference for a decision.
fn faults(sim: &Sim, decision: &Decision) -> Vec<Fault> {
    let mut faults = Vec::new();
    if decision.journal != sim.journal {
        faults.extend([Fault::CrashBeforeJournal, Fault::CrashAfterJournal]);
    }
    if decision.act.is_some() {
        faults.extend([Fault::CrashAfterAct, Fault::CrashToClockBehind]);
    }
    match &decision.act {
        // A crash while waiting is a crash before what comes after the wait.
        None => {}
        Some(Act::Observe(Observation::Power)) => faults.extend([
            Fault::Refused,
            Fault::Says("PoweringOff"),
            Fault::Says("On"),
            Fault::AnotherHost,
        ]),
        // It is decided in memory.
        Some(Act::Observe(Observation::Admission)) => {}
        Some(Act::Observe(
            Observation::LiveCheck
            | Observation::Report
            | Observation::Cleanup
            | Observation::NodeLease
            | Observation::BareMetalHost,
        )) => {
            faults.extend([Fault::Refused]);
        }
        Some(Act::Effect(Effect::PowerOff { .. } | Effect::PowerOn { .. } | Effect::Restart { .. })) => {
            faults.extend([
                Fault::AnswerLost,
                Fault::CarriedOutLate,
                Fault::CommandLost,
                Fault::TaskFails { obeyed: true },
                Fault::TaskFails { obeyed: false },
                Fault::Refused,
                Fault::TooLate,
            ]);
        }
        Some(Act::Effect(Effect::WriteHold(_))) => faults.extend([
            Fault::AnswerLost,
            Fault::CommandLost,
            Fault::Refused,
            Fault::TooLate,
        ]),
        Some(Act::Effect(Effect::ReleaseHost(_))) => {
            faults.extend([Fault::AnswerLost, Fault::CommandLost, Fault::Refused]);
        }
        Some(Act::Effect(Effect::TakeNodeLease(_) | Effect::ReleaseNodeLease { .. })) => {
            faults.extend([Fault::AnswerLost, Fault::Refused]);
        }
        Some(Act::Effect(
            Effect::TaintNode { .. }
            | Effect::DeleteNode { .. }
            | Effect::AskOwner(_)
            | Effect::DeleteMachine(_),
        )) => {
            faults.extend([Fault::Refused, Fault::TooLate]);
        }
        Some(Act::Effect(
            Effect::AddFinalizer
            | Effect::RemoveFinalizer
            | Effect::RestoreNode { .. }
            | Effect::UntaintNode { .. }
            | Effect::ClearTrigger { .. },
        )) => faults.extend([Fault::Refused]),
    }
    faults
}
