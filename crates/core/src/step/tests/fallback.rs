//! IPMI in place of a silent Redfish service: what proves what, and what people are told.

use super::shell::Sim;
use super::tables_proof::{read, subject};
use super::world::{SYSTEM, at};
use crate::observed::PowerRead;
use crate::phase::Phase;
use crate::power::Protocol;
use crate::proof::{OffProof, off, wrong_host};

/// Why, in the words of a BMC layer that fell back.
pub(super) const WHY: &str = "over IPMI, because Redfish did not answer: it is silent";

/// What IPMI calls the system behind a BMC.
const IPMI_SYSTEM: &str = "ipmi";

fn over_ipmi(began: i64, word: &str) -> PowerRead {
    PowerRead {
        protocol: Protocol::Ipmi,
        system: IPMI_SYSTEM.to_owned(),
        fallback: Some(WHY.to_owned()),
        ..read(began, word)
    }
}

fn falls_silent(sim: &mut Sim) {
    sim.world.bmc.protocol = Protocol::Ipmi;
    IPMI_SYSTEM.clone_into(&mut sim.world.bmc.system);
}

fn comes_back(sim: &mut Sim) {
    sim.world.bmc.protocol = Protocol::Redfish;
    SYSTEM.clone_into(&mut sim.world.bmc.system);
}

#[test]
fn reads_over_redfish_and_over_ipmi_do_not_add_up_to_a_proof() {
    let redfish = |began| read(began, "Off");
    let ipmi = |began| over_ipmi(began, "Off");
    let cases = [
        ("one of each", vec![redfish(10_000), ipmi(11_000)], None),
        ("the other way round", vec![ipmi(10_000), redfish(11_000)], None),
        (
            "in turns",
            vec![ipmi(10_000), redfish(11_000), ipmi(12_000), redfish(13_000)],
            None,
        ),
        (
            "two over IPMI",
            vec![redfish(10_000), ipmi(11_000), ipmi(12_000)],
            Some((2, IPMI_SYSTEM)),
        ),
        (
            "two over Redfish again",
            vec![ipmi(10_000), redfish(11_000), redfish(12_000)],
            Some((2, SYSTEM)),
        ),
        (
            "two that are one look",
            vec![redfish(10_000), ipmi(11_000), ipmi(11_500)],
            None,
        ),
    ];
    for (identified_by, protocol) in [(SYSTEM, Protocol::Redfish), (IPMI_SYSTEM, Protocol::Ipmi)] {
        let mut subject = subject();
        identified_by.clone_into(&mut subject.system);
        subject.protocol = Some(protocol);
        for (what, reads, expected) in &cases {
            let now = reads.last().map(|read| read.ended).unwrap();
            let proven = match off(reads, at(10_000), subject.at_bmc(), now) {
                OffProof::Proven(off) => Some(off.reads),
                OffProof::NotYet | OffProof::WrongHost(_) => None,
            };
            let counted = proven.map(|reads| {
                let systems = reads.iter().map(|read| read.system.clone().unwrap());
                (reads.len(), systems.collect::<Vec<_>>())
            });
            let expected = expected.map(|(count, system)| (count, vec![system.to_owned(); count]));
            assert_eq!(counted, expected, "{what}, identified by {identified_by}");
        }
    }
}

#[test]
fn over_the_other_protocol_only_the_uuid_tells_whose_host_it_is() {
    let with = |uuid: Option<&str>| PowerRead {
        uuid: uuid.map(str::to_owned),
        ..over_ipmi(11_000, "Off")
    };
    let subject = subject();
    let another = "51c4b3a2-9d0e-4f6a-8b7c-1e2d3f4a5b6c";
    assert_eq!(
        wrong_host(&with(Some(&subject.system_uuid)), subject.at_bmc()),
        None
    );
    let said = wrong_host(&with(Some(another)), subject.at_bmc()).unwrap();
    assert!(said.contains(another), "{said}");
    for nothing in [None, Some(""), Some("00000000-0000-0000-0000-000000000000")] {
        assert!(
            wrong_host(&with(nothing), subject.at_bmc()).is_some(),
            "{nothing:?}"
        );
    }
    // Two systems of one protocol have names that tell them apart.
    let mut second = read(11_000, "Off");
    "/redfish/v1/Systems/2".clone_into(&mut second.system);
    assert!(wrong_host(&second, subject.at_bmc()).is_some());
}

#[test]
fn whenever_redfish_falls_silent_or_comes_back_the_host_is_power_cycled_once() {
    let phases = [
        Phase::Pending,
        Phase::PoweringOff,
        Phase::Fencing,
        Phase::PoweringOn,
        Phase::Booting,
    ];
    for silent_in in phases {
        for back_in in phases {
            let mut sim = Sim::new();
            sim.run_until(|sim| sim.journal.phase >= silent_in);
            falls_silent(&mut sim);
            sim.run_until(|sim| sim.journal.phase >= back_in);
            comes_back(&mut sim);
            sim.run();

            let story = format!(
                "silent in {silent_in:?}, back in {back_in:?}: {}",
                sim.journal.message
            );
            assert_eq!(sim.journal.phase, Phase::Succeeded, "{story}");
            assert_eq!(sim.power_offs(), 1, "{story}");
            assert_eq!((sim.edges(false, 1), sim.edges(true, 1)), (1, 1), "{story}");
        }
    }
}

#[test]
fn a_crash_while_redfish_is_silent_changes_nothing_in_the_end() {
    for phase in [Phase::PoweringOff, Phase::Fencing, Phase::PoweringOn] {
        let mut sim = Sim::new();
        falls_silent(&mut sim);
        sim.run_until(|sim| sim.journal.phase == phase && !sim.world.host.on);
        sim.crash();
        comes_back(&mut sim);
        sim.run();
        assert_eq!(sim.journal.phase, Phase::Succeeded, "{}", sim.journal.message);
        assert_eq!((sim.edges(false, 1), sim.edges(true, 1)), (1, 1), "{phase:?}");
    }
}

#[test]
fn people_are_told_why_a_bmc_is_spoken_to_over_ipmi_for_as_long_as_it_is() {
    let mut sim = Sim::new();
    falls_silent(&mut sim);
    sim.run_until(|sim| sim.journal.phase == Phase::Fencing);
    let journal = &sim.journal;
    assert_eq!(journal.bmc_fallback.as_deref(), Some(WHY));
    assert!(
        journal.message.ends_with(&format!("({WHY})")),
        "{}",
        journal.message
    );
    let reads = &journal.evidence.as_ref().unwrap().reads;
    assert!(
        reads
            .iter()
            .all(|read| read.system.as_deref() == Some(IPMI_SYSTEM))
    );
    let entries = journal
        .timeline
        .iter()
        .filter(|entry| entry.phase >= Phase::PoweringOff);
    for entry in entries {
        assert_eq!(entry.bmc_fallback.as_deref(), Some(WHY), "{entry:?}");
    }
    comes_back(&mut sim);
    sim.run();
    assert_eq!(sim.journal.bmc_fallback, None);
    assert!(
        !sim.journal.message.contains("over IPMI"),
        "{}",
        sim.journal.message
    );
}

#[test]
fn telling_it_costs_one_write_more_at_most() {
    let mut plain = Sim::new();
    plain.run();
    let mut sim = Sim::new();
    falls_silent(&mut sim);
    sim.run();
    let writes = (plain.counts.journal_writes, sim.counts.journal_writes);
    assert!(writes.1 <= writes.0 + 1, "{writes:?}");
    assert!(
        sim.journal.message.starts_with(plain.journal.message.as_str()),
        "{}",
        sim.journal.message
    );
}
