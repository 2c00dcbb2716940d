//! What holds inside of a session.

use std::time::Duration;

use bmc_simulator::{Ended, Event, IpmiSpec, Privilege};

use super::console::{Console, Login};
use super::frames::{message, outside};
use super::{APP, CHASSIS, CONTROL, STATUS, admin, bmc};
use crate::client::soon;

const SET_PRIVILEGE: u8 = 0x3b;
const CLOSE: u8 = 0x3c;
const INFO: u8 = 0x3d;

#[tokio::test]
async fn a_session_begins_as_user_and_has_to_raise_itself() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let mut console = Console::logged_in(&host, admin()).await;
    assert_eq!(
        console.ask(APP, SET_PRIVILEGE, &[0]).await.data,
        [2],
        "0 only asks"
    );
    assert_eq!(console.code(CHASSIS, STATUS, &[]).await, 0);
    assert_eq!(console.code(CHASSIS, CONTROL, &[0]).await, 0xd4);
    assert_eq!(host.truth().on_to_off, 0);
    for (level, code) in [(1, 0x80), (5, 0x80), (15, 0x80), (3, 0)] {
        assert_eq!(
            console.code(APP, SET_PRIVILEGE, &[level]).await,
            code,
            "level {level}"
        );
    }
    assert_eq!(
        host.snapshot().ipmi.unwrap().sessions[0].privilege,
        Privilege::Operator
    );
    assert_eq!(console.code(CHASSIS, CONTROL, &[0]).await, 0);
    assert_eq!(host.truth().on_to_off, 1);
}

#[tokio::test]
async fn numbers_may_skip_and_swap_but_not_repeat() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let mut console = Console::logged_in(&host, admin()).await;
    assert_eq!(console.code(APP, SET_PRIVILEGE, &[4]).await, 0);
    let cycle = console.request(CHASSIS, CONTROL, &[2]);
    console.sequence += 9;
    assert_eq!(console.code(CHASSIS, STATUS, &[]).await, 0, "a gap of ten");
    for _ in 0..3 {
        console.send(&cycle).await;
    }
    assert_eq!(
        console.read(&console.receive().await).unwrap().completion,
        0,
        "late and new"
    );
    console.settle().await;
    assert_eq!((host.truth().on_to_off, host.counters().ipmi.discarded), (1, 2));
    console.sequence += 40;
    let far = console.request(CHASSIS, STATUS, &[]);
    console.send(&far).await;
    console.settle().await;
    assert_eq!(host.counters().ipmi.discarded, 3);
}

#[tokio::test]
async fn only_the_sessions_own_packets_are_taken() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let mut console = Console::logged_in(&host, admin()).await;
    let good = console.request(CHASSIS, STATUS, &[]);
    let mut discarded = 0;
    for position in [5, 8, 12, 20, good.len() - 1] {
        let mut bent = good.clone();
        bent[position] ^= 0x40;
        console.send(&bent).await;
        console.settle().await;
        let counters = host.counters().ipmi;
        discarded += 1;
        assert_eq!(
            counters.discarded + counters.malformed,
            discarded,
            "byte {position}"
        );
    }
    // Neither integrity nor encryption may be left out.
    let plain = message(CHASSIS, 1, STATUS, &[]);
    let mut naked = outside(0, &plain);
    naked[6..10].copy_from_slice(&console.managed_id().to_le_bytes());
    naked[10] = 1;
    console.send(&naked).await;
    // An IPMI 1.5 session does not exist.
    console
        .send(&[&[6, 0, 0xff, 7, 0, 1, 0, 0, 0, 9, 9, 9, 9, 7], plain.as_slice()].concat())
        .await;
    console.settle().await;
    assert_eq!(host.counters().ipmi.chassis_status, 0);
    console.send(&good).await;
    assert_eq!(console.read(&console.receive().await).unwrap().completion, 0);
}

#[tokio::test]
async fn what_is_no_ipmi_is_counted_and_harms_nothing() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let console = Console::to(&host).await;
    for garbage in [
        &b""[..],
        b"GET / HTTP/1.1\r\n\r\n",
        &[6, 0, 0xff, 7],
        &[6, 0, 0xff, 7, 6, 0x10],
        &[0xff; 1024],
    ] {
        console.send(garbage).await;
    }
    let mut bad_sum = message(APP, 1, 0x38, &[0x8e, 4]);
    *bad_sum.last_mut().unwrap() ^= 1;
    console.send(&outside(0, &bad_sum)).await;
    console.settle().await;
    let counters = host.counters().ipmi;
    assert_eq!((counters.datagrams, counters.malformed, counters.ping), (7, 6, 1));
}

