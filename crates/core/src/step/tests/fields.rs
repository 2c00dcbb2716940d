//! What has to be known later stands in a field of the journal. Neither a reason nor a message is read to learn it,
//! and a journal of an earlier version, which has no such field, forbids what is not known to be allowed.

use super::shell::{Fault, Sim, Turn};
use super::world::{Cause, UUID, at};
use crate::decision::{Act, Effect};
use crate::facts::{Lookup, Policy};
use crate::journal::{BmcLog, Journal, LogEntry};
use crate::phase::{Phase, Reason};

/// Says something else than what is so.
fn say_otherwise(journal: &mut Journal) {
    journal.because(Reason::PowerOffRequested, "something else");
}

/// The journal as a version wrote it that had none of these fields.
fn forget_fields(journal: &mut Journal) {
    journal.host_came_on = None;
    journal.node_reported = None;
    journal.command_complaint = None;
    journal.suspended_since = None;
    if let Some(subject) = &mut journal.subject {
        subject.protocol = None;
    }
    if let Some(release) = &mut journal.release {
        release.waiting_for.clear();
    }
}

/// The host went off and came on again before Off was proven, and this is noticed.
fn comes_on_again() -> Sim {
    let mut sim = Sim::new();
    sim.world.host.boots_well = false;
    sim.run_until(|sim| sim.observed.last_read().is_some_and(|read| read.said() == "Off"));
    sim.world.command(true, Cause::Outside);
    sim.run_until(|sim| sim.journal.is_because(Reason::HostCameOn));
    sim
}

#[test]
fn invariant_3_a_host_that_came_on_again_is_left_alone_by_a_successor_whatever_the_reason_says() {
    let mut sim = comes_on_again();
    assert!(sim.journal.host_came_on.is_some());
    say_otherwise(&mut sim.journal);
    sim.crash();

    sim.run_until(|sim| sim.journal.phase != Phase::PoweringOff);

    assert_eq!(sim.power_offs(), 1);
    let failed = sim.journal.failed_attempts.last().expect("the attempt failed");
    assert_eq!(failed.reason, Reason::HostCameOn.as_str());
    assert_eq!(sim.journal.host_came_on, None, "it is of one attempt");
}

#[test]
fn invariant_3_no_power_off_is_repeated_on_a_journal_that_does_not_say_whether_the_host_came_on() {
    let mut sim = comes_on_again();
    forget_fields(&mut sim.journal);
    say_otherwise(&mut sim.journal);
    sim.crash();

    sim.run_until(|sim| sim.journal.phase != Phase::PoweringOff);
    assert_eq!(sim.power_offs(), 1);

    // The next attempt is one of this version.
    sim.run_until(|sim| sim.power_offs() == 2);
    assert_eq!(sim.journal.attempt, 2, "{}", sim.journal.message);
}

#[test]
fn a_journal_of_an_earlier_version_is_brought_to_its_end_from_every_phase() {
    for phase in [
        Phase::PoweringOff,
        Phase::Fencing,
        Phase::PoweringOn,
        Phase::Booting,
    ] {
        let mut sim = Sim::new();
        sim.run_until(|sim| sim.journal.phase == phase && sim.power_offs() == 1);
        let mut written = serde_json::to_value(&sim.journal).unwrap();
        let subject = written["subject"].as_object_mut().unwrap();
        assert_eq!(subject.remove("protocol"), Some("Redfish".into()));
        sim.journal = serde_json::from_value(written).unwrap();
        forget_fields(&mut sim.journal);
        sim.crash();

        sim.run();

        let story = format!("{phase:?}: {}", sim.journal.message);
        assert_eq!(sim.journal.phase, Phase::Succeeded, "{story}");
        assert!(sim.world.host.on, "{story}");
        assert_eq!(sim.edges(false, 1), 1, "{story}");
    }
}

/// What the BMC told before the first power-off is of the host as it died; whatever it tells later, we may have brought
/// about.
#[test]
fn what_the_bmc_told_of_one_attempt_is_not_filed_as_that_of_another() {
    let mut sim = Sim::new();
    sim.world.host.boots_well = false;
    sim.run_until(|sim| sim.journal.phase == Phase::PoweringOn);
    let first = sim.journal.before_power_off.clone().expect("it was read");
    let log = BmcLog {
        read: at(sim.world.now),
        entries: vec![LogEntry {
            created: None,
            severity: None,
            message: "Uncorrectable ECC error".to_owned(),
        }],
    };
    sim.observed.bmc_log = Some(log.clone());
    sim.run_until(|sim| sim.journal.phase == Phase::Booting);
    let kept = |sim: &Sim| {
        sim.journal
            .before_power_off
            .as_ref()
            .expect("kept")
            .bmc_log
            .clone()
    };
    assert_eq!(kept(&sim), Some(log.clone()));

    // This process still remembers it.
    sim.run_until(|sim| sim.journal.attempt == 2 && sim.journal.phase == Phase::Booting);
    assert_eq!(kept(&sim), None);
    let failed = sim.journal.failed_attempts.first().expect("one has failed");
    let before = failed.before_power_off.as_ref().expect("it stays");
    assert_eq!((before.read, &before.bmc_log), (first.read, &Some(log)));
    sim.run_until(|sim| sim.journal.failed_attempts.len() == 2 || sim.journal.phase.is_final());
    let later = sim.journal.failed_attempts.iter().skip(1);
    assert!(later.map(|one| &one.before_power_off).all(Option::is_none));
}

