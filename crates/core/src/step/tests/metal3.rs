//! baremetal-operator and Ironic as the world's other party that powers the host, and what becomes of the host then.

use jiff::SignedDuration;

use super::explorer::Explorer;
use super::menu::Menu;
use super::shell::{API_LATENCY, Fault, Sim, millis};
use super::watching::longest_unwatched;
use super::world::{Cause, World, at};
use crate::decision::{Act, Effect, HeldHost, HoldOn};
use crate::facts::{Host, Lookup, Obstacle};
use crate::journal::HostObject;
use crate::metal3::{CycledBy, HoldWrite, HostView, Manager};
use crate::observed::{IntentKey, Reading, Sent};
use crate::phase::{Phase, Reason};
use crate::power_command::{CommandAnswer, CommandCame, CommandError};
use crate::step::step;

/// How soon the operator looks at a BareMetalHost whose annotations have changed.
const REACTION: i64 = 1_000;
/// How soon it looks again at a host whose power it changes and that it is to service.
const LOOKS_AGAIN: i64 = 6_000;
/// How often it looks otherwise.
const LOOKS_EVERY: i64 = 60_000;
/// How often Ironic compares the power with what it has recorded, and puts it right.
const SYNC_EVERY: i64 = 120_000;

/// The BareMetalHost of the host, and who answers it.
#[derive(Clone, Debug, Hash)]
pub(super) struct Metal3 {
    pub(super) view: HostView,
    /// Whether baremetal-operator works.
    pub(super) operator: bool,
    /// Whether Ironic works.
    pub(super) ironic: bool,
    /// Whether Ironic manages to power the host on.
    pub(super) powers_on: bool,
    /// Since when and until when somebody else keeps the host off.
    pub(super) kept_off: Option<(i64, i64)>,
    pub(super) was_kept_off: bool,
    /// The power that Ironic has recorded, and enforces.
    pub(super) recorded: bool,
    looks_at: i64,
    syncs_at: i64,
    version: u64,
    /// When it finds something to do at the firmware of the host, and for how long.
    pub(super) services: Option<(Services, i64)>,
    serviced_at: i64,
}

/// When the operator services a host whose HostUpdatePolicy says `onReboot`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Services {
    /// Once it has the host off, which it powers on for that, whatever reboot annotations there are.
    OnceItIsOff,
    /// At its next look, as after a servicing that failed: it obeys no reboot annotation.
    AtOnce,
}

impl Metal3 {
    fn new() -> Self {
        Self {
            view: HostView {
                uid: "host-uid-1".to_owned(),
                resource_version: "1".to_owned(),
                held: false,
                detaching: false,
                labelled: false,
                noted: false,
                detached_by_another: false,
                detached: false,
                servicing: false,
                paused: false,
                power_off_disabled: false,
                forbidden: None,
                kept_off: None,
            },
            kept_off: None,
            was_kept_off: false,
            operator: true,
            ironic: true,
            powers_on: true,
            recorded: true,
            looks_at: 37_000,
            syncs_at: 71_000,
            version: 1,
            services: None,
            serviced_at: 0,
        }
    }

    pub(super) fn next_event(&self) -> i64 {
        let until = self.kept_off.map_or(i64::MAX, |(_, until)| until);
        self.looks_at.min(self.syncs_at).min(until)
    }

    /// Somebody else wants the host off, for so long.
    pub(super) fn keep_off(&mut self, now: i64, reason: Reason, takes: i64) {
        self.kept_off = Some((now, now.saturating_add(takes)));
        self.was_kept_off = true;
        self.edit(now, |view| {
            view.kept_off = Some(Obstacle::new(
                reason,
                "BareMetalHost worker-1 is kept off by another",
            ));
        });
    }

    /// The BareMetalHost as it is read.
    pub(super) fn seen(&self) -> HostView {
        let mut view = self.view.clone();
        let told = |reason, what| Some(Obstacle::new(reason, format!("BareMetalHost worker-1 {what}")));
        let forbidden = if view.paused {
            told(Reason::HostPaused, "is paused")
        } else if view.detached_by_another {
            told(Reason::HostDetached, "is detached")
        } else if view.servicing {
            told(Reason::HostServicing, "is being serviced")
        } else {
            view.kept_off.clone()
        };
        let disabled = view
            .power_off_disabled
            .then(|| told(Reason::PowerOffDisabled, "may only be reset"));
        view.forbidden = forbidden.or(disabled.flatten()).map(Box::new);
        view
    }

