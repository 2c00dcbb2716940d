//! What careful consoles never do.

use std::time::Duration;

use bmc_simulator::{Delivery, Event, Fault, Host, Injection, IpmiFault, IpmiSpec, Oracle, RequestClass};

use super::console::{Console, Refused};
use super::frames::{PING, open_session, rakp1};
use super::{APP, CHASSIS, CONTROL, STATUS, admin, bmc};
use crate::client::{Client, soon, status};
use crate::oracle::broken;

const OPERATOR: u8 = 3;

async fn operator(host: &Host) -> Console {
    let mut console = Console::logged_in(host, admin()).await;
    assert_eq!(console.code(APP, 0x3b, &[OPERATOR]).await, 0);
    console
}

/// Sends a request, and waits until the BMC has dealt with it and sent what it sends.
async fn send(console: &mut Console, command: u8, data: &[u8]) {
    let request = console.request(CHASSIS, command, data);
    console.send(&request).await;
    console.send(&PING).await;
    // The reply, if there is one, comes before the pong.
    while console.receive().await[3] != 6 {}
}

/// Reads, powers off, reads twice under a fault, and powers on: whether Off was confirmed.
async fn confirms(fault: impl Into<Injection>) -> bool {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let mut console = operator(&host).await;
    send(&mut console, STATUS, &[]).await;
    send(&mut console, CONTROL, &[0]).await;
    host.inject(fault).unwrap();
    for _ in 0..2 {
        send(&mut console, STATUS, &[]).await;
    }
    send(&mut console, CONTROL, &[1]).await;
    let found = host.judge(&[Oracle::OnBeforeConfirmedOff, Oracle::OffNotProvenTwice]);
    assert!(found.is_empty() || found.len() == 2, "{found:?}");
    found.is_empty()
}

#[tokio::test]
async fn a_status_that_did_not_arrive_confirms_nothing() {
    let on = RequestClass::IpmiChassisStatus;
    for fault in [
        IpmiFault::LoseReply,
        IpmiFault::CorruptReply,
        IpmiFault::StaleReply,
        IpmiFault::WrongRqSeq,
        IpmiFault::LoseRequest,
        IpmiFault::Busy,
        IpmiFault::DelayReply {
            by: Duration::from_hours(1),
        },
    ] {
        assert!(!confirms(fault.on(on)).await, "{fault:?}");
    }
    assert!(confirms(IpmiFault::DuplicateReply.on(on)).await);
}

#[tokio::test]
async fn a_reply_that_is_overtaken_arrives_with_the_one_that_overtakes_it() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let mut console = operator(&host).await;
    let once = IpmiFault::ReorderReply
        .on(RequestClass::IpmiChassisStatus)
        .times(1);
    host.inject(once).unwrap();
    send(&mut console, STATUS, &[]).await;
    let late = |event: &Event| {
        matches!(
            event,
            Event::Observed {
                status: None,
                delivery: Delivery::Late,
                ..
            }
        )
    };
    let of = soon(host.wait_for_entry(0, late)).await.unwrap().seq;
    let answered = Event::Answered { of, status: Some(0) };
    soon(host.wait_for_entry(0, |event| *event == answered))
        .await
        .unwrap();
    send(&mut console, CONTROL, &[0]).await;
    assert_eq!(host.judge(&[Oracle::CommandBeforeRead]), []);
}

#[tokio::test]
async fn a_careful_power_cycle_breaks_no_rule() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let mut console = operator(&host).await;
    for (command, data) in [
        (STATUS, vec![]),
        (CONTROL, vec![0]),
        (STATUS, vec![]),
        (STATUS, vec![]),
        (CONTROL, vec![1]),
    ] {
        assert_eq!(console.code(CHASSIS, command, &data).await, 0);
    }
    assert_eq!(broken(&host), [Oracle::LeakedSession]);
    let id = console.managed_id().to_le_bytes();
    assert_eq!(console.code(APP, 0x3c, &id).await, 0);
    assert_eq!(broken(&host), []);
}

/// A login with a wrong password by a console that leaves it to the BMC to say so.
async fn wrong(host: &Host) {
    let mut console = Console::to(host).await;
    let begun = console.exchange(0x10, &open_session(0, 1, 17)).await;
    let managed_id: [u8; 4] = begun[8..12].try_into().unwrap();
    console
        .exchange(0x12, &rakp1(managed_id, [7; 16], 0x14, b"admin"))
        .await;
    let forged = [&[0, 0, 0, 0], managed_id.as_slice(), &[0; 32]].concat();
    assert_eq!(console.exchange(0x14, &forged).await[1], 0x0f);
}

#[tokio::test]
async fn a_wrong_password_again_is_found_and_another_one_is_not() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    wrong(&host).await;
    Console::logged_in(&host, admin()).await;
    wrong(&host).await;
    assert_eq!(
        host.judge(&[Oracle::TryAfterRejection]),
        [],
        "the right one was another, and what came after it may be one more"
    );
    wrong(&host).await;
    let found = host.judge(&[Oracle::TryAfterRejection, Oracle::ThirdRejection]);
    assert_eq!(found.len(), 1, "{found:?}");
    wrong(&host).await;
    host.rotate_credentials("admin", "new-pass").unwrap();
    wrong(&host).await;
    let found = host.judge(&[Oracle::TryAfterRejection]);
    assert_eq!(found.len(), 2, "none after the rotation: {found:?}");
}

#[tokio::test]
async fn a_login_that_was_rejected_by_its_name_or_over_redfish_is_the_same_again() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    host.inject(Fault::RejectCredentials.times(1)).unwrap();
    let mut console = Console::to(&host).await;
    assert_eq!(console.open(admin()).await, Err(Refused::Rakp2(0x0d)));
    assert_eq!(console.open(admin()).await, Ok(()));
    assert_eq!(host.judge(&[Oracle::TryAfterRejection]).len(), 1);

    let (_sim, host) = bmc(IpmiSpec::new()).await;
    host.inject(Fault::RejectCredentials.times(1)).unwrap();
    let client = Client::of(&host);
    assert_eq!(status(client.get(&host.system_path())).await, 401);
    Console::logged_in(&host, admin()).await;
    assert_eq!(host.judge(&[Oracle::TryAfterRejection]).len(), 1);
}

#[tokio::test]
async fn a_session_whose_opening_was_not_answered_is_not_the_consoles_to_close() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let lost = IpmiFault::LoseReply.on(RequestClass::IpmiRakp3).times(1);
    host.inject(lost).unwrap();
    let mut console = Console::to(&host).await;
    let opened = |event: &Event| {
        matches!(
            event,
            Event::IpmiSessionOpened {
                status: None,
                delivery: Delivery::Lost,
                ..
            }
        )
    };
    tokio::select! {
        _ = console.open(admin()) => panic!("the answer is lost"),
        entry = soon(host.wait_for_entry(0, opened)) => drop(entry.unwrap()),
    }
    assert_eq!(broken(&host), []);
    // It asks again, as IPMI wants it to, and gets the same answer.
    let rakp3 = console.sent.last().unwrap().clone();
    console.send(&rakp3).await;
    assert_eq!(console.receive().await[16 + 1], 0);
    assert_eq!(broken(&host), [Oracle::LeakedSession]);
}
