use remediator_core::journal::Failing;

use super::*;

fn journal(message: &str, change: impl FnOnce(&mut Hold)) -> Journal {
    let mut hold = Hold {
        host: "host-0".to_owned(),
        host_uid: "uid-0".to_owned(),
        annotation: "reboot.metal3.io/baremetal-remediator-1".to_owned(),
        held: None,
        kicked: None,
        detached: None,
        direct: None,
        left_to_others: None,
        undone: None,
        released: None,
    };
    change(&mut hold);
    Journal {
        hold: Some(Box::new(hold)),
        message: message.to_owned(),
        ..Journal::default()
    }
}

#[test]
fn what_a_host_is_left_alone_for_is_told_on_it_once() {
    let waits = |phase, reason: Reason, detail: &str| Journal {
        phase,
        reason: reason.as_str().to_owned(),
        message: detail.to_owned(),
        ..Journal::default()
    };
    let begun = Journal::default();
    let paused = waits(Phase::Pending, Reason::HostPaused, "it is paused");
    let paused_still = waits(Phase::Pending, Reason::HostPaused, "it is paused by another");
    let offline = waits(Phase::Pending, Reason::HostOffline, "it is offline");
    let unreachable = waits(Phase::Pending, Reason::BmcUnreachable, "nobody answers");
    let ended = waits(Phase::Failed, Reason::HostOffline, "it is offline");
    let failing = Journal {
        failing: Some(Box::new(Failing {
            reason: Reason::PowerOffNotConfirmed.as_str().to_owned(),
            detail: "it went on".to_owned(),
            held_up_by: None,
        })),
        ..paused.clone()
    };
    for (before, after, says) in [
        (
            &begun,
            &paused,
            Some("does not power-cycle the host: it is paused"),
        ),
        (&paused, &paused_still, None),
        (
            &paused,
            &offline,
            Some("does not power-cycle the host: it is offline"),
        ),
        (&begun, &unreachable, None),
        (&offline, &unreachable, None),
        (&offline, &ended, None),
        (&begun, &failing, None),
        (
            &ended,
            &offline,
            Some("does not power-cycle the host: it is offline"),
        ),
    ] {
        assert_eq!(refusal(before, after).as_deref(), says);
    }
}

#[test]
fn each_change_of_a_hold_is_told_once_with_who_and_why() {
    let now = Some(Timestamp::UNIX_EPOCH);
    let asked = journal("Node worker-0 is unhealthy (silent)", |_| {});
    let held = journal("", |hold| hold.held = now);
    let kicked = journal("", |hold| (hold.held, hold.kicked) = (now, now));
    let detaching = journal("metal3 did not power it off", |hold| {
        (hold.held, hold.detached) = (now, now);
    });
    let later = Timestamp::from_second(60).ok();
    let detaching_again = journal("metal3 did not power it on", |hold| {
        (hold.held, hold.detached) = (now, later);
    });
    let direct = journal("metal3 does not answer", |hold| {
        (hold.held, hold.detached, hold.direct) = (now, now, now);
    });
    let left = journal("BareMetalHost host-0 has spec.online: false", |hold| {
        (hold.held, hold.left_to_others) = (now, now);
    });
    let released = journal("the host is On", |hold| (hold.held, hold.released) = (now, now));
    let never_held = journal("", |hold| hold.released = now);
    let by = "by the annotation reboot.metal3.io/baremetal-remediator-1: Node worker-0 is unhealthy (silent)";
    for (before, after, expected) in [
        (&Journal::default(), &asked, None),
        (&asked, &held, Some(("HostHeld", by))),
        (&held, &kicked, None),
        (
            &held,
            &detaching,
            Some((
                "HostDetachRequested",
                "let go of the host: metal3 did not power it off",
            )),
        ),
        (
            &detaching,
            &detaching_again,
            Some(("HostDetachRequested", "metal3 did not power it on")),
        ),
        (
            &detaching,
            &direct,
            Some(("HostPoweredDirectly", "directly: metal3 does not answer")),
        ),
        (
            &held,
            &released,
            Some(("HostReleased", "given the host back: the host is On")),
        ),
        (
            &held,
            &left,
            Some((
                "HostLeftToOthers",
                "is not powered on: BareMetalHost host-0 has spec.online: false",
            )),
        ),
        (&left, &left, None),
        (&released, &released, None),
        (&asked, &never_held, None),
    ] {
        let told = told(before, after);
        let reason = told.as_ref().map(|(_, reason, ..)| *reason);
        assert_eq!(reason, expected.map(|(reason, _)| reason));
        let says = expected.map_or("", |(_, says)| says);
        assert!(told.is_none_or(|(_, _, note, _)| note.contains(says)), "{says}");
    }
}