    /// Changes an annotation, which the operator sees.
    pub(super) fn edit(&mut self, now: i64, edit: impl FnOnce(&mut HostView)) {
        edit(&mut self.view);
        self.version += 1;
        self.view.resource_version = self.version.to_string();
        self.looks_at = self.looks_at.min(now + REACTION);
    }

    /// What metal3 does now: the power that it switches to, if it does.
    pub(super) fn happen(&mut self, now: i64, is_on: bool) -> Option<bool> {
        if self.kept_off.is_some_and(|(_, until)| until <= now) {
            self.kept_off = None;
            self.edit(now, |view| view.kept_off = None);
        }
        if self.view.power_off_disabled {
            // Ironic follows the power of such a host.
            self.recorded = is_on;
        }
        let mut wanted = None;
        if self.looks_at <= now {
            self.looks_at = now + LOOKS_EVERY;
            if self.operator && self.ironic && !self.view.paused {
                wanted = self.look(now, is_on);
            }
        }
        if self.syncs_at <= now {
            self.syncs_at = now + SYNC_EVERY;
            let enforces = self.ironic && !self.view.detached && is_on != self.recorded;
            wanted = wanted.or(enforces.then_some(self.recorded));
        }
        wanted.filter(|on| *on || !self.view.power_off_disabled)
    }

    fn look(&mut self, now: i64, is_on: bool) -> Option<bool> {
        if self.view.servicing && now >= self.serviced_at {
            self.view.servicing = false;
        }
        // A host that is let go of is taken from Ironic, whatever that does with it.
        let begins = match self.services {
            Some((Services::AtOnce, takes)) if self.view.held => Some(takes),
            Some((Services::OnceItIsOff, takes)) if !self.recorded => Some(takes),
            Some(_) | None => None,
        };
        if let Some(takes) = begins.filter(|_| !self.view.detaching) {
            self.services = None;
            self.view.servicing = true;
            self.serviced_at = now + takes;
            self.looks_at = self.serviced_at;
            self.recorded = true;
            return (!is_on).then_some(true);
        }
        if self.view.servicing && !self.view.detaching {
            return None;
        }
        if self.view.detaching {
            self.view.detached = true;
            return None;
        }
        if self.view.detached {
            self.view.detached = false;
            self.recorded = is_on;
        }
        let wanted = !self.view.held && self.view.kept_off.is_none();
        if wanted && !self.powers_on {
            return None;
        }
        if self.services.is_some() && self.recorded != wanted {
            self.looks_at = now + LOOKS_AGAIN;
        }
        (self.recorded != wanted).then(|| {
            self.recorded = wanted;
            wanted
        })
    }
}

impl World {
    pub(super) fn metal3_happens(&mut self) {
        let (now, is_on) = (self.now, self.host.on);
        let wanted = self.metal3.as_mut().and_then(|metal3| metal3.happen(now, is_on));
        if let Some(on) = wanted {
            self.command(on, Cause::Metal3);
        }
    }

    /// How often the host was switched so, whoever did it.
    pub(super) fn times_switched(&self, on: bool) -> usize {
        self.host.edges.iter().filter(|edge| edge.on == on).count()
    }
}

/// What forbids to begin with a host, also to reset it.
pub(super) fn forbidden(seen: &HostView) -> Option<Obstacle> {
    let forbidden = seen.forbidden.as_deref();
    forbidden
        .filter(|why| why.reason != Reason::PowerOffDisabled)
        .cloned()
}

impl Sim {
    /// The host is one that metal3 keeps online.
    pub(super) fn with_metal3() -> Self {
        let mut sim = Self::new();
        sim.world.metal3 = Some(Box::new(Metal3::new()));
        if let Ok(host) = &mut sim.host {
            host.reference = HostObject::BareMetalHost("worker-1".to_owned());
            host.cycled = CycledBy::Metal3(Manager {
                name: "worker-1".to_owned(),
                uid: "host-uid-1".to_owned(),
                annotation: "reboot.metal3.io/baremetal-remediator-pcr-uid".to_owned(),
            });
        }
        sim
    }

