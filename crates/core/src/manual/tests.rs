use super::*;
use crate::power::Protocol;
use crate::power_command::{CommandCame, Refusal};

type Answer = Result<CommandAnswer, CommandError>;

const ACCEPTED: Answer = Ok(CommandAnswer::Accepted);

fn busy() -> CommandAnswer {
    CommandAnswer::Refused {
        class: Refusal::Busy,
        text: "busy".to_owned(),
        retry_after: None,
    }
}

/// Sent, and nobody answered.
fn unknown() -> Answer {
    Err(CommandError {
        came: CommandCame::Unknown,
        obstacle: Obstacle::new(Reason::BmcUnreachable, "no answer"),
    })
}

const UUID: &str = "00112233-4455-6677-8899-aabbccddeeff";

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_000_000_i64.saturating_add(seconds)).unwrap()
}

fn read(seconds: i64, said: &str) -> PowerRead {
    PowerRead {
        began: at(seconds),
        ended: at(seconds),
        power: PowerState::from_literal(Some(said)),
        protocol: Protocol::Redfish,
        literal: Some(said.to_owned()),
        serial: None,
        uuid: Some(UUID.to_owned()),
        system: "/redfish/v1/Systems/1".to_owned(),
        session: None,
        command_failure: None,
        fallback: None,
        certificate: None,
        host: crate::journal::HostState::default(),
    }
}

fn manual(verb: Verb, sent: &[(i64, Answer)], reads: &[(i64, &str)]) -> Manual {
    let mut manual = Manual::new(verb, &read(-1, "On"), at(0), at(300));
    for (seconds, answer) in sent {
        manual.note_sent(at(*seconds), answer.clone());
    }
    for (seconds, said) in reads {
        manual.note_read(read(*seconds, said));
    }
    manual
}

