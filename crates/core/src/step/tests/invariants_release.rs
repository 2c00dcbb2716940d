//! Invariants 1, 2 and 3: what may be released, until when, and by which verbs.

use jiff::SignedDuration;

use super::shell::{Fault, Sim, Turn, millis};
use super::world::{Cause, Kubelet, Says, at};
use crate::decision::{Act, Effect, Observation};
use crate::facts::{NodeCondition, Obstacle};
use crate::health::UnhealthyCondition;
use crate::journal::{HostState, Verb};
use crate::observed::PowerRead;
use crate::phase::{Phase, Reason};
use crate::power::PowerState;

/// A remediation whose power-off was just acknowledged, and not carried out.
fn acknowledged_but_still_on() -> Sim {
    let mut sim = Sim::new();
    sim.world.bmc.obeys_off = false;
    sim.run_until(|sim| sim.power_offs() == 1);
    assert_eq!(sim.journal.phase, Phase::PoweringOff);
    assert!(sim.world.host.on);
    sim
}

#[test]
fn invariant_1_no_release_without_proven_off_by_any_other_word() {
    for word in [
        Some("PoweringOff"),
        Some("PoweringOn"),
        Some("On"),
        Some("Paused"),
        Some("Sleeping"),
        Some("off"),
        Some("OFF"),
        Some("Off "),
        Some("Unknown"),
        Some(""),
        None,
    ] {
        let mut sim = acknowledged_but_still_on();
        sim.world.bmc.says = Says::Always(word);

        sim.run();

        assert!(sim.released_at.is_empty(), "released on the word {word:?}");
        let is_known = [Some("On"), Some("PoweringOn")].contains(&word);
        let end = if is_known {
            Phase::Failed
        } else {
            Phase::AwaitingConfirmation
        };
        assert_eq!(sim.journal.phase, end, "{word:?}: {}", sim.journal.message);
    }
}

#[test]
fn invariant_1_no_release_without_proven_off_on_a_single_read() {
    let mut sim = acknowledged_but_still_on();
    sim.run_until(|sim| matches!(sim.decide().act, Some(Act::Observe(Observation::Power))));

    sim.turn(Fault::Says("Off"));
    sim.run();

    assert!(sim.released_at.is_empty());
}

#[test]
fn invariant_1_no_release_without_proven_off_on_reads_begun_before_the_acknowledgement() {
    let mut sim = acknowledged_but_still_on();
    let now = sim.world.now;
    for ago in [3_000, 1_500, 21] {
        let began = at(now - ago);
        sim.observed.note_read(off_read(&sim, began, at(now)));
    }

    let decision = sim.decide();

    assert_eq!(decision.journal.phase, Phase::PoweringOff);
    assert!(decision.journal.evidence.is_none());
}

#[test]
fn invariant_1_no_release_without_proven_off_on_stale_reads() {
    let mut sim = Sim::new();
    sim.run_until(|sim| sim.decide().journal.phase == Phase::Fencing);
    let newest = sim.observed.last_read().expect("it was read").ended;
    let too_old = newest + jiff::SignedDuration::from_millis(5_001);

    let decision = crate::step::step(&sim.journal, &sim.facts(), too_old);

    assert_eq!(decision.journal.phase, Phase::PoweringOff);
    assert_eq!(decision.act, Some(Act::Observe(Observation::Power)));
}

#[test]
fn invariant_1_no_release_without_proven_off_of_another_system() {
    for uuid in [
        Some("51c4b3a2-9d0e-4f6a-8b7c-1e2d3f4a5b6c"),
        Some("00000000-0000-0000-0000-000000000000"),
        Some("nonsense"),
        None,
    ] {
        let mut sim = Sim::new();
        sim.run_until(|sim| sim.power_offs() == 1);
        sim.world.bmc.uuid = uuid.map(str::to_owned);

        sim.run();

        assert!(sim.released_at.is_empty(), "released on the word of {uuid:?}");
        if uuid == Some("51c4b3a2-9d0e-4f6a-8b7c-1e2d3f4a5b6c") {
            assert_eq!(sim.journal.phase, Phase::Failed);
            let message = &sim.journal.message;
            assert!(message.contains("may be off"), "{message}");
        } else {
            // Not another host, only one that cannot be proven: it gets its power back.
            assert_eq!(sim.journal.phase, Phase::Succeeded);
        }
    }
}