    /// What forbids to begin with the host. Once that was begun, it is brought back whatever forbids it.
    pub(super) fn forbidden_to_begin(&self) -> Option<Obstacle> {
        let metal3 = self
            .world
            .metal3
            .as_ref()
            .filter(|_| !self.journal.may_have_left_off());
        metal3.and_then(|metal3| forbidden(&metal3.seen()))
    }

    /// The host as it is resolved: what was begun is by its journal.
    pub(super) fn resolved_host(&self) -> Result<Host, Obstacle> {
        if let Some(forbidden) = self.forbidden_to_begin() {
            return Err(forbidden);
        }
        let mut host = self.host.clone()?;
        if self.journal.subject.is_some() && self.journal.may_have_left_off() {
            host.cycled = self.journal.cycled_by();
        } else if self
            .world
            .metal3
            .as_ref()
            .is_some_and(|metal3| metal3.view.power_off_disabled)
        {
            host.cycled = CycledBy::Reset;
        }
        Ok(host)
    }

    pub(super) fn metal3(&mut self) -> &mut Metal3 {
        self.world.metal3.as_mut().expect("metal3 manages the host")
    }

    pub(super) fn read_bare_metal_host(&mut self, fault: Fault) {
        let began = at(self.world.now);
        let found = self.world.metal3.as_ref().map(|metal3| metal3.seen());
        self.pass(API_LATENCY);
        if fault == Fault::Refused {
            return self.write_failed();
        }
        let found = found.map_or(Lookup::Absent, Lookup::Present);
        self.observed.bare_metal_host = Some(Reading { began, found });
    }

    /// Writes our annotations, or takes them off where there is no `hold`.
    pub(super) fn write_to_host(
        &mut self,
        host: &HeldHost,
        hold: Option<&HoldOn>,
        (effect, fault): (&Effect, Fault),
    ) {
        self.counts.api_writes += 1;
        self.sent.push((self.world.now, effect.clone()));
        self.pass(API_LATENCY);
        let refused = fault == Fault::Refused || (self.refuses)(effect) || !self.is_as_expected(host, hold);
        let now = self.world.now;
        let reached = !refused && fault != Fault::CommandLost;
        // What is not there is not taken off.
        let changes = |metal3: &&mut Box<Metal3>| hold.is_some() || !metal3.view.is_free();
        if let Some(metal3) = self.world.metal3.as_mut().filter(|_| reached).filter(changes) {
            metal3.edit(now, |view| match hold.map(|hold| hold.write) {
                Some(HoldWrite::Hold) => (view.held, view.labelled) = (true, true),
                // What is not there is not written anew.
                Some(HoldWrite::Kick) => {}
                // What is being serviced is left with metal3.
                Some(HoldWrite::Detach) => {
                    view.detaching |= !view.servicing;
                    view.noted |= !view.servicing;
                }
                None => {
                    (view.held, view.labelled) = (false, false);
                    (view.detaching, view.noted) = (false, false);
                }
            });
        }
        let is_lost = matches!(
            fault,
            Fault::AnswerLost | Fault::CommandLost | Fault::CarriedOutLate
        );
        if hold.is_some_and(|hold| hold.write == HoldWrite::Hold) {
            self.note_hold_sent(refused, is_lost);
        }
        if refused || is_lost {
            return self.write_failed();
        }
        let found = self.world.metal3.as_ref().map(|metal3| metal3.seen());
        let found = found.map_or(Lookup::Absent, Lookup::Present);
        self.observed.bare_metal_host = Some(Reading {
            began: at(now),
            found,
        });
    }

    fn note_hold_sent(&mut self, refused: bool, is_lost: bool) {
        let intent = self
            .journal
            .intent
            .clone()
            .expect("an intent is journalled before a hold");
        let unanswered = CommandError {
            came: if is_lost {
                CommandCame::Unknown
            } else {
                CommandCame::NotSent
            },
            obstacle: Obstacle::new(Reason::ApiWriteRefused, "the API server did not take it"),
        };
        self.observed.sent = Some(Sent {
            intent: IntentKey {
                verb: intent.verb,
                attempt: self.journal.attempt,
                sends: intent.sends,
                epoch: intent.epoch,
                process: intent.process,
            },
            at: at(self.world.now),
            answer: if refused || is_lost {
                Err(unanswered)
            } else {
                Ok(CommandAnswer::Accepted)
            },
        });
    }

