//! Every fault, as a console sees it.

use std::time::Duration;

use bmc_simulator::{Event, Host, Injection, IpmiFault, IpmiSpec, Power, RequestClass};

use super::console::{Console, Login, Refused};
use super::frames::{PING, has_right_checksum, open_session};
use super::{APP, CHASSIS, CONTROL, STATUS, admin, bmc, count};

const ON_STATUS: RequestClass = RequestClass::IpmiChassisStatus;
const ON_CONTROL: RequestClass = RequestClass::IpmiChassisControl;

async fn with(fault: impl Into<Injection>) -> (bmc_simulator::Simulator, Host, Console) {
    let (sim, host) = bmc(IpmiSpec::new()).await;
    let mut console = Console::logged_in(&host, admin()).await;
    assert_eq!(console.code(APP, 0x3b, &[3]).await, 0);
    host.inject(fault).unwrap();
    (sim, host, console)
}

/// Sends a request without waiting for its answer.
async fn send(console: &mut Console, command: u8, data: &[u8]) {
    let request = console.request(CHASSIS, command, data);
    console.send(&request).await;
}

fn applied(host: &Host, fault: &str, class: RequestClass) -> usize {
    let wanted = Event::FaultApplied {
        fault: fault.to_owned(),
        class,
    };
    count(host, |event| *event == wanted)
}

/// The status that the journal has for the one command.
fn journalled(host: &Host) -> Option<u16> {
    let journal = host.journal();
    let mut statuses = journal.iter().filter_map(|entry| {
        if let Event::Command { status, .. } = &entry.event {
            Some(*status)
        } else {
            None
        }
    });
    let status = statuses.next().expect("a command");
    assert_eq!(statuses.next(), None, "one command only");
    status
}

#[tokio::test]
async fn lost_on_the_way_there() {
    let (_sim, host, mut console) = with(IpmiFault::LoseRequest.on(ON_CONTROL).times(1)).await;
    send(&mut console, CONTROL, &[0]).await;
    console.send(&PING).await;
    assert_eq!(console.receive().await[3], 6, "only the pong came");
    assert_eq!(
        (host.truth().power, host.counters().ipmi.chassis_control),
        (Power::On, 1)
    );
    assert_eq!(applied(&host, "ipmi-lose-request", ON_CONTROL), 1);
    assert_eq!(console.code(CHASSIS, CONTROL, &[0]).await, 0);
}

#[tokio::test]
async fn lost_on_the_way_back() {
    let (_sim, host, mut console) = with(IpmiFault::LoseReply.on(ON_CONTROL).times(1)).await;
    send(&mut console, CONTROL, &[0]).await;
    console.send(&PING).await;
    assert_eq!(console.receive().await[3], 6, "only the pong came");
    assert_eq!((host.truth().power, journalled(&host)), (Power::Off, None));
    assert_eq!(applied(&host, "ipmi-lose-reply", ON_CONTROL), 1);
}

#[tokio::test]
async fn twice() {
    let (_sim, host, mut console) = with(IpmiFault::DuplicateReply.on(ON_CONTROL).times(1)).await;
    send(&mut console, CONTROL, &[2]).await;
    assert_eq!(console.receive().await, console.receive().await);
    assert_eq!(
        (host.truth().on_to_off, journalled(&host)),
        (1, Some(0)),
        "done once"
    );
}

#[tokio::test]
async fn late() {
    let by = Duration::from_secs(1);
    let (_sim, host, mut console) = with(IpmiFault::DelayReply { by }.on(ON_STATUS).times(1)).await;
    send(&mut console, STATUS, &[]).await;
    send(&mut console, CONTROL, &[0]).await;
    let first = console.read(&console.receive().await).unwrap();
    let second = console.read(&console.receive().await).unwrap();
    assert_eq!((first.command, second.command), (CONTROL, STATUS));
    assert_eq!(
        (second.data[0], host.truth().power),
        (1, Power::Off),
        "it tells of before"
    );
}

#[tokio::test]
async fn out_of_order() {
    let (_sim, host, mut console) = with(IpmiFault::ReorderReply.on(ON_STATUS).times(1)).await;
    send(&mut console, STATUS, &[]).await;
    send(&mut console, CONTROL, &[0]).await;
    let first = console.read(&console.receive().await).unwrap();
    let second = console.read(&console.receive().await).unwrap();
    assert_eq!((first.command, second.command), (CONTROL, STATUS));
    assert!(first.sequence > second.sequence);
    assert_eq!(applied(&host, "ipmi-reorder-reply", ON_STATUS), 1);
}

#[tokio::test]
async fn damaged() {
    let (_sim, host, mut console) = with(IpmiFault::CorruptReply.on(ON_CONTROL).times(1)).await;
    send(&mut console, CONTROL, &[0]).await;
    assert_eq!(console.read(&console.receive().await), None, "the code is wrong");
    assert_eq!((host.truth().power, journalled(&host)), (Power::Off, None));
    assert_eq!(console.code(CHASSIS, STATUS, &[]).await, 0);
}

#[tokio::test]
async fn damaged_while_the_session_is_opened() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let mut console = Console::to(&host).await;
    for (class, seen) in [
        (RequestClass::IpmiRakp1, Refused::Rakp2Code),
        (RequestClass::IpmiRakp3, Refused::Rakp4Code),
    ] {
        host.inject(IpmiFault::CorruptReply.on(class).times(1)).unwrap();
        assert_eq!(console.open(admin()).await, Err(seen));
    }
}