#[test]
fn invariant_1_no_release_without_proven_off_of_another_system_uri() {
    let mut sim = Sim::new();
    sim.run_until(|sim| sim.power_offs() == 1);
    sim.world.bmc.system = "/redfish/v1/Systems/2".to_owned();

    sim.run_until(|sim| sim.journal.phase != Phase::PoweringOff);

    assert!(sim.released_at.is_empty());
}

#[test]
fn invariant_1_no_release_without_proven_off_while_the_node_reports() {
    let mut sim = acknowledged_but_still_on();
    sim.world.bmc.says = Says::Always(Some("Off"));
    let next_beat = sim.world.now + 1_000;
    sim.world.host.kubelet = Kubelet::Alive { next_beat };

    sim.run();

    assert!(sim.released_at.is_empty());
    let reasons: Vec<&str> = sim
        .journal
        .failed_attempts
        .iter()
        .map(|failed| failed.reason.as_str())
        .collect();
    assert!(
        reasons.contains(&Reason::NodeStillReporting.as_str()),
        "{reasons:?}"
    );
}

#[test]
fn invariant_1_a_node_that_reported_once_more_is_released_on_a_new_proof() {
    let mut sim = Sim::new();
    sim.run_until(|sim| matches!(sim.decide().act, Some(Act::Observe(Observation::Report))));
    let written_late = sim.world.now;
    sim.world.lease.lease_renewed = Some(at(written_late));

    sim.run();

    let released = *sim.released_at.first().expect("released in the end");
    assert!(
        released >= written_late + 15_000,
        "released {} ms after a renewal",
        released - written_late
    );
    assert_eq!(sim.journal.phase, Phase::Succeeded);
}

#[test]
fn invariant_1_a_nodes_silence_is_seen_by_change_and_not_by_its_clock() {
    // Ready=Unknown and a Lease that expired by its own words: a kubelet that came back a moment ago
    // with a clock that is behind looks the same. This process has not seen it silent for long.
    let mut sim = Sim::new();
    sim.process_started = sim.world.now - 3_000;

    sim.run_until(|sim| sim.released_at.len() == 1);

    let first_report = sim
        .observed
        .reports
        .first()
        .expect("read before the power-off")
        .began;
    let waited = at(sim.released_at[0]).duration_since(first_report);
    assert!(
        waited >= jiff::SignedDuration::from_secs(15),
        "released after {waited}"
    );
}

/// The Node is wanted back for another reason than its silence, so that its Lease is no contradiction.
#[test]
fn invariant_1_a_node_whose_lease_is_valid_is_not_silent_because_it_is_lost() {
    let mut sim = Sim::new();
    sim.world.lease.lease_renewed = Some(at(sim.world.now - 1_000));
    let full = |since| NodeCondition {
        kind: "DiskPressure".to_owned(),
        status: "True".to_owned(),
        since: Some(at(since)),
    };
    sim.world.edit_node(|node| node.conditions.push(full(-300_000)));
    sim.world.edit_check(|check| {
        check.conditions.push(UnhealthyCondition {
            kind: "DiskPressure".to_owned(),
            status: "True".to_owned(),
            timeout: SignedDuration::from_secs(60),
        });
    });

    sim.run_until(|sim| sim.released_at.len() == 1);

    let waited = sim.released_at[0] - millis(sim.observed.reports[0].began);
    assert!(waited >= 15_000, "released after {waited} ms");
}

#[test]
fn invariant_1_the_evidence_of_a_release_is_literal_fresh_and_begun_after_the_acknowledgement() {
    let mut sim = Sim::new();

    sim.run_until(|sim| !sim.released_at.is_empty());

    let evidence = sim.journal.evidence.clone().expect("journalled with the release");
    assert!(evidence.reads.len() >= 2);
    let newest = evidence.reads.last().expect("two reads").ended;
    assert!(
        evidence
            .reads
            .iter()
            .all(|read| read.said == "Off" && read.began >= evidence.acknowledged)
    );
    assert!(at(sim.released_at[0]).duration_since(newest) <= jiff::SignedDuration::from_secs(5));
}

