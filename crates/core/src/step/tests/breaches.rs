//! What has to hold in every state of an explored run, and at its end.

use jiff::SignedDuration;

use super::clocks::BEHIND;
use super::explorer::{Explorer, Run};
use super::menu::KEPT_OFF;
use super::shell::{Fault, Sim, Turn, is_storm, strategy};
use super::world::{Cause, Kubelet};
use crate::journal::Subject;
use crate::phase::{Phase, Reason};
use crate::quarantine::READY_FOR;

impl Explorer {
    pub(super) fn check_state(&mut self, run: &Run, releases_before: usize) {
        let sim = &run.sim;
        if sim.released_at.len() > releases_before && sim.world.host.on {
            // Somebody else may switch the host on between the newest read and the release.
            let last = sim.world.host.edges.last();
            let race =
                last.is_some_and(|edge| edge.cause == Cause::Outside && sim.world.now - edge.at <= 5_100);
            // The breach of a person, who was wrong, or switched it on again before the release. The Node is silent all
            // the same.
            let is_alive = matches!(sim.world.host.kubelet, Kubelet::Alive { .. });
            let on_a_word = sim.journal.rests_on_confirmation() && !is_alive;
            let theirs = on_a_word && sim.person_was_wrong();
            if !race && !theirs {
                self.breach(run, "released while the host was on");
            }
        }
        let outside = sim
            .world
            .host
            .edges
            .iter()
            .any(|edge| edge.cause == Cause::Outside);
        for attempt in 1..=sim.journal.attempt {
            if sim.edges(false, attempt) > 1 {
                // An Off that nobody read cannot be known.
                if !outside || sim.second_power_off {
                    self.breach(run, "two power-offs in one attempt");
                }
            }
            let ours = sim.cause(attempt);
            let resets = sim
                .world
                .host
                .resets
                .done
                .iter()
                .filter(|(_, cause)| *cause == ours);
            if resets.count() > 1 {
                self.breach(run, "two resets in one attempt");
            }
            if sim.edges(true, attempt) > 1 {
                self.breach(run, "two power-ons in one attempt");
            }
        }
        let was_kept_off = sim
            .world
            .metal3
            .as_ref()
            .is_some_and(|metal3| metal3.was_kept_off);
        if sim.world.metal3.is_some() && !outside && !was_kept_off {
            let times = |on| sim.world.times_switched(on);
            let attempts = usize::try_from(sim.journal.attempt).unwrap_or(usize::MAX);
            if times(false) > attempts || times(true) > attempts {
                self.breach(run, "switched more than once in an attempt, by us or by metal3");
            }
        }
        if sim.opposed {
            self.breach(run, "powered on against whoever else keeps the host off");
        }
        if sim.cycled_a_member {
            self.breach(run, "powered off although a Node of the host was there");
        }
        let subject = sim.journal.subject.as_ref();
        if subject.is_some_and(Subject::had_no_node) && sim.released_at.len() > releases_before {
            self.breach(run, "released something of a host that had no Node");
        }
        if sim.unheld_power_off {
            self.breach(run, "powered off while the Lease on the Node was not held for us");
        }
        if sim.unbraked_power_off {
            self.breach(run, "powered off in a storm");
        }
        if let Some(what) = sim.bad_escalation {
            self.breach(run, what);
        }
        if sim.counts.journal_writes > 60 {
            self.breach(run, "journal noise");
        }
    }

