//! Every fault of IPMI that bmc-simulator has, in every step that it can hit.

use std::time::Duration;

use bmc_simulator::{BootSequence, Injection, IpmiFault, Power, RequestClass, Snapshot, Stage};
use futures::future::join_all;

use super::*;
use remediator_core::power::PowerState;

const STEPS: [RequestClass; 6] = [
    RequestClass::IpmiOpenSession,
    RequestClass::IpmiRakp1,
    RequestClass::IpmiRakp3,
    RequestClass::IpmiSetPrivilege,
    RequestClass::IpmiDiscovery,
    RequestClass::IpmiChassisStatus,
];

/// Of a request to a BMC that may have restarted: its session is believed to be gone after a third of this.
const AFTER_A_RESTART: Duration = Duration::from_secs(6);

/// What UDP may do to one datagram.
fn of_the_network() -> Vec<IpmiFault> {
    let by = Duration::from_millis(700);
    vec![
        IpmiFault::LoseRequest,
        IpmiFault::LoseReply,
        IpmiFault::DuplicateReply,
        IpmiFault::DelayReply { by },
        IpmiFault::ReorderReply,
        IpmiFault::CorruptReply,
    ]
}

/// Reads twice with a fault in the way once; the truth changes in between.
async fn reads_with(host: Host, injection: Injection) {
    let what = format!("{injection:?}");
    host.inject(injection).unwrap();
    let target = BmcTarget {
        expected_uuid: Some(SystemUuid::parse(host.system_uuid()).unwrap()),
        ..target(host.ipmi_address().unwrap())
    };
    let mut bmc = connect_within(target, repeating()).await;
    let first = bmc.read().await.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(
        (first.power, first.uuid.as_deref()),
        (PowerState::On, Some(host.system_uuid())),
        "{what}"
    );
    host.press_power(Power::Off).unwrap();
    let second = bmc.read().await.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(second.power, PowerState::Off, "{what}");
    assert!(bmc.close().await.unwrap());
    assert_eq!(sessions(&host), 0, "{what}");
    assert_eq!(host.counters().ipmi.auth_failures, 0, "{what}");
}

#[tokio::test]
async fn one_fault_of_the_network_in_any_step_is_got_over() {
    let mut injections: Vec<Injection> = STEPS
        .iter()
        .flat_map(|step| of_the_network().into_iter().map(|fault| fault.on(*step).times(1)))
        .collect();
    for step in &STEPS[3..] {
        injections.push(IpmiFault::WrongRqSeq.on(*step).times(1));
    }
    // There is a previous answer to be stale from the second one on.
    for step in &STEPS[4..] {
        injections.push(IpmiFault::StaleReply.on(*step).times(1));
    }
    let name = |place: usize| format!("h{place}");
    let specs = (0..injections.len()).map(|place| {
        HostSpec::new(name(place))
            .credentials("admin", CANARY)
            .ipmi(IpmiSpec::new())
    });
    let simulator = Simulator::builder().seed(1).hosts(specs).start().await.unwrap();
    let each = injections.into_iter().enumerate().map(|(place, injection)| {
        let host = simulator.host(&name(place)).unwrap();
        reads_with(host, injection)
    });
    join_all(each).await;
}

#[tokio::test]
async fn a_late_answer_to_an_earlier_reading_is_not_the_answer_to_a_later_one() {
    let (_simulator, host, mut bmc) = begin_within(IpmiSpec::new(), repeating()).await;
    bmc.read().await.unwrap();
    let late = IpmiFault::DelayReply {
        by: Duration::from_millis(700),
    };
    host.inject(late.on(RequestClass::IpmiChassisStatus).times(1))
        .unwrap();
    // Answered after half a second by the answer to the retransmission.
    assert_eq!(bmc.read().await.unwrap().power, PowerState::On);
    host.press_power(Power::Off).unwrap();
    // The next one is held back until the late "On" has long arrived.
    host.inject(late.on(RequestClass::IpmiChassisStatus).times(2))
        .unwrap();
    assert_eq!(bmc.read().await.unwrap().power, PowerState::Off);
}