    fn is_as_expected(&self, host: &HeldHost, hold: Option<&HoldOn>) -> bool {
        let version = hold.and_then(|hold| hold.resource_version.as_ref());
        self.world.metal3.as_ref().is_none_or(|metal3| {
            let view = &metal3.view;
            host.uid == view.uid && version.is_none_or(|version| *version == view.resource_version)
        })
    }

    /// What is true whenever a remediation has come to its end.
    pub(super) fn is_given_back(&mut self) {
        assert_eq!(self.journal.standing_hold(), None);
        let metal3 = self.metal3();
        assert!(metal3.view.is_free(), "{:?}", metal3.view);
        self.pass(2 * SYNC_EVERY);
        assert!(self.world.host.on, "metal3 keeps it on");
        assert!(!self.metal3().view.detached, "metal3 has it again");
    }
}

#[test]
fn a_host_that_metal3_manages_is_held_off_by_it_and_given_back() {
    let mut sim = Sim::with_metal3();
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    let phases: Vec<Phase> = sim.journal.timeline.iter().map(|entry| entry.phase).collect();
    assert_eq!(
        phases,
        [
            Phase::Pending,
            Phase::Holding,
            Phase::PoweringOff,
            Phase::Fencing,
            Phase::PoweringOn,
            Phase::Booting,
            Phase::Succeeded
        ]
    );
    let causes: Vec<Cause> = sim.world.host.edges.iter().map(|edge| edge.cause).collect();
    assert_eq!(
        causes,
        [Cause::Metal3, Cause::Metal3],
        "metal3 switches, we only look"
    );
    assert_eq!(sim.released_at.len(), 1);
    sim.is_given_back();
    assert_eq!(
        (sim.world.times_switched(false), sim.world.times_switched(true)),
        (1, 1)
    );
}

#[test]
fn a_host_whose_metal3_does_nothing_is_power_cycled_directly() {
    for (operator, ironic) in [(false, true), (true, false), (false, false)] {
        let mut sim = Sim::with_metal3();
        (sim.metal3().operator, sim.metal3().ironic) = (operator, ironic);
        sim.run();
        assert_eq!(
            sim.journal.phase,
            Phase::Succeeded,
            "{operator} {ironic}: {}",
            sim.journal.message
        );
        assert!(sim.world.times_switched(false) >= 1);
        (sim.metal3().operator, sim.metal3().ironic) = (true, true);
        sim.is_given_back();
    }
}

/// While metal3 had its time, reads had become a minute apart.
#[test]
fn a_host_that_is_powered_off_directly_is_seen_to_be_off_at_once() {
    let mut sim = Sim::with_metal3();
    (sim.metal3().operator, sim.metal3().ironic) = (false, false);
    sim.run_until(|sim| {
        sim.journal
            .hold
            .as_ref()
            .is_some_and(|hold| hold.direct.is_some())
    });
    let direct = sim.world.now;
    sim.run_until(|sim| sim.journal.phase == Phase::Fencing);
    let took = sim.world.now - direct;
    assert!(took < 10_000, "{took} ms");
}

#[test]
fn what_stands_in_the_way_before_the_hold_leaves_nothing_on_the_host() {
    let mut sim = Sim::with_metal3();
    sim.run_until(|sim| sim.journal.phase == Phase::Holding);
    sim.live_check = None;
    sim.world.objects.policy = Lookup::Present(crate::facts::Policy::in_tests(true));
    sim.run_until(|sim| sim.journal.phase == Phase::Pending && sim.journal.standing_hold().is_none());
    assert!(sim.metal3().view.is_free());
    assert_eq!(sim.world.host.edges, []);
    assert_eq!(sim.journal.attempt, 0);
}

#[test]
fn a_remediation_that_is_deleted_while_it_holds_a_host_gives_it_back_first() {
    for phase in [
        Phase::Holding,
        Phase::PoweringOff,
        Phase::Fencing,
        Phase::PoweringOn,
        Phase::Booting,
    ] {
        let mut sim = Sim::with_metal3();
        sim.run_until(|sim| sim.journal.phase == phase);
        sim.deletion_requested = true;
        sim.run();
        assert!(sim.gone, "{phase:?}");
        sim.is_given_back();
    }
}