type Row<'a> = (&'a str, &'a [(i64, Answer)], &'a [(i64, &'a str)], i64, Next);

#[test]
fn a_power_off_is_done_when_two_reads_after_the_acknowledgement_say_off() {
    let rows: [Row<'_>; 12] = [
        ("nothing sent", &[], &[(-1, "On")], 0, Next::Send),
        ("sent", &[(0, ACCEPTED)], &[], 0, Next::Read(at(1))),
        (
            "going",
            &[(0, ACCEPTED)],
            &[(1, "PoweringOff"), (2, "PoweringOff")],
            2,
            Next::Read(at(2) + SignedDuration::from_millis(1_600)),
        ),
        ("once", &[(0, ACCEPTED)], &[(1, "Off")], 1, Next::Read(at(2))),
        (
            "twice",
            &[(0, ACCEPTED)],
            &[(1, "Off"), (2, "Off")],
            2,
            Next::Done,
        ),
        (
            "twice, too long ago",
            &[(0, ACCEPTED)],
            &[(1, "Off"), (2, "Off")],
            8,
            Next::Read(at(3)),
        ),
        (
            "before the acknowledgement",
            &[(3, ACCEPTED)],
            &[(1, "Off"), (2, "Off")],
            3,
            Next::Read(at(4)),
        ),
        (
            "still on",
            &[(0, ACCEPTED)],
            &[(19, "On")],
            19,
            Next::Read(at(20)),
        ),
        ("on for long", &[(0, ACCEPTED)], &[(20, "On")], 20, Next::Send),
        ("unknown, off", &[(0, unknown())], &[(1, "Off")], 1, Next::Send),
        (
            "refused",
            &[(0, Ok(busy()))],
            &[(1, "On"), (2, "On")],
            5,
            Next::Read(at(2) + SignedDuration::from_millis(1_600)),
        ),
        ("refused, later", &[(0, Ok(busy()))], &[(1, "On")], 10, Next::Send),
    ];
    for (name, sent, reads, now, expected) in rows {
        assert_eq!(
            manual(Verb::PowerOff, sent, reads).next(at(now)),
            expected,
            "{name}"
        );
    }
}

#[test]
fn a_power_on_is_done_when_a_read_after_it_says_on() {
    let next =
        |sent: &[(i64, Answer)], reads: &[(i64, &str)], now| manual(Verb::PowerOn, sent, reads).next(at(now));
    assert_eq!(next(&[(0, ACCEPTED)], &[(1, "On")], 1), Next::Done);
    assert_eq!(next(&[(0, ACCEPTED)], &[(-1, "On")], 1), Next::Read(at(1)));
    assert_eq!(next(&[(0, ACCEPTED)], &[(1, "PoweringOn")], 1), Next::Read(at(2)));
    assert_eq!(next(&[(0, unknown())], &[(1, "Off")], 1), Next::Read(at(2)));
    assert_eq!(next(&[(0, unknown())], &[(20, "Off")], 20), Next::Send);
}

#[test]
fn a_command_that_the_bmc_failed_over_is_no_acknowledgement() {
    let failed = |seconds, said| PowerRead {
        command_failure: Some("its task ended in Exception".to_owned()),
        ..read(seconds, said)
    };
    let mut off = manual(Verb::PowerOff, &[(0, ACCEPTED)], &[]);
    off.note_read(failed(1, "On"));
    // Not sooner than after any other that came to nothing.
    assert_eq!(off.next(at(19)), Next::Read(at(2)));
    off.note_read(read(20, "On"));
    assert_eq!(off.next(at(20)), Next::Send);
    let Next::GiveUp(text) = off.next(at(300)) else {
        panic!("it is over");
    };
    assert!(
        text.ends_with("and of the command: its task ended in Exception"),
        "{text}"
    );

    let mut off = manual(Verb::PowerOff, &[(0, ACCEPTED)], &[]);
    off.note_read(failed(1, "On"));
    off.note_read(read(2, "Off"));
    off.note_read(read(3, "Off"));
    assert_eq!(off.next(at(3)), Next::Send, "nothing acknowledges this Off");

    // What was read before the command is about another one.
    let mut early = manual(Verb::PowerOff, &[(2, ACCEPTED)], &[]);
    early.note_read(failed(1, "On"));
    early.note_read(read(3, "Off"));
    early.note_read(read(4, "Off"));
    assert_eq!(early.next(at(4)), Next::Done);
}

#[test]
fn it_gives_up_at_its_time_and_on_another_host() {
    let overdue = manual(Verb::PowerOff, &[(0, unknown())], &[(299, "On")]).next(at(300));
    let Next::GiveUp(text) = overdue else {
        panic!("{overdue:?}");
    };
    assert!(
        text.contains("says On") && text.contains("did not answer"),
        "{text}"
    );

    let mut other = manual(Verb::PowerOff, &[(0, ACCEPTED)], &[(1, "Off")]);
    let mut wrong = read(2, "Off");
    wrong.uuid = Some("ffffffff-4455-6677-8899-aabbccddeeff".to_owned());
    other.note_read(wrong);
    assert!(matches!(other.next(at(2)), Next::GiveUp(_)));
}

#[test]
fn a_host_that_came_on_again_is_not_powered_off_a_second_time() {
    let came_on = manual(
        Verb::PowerOff,
        &[(0, ACCEPTED)],
        &[(1, "Off"), (2, "On"), (21, "On")],
    );
    assert!(
        matches!(came_on.next(at(21)), Next::Read(_)),
        "{:?}",
        came_on.next(at(21))
    );
    let Next::GiveUp(text) = came_on.next(at(300)) else {
        panic!("it is over");
    };
    assert!(text.contains("went off and came on again"), "{text}");

    // It may go off yet, and then that is proven as ever.
    let mut off = came_on;
    off.note_read(read(30, "Off"));
    off.note_read(read(31, "Off"));
    assert_eq!(off.next(at(31)), Next::Done);
}

#[test]
fn reads_that_fail_are_tried_again_ten_times() {
    let mut silent = manual(Verb::PowerOn, &[(0, ACCEPTED)], &[]);
    for failure in 1..=10 {
        assert!(silent.note_read_failure(at(failure), "no answer"), "{failure}");
    }
    assert_eq!(silent.next(at(10)), Next::Read(at(15)), "after the longest pause");
    assert!(!silent.note_read_failure(at(11), "no answer"));
}