#[tokio::test]
async fn answers_with_the_number_of_another_request_are_not_believed() {
    let (_simulator, host, mut bmc) = begin_within(IpmiSpec::new(), giving_up()).await;
    bmc.read().await.unwrap();
    host.set_faults(vec![IpmiFault::WrongRqSeq.on(RequestClass::IpmiChassisStatus)])
        .unwrap();
    let error = bmc.read().await.unwrap_err();
    assert_eq!(error.reason(), "BmcUnreachable");
    assert_fit_to_show(&error);
    host.clear_faults();
    assert_eq!(bmc.read().await.unwrap().power, PowerState::On);
}

#[tokio::test]
async fn a_bmc_that_always_sends_the_answer_before_the_last_is_only_believed_about_this_request() {
    let (_simulator, host, mut bmc) = begin_within(IpmiSpec::new(), repeating()).await;
    host.inject(IpmiFault::StaleReply.on(RequestClass::IpmiChassisStatus))
        .unwrap();
    // What answers is the answer to the first transmission, which comes after the second.
    for power in [Power::On, Power::Off, Power::On, Power::Off] {
        host.press_power(power).unwrap();
        let reading = bmc.read().await.unwrap();
        assert_eq!(reading.literal.as_deref(), Some(format!("{power:?}").as_str()));
    }
}

async fn finds_another_suite_than_the_one_refused_with(status: u8) {
    let (_simulator, host) = start(spec().bmc_boot(quick()).ipmi(IpmiSpec::new())).await;
    let mut bmc = connect(target(host.ipmi_address().unwrap())).await;
    let refused = IpmiFault::RefuseSuite {
        suite: Some(17),
        status,
    };
    host.inject(refused).unwrap();
    assert_eq!(bmc.read().await.unwrap().power, PowerState::On, "{status:#04x}");
    assert_eq!(host.counters().ipmi.open_session, 2);
    // The suite that worked is asked for first from then on.
    reboot(&host, 1).await;
    deadlines(&mut bmc).request = AFTER_A_RESTART;
    bmc.read().await.unwrap();
    assert_eq!(host.counters().ipmi.open_session, 3);
}

#[tokio::test]
async fn a_suite_that_is_refused_with_a_wrong_status_leads_to_the_next() {
    let statuses = [0x04, 0x05, 0x0a, 0x10, 0x11, 0x12];
    join_all(statuses.map(finds_another_suite_than_the_one_refused_with)).await;
}

#[tokio::test]
async fn refusals_to_open_a_session_are_told_apart() {
    let refuse = |status| IpmiFault::RefuseSuite { suite: None, status };
    for (fault, reason, transient) in [
        (refuse(0x11), "BmcNoCipherSuite", false),
        (refuse(0x09), "BmcForbidden", false),
        (refuse(0x0b), "BmcIpmiError", true),
        (refuse(0x7f), "BmcIpmiError", false),
        (IpmiFault::SessionsExhausted, "BmcIpmiError", true),
    ] {
        let (_simulator, host, mut bmc) = begin(IpmiSpec::new()).await;
        host.inject(fault).unwrap();
        let error = bmc.read().await.unwrap_err();
        assert_eq!(
            (error.reason(), error.is_transient()),
            (reason, transient),
            "{fault:?}"
        );
        assert_fit_to_show(&error);
    }
}

#[tokio::test]
async fn a_bmc_without_a_free_session_is_asked_again_later() {
    let (_simulator, host, mut second) = begin(IpmiSpec::new().session_limit(1)).await;
    let mut first = connect(target(host.ipmi_address().unwrap())).await;
    first.read().await.unwrap();
    let full = second.read().await.unwrap_err();
    assert!(full.is_transient(), "{full}");
    first.close().await.unwrap();
    second.read().await.unwrap();
}

