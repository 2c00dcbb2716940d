//! Every fault on every kind of request that it is taken for, and none on what nobody answers.

use std::time::Duration;

use bmc_simulator::{Event, Fault, Host, IpmiFault, IpmiSpec, RequestClass, SimError};

use super::console::Console;
use super::frames::{PING, open_session, outside, rakp1};
use super::{APP, CHASSIS, CONTROL, STATUS, admin, bmc, count};
use crate::client::soon;

/// Network function, command and data of a request of this kind.
fn command(class: RequestClass) -> Option<(u8, u8, Vec<u8>)> {
    let commands = [
        (RequestClass::IpmiDiscovery, (APP, 0x38, vec![0x8e, 4])),
        (RequestClass::IpmiCipherSuites, (APP, 0x54, vec![0x0e, 0, 0x80])),
        (RequestClass::IpmiSetPrivilege, (APP, 0x3b, vec![0])),
        (RequestClass::IpmiChassisStatus, (CHASSIS, STATUS, vec![])),
        (RequestClass::IpmiChassisControl, (CHASSIS, CONTROL, vec![1])),
        // Of a session that is not there, so that the own one stays.
        (RequestClass::IpmiCloseSession, (APP, 0x3c, vec![1, 2, 3, 4])),
        (RequestClass::IpmiOther, (CHASSIS, 0x00, vec![])),
    ];
    let mut commands = commands.into_iter();
    Some(commands.find(|(of, _)| *of == class)?.1)
}

fn faults(class: RequestClass) -> Vec<IpmiFault> {
    let (net_fn, command, _) = command(class).unwrap_or((APP, 0x3c, vec![]));
    vec![
        IpmiFault::LoseRequest,
        IpmiFault::LoseReply,
        IpmiFault::DuplicateReply,
        IpmiFault::DelayReply {
            by: Duration::from_millis(1),
        },
        IpmiFault::ReorderReply,
        IpmiFault::CorruptReply,
        IpmiFault::StaleReply,
        IpmiFault::WrongRqSeq,
        IpmiFault::BadChecksum,
        IpmiFault::SkipSequence { by: 2 },
        IpmiFault::IgnoreCommand { net_fn, command },
        IpmiFault::Busy,
        IpmiFault::RefuseSuite {
            suite: Some(17),
            status: 0x12,
        },
        IpmiFault::SessionsExhausted,
    ]
}

/// Sends a request of this kind, and does not wait for its answer.
async fn send(console: &mut Console, class: RequestClass) {
    if let Some((net_fn, command, data)) = command(class) {
        let request = console.request(net_fn, command, &data);
        return console.send(&request).await;
    }
    let datagram = if class == RequestClass::IpmiPing {
        PING.to_vec()
    } else if class == RequestClass::IpmiOpenSession {
        outside(0x10, &open_session(4, 1, 17))
    } else if class == RequestClass::IpmiRakp1 {
        outside(0x12, &rakp1([1, 2, 3, 4], [7; 16], 0x14, b"admin"))
    } else {
        let message = [&[0, 0, 0, 0], [1, 2, 3, 4].as_slice(), &[0; 32]].concat();
        outside(0x14, &message)
    };
    console.send(&datagram).await;
}

async fn hits(host: &Host, fault: IpmiFault, class: RequestClass) -> Console {
    let name = Fault::from(fault).name();
    let mut console = Console::logged_in(host, admin()).await;
    assert_eq!(
        console.code(APP, 0x3b, &[4]).await,
        0,
        "there is an earlier answer"
    );
    host.inject(fault.on(class).times(1)).unwrap();
    let last = host.journal().last().map_or(0, |entry| entry.seq);
    send(&mut console, class).await;
    let applied = Event::FaultApplied {
        fault: name.to_owned(),
        class,
    };
    let hit = host.wait_for_entry(last, |event| *event == applied);
    soon(hit).await.unwrap();
    assert!(host.faults().is_empty(), "{name} on {class:?} is used up");
    console
}

#[tokio::test]
async fn what_is_taken_hits() {
    let (_sim, host) = bmc(IpmiSpec::new().session_limit(63)).await;
    let mut taken = 0;
    // Kept, or another console could get the port of one, and its late reply.
    let mut consoles = Vec::new();
    for class in RequestClass::ALL {
        for fault in faults(class) {
            match host.inject(fault.on(class)) {
                Ok(()) => {
                    host.clear_faults();
                    consoles.push(hits(&host, fault, class).await);
                    // The sessions of earlier consoles are nobody's.
                    let login = host.credentials();
                    host.rotate_credentials(login.username, login.password).unwrap();
                    taken += 1;
                }
                Err(error) => assert!(
                    matches!(error, SimError::InvalidFault { field: "on", .. }),
                    "{error}"
                ),
            }
        }
    }
    // 6 of all kinds, 5 of commands, one for each command, and two of the opening of a session. Of other
    // kinds `faults` names a Close Session, which is none of theirs.
    assert_eq!(taken, 6 * 11 + 5 * 7 + 7 + 2);
}

#[tokio::test]
async fn what_nobody_answers_or_would_be_refused_anyway_hits_nothing() {
    let (_sim, host) = bmc(IpmiSpec::new().session_limit(1)).await;
    let mut console = Console::to(&host).await;
    for fault in [
        IpmiFault::LoseReply,
        IpmiFault::DuplicateReply,
        IpmiFault::CorruptReply,
        IpmiFault::ReorderReply,
    ] {
        // A console that gives up says so in RAKP Message 3, and waits for nothing.
        let reply = console.exchange(0x10, &open_session(0, 7, 17)).await;
        let id: [u8; 4] = reply[8..12].try_into().unwrap();
        console.exchange(0x12, &rakp1(id, [7; 16], 0x14, b"admin")).await;
        let class = RequestClass::IpmiRakp3;
        host.set_faults(vec![fault.on(class).times(1)]).unwrap();
        let given_up = [&[0, 0x0f, 0, 0], id.as_slice()].concat();
        console.send(&outside(0x14, &given_up)).await;
        console.settle().await;
        assert_eq!(host.faults().len(), 1, "{fault:?}");
    }

    host.set_faults(vec![
        Fault::RejectCredentials.on(RequestClass::IpmiRakp1).times(1),
    ])
    .unwrap();
    let nobody = super::console::Login {
        username: "nobody",
        ..admin()
    };
    console.open(nobody).await.unwrap_err();
    assert_eq!(host.faults().len(), 1, "nobody is not let in anyway");
    console.open(admin()).await.unwrap_err();
    assert!(host.faults().is_empty());

    console.open(admin()).await.unwrap();
    host.inject(IpmiFault::SessionsExhausted.times(1)).unwrap();
    let mut other = Console::to(&host).await;
    other.open(admin()).await.unwrap_err();
    assert_eq!(host.faults().len(), 1, "they are exhausted without it");
    let applied = |event: &Event| matches!(event, Event::FaultApplied { .. });
    assert_eq!(count(&host, applied), 1, "the rejection of the right login");
}