#[test]
fn invariant_2_release_stops_when_host_comes_on() {
    let mut sim = Sim::new();
    sim.world.pods.push("Pod shop/stuck".to_owned());
    sim.run_until(|sim| sim.released_at.len() == 1);

    sim.world.command(true, Cause::Outside);
    let came_on = sim.world.now;
    sim.run_until(|sim| sim.journal.phase != Phase::Fencing);

    assert!(
        sim.world.now - came_on <= 5_100,
        "noticed after {} ms",
        sim.world.now - came_on
    );
    assert_eq!(sim.journal.reason, Reason::HostCameOn.as_str());
    let release = sim.journal.release.clone().expect("kept as a record");
    assert!(release.withdrawn.is_some());
    assert!(!sim.world.tainted());
    sim.run();
    assert_eq!(sim.released_at.len(), 1);
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
}

#[test]
fn invariant_2_a_taint_that_could_not_be_taken_back_at_once_goes_before_the_node_is_back() {
    let mut sim = Sim::new();
    sim.world.host.boots_well = false;
    sim.world.pods.push("Pod shop/stuck".to_owned());
    sim.run_until(|sim| sim.released_at.len() == 1);
    sim.world.command(true, Cause::Outside);
    let came_on = sim.world.now;
    sim.run_until(|sim| matches!(sim.decide().act, Some(Act::Effect(Effect::UntaintNode { .. }))));
    sim.turn(Fault::Refused);
    assert!(sim.world.tainted());

    sim.run_until(|sim| !sim.world.tainted());

    assert!(sim.world.now - came_on < 60_000, "{} ms", sim.world.now - came_on);
}

#[test]
fn invariant_2_release_is_not_written_when_host_came_on_before_it() {
    let mut sim = Sim::new();
    sim.run_until(|sim| matches!(sim.decide().act, Some(Act::Effect(Effect::TaintNode { .. }))));
    sim.turn(Fault::Refused);
    sim.world.command(true, Cause::Outside);
    sim.world.advance(sim.world.now + 6_000);

    sim.run();

    assert!(sim.released_at.is_empty());
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
}

#[test]
fn invariant_2_a_node_that_registers_anew_in_taint_mode_is_not_tainted() {
    let mut sim = Sim::new();
    sim.run_until(|sim| matches!(sim.decide().act, Some(Act::Effect(Effect::TaintNode { .. }))));
    sim.turn(Fault::Refused);
    sim.world.edit_node(|node| node.uid = "node-uid-9".to_owned());

    sim.run_until(|sim| sim.journal.phase != Phase::Fencing);

    assert!(sim.released_at.is_empty());
    assert_eq!(sim.journal.reason, Reason::NodeStillReporting.as_str());
}

#[test]
fn invariant_3_only_absolute_verbs() {
    /// Everything that can be done, and whether it is power: a new effect does not compile here.
    fn power(effect: &Effect) -> Option<Verb> {
        match effect {
            Effect::PowerOff { .. } => Some(Verb::PowerOff),
            Effect::PowerOn { .. } => Some(Verb::PowerOn),
            Effect::Restart { .. } => Some(Verb::Restart),
            Effect::AddFinalizer
            | Effect::RemoveFinalizer
            // metal3 is asked for a state, and not for a change.
            | Effect::WriteHold(_)
            | Effect::ReleaseHost(_)
            | Effect::TaintNode { .. }
            | Effect::DeleteNode { .. }
            | Effect::RestoreNode { .. }
            | Effect::UntaintNode { .. }
            | Effect::ClearTrigger { .. }
            | Effect::AskOwner(_)
            | Effect::DeleteMachine(_)
            | Effect::TakeNodeLease(_)
            | Effect::ReleaseNodeLease { .. } => None,
        }
    }
    let mut sim = Sim::new();
    sim.run();
    let verbs: Vec<Option<Verb>> = sim.sent.iter().map(|(_, effect)| power(effect)).collect();
    assert_eq!(verbs, [Some(Verb::PowerOff), Some(Verb::PowerOn)]);
}

