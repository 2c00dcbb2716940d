//! What can be asked, and what it does to the machine.

use bmc_simulator::{Command, Delivery, Event, Fault, Host, IpmiSpec, Outcome, Power, Via};

use super::console::Console;
use super::{APP, CHASSIS, CONTROL, STATUS, admin, bmc, count};
use crate::client::Client;

/// A console that may do everything.
pub(super) async fn operator(host: &Host) -> Console {
    let mut console = Console::logged_in(host, admin()).await;
    assert_eq!(console.code(APP, 0x3b, &[4]).await, 0);
    console
}

#[tokio::test]
async fn power_is_one_machine_behind_both_protocols() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let redfish = Client::of(&host);
    let mut console = operator(&host).await;
    assert_eq!(console.ask(CHASSIS, STATUS, &[]).await.data, [1, 0, 0]);
    assert_eq!(console.code(CHASSIS, CONTROL, &[0]).await, 0);
    assert_eq!(redfish.power_state().await, "Off");
    assert_eq!(console.ask(CHASSIS, STATUS, &[]).await.data, [0, 0, 0]);
    assert_eq!(console.code(CHASSIS, CONTROL, &[1]).await, 0);
    assert_eq!(redfish.power_state().await, "On");
    assert_eq!(
        console.ask(CHASSIS, STATUS, &[]).await.data,
        [1, 0x10, 0],
        "on by a command over IPMI"
    );
    redfish.send_reset("ForceOff").await;
    redfish.send_reset("On").await;
    assert_eq!(
        console.ask(CHASSIS, STATUS, &[]).await.data,
        [1, 0, 0],
        "on by another way"
    );
    assert_eq!((host.truth().on_to_off, host.truth().off_to_on), (2, 2));
}

#[tokio::test]
async fn what_each_chassis_control_does() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let mut console = operator(&host).await;
    let via = Via::IpmiSession(console.session_name());
    let accepted = |command, outcome| Event::Command {
        system: "1".to_owned(),
        command,
        via: via.clone(),
        outcome,
        status: Some(0),
        delivery: Delivery::Sent,
    };
    for (control, code, last) in [
        (3, 0x00, Some(accepted(Command::ForceRestart, Outcome::Started))),
        (
            5,
            0x00,
            Some(accepted(Command::GracefulShutdown, Outcome::Started)),
        ),
        (2, 0x00, Some(accepted(Command::PowerCycle, Outcome::Started))),
        (1, 0x00, Some(accepted(Command::On, Outcome::NoChange))),
        (0, 0x00, Some(accepted(Command::ForceOff, Outcome::Started))),
        (0, 0x00, Some(accepted(Command::ForceOff, Outcome::NoChange))),
        (3, 0x00, Some(accepted(Command::ForceRestart, Outcome::NoChange))),
        (2, 0xd5, None),
        (4, 0xcc, None),
        (9, 0xcc, None),
    ] {
        let done = console.code(CHASSIS, CONTROL, &[control]).await;
        assert_eq!(done, code, "control {control}");
        let journal = host.journal();
        let newest = journal.iter().rev().map(|entry| &entry.event);
        let mut newest =
            newest.filter(|event| matches!(event, Event::Command { .. } | Event::CommandRefused { .. }));
        match (newest.next(), last) {
            (Some(Event::CommandRefused { status, .. }), None) => assert_eq!(*status, Some(u16::from(code))),
            (event, last) => assert_eq!(event, last.as_ref()),
        }
    }
    let truth = host.truth();
    assert_eq!(
        (truth.power, truth.resets, truth.on_to_off, truth.off_to_on),
        (Power::Off, 1, 2, 1)
    );
}