#[test]
fn a_journal_that_does_not_name_the_protocol_believes_no_other_name_of_the_system() {
    use super::tables_proof::{read, subject};
    use crate::power::Protocol;
    use crate::proof::wrong_host;

    let mut over_ipmi = read(11_000, "Off");
    over_ipmi.protocol = Protocol::Ipmi;
    "ipmi".clone_into(&mut over_ipmi.system);
    assert_eq!(over_ipmi.uuid.as_deref(), Some(UUID));
    let mut subject = subject();
    assert_eq!(wrong_host(&over_ipmi, subject.at_bmc()), None);

    subject.protocol = None;
    assert!(wrong_host(&over_ipmi, subject.at_bmc()).is_some());
    assert_eq!(wrong_host(&read(11_000, "Off"), subject.at_bmc()), None);
}

#[test]
fn what_the_bmc_has_against_a_command_is_told_at_the_end_whatever_was_said_in_between() {
    let mut sim = Sim::new();
    sim.run_until(|sim| matches!(sim.decide().act, Some(Act::Effect(Effect::PowerOff { .. }))));
    assert_eq!(sim.turn(Fault::TaskFails { obeyed: false }), Turn::Acted);
    sim.run_until(|sim| sim.journal.command_complaint.is_some());
    sim.world.bmc.obeys_off = false;
    say_otherwise(&mut sim.journal);

    sim.run_until(|sim| sim.journal.phase != Phase::PoweringOff);

    let told = &sim.journal.message;
    assert!(
        told.contains("of a command it said: its task ended in Exception"),
        "{told}"
    );
    assert_eq!(sim.journal.command_complaint, None, "it is of one phase");
}

#[test]
fn a_pause_is_known_to_be_over_whatever_was_said_meanwhile() {
    let mut sim = Sim::new();
    sim.world.objects.policy = Lookup::Present(Policy::in_tests(true));
    sim.run_until(|sim| sim.world.now > 3_600_000);
    assert!(sim.journal.suspended_since.is_some(), "{:?}", sim.journal);
    sim.journal.message = "something else".to_owned();
    sim.journal.reason = "SomethingElse".to_owned();
    sim.world.objects.policy = Lookup::Present(Policy::in_tests(false));

    sim.run();

    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert_eq!(sim.journal.suspended_since, None);
}

#[test]
fn a_longer_name_is_another_one_of_what_is_waited_for() {
    let mut sim = Sim::new();
    sim.world.pods = vec!["Pod shop/db-10".to_owned(), "Pod shop/db-1".to_owned()];
    sim.run_until(|sim| sim.released_at.len() == 1);
    sim.world.hold_pods(100_000);
    let named = |sim: &Sim| {
        sim.journal
            .release
            .as_ref()
            .map(|release| release.waiting_for.clone())
    };
    sim.run_until(|sim| named(sim).is_some_and(|named| !named.is_empty()));
    assert_eq!(named(&sim), Some(sim.world.pods.clone()));
    if let Some(release) = &mut sim.journal.release {
        release.waiting_for = vec!["Pod shop/db-10".to_owned()];
    }
    sim.world.pods = vec!["Pod shop/db-1".to_owned()];

    sim.run_until(|sim| sim.journal.message.ends_with("waiting for Pod shop/db-1 to go"));

    assert_eq!(named(&sim), Some(sim.world.pods.clone()));
}

#[test]
fn how_it_ended_is_written_down() {
    let mut recovers = Sim::new();
    recovers.world.revive();
    recovers.run();
    assert_eq!(recovers.journal.phase, Phase::Cancelled);
    assert!(recovers.journal.recovered.is_some() && recovers.journal.withdrawn.is_none());

    let mut withdrawn = Sim::new();
    withdrawn
        .world
        .edit_machine(|machine| machine.state.triggered = false);
    withdrawn.run();
    assert_eq!(withdrawn.journal.phase, Phase::Cancelled);
    assert!(withdrawn.journal.recovered.is_none() && withdrawn.journal.withdrawn.is_some());

    let mut fails = Sim::new();
    fails.world.bmc.uuid = Some("00000000-0000-0000-0000-0cc47a000001".to_owned());
    fails.run();
    assert_eq!(fails.journal.phase, Phase::Failed);
    assert!(fails.journal.recovered.is_none() && fails.journal.withdrawn.is_none());
}

#[test]
fn invariant_7_who_does_not_lead_writes_nothing_and_does_nothing() {
    for phase in [
        Phase::Pending,
        Phase::PoweringOff,
        Phase::Fencing,
        Phase::PoweringOn,
        Phase::Booting,
    ] {
        let mut sim = Sim::new();
        sim.run_until(|sim| sim.journal.phase == phase);
        sim.leads = false;
        for late in [0, 5_000, 60_000, 3_600_000] {
            sim.world.advance(sim.world.now + late);
            let decision = sim.decide();
            assert_eq!(decision.journal, sim.journal, "{phase:?} after {late} ms");
            assert_eq!(decision.act, None, "{phase:?} after {late} ms");
        }
    }
}

#[test]
fn invariant_7_no_command_outlives_the_lead() {
    let mut sim = Sim::new();
    sim.run_until(|sim| {
        let until = sim.facts().leadership.act_until;
        let intent = sim.journal.intent.as_ref();
        assert!(
            intent.is_none_or(|intent| Some(intent.not_after) <= until),
            "{intent:?} lasts longer than {until:?}"
        );
        false
    });
    assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
    assert_eq!(sim.power_offs(), 1);
}
