//! The happy path and what it costs, and what commands need.

use bmc_simulator::{IpmiCounters, IpmiFault, Power, RequestClass};

use super::*;
use crate::{CommandAnswer, Refusal};
use remediator_core::power::PowerState;

#[tokio::test]
async fn a_remediation_costs_one_exchange_a_step_and_six_for_its_session() {
    for suite in [17, 3] {
        let (_simulator, host, mut bmc) = begin(IpmiSpec::new().cipher_suites([suite])).await;
        let first = bmc.read().await.unwrap();
        let accepted = bmc.command(Verb::PowerOff, soon()).await.unwrap();
        assert!(matches!(accepted, CommandAnswer::Accepted));
        assert_eq!(host.truth().power, Power::Off);
        let off = [bmc.read().await.unwrap(), bmc.read().await.unwrap()];
        bmc.command(Verb::PowerOn, soon()).await.unwrap();
        let last = bmc.read().await.unwrap();

        assert_eq!(
            [&first, &off[0], &off[1], &last].map(|reading| reading.power),
            [PowerState::On, PowerState::Off, PowerState::Off, PowerState::On]
        );
        assert_eq!((first.protocol, first.system.as_str()), (Protocol::Ipmi, "ipmi"));
        assert_eq!(
            (first.uuid.as_deref(), first.literal.as_deref(), first.serial),
            (Some(UUID), Some("On"), None)
        );
        assert!(first.began <= first.ended && first.ended <= off[0].began);
        assert_eq!(off[0].literal.as_deref(), Some("Off"));
        assert_eq!(sessions(&host), 1);
        assert!(!format!("{bmc:?}").contains("canary"));
        assert!(bmc.close().await.unwrap(), "there was a session");
        assert_eq!(sessions(&host), 0);
        // Where suite 17 is refused, its Open Session comes on top.
        let opened = if suite == 17 { 1 } else { 2 };
        let expected = IpmiCounters {
            datagrams: 10 + opened + 1,
            open_session: opened,
            rakp1: 1,
            rakp3: 1,
            set_privilege: 1,
            discovery: 1,
            chassis_status: 4,
            chassis_control: 2,
            close_session: 1,
            sessions_opened: 1,
            sessions_ended: 1,
            ..IpmiCounters::default()
        };
        assert_eq!(host.counters().ipmi, expected);
    }
}

#[tokio::test]
async fn a_dropped_conversation_leaves_no_session() {
    let (_simulator, host, mut bmc) = begin(IpmiSpec::new()).await;
    bmc.read().await.unwrap();
    assert_eq!(sessions(&host), 1);

    drop(bmc);

    let closed = |snapshot: &bmc_simulator::Snapshot| snapshot.counters.ipmi.sessions_ended == 1;
    host.wait_for(closed).await.unwrap();
}

#[tokio::test]
async fn a_login_that_is_given_up_on_the_way_leaves_no_session() {
    let (_simulator, host, mut bmc) = begin(IpmiSpec::new()).await;
    host.inject(IpmiFault::LoseReply.on(RequestClass::IpmiRakp3))
        .unwrap();
    let opened = |snapshot: &bmc_simulator::Snapshot| snapshot.counters.ipmi.sessions_opened == 1;
    tokio::select! {
        _ = bmc.read() => panic!("it cannot end"),
        opened = host.wait_for(opened) => { opened.unwrap(); }
    }

    let closed = |snapshot: &bmc_simulator::Snapshot| snapshot.counters.ipmi.sessions_ended == 1;
    host.wait_for(closed).await.unwrap();
}

#[tokio::test]
async fn closing_what_was_never_opened_says_nothing() {
    let (_simulator, host, bmc) = begin(IpmiSpec::new()).await;
    assert!(!bmc.close().await.unwrap());
    assert_eq!(host.counters().ipmi.datagrams, 0);
}

