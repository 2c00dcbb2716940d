//! One table a rule. Times are seconds after the command was answered.

use super::*;
use crate::power::Protocol;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_000_000_i64.saturating_add(seconds)).unwrap()
}

fn read(seconds: i64, power: PowerState) -> PowerRead {
    PowerRead {
        began: at(seconds),
        ended: at(seconds),
        protocol: Protocol::Redfish,
        power,
        literal: Some(format!("{power:?}")),
        uuid: None,
        serial: None,
        system: "/redfish/v1/Systems/1".to_owned(),
        session: None,
        command_failure: None,
        fallback: None,
        certificate: None,
        host: crate::journal::HostState::default(),
    }
}

fn why(reason: Reason) -> Obstacle {
    Obstacle::new(reason, "why")
}

fn refused(class: Refusal) -> CommandAnswer {
    CommandAnswer::Refused {
        class,
        text: "why".to_owned(),
        retry_after: None,
    }
}

#[test]
fn what_counts_as_acknowledged() {
    let unanswered = |came| {
        Err(CommandError {
            came,
            obstacle: why(Reason::BmcUnreachable),
        })
    };
    let conflict = CommandAnswer::AlreadyThereOrConflict {
        text: "HTTP 409".to_owned(),
    };
    let no = || Delivery::Refused(at(0), why(Reason::BmcCommandRefused));
    let failed = Delivery::Unknown(at(0), Some(why(Reason::BmcCommandFailed)));
    let lost = Delivery::Unknown(at(0), Some(why(Reason::BmcUnreachable)));
    for (answer, expected) in [
        (Ok(CommandAnswer::Accepted), Delivery::Acknowledged(at(0))),
        (Ok(conflict), Delivery::Acknowledged(at(0))),
        (Ok(refused(Refusal::Busy)), no()),
        (Ok(refused(Refusal::Unsupported)), no()),
        (Ok(refused(Refusal::SessionEnded)), no()),
        (Ok(refused(Refusal::Failed)), failed),
        (unanswered(CommandCame::Unknown), lost),
        (
            unanswered(CommandCame::NotSent),
            Delivery::Refused(at(0), why(Reason::BmcUnreachable)),
        ),
    ] {
        let is_conflict = matches!(answer, Ok(CommandAnswer::AlreadyThereOrConflict { .. }));
        for verb in [Verb::PowerOff, Verb::PowerOn, Verb::Restart] {
            let sent = Sent {
                intent: crate::observed::IntentKey {
                    verb,
                    attempt: 1,
                    sends: 1,
                    epoch: 1,
                    process: 1,
                },
                at: at(0),
                answer: answer.clone(),
            };
            if is_conflict && verb == Verb::Restart {
                let refused = Obstacle::new(Reason::BmcCommandRefused, "HTTP 409");
                assert_eq!(sent.delivery(), Delivery::Refused(at(0), refused));
            } else {
                assert_eq!(sent.delivery(), expected, "{verb} {answer:?}");
            }
        }
    }
}

#[test]
fn invariant_3_none_is_sent_again_before_a_read_shows_that_it_did_nothing() {
    use PowerState::{Off, On, PoweringOff, PoweringOn, Unknown};
    let deliveries = [
        Delivery::Unsent,
        Delivery::Acknowledged(at(0)),
        Delivery::Refused(at(0), why(Reason::BmcCommandRefused)),
        Delivery::Unknown(at(0), None),
    ];
    let states = [
        None,
        Some(On),
        Some(Off),
        Some(PoweringOn),
        Some(PoweringOff),
        Some(Unknown),
    ];
    for delivery in &deliveries {
        for power in states {
            for (seconds, came_on, sends) in [(9, false, 1), (10, false, 1), (20, false, 1), (20, true, 1)] {
                let again = |verb| delivery.is_sent_again(verb, power, came_on, sends, at(seconds));
                let what = format!("{delivery:?} {power:?} after {seconds} s, came on: {came_on}");
                let off = match delivery {
                    Delivery::Unsent => false,
                    Delivery::Refused(..) => seconds >= 10 && !came_on,
                    Delivery::Acknowledged(_) => power == Some(On) && seconds >= 20 && !came_on,
                    Delivery::Unknown(..) => {
                        power == Some(Off) || (power == Some(On) && seconds >= 20 && !came_on)
                    }
                };
                assert_eq!(again(Verb::PowerOff), off, "off: {what}");
                let not_on = [Some(Off), Some(PoweringOff), Some(Unknown)].contains(&power);
                let on = match delivery {
                    Delivery::Unsent => false,
                    Delivery::Refused(..) => not_on && seconds >= 10,
                    Delivery::Acknowledged(_) | Delivery::Unknown(..) => not_on && seconds >= 20,
                };
                assert_eq!(again(Verb::PowerOn), on, "on: {what}");
                let reset = matches!(delivery, Delivery::Refused(..)) && seconds >= 10;
                assert_eq!(again(Verb::Restart), reset, "reset: {what}");
            }
        }
    }
}

#[test]
fn power_offs_are_counted_and_power_ons_are_not() {
    let refused = Delivery::Refused(at(0), why(Reason::BmcCommandRefused));
    let again = |verb, power, sends| refused.is_sent_again(verb, Some(power), false, sends, at(60));
    assert!(again(Verb::PowerOff, PowerState::On, POWER_OFFS_LIMIT - 1));
    assert!(!again(Verb::PowerOff, PowerState::On, POWER_OFFS_LIMIT));
    assert!(again(Verb::PowerOn, PowerState::Off, 100));
}

#[test]
fn the_pause_grows_with_the_reads_and_an_off_is_confirmed_after_a_second() {
    let mut observed = Observed::default();
    let due = |observed: &Observed| observed.read_at(at(0), at(0), Pace::default());
    let mut read_at = Vec::new();
    for _ in 0..12 {
        let next = due(&observed);
        read_at.push(next.duration_since(at(0)).as_secs());
        let mut going_off = read(0, PowerState::PoweringOff);
        (going_off.began, going_off.ended) = (next, next);
        observed.note_read(going_off);
    }
    assert_eq!(
        read_at,
        [1, 2, 3, 6, 10, 16, 27, 44, 70, 113, 173, 233],
        "seconds after the command"
    );
    // A person waits no longer than that.
    let pace = Pace {
        longest: SignedDuration::from_secs(5),
        ..Pace::default()
    };
    let last = observed.last_read().unwrap().began;
    let soon = last.saturating_add(SignedDuration::from_secs(5)).unwrap();
    assert_eq!(observed.read_at(at(0), at(0), pace), soon);

    observed.note_read(read(300, PowerState::Off));
    assert_eq!(due(&observed), at(301));
    observed.note_read_failure(at(302), why(Reason::BmcUnreachable));
    assert_eq!(due(&observed), at(303));
}

#[test]
fn a_host_that_went_off_and_came_on_is_noticed_among_the_reads_of_this_command() {
    use PowerState::{Off, On, PoweringOff, PoweringOn};
    for (states, expected) in [
        (&[On, PoweringOff, Off][..], false),
        (&[On, Off, On], true),
        (&[Off, On, Off], false),
        (&[On, PoweringOff, On], false),
        (&[Off, PoweringOn], false),
    ] {
        let mut observed = Observed::default();
        for (second, state) in states.iter().enumerate() {
            observed.note_read(read(i64::try_from(second).unwrap(), *state));
        }
        assert_eq!(observed.shows_host_came_on(at(0)), expected, "{states:?}");
        assert!(!observed.shows_host_came_on(at(10)), "{states:?}");
    }
}