#[tokio::test]
async fn the_answer_of_an_earlier_request() {
    let (_sim, host, mut console) = with(IpmiFault::StaleReply.on(ON_CONTROL).times(1)).await;
    assert_eq!(console.ask(CHASSIS, STATUS, &[]).await.data[0], 1);
    send(&mut console, CONTROL, &[0]).await;
    let stale = console.read(&console.receive().await).unwrap();
    assert_eq!(
        (stale.command, stale.data[0]),
        (STATUS, 1),
        "on, it says, of a machine that is off"
    );
    assert_eq!((host.truth().power, journalled(&host)), (Power::Off, None));
    let next = console.ask(CHASSIS, STATUS, &[]).await;
    assert_eq!((next.data[0], next.sequence > stale.sequence), (0, true));
}

#[tokio::test]
async fn a_stale_answer_waits_until_there_is_an_earlier_one() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let mut console = Console::logged_in(&host, admin()).await;
    host.inject(IpmiFault::StaleReply.times(1)).unwrap();
    assert_eq!(console.code(CHASSIS, STATUS, &[]).await, 0);
    assert_eq!(host.faults().len(), 1, "not used up");
    let other = Console::to(&host).await;
    other.settle().await;
    assert_eq!(host.faults().len(), 1, "a ping has no earlier answer");
    send(&mut console, CONTROL, &[0]).await;
    assert_eq!(console.read(&console.receive().await).unwrap().command, STATUS);
    assert!(host.faults().is_empty());
}

#[tokio::test]
async fn with_another_requests_number() {
    let (_sim, host, mut console) = with(IpmiFault::WrongRqSeq.on(ON_STATUS).times(1)).await;
    send(&mut console, STATUS, &[]).await;
    let first = console.read(&console.receive().await).unwrap();
    send(&mut console, STATUS, &[]).await;
    let second = console.read(&console.receive().await).unwrap();
    assert_eq!(
        first.rq_seq, second.rq_seq,
        "it had the number of the next request"
    );
    assert_eq!(applied(&host, "ipmi-wrong-rq-seq", ON_STATUS), 1);
}

#[tokio::test]
async fn with_a_wrong_checksum() {
    let (_sim, host, mut console) = with(IpmiFault::BadChecksum.on(ON_STATUS).times(1)).await;
    for right in [false, true] {
        send(&mut console, STATUS, &[]).await;
        let (_, message) = console
            .unseal(&console.receive().await)
            .expect("integrity is right");
        assert_eq!(has_right_checksum(&message), right);
    }
    assert_eq!(applied(&host, "ipmi-bad-checksum", ON_STATUS), 1);
}

#[tokio::test]
async fn with_numbers_left_out() {
    let skip = IpmiFault::SkipSequence { by: 5 };
    let (_sim, host, mut console) = with(skip.on(ON_STATUS).times(1)).await;
    let before = console.ask(APP, 0x01, &[]).await.sequence;
    assert_eq!(console.ask(CHASSIS, STATUS, &[]).await.sequence, before + 6);
    assert_eq!(console.ask(CHASSIS, STATUS, &[]).await.sequence, before + 7);
    assert_eq!(applied(&host, "ipmi-skip-sequence", ON_STATUS), 1);
}

#[tokio::test]
async fn one_command_is_ignored() {
    let ignored = IpmiFault::IgnoreCommand {
        net_fn: CHASSIS,
        command: CONTROL,
    };
    let (_sim, host, mut console) = with(ignored).await;
    send(&mut console, CONTROL, &[0]).await;
    assert_eq!(
        console.code(CHASSIS, 0x00, &[]).await,
        0,
        "the next answer is the next command's"
    );
    assert_eq!(host.truth().power, Power::On);
    assert_eq!(applied(&host, "ipmi-ignore-command", ON_CONTROL), 1);
}

#[tokio::test]
async fn busy() {
    let (_sim, host, mut console) = with(IpmiFault::Busy.on(ON_CONTROL).times(2)).await;
    assert_eq!(console.code(CHASSIS, CONTROL, &[0]).await, 0xc0);
    assert_eq!(console.code(CHASSIS, STATUS, &[]).await, 0);
    assert_eq!(console.code(CHASSIS, CONTROL, &[0]).await, 0xc0);
    assert_eq!(host.truth().power, Power::On);
    assert_eq!(console.code(CHASSIS, CONTROL, &[0]).await, 0);
}

#[tokio::test]
async fn a_suite_is_refused_with_any_status() {
    let refuse = |suite, status| IpmiFault::RefuseSuite { suite, status };
    let (_sim, host, mut console) = with(refuse(Some(17), 0x12)).await;
    assert_eq!(console.open(admin()).await, Err(Refused::OpenSession(0x12)));
    assert_eq!(console.open(Login { suite: 3, ..admin() }).await, Ok(()));
    host.set_faults(vec![refuse(None, 0x04).times(1)]).unwrap();
    assert_eq!(
        console.open(Login { suite: 3, ..admin() }).await,
        Err(Refused::OpenSession(0x04))
    );
    assert_eq!(console.open(admin()).await, Ok(()));
}

#[tokio::test]
async fn sessions_are_exhausted() {
    let (_sim, host, mut console) = with(IpmiFault::SessionsExhausted.times(1)).await;
    let reply = console.exchange(0x10, &open_session(4, 5, 17)).await;
    assert_eq!(reply, [0x51, 0x01, 0, 0, 5, 0, 0, 0]);
    assert_eq!(
        applied(&host, "ipmi-sessions-exhausted", RequestClass::IpmiOpenSession),
        1
    );
    assert_eq!(console.open(admin()).await, Ok(()));
}
