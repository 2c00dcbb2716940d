//! The management controller itself: it reboots, is overwhelmed, and loses its power.

use std::io::ErrorKind;
use std::time::Duration;

use bmc_simulator::{BootSequence, Event, Fault, HostSpec, Power, PowerRestorePolicy, RequestClass, Stage};
use tokio::net::TcpStream;

use crate::client::{Client, listens, one, soon, status};
use crate::service::{at_one_instant, pass};

fn quick() -> HostSpec {
    let span = Duration::from_millis(150);
    HostSpec::new("a").bmc_boot(BootSequence {
        dead: span,
        not_ready: span,
        rejecting: span,
        ..BootSequence::default()
    })
}

#[tokio::test]
async fn a_reboot_ends_sessions_and_connections_and_leaves_the_machine_alone() {
    let hour = Duration::from_hours(1);
    let (_sim, host) = one(HostSpec::new("a").bmc_boot(BootSequence {
        dead: hour,
        not_ready: hour,
        rejecting: hour,
        ..BootSequence::default()
    }))
    .await;
    Client::of(&host).login().await;
    host.reboot_bmc();
    assert_eq!(
        (host.snapshot().bmc, host.snapshot().sessions.len()),
        (Stage::Dead, 0)
    );
    let refused = async {
        loop {
            if let Err(error) = TcpStream::connect(host.address()).await
                && error.kind() == ErrorKind::ConnectionRefused
            {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    soon(refused).await;

    for (stage, answer) in [(Stage::NotReady, 503), (Stage::Rejecting, 401), (Stage::Up, 200)] {
        pass(hour).await;
        soon(host.wait_for(|now| now.bmc == stage)).await.unwrap();
        listens(&host).await;
        assert_eq!(status(Client::of(&host).get(&host.system_path())).await, answer);
    }

    let truth = host.truth();
    assert_eq!(
        (truth.on_to_off, truth.resets, host.snapshot().bmc_reboots),
        (0, 0, 1)
    );
}

#[tokio::test]
async fn a_request_reboots_the_bmc_in_the_middle_of_an_operation() {
    let (_sim, host) = one(quick()).await;
    let client = Client::of(&host);
    host.inject(Fault::RebootBmc.on(RequestClass::Reset).times(1))
        .unwrap();
    client.reset("ForceOff").send().await.unwrap_err();
    assert_eq!(host.truth().on_to_off, 0);
    soon(host.wait_for(|now| now.bmc == Stage::Up)).await.unwrap();
    listens(&host).await;
    assert_eq!(status(Client::of(&host).get(&host.system_path())).await, 200);
}

#[tokio::test]
async fn too_many_requests_bring_the_bmc_down() {
    let (_sim, host) = one(quick()).await;
    let client = Client::of(&host);
    host.inject(Fault::CrashAbove {
        requests_per_second: 3,
    })
    .unwrap();
    // At one instant: a slow machine does not ask often.
    at_one_instant(async {
        for _ in 0..3 {
            assert_eq!(status(client.get(&host.system_path())).await, 200);
        }
        client.get(&host.system_path()).send().await.unwrap_err();
    })
    .await;
    soon(host.wait_for_entry(0, |event| *event == Event::BmcRebooted))
        .await
        .unwrap();
}

#[tokio::test]
async fn when_the_mains_fail_everything_is_dark_and_comes_back_as_the_policy_says() {
    for (policy, before, after) in [
        (PowerRestorePolicy::LastState, Power::On, Power::On),
        (PowerRestorePolicy::LastState, Power::Off, Power::Off),
        (PowerRestorePolicy::AlwaysOff, Power::On, Power::Off),
        (PowerRestorePolicy::AlwaysOn, Power::Off, Power::On),
    ] {
        let (_sim, host) = one(quick().power_restore_policy(policy)).await;
        host.press_power(before).unwrap();
        host.cut_mains();
        host.cut_mains();
        host.reboot_bmc();
        assert_eq!(
            (host.truth().power, host.snapshot().bmc),
            (Power::Off, Stage::Dead)
        );
        host.restore_mains();
        host.restore_mains();
        soon(host.wait_for(|now| now.bmc == Stage::Up)).await.unwrap();
        assert_eq!(host.truth().power, after, "{policy:?} {before:?}");
        listens(&host).await;
        assert_eq!(status(Client::of(&host).get(&host.system_path())).await, 200);
        assert_eq!(host.snapshot().bmc_reboots, 1);
    }
}

#[tokio::test]
async fn logins_fail_now_and_then_after_a_reboot_of_the_bmc() {
    let (_sim, host) = one(HostSpec::new("a").bmc_boot(BootSequence {
        dead: Duration::ZERO,
        not_ready: Duration::ZERO,
        rejecting: Duration::ZERO,
        sporadic: Duration::from_mins(7),
    }))
    .await;
    host.reboot_bmc();
    listens(&host).await;
    let client = Client::of(&host);
    let mut answers = Vec::new();
    for _ in 0..8 {
        answers.push(status(client.get(&host.system_path())).await);
    }
    assert_eq!(answers, [401, 200, 200, 200, 401, 200, 200, 200]);
    pass(Duration::from_mins(7)).await;
    assert_eq!(status(Client::of(&host).get(&host.system_path())).await, 200);
}