#[tokio::test]
async fn a_command_that_the_bmc_ignores_is_no_answer() {
    for (net_fn, command) in [(6, 0x3b), (6, 0x37), (0, 0x01)] {
        let (_simulator, host, mut bmc) = begin_within(IpmiSpec::new(), giving_up()).await;
        host.inject(IpmiFault::IgnoreCommand { net_fn, command }).unwrap();
        let error = bmc.read().await.unwrap_err();
        assert_eq!(error.reason(), "BmcUnreachable");
        assert!(error.is_transient());
        // Sent at once, after 0.5 s and after 1.5 s; then 3 s are over.
        let closed = |snapshot: &Snapshot| snapshot.counters.ipmi.sessions_ended == 1;
        host.wait_for(closed).await.unwrap();
    }
}

async fn logs_in_once_without_an_answer_to(step: RequestClass) {
    // Sent at once and after 2 s; then 5 s are over.
    let deadlines = Deadlines {
        connect: Duration::from_secs(5),
        ..repeating_slowly()
    };
    let (_simulator, host, mut bmc) = begin_within(IpmiSpec::new(), deadlines).await;
    host.inject(IpmiFault::LoseRequest.on(step)).unwrap();
    let error = bmc.read().await.unwrap_err();
    assert_eq!(error.reason(), "BmcLoginUnanswered");
    assert!(!error.is_transient() && error.to_string().contains("Secret"));
    assert_fit_to_show(&error);
    assert_eq!(host.counters().ipmi.open_session, 1);
}

#[tokio::test]
async fn silence_to_a_login_may_be_the_credentials_and_is_not_tried_again() {
    let steps = [RequestClass::IpmiRakp1, RequestClass::IpmiRakp3];
    join_all(steps.map(logs_in_once_without_an_answer_to)).await;
}

/// A BMC that is back soon.
fn quick() -> BootSequence {
    BootSequence {
        dead: Duration::from_millis(100),
        not_ready: Duration::ZERO,
        rejecting: Duration::ZERO,
        ..BootSequence::default()
    }
}

/// Reboots a BMC for the nth time, and waits until it is back.
async fn reboot(host: &Host, nth: u64) {
    host.reboot_bmc();
    let back = |snapshot: &Snapshot| snapshot.bmc_reboots == nth && snapshot.bmc == Stage::Up;
    host.wait_for(back).await.unwrap();
}

#[tokio::test]
async fn a_session_that_a_restart_of_the_bmc_ended_is_replaced() {
    let (_simulator, host) = start(spec().bmc_boot(quick()).ipmi(IpmiSpec::new())).await;
    let mut bmc = connect(target(host.ipmi_address().unwrap())).await;
    bmc.read().await.unwrap();
    reboot(&host, 1).await;
    deadlines(&mut bmc).request = AFTER_A_RESTART;
    assert_eq!(bmc.read().await.unwrap().power, PowerState::On);
    assert_eq!(host.counters().ipmi.sessions_opened, 2);
    // Without a session there, a command would get no answer.
    reboot(&host, 2).await;
    let unknown = unanswered_power_off(&mut bmc).await;
    assert!(unknown.may_have_been_executed());
    assert_eq!(commands(&host), 0);
}

#[tokio::test]
async fn a_dead_bmc_is_unreachable() {
    let boot = BootSequence {
        dead: Duration::from_hours(1),
        ..BootSequence::default()
    };
    let (_simulator, host) = start(spec().bmc_boot(boot).ipmi(IpmiSpec::new())).await;
    host.reboot_bmc();
    let mut bmc = connect_within(target(host.ipmi_address().unwrap()), giving_up()).await;
    let error = bmc.read().await.unwrap_err();
    assert!(matches!(error, BmcError::Unreachable(_)), "{error}");
    assert!(error.is_transient());
    assert_fit_to_show(&error);

    // Bound, so that nobody else gets the port, and closed to all but one: the kernel says "unreachable".
    let nobody = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    nobody.connect("127.0.0.1:1").unwrap();
    let nobody_there = target(nobody.local_addr().unwrap());
    let mut bmc = connect_within(nobody_there, giving_up()).await;
    let error = bmc.read().await.unwrap_err();
    assert!(matches!(error, BmcError::Unreachable(_)), "{error}");
}
