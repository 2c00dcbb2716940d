//! Power commands that the network delivers late: the reason why they are sent once and why an
//! unanswered one ends its session.

use std::time::Duration;

use bmc_simulator::{Command, Event, Host, Power};
use jiff::Timestamp;

use super::relay::Relay;
use super::*;
use crate::{Bmcs, CommandAnswer, Urgency};
use remediator_core::power::PowerState;

async fn through_a_relay() -> (Simulator, Host, Relay, Bmc) {
    let (simulator, host) = start(spec().ipmi(IpmiSpec::new())).await;
    let relay = Relay::to(host.ipmi_address().unwrap()).await;
    let bmc = connect_within(target(relay.address), repeating()).await;
    (simulator, host, relay, bmc)
}

/// Delivers what was held, and answers how much of it the BMC has thrown away when it answers a
/// request that was sent after it.
async fn delivered_and_discarded(host: &Host, relay: &Relay, bmc: &mut Bmc) -> (usize, u64) {
    let before = host.counters().ipmi.discarded;
    let delivered = relay.deliver_held().await;
    assert_eq!(bmc.read().await.unwrap().power, PowerState::On);
    (delivered, host.counters().ipmi.discarded.saturating_sub(before))
}

fn power_offs(host: &Host) -> usize {
    count(host, |event| {
        matches!(
            event,
            Event::Command {
                command: Command::ForceOff,
                ..
            }
        )
    })
}

#[tokio::test]
async fn a_power_off_that_arrives_after_the_next_power_on_is_not_executed() {
    let (_simulator, host, relay, mut bmc) = through_a_relay().await;
    bmc.read().await.unwrap();
    relay.hold_next();
    let unknown = unanswered_power_off(&mut bmc).await;
    assert!(unknown.may_have_been_executed(), "{unknown}");
    assert_eq!(bmc.read().await.unwrap().power, PowerState::On);
    let answer = bmc.command(Verb::PowerOn, soon()).await.unwrap();
    assert!(matches!(answer, CommandAnswer::Accepted));

    assert_eq!(delivered_and_discarded(&host, &relay, &mut bmc).await, (1, 1));
    assert_eq!((power_offs(&host), host.truth().power), (0, Power::On));
    assert!(bmc.close().await.unwrap());
    assert_eq!(sessions(&host), 0);
}

#[tokio::test]
async fn no_command_is_sent_while_an_earlier_one_may_still_arrive() {
    let (_simulator, host, relay, mut bmc) = through_a_relay().await;
    bmc.read().await.unwrap();
    relay.hold_next();
    unanswered_power_off(&mut bmc).await;
    // Now its session cannot be closed; another one can be opened.
    relay.cut_known_clients();
    assert_eq!(bmc.read().await.unwrap().power, PowerState::On);

    let error = bmc.command(Verb::PowerOn, soon()).await.unwrap_err();
    assert_eq!(error.reason(), "BmcCommandUnderWay");
    assert!(!error.may_have_been_executed() && error.is_transient());
    assert_fit_to_show(&error);
    assert_eq!(commands(&host), 0);

    relay.mend();
    let answer = bmc.command(Verb::PowerOn, soon()).await.unwrap();
    assert!(matches!(answer, CommandAnswer::Accepted));
    assert_eq!((commands(&host), sessions(&host)), (1, 1));
}

#[tokio::test]
async fn a_command_that_was_given_up_by_its_caller_counts_as_unanswered() {
    let (_simulator, host, relay, mut bmc) = through_a_relay().await;
    bmc.read().await.unwrap();
    relay.hold_next();
    let given_up = tokio::time::timeout(Duration::from_millis(50), bmc.command(Verb::PowerOff, soon())).await;
    assert!(given_up.is_err());
    assert_eq!(bmc.read().await.unwrap().power, PowerState::On);
    bmc.command(Verb::PowerOn, soon()).await.unwrap();

    assert_eq!(delivered_and_discarded(&host, &relay, &mut bmc).await, (1, 1));
    assert_eq!((power_offs(&host), host.truth().power), (0, Power::On));
}

#[tokio::test]
async fn a_power_off_that_the_network_repeats_is_executed_once() {
    let (_simulator, host, relay, mut bmc) = through_a_relay().await;
    bmc.read().await.unwrap();
    relay.copy_next();
    bmc.command(Verb::PowerOff, soon()).await.unwrap();
    assert_eq!(bmc.read().await.unwrap().power, PowerState::Off);
    bmc.command(Verb::PowerOn, soon()).await.unwrap();

    assert_eq!(delivered_and_discarded(&host, &relay, &mut bmc).await, (1, 1));
    assert_eq!((power_offs(&host), host.truth().power), (1, Power::On));
}

#[tokio::test]
async fn a_command_under_way_outlives_the_conversation_in_which_it_was_sent() {
    let (_simulator, host) = start(spec().ipmi(IpmiSpec::new())).await;
    let relay = Relay::to(host.ipmi_address().unwrap()).await;
    // Of one request, which is not answered. The others have to be.
    let bmcs = Bmcs::within(Deadlines {
        request: Duration::from_secs(3),
        ..repeating()
    });
    let line = || bmcs.line(target(relay.address), Urgency::Remediation);
    let first = line();
    first.read(Timestamp::now).await.unwrap();
    relay.hold_next();
    let unknown = first.command(Verb::PowerOff, soon()).await.unwrap_err();
    assert!(unknown.may_have_been_executed(), "{unknown}");
    relay.cut_known_clients();
    first.close().await.unwrap_err();

    let second = line();
    assert_eq!(second.read(Timestamp::now).await.unwrap().power, PowerState::On);
    let error = second.command(Verb::PowerOn, soon()).await.unwrap_err();
    assert_eq!(error.reason(), "BmcCommandUnderWay");
    assert_eq!(commands(&host), 0);
}