/// A crash, or one fault, at each turn.
#[test]
fn whatever_goes_wrong_once_a_host_that_metal3_manages_is_cycled_once_and_given_back() {
    let faults = [
        Fault::CrashBeforeJournal,
        Fault::CrashAfterJournal,
        Fault::CrashAfterAct,
        Fault::AnswerLost,
        Fault::CommandLost,
        Fault::CarriedOutLate,
        Fault::Refused,
        Fault::TooLate,
    ];
    for fault in faults {
        for turn in 0.. {
            let mut sim = Sim::with_metal3();
            sim.run_until(|sim| sim.counts.turns >= turn);
            if sim.journal.phase.is_final() {
                break;
            }
            sim.turn(fault);
            sim.run();
            let what = format!("{fault:?} at turn {turn}: {}", sim.journal.message);
            assert_eq!(sim.journal.phase, Phase::Succeeded, "{what}");
            sim.is_given_back();
            assert_eq!(
                (sim.world.times_switched(false), sim.world.times_switched(true)),
                (1, 1),
                "{what}"
            );
        }
    }
}

/// The host is not powered on by the daemon while our annotation makes metal3 power it off.
#[test]
fn the_annotation_goes_before_the_power_on() {
    let mut sim = Sim::with_metal3();
    sim.run_until(|sim| sim.journal.phase == Phase::PoweringOn);
    let decision = step(&sim.journal, &sim.facts(), at(sim.world.now));
    assert!(
        matches!(
            decision.act,
            Some(crate::decision::Act::Effect(Effect::ReleaseHost(_)))
        ) || sim.metal3().view.is_free(),
        "{:?}",
        decision.act
    );
    assert!(millis(at(sim.world.now)) > 0);
}

/// The API server refuses that our annotation goes.
#[test]
fn a_host_that_cannot_be_given_back_is_watched_meanwhile_and_powered_on_directly() {
    let mut sim = Sim::with_metal3();
    sim.refuses = |effect| matches!(effect, Effect::ReleaseHost(_));
    sim.run_until(|sim| sim.journal.phase == Phase::PoweringOn);
    let begun = sim.world.now;

    let longest = longest_unwatched(&mut sim, |_| Fault::None);

    assert!(longest <= 21_000, "not read for {longest} ms");
    sim.run_until(|sim| sim.world.host.on || sim.world.now > begun + 90_000);
    assert!(sim.world.host.on, "{}", sim.journal.message);
}

/// The API server carries out late that metal3 is asked to let go of the host, when everything of ours seemed to be gone.
#[test]
fn a_host_that_is_detached_late_is_given_back_all_the_same() {
    let mut sim = Sim::with_metal3();
    if let Ok(strategy) = &mut sim.strategy {
        strategy.deadlines.power_on = SignedDuration::from_mins(1);
    }
    sim.run_until(|sim| sim.journal.phase == Phase::Fencing);
    sim.metal3().operator = false;
    sim.metal3().ironic = false;
    let detaches = |act: &Option<Act>| match act {
        Some(Act::Effect(Effect::WriteHold(hold))) => hold.write == HoldWrite::Detach,
        Some(_) | None => false,
    };
    let mut asked = None;
    let mut late = None;
    while asked.is_none_or(|asked| sim.world.now < asked + 55_000) {
        let is_asked = detaches(&sim.decide().act);
        let fault = if is_asked { Fault::CommandLost } else { Fault::None };
        sim.turn(fault);
        // The last of them is carried out.
        if is_asked {
            asked = Some(sim.world.now);
            late = Some(sim.metal3().view.resource_version.clone());
        }
    }
    assert!(sim.world.host.on, "{}", sim.journal.message);
    let (now, metal3) = (sim.world.now, sim.metal3());
    assert_eq!(Some(&metal3.view.resource_version), late.as_ref(), "it is taken");
    metal3.edit(now, |view| view.detaching = true);
    metal3.operator = true;
    metal3.ironic = true;

    sim.run();

    sim.is_given_back();
}

#[test]
fn every_pair_of_faults_with_metal3() {
    Explorer::new(Menu::Failures).demand("metal3", Sim::with_metal3(), 2, 10_000);
    Explorer::new(Menu::Everything).demand("metal3, events", Sim::with_metal3(), 1, 1_000);
}
