//! A BMC that does not tell, and what a person's word is worth then.

use jiff::SignedDuration;

use super::explorer::Explorer;
use super::menu::Menu;
use super::shell::{Fault, Sim};
use super::world::{Cause, at};
use crate::confirmation::VALID_FOR;
use crate::decision::{Act, Effect};
use crate::facts::{Lookup, Policy};
use crate::journal::Basis;
use crate::phase::{Phase, Reason};
use crate::step::pending::IDENTITY_AGE;

/// The BMC has been dead since before the Node fell silent.
fn dead_from_the_start() -> Sim {
    let mut sim = Sim::new();
    sim.world.bmc.reachable = false;
    sim
}

fn until(sim: &mut Sim, phase: Phase) {
    sim.run_until(|sim| sim.journal.phase == phase);
    assert_eq!(sim.journal.phase, phase, "{}", sim.journal.message);
}

/// A person is asked, because the BMC never answered.
fn asked() -> Sim {
    let mut sim = dead_from_the_start();
    until(&mut sim, Phase::AwaitingConfirmation);
    sim
}

/// A person is asked, because the BMC fell silent after each power-off.
fn asked_after_the_last_attempt() -> Sim {
    let mut sim = Sim::new();
    sim.strategy.as_mut().expect("valid").retries.attempts = 1;
    sim.run_until(|sim| sim.power_offs() == 1);
    sim.world.bmc.reachable = false;
    until(&mut sim, Phase::AwaitingConfirmation);
    sim
}

fn refused(mut sim: Sim, why: &str) -> Sim {
    sim.run_until(|sim| sim.journal.is_because(Reason::ConfirmationRefused));
    assert_eq!(sim.journal.phase, Phase::AwaitingConfirmation);
    assert!(sim.journal.message.contains(why), "{}", sim.journal.message);
    sim.run();
    assert!(sim.released_at.is_empty(), "not later either");
    assert!(sim.journal.is_because(Reason::ConfirmationRefused));
    sim
}

#[test]
fn a_host_whose_bmc_is_silent_waits_for_a_person_and_releases_nothing() {
    for mut sim in [asked(), asked_after_the_last_attempt()] {
        let writes = sim.counts.journal_writes;
        sim.run();
        assert_eq!(sim.journal.phase, Phase::AwaitingConfirmation);
        assert!(sim.journal.is_because(Reason::AwaitingConfirmation));
        assert!(
            sim.journal.message.contains("BmcUnreachable"),
            "{}",
            sim.journal.message
        );
        assert!(sim.journal.deadline.is_none() && sim.released_at.is_empty());
        assert_eq!(sim.counts.journal_writes, writes, "waiting writes nothing");
    }
}

#[test]
fn what_another_host_or_a_bmc_that_says_on_stands_for_is_a_failure() {
    let mut sim = Sim::new();
    sim.world.bmc.obeys_off = false;
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Failed);
    let mut sim = Sim::new();
    sim.world.bmc.uuid = Some("00000000-0000-0000-0000-0cc47a000001".to_owned());
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Failed);
    let mut sim = Sim::without_node(true);
    sim.world.bmc.reachable = false;
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Failed, "there is nothing to release");
}