#[tokio::test]
async fn a_command_needs_a_successful_reading_and_time() {
    let (_simulator, host, mut bmc) = begin(IpmiSpec::new()).await;
    assert_eq!(bmc.command(Verb::PowerOff, soon()).await, Err(BmcError::NotRead));
    bmc.read().await.unwrap();
    host.inject(IpmiFault::Busy.on(RequestClass::IpmiChassisStatus).times(1))
        .unwrap();
    let busy = bmc.read().await.unwrap_err();
    assert!(busy.is_transient(), "{busy}");
    assert_fit_to_show(&busy);
    assert_eq!(bmc.command(Verb::PowerOff, soon()).await, Err(BmcError::NotRead));
    bmc.read().await.unwrap();
    let late = bmc.command(Verb::PowerOff, tokio::time::Instant::now()).await;
    assert_eq!(late, Err(BmcError::TooLate));
    assert_eq!(commands(&host), 0);
}

#[tokio::test]
async fn a_command_that_is_lost_is_not_sent_again_and_its_outcome_is_unknown() {
    for (fault, executed) in [(IpmiFault::LoseRequest, 0), (IpmiFault::LoseReply, 1)] {
        // What is sent again here is sent again as soon as the product does it.
        let (_simulator, host, mut bmc) = begin_within(IpmiSpec::new(), repeating()).await;
        bmc.read().await.unwrap();
        host.inject(fault.on(RequestClass::IpmiChassisControl)).unwrap();
        let unknown = unanswered_power_off(&mut bmc).await;
        let came = |snapshot: &bmc_simulator::Snapshot| snapshot.counters.ipmi.chassis_control > 0;
        host.wait_for(came).await.unwrap();
        assert_eq!(unknown.reason(), "BmcOutcomeUnknown");
        assert_fit_to_show(&unknown);
        assert_eq!(host.counters().ipmi.chassis_control, 1);
        assert_eq!(commands(&host), executed);
        // A command has nothing to stand on before the next reading.
        assert_eq!(bmc.command(Verb::PowerOff, soon()).await, Err(BmcError::NotRead));
        host.clear_faults();
        let reading = bmc.read().await.unwrap();
        let expected = [PowerState::On, PowerState::Off][executed];
        assert_eq!(reading.power, expected);
        assert!(bmc.close().await.unwrap());
        assert_eq!(sessions(&host), 0);
    }
}

#[tokio::test]
async fn a_busy_bmc_refuses_a_command_and_takes_it_later() {
    let (_simulator, host, mut bmc) = begin(IpmiSpec::new()).await;
    bmc.read().await.unwrap();
    host.inject(IpmiFault::Busy.on(RequestClass::IpmiChassisControl).times(1))
        .unwrap();
    let answer = bmc.command(Verb::PowerOff, soon()).await.unwrap();
    let CommandAnswer::Refused {
        class: Refusal::Busy,
        text,
        ..
    } = answer
    else {
        panic!("{answer:?}")
    };
    assert!(text.contains("0xc0"), "{text}");
    assert_eq!(host.truth().power, Power::On);
    bmc.command(Verb::PowerOff, soon()).await.unwrap();
    assert_eq!(host.truth().power, Power::Off);
}

#[tokio::test]
async fn another_hosts_bmc_is_not_commanded() {
    let (_simulator, host) = start(
        HostSpec::new("a")
            .credentials("admin", CANARY)
            .system_uuid("ffeeddcc-bbaa-4988-9766-554433221100")
            .ipmi(IpmiSpec::new()),
    )
    .await;
    let mut bmc = connect(target(host.ipmi_address().unwrap())).await;
    let reading = bmc.read().await.unwrap();
    assert_eq!(
        reading.uuid.as_deref(),
        Some("ffeeddcc-bbaa-4988-9766-554433221100")
    );
    let error = bmc.command(Verb::PowerOff, soon()).await.unwrap_err();
    assert_eq!(error.reason(), "BmcIdentityMismatch");
    assert_eq!(host.counters().ipmi.chassis_control, 0);
}