#[tokio::test]
async fn what_is_reported_follows_the_faults_and_not_the_truth() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let mut console = operator(&host).await;
    for (fault, bit) in [
        (Fault::LieOffWhileOn, 0),
        (Fault::ReportLiteral(Some("Off".to_owned())), 0),
        (Fault::ReportLiteral(Some("PoweringOff".to_owned())), 1),
        (Fault::ReportLiteral(Some("Paused".to_owned())), 1),
        (Fault::ReportLiteral(None), 1),
    ] {
        host.set_faults(vec![fault.clone().into()]).unwrap();
        assert_eq!(console.ask(CHASSIS, STATUS, &[]).await.data[0], bit, "{fault:?}");
    }
    let lied = |event: &Event| {
        matches!(event, Event::Observed { reported, truth: Power::On, via: Via::IpmiSession(_), .. }
            if reported.as_deref() == Some("Off"))
    };
    assert_eq!(count(&host, lied), 2);
    host.set_faults(vec![Fault::LieOffWhileOn.into()]).unwrap();
    assert_eq!(console.code(CHASSIS, CONTROL, &[0]).await, 0);
    assert_eq!(
        console.code(CHASSIS, CONTROL, &[2]).await,
        0xd5,
        "it believes its own lie"
    );
    assert_eq!(host.truth().on_to_off, 0);
}

#[tokio::test]
async fn a_reset_while_off_does_nothing_or_is_refused() {
    for (spec, code) in [
        (IpmiSpec::new(), 0),
        (IpmiSpec::new().reset_while_off_refused(), 0xd5),
    ] {
        let (_sim, host) = bmc(spec).await;
        let mut console = operator(&host).await;
        assert_eq!(console.code(CHASSIS, CONTROL, &[3]).await, 0, "while on");
        host.press_power(Power::Off).unwrap();
        assert_eq!(console.code(CHASSIS, CONTROL, &[3]).await, code);
        assert_eq!((host.truth().power, host.truth().resets), (Power::Off, 1));
    }
}

#[tokio::test]
async fn restore_policy() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let mut console = operator(&host).await;
    for (policy, shown) in [(2, 0x41), (1, 0x21), (3, 0x21), (0, 0x01)] {
        assert_eq!(console.ask(CHASSIS, 0x06, &[policy]).await.data, [7]);
        assert_eq!(console.ask(CHASSIS, STATUS, &[]).await.data[0], shown);
    }
    assert_eq!(console.code(CHASSIS, 0x06, &[4]).await, 0xcc);
}

#[tokio::test]
async fn wrong_requests_get_the_code_that_says_so() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let mut console = operator(&host).await;
    for (net_fn, command, data, code) in [
        (CHASSIS, 0x7f, &[][..], 0xc1),
        (0x2c, 0x00, &[0], 0xc1),
        (CHASSIS, STATUS, &[0], 0xc7),
        (CHASSIS, CONTROL, &[], 0xc7),
        (CHASSIS, CONTROL, &[1, 1], 0xc7),
        (CHASSIS, 0x00, &[0], 0xc7),
        (CHASSIS, 0x06, &[], 0xc7),
        (APP, 0x01, &[0], 0xc7),
        (APP, 0x08, &[0], 0xc7),
        (APP, 0x37, &[0], 0xc7),
        (APP, 0x38, &[0x8e], 0xc7),
        (APP, 0x38, &[0x83, 4], 0xcc),
        (APP, 0x38, &[0x8e, 9], 0xcc),
        (APP, 0x3b, &[], 0xc7),
        (APP, 0x42, &[], 0xc7),
        (APP, 0x42, &[5], 0xcc),
        (APP, 0x54, &[0x0e, 0], 0xc7),
        (APP, 0x54, &[0x0e, 1, 0x80], 0xcc),
    ] {
        let answer = console.ask(net_fn, command, data).await;
        assert_eq!(
            (answer.completion, answer.data),
            (code, Vec::new()),
            "{net_fn:#x} {command:#x} {data:?}"
        );
    }
    // Another responder, another logical unit.
    for (byte, code) in [(0x22, 0xd3), (0x20, 0xc2)] {
        console.sequence += 1;
        let lun = u8::from(byte == 0x20);
        let mut message = vec![byte, (APP << 2) | lun];
        message.push(0_u8.wrapping_sub(message[0]).wrapping_sub(message[1]));
        message.extend([0x81, 4, 1, 0_u8.wrapping_sub(0x86)]);
        let packet = console.seal(&message);
        console.send(&packet).await;
        assert_eq!(console.read(&console.receive().await).unwrap().completion, code);
    }
}