#[test]
fn workloads_are_released_on_a_word_once_the_node_was_silent_for_its_usual_time() {
    for mut sim in [asked(), asked_after_the_last_attempt()] {
        let attempt = sim.journal.attempt;
        sim.person_says_off(true);
        let said = sim.world.now;
        until(&mut sim, Phase::Fencing);
        // Of a Node that was looked at before, it is known already that it did not report since.
        assert!(
            attempt > 0 || sim.world.now - said >= 15_000,
            "{}",
            sim.world.now - said
        );
        let taken = sim.journal.confirmation.clone().expect("journalled");
        assert_eq!(
            (taken.word.by.as_str(), taken.word.why.as_str()),
            ("jane", "the plug is out")
        );
        assert_eq!(taken.word.at, at(said));
        let release = sim.journal.release.as_ref().expect("decided");
        assert_eq!(release.basis, Basis::Confirmation);
        assert!(sim.journal.evidence.is_none(), "no proof of a BMC");
        assert_eq!(sim.journal.attempt, attempt + 1);
        until(&mut sim, Phase::Booting);
        assert!(sim.world.tainted() && sim.journal.is_because(Reason::PowerOnByHand));
        let mut by_hand = sim.clone();
        by_hand.run();
        assert_eq!(by_hand.journal.phase, Phase::Booting, "for as long as it takes");
        assert!(
            by_hand.journal.is_because(Reason::PowerOnByHand),
            "{}",
            by_hand.journal.message
        );
        by_hand.world.command(true, Cause::Outside);
        until(&mut by_hand, Phase::Succeeded);
        assert!(!by_hand.world.tainted() && by_hand.journal.message.contains("a person"));
        sim.world.bmc.reachable = true;
        until(&mut sim, Phase::Succeeded);
        assert!(sim.world.host.on && !sim.world.tainted());
        let ours = sim.world.host.edges.last().map(|edge| edge.cause);
        assert_eq!(ours, Some(sim.cause(attempt + 1)), "powered on by the BMC");
    }
}

#[test]
fn a_word_about_one_host_is_not_taken_for_another_that_it_leads_to_by_now() {
    let another_node: fn(&mut Sim) = |sim| {
        sim.world.edit_node(|node| {
            "worker-2".clone_into(&mut node.name);
            "node-uid-2".clone_into(&mut node.uid);
        });
        sim.world
            .edit_machine(|machine| machine.node_name = Some("worker-2".to_owned()));
    };
    let registered_anew: fn(&mut Sim) =
        |sim| sim.world.edit_node(|node| "node-uid-2".clone_into(&mut node.uid));
    let another_bmc: fn(&mut Sim) = |sim| {
        let host = sim.host.as_mut().expect("there");
        "https://10.0.0.2".clone_into(&mut host.bmc);
    };
    let never_found: fn(&mut Sim) = |sim| sim.host.as_mut().expect("there").found_uuid = None;
    for (change, node) in [
        (another_node, "worker-2"),
        (registered_anew, "worker-1"),
        (another_bmc, "worker-1"),
        (never_found, "worker-1"),
    ] {
        // The word, and then what leads to the host; and the other way round.
        for word_first in [true, false] {
            let mut sim = asked();
            if word_first {
                sim.person_says_off(true);
            }
            change(&mut sim);
            if !word_first {
                sim.person_says_off(true);
            }
            sim.run_until(|sim| sim.journal.message.contains("has changed") || !sim.released_at.is_empty());
            assert!(sim.journal.message.contains(node), "{}", sim.journal.message);
            sim.run();
            assert!(sim.released_at.is_empty() && sim.journal.phase == Phase::AwaitingConfirmation);
            let asked = sim.journal.asked.clone().expect("a person is asked anew");
            assert_eq!(asked.node, node);
            // Said once more, of the host that it is by now.
            sim.person_says_off(true);
            sim.word.as_mut().expect("said").node = asked.node;
            until(&mut sim, Phase::Fencing);
        }
    }
}

#[test]
fn a_word_that_names_another_node_is_refused() {
    let mut sim = asked();
    sim.person_says_off(true);
    "worker-2".clone_into(&mut sim.word.as_mut().expect("said").node);
    refused(sim, "worker-2");
}

#[test]
fn whoever_is_asked_is_told_of_which_node_and_whether_its_bmc_was_ever_found() {
    let mut never_found = dead_from_the_start();
    never_found.host.as_mut().expect("there").found_uuid = None;
    until(&mut never_found, Phase::AwaitingConfirmation);
    let cases = vec![
        (asked(), true),
        (asked_after_the_last_attempt(), true),
        (never_found, false),
    ];
    for (sim, proven) in cases {
        let asked = sim.journal.asked.as_ref().expect("asked");
        let expected = ("worker-1", "node-uid-1", "https://10.0.0.1", proven);
        let found = (
            asked.node.as_str(),
            asked.node_uid.as_str(),
            asked.bmc.as_str(),
            asked.proven,
        );
        assert_eq!(found, expected);
        let message = &sim.journal.message;
        assert!(
            message.contains("worker-1") && message.contains("https://10.0.0.1"),
            "{message}"
        );
        assert_eq!(message.contains("whole cluster"), !proven, "{message}");
    }
    // After an attempt the journal proves it, whatever a check says.
    let mut sim = asked_after_the_last_attempt();
    sim.host.as_mut().expect("there").found_uuid = None;
    sim.run();
    assert!(sim.journal.asked.expect("asked").proven);
}

