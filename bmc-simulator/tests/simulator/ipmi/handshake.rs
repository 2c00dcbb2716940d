//! Opening sessions, and every way in which that fails.

use bmc_simulator::{Delivery, Ended, Event, IpmiSpec, Privilege};

use super::console::{Console, Login, Refused};
use super::frames::{PING, open_session, outside, rakp1};
use super::{APP, CHASSIS, STATUS, admin, bmc, count};

const ALL: [u8; 12] = [0, 1, 2, 3, 6, 7, 8, 11, 12, 15, 16, 17];

#[tokio::test]
async fn every_cipher_suite_opens_a_session_that_works() {
    let (_sim, host) = bmc(IpmiSpec::new().cipher_suites(ALL)).await;
    for suite in ALL {
        let mut console = Console::logged_in(&host, Login { suite, ..admin() }).await;
        let answer = console.ask(CHASSIS, STATUS, &[]).await;
        assert_eq!(
            (answer.completion, answer.sequence, answer.data[0] & 1),
            (0, 1, 1),
            "suite {suite}"
        );
        let opened = Event::IpmiSessionOpened {
            session: console.session_name(),
            username: "admin".to_owned(),
            limit: Privilege::Administrator,
            cipher_suite: suite,
            status: Some(0),
            delivery: Delivery::Sent,
        };
        assert_eq!(count(&host, |event| *event == opened), 1);
    }
}

#[tokio::test]
async fn only_what_is_configured_is_offered() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let mut console = Console::to(&host).await;
    for suite in ALL {
        let expected = match suite {
            3 | 17 => Ok(()),
            _ => Err(Refused::OpenSession(0x11)),
        };
        assert_eq!(
            console.open(Login { suite, ..admin() }).await,
            expected,
            "suite {suite}"
        );
    }
}

#[tokio::test]
async fn proposals_that_cannot_be_met_say_why() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let mut console = Console::to(&host).await;
    // Positions: record types 8, 16, 24; lengths 11, 19, 27; algorithms 12, 20, 28; privilege 1.
    for (position, value, status) in [
        (12, 4, 0x04),
        (20, 5, 0x05),
        (28, 2, 0x10),
        (28, 0, 0x11),
        (8, 1, 0x12),
        (19, 7, 0x12),
        (1, 5, 0x09),
    ] {
        let mut payload = open_session(4, 1, 17);
        payload[position] = value;
        assert_eq!(
            console.exchange(0x10, &payload).await[..2],
            [0x51, status],
            "{position}={value}"
        );
    }
    // Length 0 leaves the choice to the BMC, privilege 0 asks for the highest.
    let mut payload = open_session(0, 1, 17);
    [payload[11], payload[19], payload[27]] = [0; 3];
    let reply = console.exchange(0x10, &payload).await;
    assert_eq!(
        [reply[1], reply[2], reply[16], reply[24], reply[32]],
        [0, 4, 1, 1, 1],
        "suite 3, the first"
    );
}

#[tokio::test]
async fn a_console_that_gives_up_gets_no_answer_and_ends_the_attempt() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let mut console = Console::to(&host).await;
    let begun = console.exchange(0x10, &open_session(4, 1, 17)).await;
    let managed_id: [u8; 4] = begun[8..12].try_into().unwrap();
    console
        .exchange(0x12, &rakp1(managed_id, [7; 16], 0x14, b"admin"))
        .await;
    console
        .send(&outside(
            0x14,
            &[&[9, 0x0f, 0, 0], managed_id.as_slice()].concat(),
        ))
        .await;
    console.send(&PING).await;
    assert_eq!(
        console.receive().await[3],
        6,
        "the pong is the next thing that comes"
    );
    assert_eq!(host.counters().ipmi.auth_failures, 1);
}

#[tokio::test]
async fn the_steps_have_to_be_in_order_and_well_formed() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let mut console = Console::to(&host).await;
    let nowhere = rakp1([1, 2, 3, 4], [0; 16], 0x14, b"admin");
    assert_eq!(console.exchange(0x12, &nowhere).await[..2], [0x52, 0x02]);
    assert_eq!(
        console.exchange(0x14, &[7, 0, 0, 0, 1, 2, 3, 4]).await[..2],
        [7, 0x02]
    );

    for (role, name_length, status) in [
        (0x10, 5, 0x09),
        (0x15, 5, 0x09),
        (0x14, 17, 0x0c),
        (0x14, 6, 0x0c),
    ] {
        let begun = console.exchange(0x10, &open_session(4, 1, 17)).await;
        let mut payload = rakp1(begun[8..12].try_into().unwrap(), [0; 16], role, b"admin");
        payload[27] = name_length;
        assert_eq!(console.exchange(0x12, &payload).await[..2], [0x52, status]);
    }
    let begun = console.exchange(0x10, &open_session(4, 1, 17)).await;
    let early = [&[7, 0, 0, 0], &begun[8..12], &[0; 32]].concat();
    assert_eq!(
        console.exchange(0x14, &early).await[1],
        0x02,
        "RAKP 3 before RAKP 1"
    );
}

#[tokio::test]
async fn what_is_sent_twice_is_answered_twice_with_the_same() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let mut console = Console::to(&host).await;
    let begun = console.exchange(0x10, &open_session(4, 1, 17)).await;
    let first = rakp1(begun[8..12].try_into().unwrap(), [0; 16], 0x14, b"admin");
    let reply = console.exchange(0x12, &first).await;
    assert_eq!(console.exchange(0x12, &first).await, reply);

    let mut console = Console::logged_in(&host, admin()).await;
    let third = console.sent[2].clone();
    console.send(&third).await;
    let repeated = console.receive().await;
    assert_eq!((repeated[5], repeated[17]), (0x15, 0), "RAKP 4 again, no error");
    assert_eq!(console.code(CHASSIS, STATUS, &[]).await, 0);
    assert_eq!(host.counters().ipmi.sessions_opened, 1);
}

#[tokio::test]
async fn no_more_sessions_than_the_limit() {
    let (_sim, host) = bmc(IpmiSpec::new().session_limit(2)).await;
    let mut late = Console::to(&host).await;
    let begun = late.exchange(0x10, &open_session(4, 1, 0x03)).await;
    let mut first = Console::logged_in(&host, admin()).await;
    let _second = Console::logged_in(&host, admin()).await;
    assert_eq!(
        Console::to(&host).await.open(admin()).await,
        Err(Refused::OpenSession(0x01))
    );
    assert_eq!(begun[1], 0, "it had begun while there was room");
    let id = first.managed_id().to_le_bytes();
    assert_eq!(first.code(APP, 0x3c, &id).await, 0);
    assert_eq!(Console::to(&host).await.open(admin()).await, Ok(()));
    let closed = |event: &Event| {
        matches!(
            event,
            Event::IpmiSessionEnded {
                reason: Ended::Closed,
                ..
            }
        )
    };
    assert_eq!(count(&host, closed), 1);
    assert_eq!(host.snapshot().ipmi.unwrap().sessions.len(), 2);
}