#[tokio::test]
async fn outside_of_a_session_only_discovery_is_answered() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let console = Console::to(&host).await;
    for rmcp_plus in [false, true] {
        let answer = console.ask_outside(rmcp_plus, APP, 0x38, &[0x8e, 4]).await;
        assert_eq!(
            (answer.completion, answer.data),
            (0, vec![1, 0x80, 4, 2, 0, 0, 0, 0])
        );
        // Who does not ask for IPMI 2.0 is told that there is no IPMI 1.5.
        assert_eq!(
            console.ask_outside(rmcp_plus, APP, 0x38, &[0x0e, 4]).await.data,
            [1, 0, 4, 0, 0, 0, 0, 0]
        );
        assert_eq!(
            console.ask_outside(rmcp_plus, APP, 0x37, &[]).await.data,
            guid(host.system_uuid())
        );
        for (net_fn, command, data) in [
            (CHASSIS, STATUS, &[][..]),
            (CHASSIS, CONTROL, &[0]),
            (APP, 1, &[]),
            (APP, 0x3c, &[0; 4]),
        ] {
            assert_eq!(
                console
                    .ask_outside(rmcp_plus, net_fn, command, data)
                    .await
                    .completion,
                0xd4
            );
        }
        assert_eq!(
            console.ask_outside(rmcp_plus, APP, 0x99, &[]).await.completion,
            0xc1
        );
    }
    assert_eq!(host.truth().on_to_off, 0);
}

#[tokio::test]
async fn cipher_suites_come_in_pages_of_sixteen() {
    let all = [0, 1, 2, 3, 6, 7, 8, 11, 12, 15, 16, 17];
    let (_sim, host) = bmc(IpmiSpec::new().cipher_suites(all)).await;
    let mut inside = Console::logged_in(&host, admin()).await;
    let mut list = Vec::new();
    for (index, length) in [(0, 16), (1, 16), (2, 16), (3, 12), (4, 0), (0x3f, 0)] {
        let request = [0x0e, 0, 0x80 | index];
        let page = inside.ask(APP, 0x54, &request).await.data;
        assert_eq!((page[0], page.len()), (1, length + 1), "page {index}");
        assert_eq!(inside.ask_outside(true, APP, 0x54, &request).await.data, page);
        list.extend(&page[1..]);
    }
    let ids: Vec<u8> = list.chunks(5).map(|record| record[1]).collect();
    assert_eq!(ids, all);
    assert!(list.chunks(5).all(|record| record[0] == 0xc0));
    assert_eq!(list[55..], [0xc0, 17, 0x03, 0x44, 0x81]);
    let algorithms = inside.ask(APP, 0x54, &[1, 0, 0]).await.data;
    assert_eq!(
        algorithms,
        [1, 0, 1, 2, 3, 0x40, 0x41, 0x42, 0x43, 0x44, 0x80, 0x81]
    );
}

#[tokio::test]
async fn who_the_bmc_is() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let mut console = Console::logged_in(&host, admin()).await;
    let device = console.ask(APP, 0x01, &[]).await.data;
    assert_eq!(
        (device.len(), device[4], device[5]),
        (15, 0x02, 0x80),
        "IPMI 2.0, a chassis device"
    );
    assert_eq!(console.ask(APP, 0x37, &[]).await.data, guid(host.system_uuid()));
    let root: serde_json::Value = {
        let client = Client::of(&host);
        client
            .http
            .get(client.url("/redfish/v1"))
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap()
    };
    assert_eq!(
        console.ask(APP, 0x08, &[]).await.data,
        guid(root["UUID"].as_str().unwrap())
    );
    assert_eq!(console.ask(APP, 0x04, &[]).await.data, [0x55, 0]);
    assert_eq!(
        console.ask(CHASSIS, 0x00, &[]).await.data,
        [0, 0x20, 0x20, 0x20, 0x20]
    );
    assert_eq!(
        console.ask(APP, 0x42, &[0x0e]).await.data,
        [1, 4, 1, 0x81, 0xf2, 0x1b, 0, 0, 0]
    );
    host.inject(Fault::WrongUuid).unwrap();
    assert_ne!(console.ask(APP, 0x37, &[]).await.data, guid(host.system_uuid()));
}

/// The sixteen bytes, the last one first.
fn guid(uuid: &str) -> Vec<u8> {
    let digits: String = uuid.replace('-', "");
    let byte = |at: usize| u8::from_str_radix(&digits[at * 2..at * 2 + 2], 16).unwrap();
    (0..16).rev().map(byte).collect()
}