#[test]
fn the_lease_of_the_node_is_not_taken_for_a_word_that_anybody_could_have_said() {
    let mut sim = asked();
    sim.leases_were_unused = false;
    sim.person_says_off(true);
    sim.guarded_since = Err("there is no ValidatingAdmissionPolicy".to_owned());
    let sim = refused(sim, "there is no ValidatingAdmissionPolicy");
    assert_eq!((sim.counts.lease_reads, sim.counts.lease_writes), (0, 0));
}

#[test]
fn a_node_that_was_looked_at_a_moment_before_the_word_is_watched_for_its_usual_time() {
    let mut sim = asked();
    sim.person_says_off(true);
    sim.run_until(|sim| !sim.observed.reports.is_empty());
    let looked = sim.observed.reports[0].began;
    sim.pass(3_000);
    sim.person_says_off(true);
    until(&mut sim, Phase::Fencing);
    let taken = sim.journal.confirmation.clone().expect("journalled");
    assert!(taken.word.at > looked, "the second word is the one that is taken");
    let watched = taken.accepted.duration_since(looked);
    assert!(watched >= SignedDuration::from_secs(15), "{watched:#}");
}

#[test]
fn a_word_that_is_early_late_from_the_future_or_unguarded_is_refused_for_good() {
    let mut early = dead_from_the_start();
    early.pass(1_000);
    early.person_says_off(true);
    refused(early, "before");
    let mut late = asked();
    late.person_says_off(true);
    late.pass(VALID_FOR.as_secs() * 1_000 + 1_000);
    refused(late, "older than");
    let mut future = asked();
    future.person_says_off(true);
    future.word.as_mut().expect("said").at = at(future.world.now + 62_000);
    refused(future, "future");
    let mut unguarded = asked();
    unguarded.person_says_off(true);
    unguarded.guarded_since = Err("there is no ValidatingAdmissionPolicy".to_owned());
    let mut unguarded = refused(unguarded, "there is no ValidatingAdmissionPolicy");
    unguarded.guarded_since = Ok(at(unguarded.world.now));
    unguarded.run();
    assert!(
        unguarded.released_at.is_empty(),
        "whoever wrote it then need not have had the right"
    );
    unguarded.pass(120_000);
    unguarded.person_says_off(true);
    until(&mut unguarded, Phase::Fencing);
    let mut too_new = asked();
    too_new.person_says_off(true);
    too_new.guarded_since = Ok(at(too_new.world.now));
    refused(too_new, "admission policy");
}

#[test]
fn a_node_that_reports_refuses_the_word() {
    let mut sim = asked();
    sim.person_says_off(false);
    sim.pass(1_000);
    while sim.observed.reports.is_empty() {
        sim.turn(Fault::None);
    }
    sim.world.revive();
    sim.run();
    assert!(sim.released_at.is_empty());
    assert_eq!(sim.journal.phase, Phase::Cancelled, "{}", sim.journal.message);
    let mut sim = asked();
    sim.person_says_off(false);
    sim.pass(1_000);
    while sim.observed.reports.is_empty() {
        sim.turn(Fault::None);
    }
    // It lives, and is not Ready.
    sim.world.lease.lease_renewed = Some(at(sim.world.now));
    refused(sim, "NodeStillReporting");
}

#[test]
fn a_node_that_reports_after_the_release_takes_it_back() {
    let mut sim = asked();
    sim.person_says_off(false);
    until(&mut sim, Phase::Fencing);
    sim.run_until(|sim| sim.world.tainted());
    sim.world.hold_pods(60_000);
    sim.world.revive();
    until(&mut sim, Phase::Booting);
    assert!(
        sim.journal.is_because(Reason::NodeStillReporting),
        "{}",
        sim.journal.message
    );
    assert!(sim.journal.message.contains("jane"), "{}", sim.journal.message);
    sim.run();
    assert!(!sim.world.tainted());
}