    pub(super) fn check_end(&mut self, run: &Run) {
        let (sim, journal) = (&run.sim, &run.sim.journal);
        let ending = format!(
            "{:?}/{}{}",
            journal.phase,
            journal.reason,
            if sim.gone { " gone" } else { "" }
        );
        *self.endings.entry(ending).or_default() += 1;
        if let Err(what) = (self.on_end)(sim) {
            self.breach(run, what);
        }
        let metal3 = sim.world.metal3.as_ref();
        let is_kept_off = metal3.is_some_and(|metal3| metal3.view.kept_off.is_some());
        let ours_off = !sim.world.host.on
            && !is_kept_off
            && sim
                .world
                .host
                .edges
                .last()
                .is_some_and(|edge| edge.cause != Cause::Outside);
        // A BMC that says On although the host is off hides it; one that ignores On is told of.
        let lied = run.choices.iter().any(|choice| choice.contains("Says(\"On"));
        let awaits_person = journal.awaits_person();
        if ours_off && journal.phase != Phase::Failed && !awaits_person && !lied && sim.leads {
            self.breach(run, "left off without a failure");
        }
        // A lie that was believed has paid what was owed; one that was not is in nobody's way.
        let is_hidden = lied && journal.intent.is_none();
        if ours_off && !is_hidden && !comes_back(sim) {
            self.breach(run, "left off although nothing is in its way");
        }
        let told = journal.phase == Phase::Failed && journal.message.contains("taint");
        let release = journal.release.as_ref();
        let stands = awaits_person && release.is_some_and(|release| release.withdrawn.is_none());
        if sim.world.tainted() && run.paused == 0 && !told && !stands && sim.leads {
            self.breach(run, "taint left behind silently");
        }
        if !journal.phase.is_final() && !awaits_person && !sim.gone && run.paused == 0 && sim.leads {
            self.breach(run, "not final");
        }
        if journal.reason == "JournalUnreadable" {
            self.breach(run, "a journal of our own that cannot be read");
        }
        let last = sim.world.host.edges.last();
        let switched_off = last.is_some_and(|edge| edge.cause == Cause::Outside);
        if journal.phase == Phase::Succeeded && !sim.world.host.on && !switched_off && !is_kept_off {
            self.breach(run, "succeeded while off");
        }
        // It is kept for as long as the host is being brought back.
        let is_over = journal.phase.is_final() && !sim.owes_power_for_ever();
        if (is_over || sim.gone) && sim.lease_is_ours() && sim.leads {
            self.breach(run, "a Lease of ours stays behind");
        }
        let metal3 = sim.world.metal3.as_ref();
        let is_held = metal3.is_some_and(|metal3| !metal3.view.is_free());
        if (is_over || sim.gone) && is_held && sim.leads {
            self.breach(run, "a hold of ours stays on the BareMetalHost");
        }
        // However long a repair takes, it ends well when the host is back.
        if awaits_person && sim.leads && !sim.deletion_requested && !ends_well_when_repaired(sim) {
            self.breach(run, "a repaired host is not taken back");
        }
        // Whoever takes over has the whole time of the phase.
        let crashes = run
            .choices
            .iter()
            .filter(|choice| choice.contains("Crash"))
            .count();
        let crashes = i64::try_from(crashes).expect("few");
        let set_back = run
            .choices
            .iter()
            .filter(|choice| choice.contains("ClockBehind"))
            .count();
        let set_back = i64::try_from(set_back).expect("few") * BEHIND.as_secs();
        let longer = crashes * strategy().deadlines.pending.as_secs() + set_back;
        let asked = journal
            .timeline
            .iter()
            .any(|entry| entry.phase == Phase::AwaitingConfirmation);
        let kept_off = run
            .choices
            .iter()
            .any(|choice| choice.contains("KeptOff") || choice.contains("Offline"));
        let longer = longer * 1_000 + if kept_off { 2 * KEPT_OFF } else { 0 };
        if !asked && sim.world.now > deadline_sum() + longer {
            self.breach(run, "later than the sum of the deadlines");
        }
        let of_node = sim.world.node();
        let boot_id = of_node.and_then(|node| node.boot_id.as_deref());
        if journal.phase == Phase::Succeeded && boot_id.is_none_or(|boot_id| boot_id == "boot-1") {
            self.breach(run, "succeeded without a boot");
        }
        // Who deletes a Node deletes what it carries.
        let was_deleted = run.choices.iter().any(|choice| choice.contains("NodeDeleted"));
        let had_node = !sim.world.began_without_node && !was_deleted;
        if journal.phase == Phase::Succeeded && sim.world.metadata.labels.is_empty() && had_node {
            self.breach(run, "metadata not restored");
        }
    }
}

/// Whether the host gets its power back once the BMC answers and obeys, its Secret is there and this process leads: a minute after that, and
/// the time of one power-on. Where the BMC acknowledged and did nothing, the pauses are longer. An owner that was asked to
/// replace the Machine, and has taken it away, decides about its host.
fn comes_back(sim: &Sim) -> bool {
    let mut sim = sim.clone();
    let mut soon = if sim.world.bmc.obeys_on { 80_000 } else { 330_000 };
    if matches!(sim.journal.phase, Phase::PoweringOff | Phase::Fencing) {
        // What is released is waited for.
        soon += strategy().deadlines.fencing.as_secs() * 1_000;
    }
    sim.world.bmc.reachable = true;
    sim.world.bmc.has_secret = true;
    sim.world.bmc.obeys_on = true;
    sim.leads = true;
    let end = sim.world.now + soon;
    while !sim.world.host.on && sim.world.now < end && sim.turn(Fault::None) != Turn::Over {}
    sim.world.settle();
    let machine = sim.world.objects.machine.present();
    let escalation = sim.journal.escalation.as_ref();
    let is_escalated = escalation.is_some_and(|escalation| escalation.done.is_some());
    sim.world.host.on || is_escalated && machine.is_none_or(|machine| machine.state.deleting)
}

/// Whether it ends well, or by what others want, once somebody has switched the host on and its BMC answers.
fn ends_well_when_repaired(sim: &Sim) -> bool {
    let mut sim = sim.clone();
    sim.world.bmc.reachable = true;
    sim.world.bmc.has_secret = true;
    sim.world.bmc.obeys_off = true;
    sim.world.bmc.obeys_on = true;
    sim.world.host.boots_well = true;
    sim.world.command(true, Cause::Outside);
    let is_held_up =
        |sim: &Sim| sim.host.is_err() || sim.journal.is_because(Reason::PolicyPaused) || is_storm(&sim.fleet);
    sim.run_until(|sim| is_held_up(sim) || sim.journal.phase.is_final());
    let told = sim.journal.message.contains("taint") && sim.person_was_wrong();
    is_held_up(&sim) || sim.journal.phase.is_final() && (!sim.world.tainted() || told)
}

/// The most that two attempts may take, with what is granted to finish, and the end of the quarantine after it.
fn deadline_sum() -> i64 {
    let (limits, retries) = (strategy().deadlines, strategy().retries);
    let attempt = [
        limits.pending,
        limits.power_off,
        limits.fencing,
        limits.power_on,
        limits.boot,
    ];
    let attempt: i64 = attempt.iter().map(SignedDuration::as_secs).sum();
    let finishing = 5 * 60;
    1_000
        * (i64::from(retries.attempts) * attempt
            + retries.backoff.as_secs()
            + finishing
            + READY_FOR.as_secs())
}