#[test]
fn invariant_3_a_command_without_an_answer_is_never_repeated_blindly() {
    let mut sim = Sim::new();
    sim.run_until(|sim| matches!(sim.decide().act, Some(Act::Effect(Effect::PowerOff { .. }))));

    sim.turn(Fault::CommandLost);
    let reads = sim.counts.bmc_reads;
    sim.run_until(|sim| sim.power_offs() == 2);

    assert!(sim.counts.bmc_reads > reads, "sent again without a read");
    let between = sim.sent[1].0 - sim.sent[0].0;
    assert!(
        between >= 20_000,
        "sent again after {between} ms while the host was on"
    );
    sim.run();
    assert_eq!(sim.journal.phase, Phase::Succeeded);
}

#[test]
fn invariant_1_no_release_without_proven_off_after_an_acknowledgement() {
    for fault in [Fault::AnswerLost, Fault::CrashAfterAct] {
        let mut sim = Sim::new();
        sim.run_until(|sim| matches!(sim.decide().act, Some(Act::Effect(Effect::PowerOff { .. }))));

        sim.turn(fault);
        sim.run_until(|sim| !sim.released_at.is_empty());

        assert_eq!(
            sim.power_offs(),
            2,
            "{fault:?}: released without an acknowledgement"
        );
        let evidence = sim.journal.evidence.clone().expect("journalled with the release");
        assert!(evidence.acknowledged >= at(sim.sent[1].0), "{fault:?}");
        assert_eq!(sim.edges(false, 1), 1, "{fault:?}");
    }
}

#[test]
fn invariant_3_a_host_that_went_off_and_came_on_is_not_powered_off_again() {
    let mut sim = Sim::new();
    sim.run_until(|sim| sim.observed.last_read().is_some_and(|read| read.said() == "Off"));
    sim.world.command(true, Cause::Outside);

    sim.run_until(|sim| sim.journal.phase != Phase::PoweringOff);

    assert_eq!(sim.power_offs(), 1);
    let failed = sim.journal.failed_attempts.last().expect("the attempt failed");
    assert_eq!(failed.reason, Reason::HostCameOn.as_str());
    // The attempt, what was noticed, and its end; no second command was even journalled.
    assert_eq!(sim.counts.journal_writes, 3);
}

#[test]
fn a_refused_command_is_repeated_after_a_pause_and_a_new_look() {
    let mut sim = Sim::new();
    sim.run_until(|sim| matches!(sim.decide().act, Some(Act::Effect(Effect::PowerOff { .. }))));
    let looks = sim.counts.looks;

    assert_eq!(sim.turn(Fault::Refused), Turn::Acted);
    sim.run();

    assert_eq!(sim.counts.looks, looks + 1);
    assert!(sim.sent[1].0 - sim.sent[0].0 >= 10_000);
    assert_eq!(sim.journal.phase, Phase::Succeeded);
}

fn off_read(sim: &Sim, began: jiff::Timestamp, ended: jiff::Timestamp) -> PowerRead {
    PowerRead {
        began,
        ended,
        power: PowerState::Off,
        protocol: sim.world.bmc.protocol,
        literal: Some("Off".to_owned()),
        serial: None,
        uuid: sim.world.bmc.uuid.clone(),
        system: sim.world.bmc.system.clone(),
        session: None,
        command_failure: None,
        fallback: None,
        certificate: None,
        host: HostState::default(),
    }
}

#[test]
fn an_obstacle_names_what_to_do() {
    for reason in Reason::ALL {
        assert!(reason.advice().ends_with('.'), "{reason:?}");
        assert_eq!(Obstacle::new(*reason, "x").reason.as_str(), format!("{reason:?}"));
    }
}

#[test]
fn invariant_2_a_node_that_reports_with_a_clock_that_is_behind_stops_the_release() {
    let mut sim = Sim::new();
    sim.world.hold_pods(100_000);
    sim.run_until(|sim| sim.released_at.len() == 1);
    sim.world.hold_pods(100_000);
    let before = at(-3_600_000);

    sim.world.edit_node(|node| node.heartbeat = Some(before));
    sim.run_until(|sim| sim.journal.phase != Phase::Fencing);

    assert_eq!(sim.journal.phase, Phase::Booting);
    assert_eq!(sim.journal.reason, Reason::NodeStillReporting.as_str());
}