#[test]
fn a_bmc_that_says_on_after_the_release_takes_it_back() {
    let mut sim = asked();
    sim.person_says_off(false);
    sim.run_until(|sim| sim.world.tainted());
    sim.world.hold_pods(60_000);
    sim.world.bmc.reachable = true;
    until(&mut sim, Phase::Booting);
    assert!(
        sim.journal.is_because(Reason::HostCameOn),
        "{}",
        sim.journal.message
    );
    sim.run();
    assert!(
        !sim.world.tainted() && sim.journal.phase == Phase::Succeeded,
        "{}",
        sim.journal.message
    );
}

#[test]
fn a_bmc_that_answers_again_goes_on_by_itself_and_the_word_is_not_needed() {
    for mut sim in [asked(), asked_after_the_last_attempt()] {
        let attempt = sim.journal.attempt;
        sim.person_says_off(false);
        sim.world.bmc.reachable = true;
        sim.run();
        assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
        assert!(sim.journal.confirmation.is_none() && sim.journal.attempt <= attempt + 1);
        let release = sim.journal.release.as_ref();
        assert!(release.is_none_or(|release| release.basis == Basis::BMC));
    }
}

#[test]
fn a_bmc_that_comes_and_goes_is_not_followed_for_ever() {
    let mut sim = asked_after_the_last_attempt();
    sim.world.host.on_delay = 400;
    for _ in 0..5 {
        if sim.journal.phase != Phase::AwaitingConfirmation {
            break;
        }
        let sent = sim.power_offs();
        sim.world.command(true, Cause::Outside);
        sim.world.host.kubelet = super::world::Kubelet::Dead;
        sim.world.bmc.reachable = true;
        sim.run_until(|sim| sim.power_offs() > sent || sim.journal.phase.is_final());
        sim.world.bmc.reachable = false;
        sim.run_until(|sim| sim.journal.phase == Phase::AwaitingConfirmation || sim.journal.phase.is_final());
    }
    assert_eq!(sim.journal.phase, Phase::Failed);
    assert_eq!(sim.journal.attempt, 2, "twice as many as were asked for");
}

#[test]
fn what_forbids_a_power_off_holds_up_a_word_too() {
    let mut sim = asked();
    sim.world.objects.policy = Lookup::Present(Policy::in_tests(true));
    sim.person_says_off(true);
    sim.run_until(|sim| sim.journal.is_because(Reason::PolicyPaused));
    assert!(
        sim.journal.message.contains("not taken yet"),
        "{}",
        sim.journal.message
    );
    sim.pass(60_000);
    assert_eq!(sim.journal.phase, Phase::AwaitingConfirmation);
    sim.world.objects.policy = Lookup::Present(Policy::in_tests(false));
    until(&mut sim, Phase::Fencing);
}

/// A word is taken, and its release is decided and not written.
fn about_to_release() -> Sim {
    let mut taken = asked();
    taken.person_says_off(true);
    taken.run_until(|sim| matches!(sim.decide().act, Some(Act::Effect(Effect::TaintNode { .. }))));
    taken
}

#[test]
fn a_word_that_is_taken_back_before_the_release_releases_nothing() {
    let mut sim = about_to_release();
    sim.turn(Fault::Refused);
    sim.word = None;

    until(&mut sim, Phase::AwaitingConfirmation);
    assert!(
        sim.journal.message.contains("taken back"),
        "{}",
        sim.journal.message
    );
    sim.run();
    assert!(sim.released_at.is_empty());
}

#[test]
fn a_node_that_reports_between_the_word_and_the_release_is_not_waited_out() {
    let mut sim = about_to_release();
    sim.turn(Fault::Refused);
    sim.world.lease.lease_renewed = Some(at(sim.world.now));

    sim.run_until(|sim| sim.journal.phase != Phase::Fencing);

    assert!(
        sim.journal.is_because(Reason::NodeStillReporting),
        "{}",
        sim.journal.message
    );
    assert!(sim.released_at.is_empty());
}