#[tokio::test]
async fn an_idle_session_ends_by_itself() {
    let (_sim, host) = bmc(IpmiSpec::new().idle_timeout(Duration::from_secs(1))).await;
    let mut console = Console::logged_in(&host, admin()).await;
    let idle = Event::IpmiSessionEnded {
        session: console.session_name(),
        reason: Ended::Idle,
    };
    let ended = soon(host.wait_for_entry(0, |event| *event == idle))
        .await
        .unwrap();
    let opened = host
        .journal()
        .into_iter()
        .find(|entry| matches!(entry.event, Event::IpmiSessionOpened { .. }));
    assert_eq!(
        ended.elapsed.saturating_sub(opened.unwrap().elapsed),
        Duration::from_secs(1)
    );
    assert!(host.snapshot().ipmi.unwrap().sessions.is_empty());
    let request = console.request(CHASSIS, STATUS, &[]);
    console.send(&request).await;
    console.settle().await;
    assert_eq!(
        (
            host.counters().ipmi.discarded,
            host.counters().ipmi.sessions_ended
        ),
        (1, 1)
    );
}

#[tokio::test]
async fn closing_own_and_others_sessions() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let mut admin_console = Console::logged_in(&host, admin()).await;
    let reader = Login {
        username: "reader",
        password: "read-only",
        ..admin()
    };
    let mut reader = Console::logged_in(&host, reader).await;
    let (own, other) = (
        admin_console.managed_id().to_le_bytes(),
        reader.managed_id().to_le_bytes(),
    );
    assert_eq!(
        reader.code(APP, CLOSE, &own).await,
        0xd4,
        "not the reader's to close"
    );
    assert_eq!(admin_console.code(APP, CLOSE, &[1, 2, 3, 4]).await, 0x87);
    assert_eq!(admin_console.code(APP, CLOSE, &[0, 0, 0, 0, 9]).await, 0x88);
    assert_eq!(admin_console.code(APP, CLOSE, &[]).await, 0xc7);
    assert_eq!(
        admin_console.code(APP, CLOSE, &other).await,
        0xd4,
        "USER is not ADMINISTRATOR"
    );
    assert_eq!(admin_console.code(APP, SET_PRIVILEGE, &[4]).await, 0);
    assert_eq!(
        admin_console.code(APP, CLOSE, &[0, 0, 0, 0, 2]).await,
        0,
        "by its handle"
    );
    assert_eq!(admin_console.code(APP, CLOSE, &own).await, 0);
    assert!(host.snapshot().ipmi.unwrap().sessions.is_empty());
    let counters = host.counters().ipmi;
    assert_eq!((counters.sessions_opened, counters.sessions_ended), (2, 2));
}

#[tokio::test]
async fn session_info() {
    let (_sim, host) = bmc(IpmiSpec::new().session_limit(5)).await;
    let operator = Login {
        username: "operator",
        password: "may-operate",
        ..admin()
    };
    let _first = Console::logged_in(&host, operator).await;
    let mut second = Console::logged_in(&host, admin()).await;
    let port = host.snapshot().ipmi.unwrap().sessions[1]
        .peer
        .port()
        .to_le_bytes();
    let own = [
        &[2, 5, 2, 2, 2, 0x11, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0],
        port.as_slice(),
    ]
    .concat();
    assert_eq!(second.ask(APP, INFO, &[0]).await.data, own);
    assert_eq!(
        second.ask(APP, INFO, &[2]).await.data,
        own,
        "the second of the open ones"
    );
    assert_eq!(second.ask(APP, INFO, &[0xfe, 2]).await.data, own, "by handle");
    let by_id = [&[0xff], second.managed_id().to_le_bytes().as_slice()].concat();
    assert_eq!(second.ask(APP, INFO, &by_id).await.data, own);
    assert_eq!(
        second.ask(APP, INFO, &[1]).await.data[..4],
        [1, 5, 2, 4],
        "user 4 is `operator`"
    );
    assert_eq!(
        second.ask(APP, INFO, &[3]).await.data,
        [0, 5, 2],
        "there is no third"
    );
    assert_eq!(second.code(APP, INFO, &[0xfe]).await, 0xc7);
}