#[test]
fn a_release_that_stands_is_not_forgotten_while_the_node_cannot_be_read() {
    let mut sim = about_to_release();
    sim.world.pods.push("Pod shop/stuck".to_owned());
    sim.run_until(|sim| sim.world.tainted());
    let node = sim.world.objects.node.clone();
    sim.world.objects.node = Lookup::Unreadable("no connection".to_owned());
    let end = sim.world.now + VALID_FOR.as_secs() * 1_000;

    sim.run_until(|sim| sim.world.now > end);

    assert_ne!(
        sim.journal.phase,
        Phase::AwaitingConfirmation,
        "{}",
        sim.journal.message
    );
    assert!(sim.journal.release.is_some());
    sim.world.objects.node = node;
    sim.world.command(true, Cause::Outside);
    sim.run();
    assert!(
        sim.journal.phase == Phase::Succeeded && !sim.world.tainted(),
        "{}",
        sim.journal.message
    );
}

#[test]
fn the_bmc_is_asked_right_before_the_word_is_taken_and_again_before_the_release() {
    let asked_at = |sim: &Sim| sim.observed.read_failure.as_ref().expect("it is silent").at;
    let mut sim = asked();
    sim.person_says_off(true);

    sim.run_until(|sim| sim.journal.confirmation.is_some());

    let accepted = sim.journal.confirmation.as_ref().expect("taken").accepted;
    assert!(accepted.duration_since(asked_at(&sim)) <= IDENTITY_AGE);
    // The write fails, and a successor goes on.
    let mut sim = about_to_release();
    sim.turn(Fault::CrashAfterJournal);
    let crashed = at(sim.world.now);
    sim.run_until(|sim| sim.world.tainted());
    assert!(asked_at(&sim) >= crashed);
}

#[test]
fn a_successor_finds_the_node_silent_anew_and_asks_again_once_the_word_is_old() {
    let mut taken = about_to_release();
    taken.turn(Fault::CrashAfterJournal);
    assert!(taken.journal.phase == Phase::Fencing && !taken.world.tainted());
    let mut late = taken.clone();
    let crashed = taken.world.now;
    taken.run_until(|sim| sim.world.tainted());
    assert!(taken.world.now - crashed >= 15_000, "the Node was watched anew");
    late.pass(VALID_FOR.as_secs() * 1_000);
    late.run();
    assert_eq!(
        late.journal.phase,
        Phase::AwaitingConfirmation,
        "{}",
        late.journal.message
    );
    assert!(late.released_at.is_empty());
    late.person_says_off(true);
    until(&mut late, Phase::Fencing);
}

#[test]
fn a_node_that_recovers_or_a_request_that_is_deleted_ends_it() {
    let mut sim = asked();
    sim.world.revive();
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Cancelled, "{}", sim.journal.message);
    let mut sim = asked();
    sim.deletion_requested = true;
    sim.run();
    assert!(sim.gone);
    let mut sim = asked_after_the_last_attempt();
    sim.leave_off = true;
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Failed);
    let mut sim = asked();
    sim.told_to_stop = true;
    sim.run();
    assert!(sim.journal.phase.is_final(), "{}", sim.journal.message);
}

#[test]
fn the_release_is_written_within_seconds_of_the_live_check() {
    let mut sim = asked();
    sim.person_says_off(true);
    sim.run_until(|sim| sim.world.tainted());
    let released = *sim.released_at.first().expect("released");
    let taken = sim.journal.confirmation.as_ref().expect("taken");
    assert!(at(released).duration_since(taken.node_silent) < SignedDuration::from_secs(5));
}

#[test]
fn every_fault_while_a_person_is_awaited() {
    let explore = |what: &str, start: Sim, budget: u32| {
        Explorer::new(Menu::Everything).demand(what, start, budget, 1_000);
    };
    let many = if cfg!(feature = "deep-exploration") { 2 } else { 1 };
    explore("asked, taint", asked(), 2);
    explore("asked after an attempt", asked_after_the_last_attempt(), many);
    let mut sim = asked();
    sim.taint_supported = false;
    explore("asked, node deletion", sim, many);
}
