//! What a reboot of the BMC takes with it over IPMI.

use std::time::Duration;

use bmc_simulator::{BootSequence, Host, HostSpec, IpmiFault, IpmiSpec, RequestClass, Simulator, Stage};

use super::console::{Console, Refused};
use super::frames::PING;
use super::{CHASSIS, PASSWORD, STATUS, admin};
use crate::client::{one, soon};
use crate::service::pass;

const HOUR: Duration = Duration::from_hours(1);
const SECOND: Duration = Duration::from_secs(1);

async fn booting(dead: Duration, rejecting: Duration) -> (Simulator, Host) {
    let spec = HostSpec::new("a").credentials("admin", PASSWORD);
    let spec = spec.ipmi(IpmiSpec::new()).bmc_boot(BootSequence {
        dead,
        not_ready: Duration::ZERO,
        rejecting,
        sporadic: Duration::ZERO,
    });
    one(spec).await
}

#[tokio::test]
async fn replies_of_before_are_not_sent() {
    for cut in [false, true] {
        for fault in [IpmiFault::DelayReply { by: SECOND }, IpmiFault::ReorderReply] {
            let (_sim, host) = booting(Duration::ZERO, Duration::ZERO).await;
            let mut console = Console::logged_in(&host, admin()).await;
            let on_status = fault.on(RequestClass::IpmiChassisStatus);
            host.inject(on_status.times(1)).unwrap();
            let request = console.request(CHASSIS, STATUS, &[]);
            console.send(&request).await;
            soon(host.wait_for(|now| now.faults.is_empty())).await.unwrap();
            if cut {
                host.cut_mains();
                host.restore_mains();
            } else {
                host.reboot_bmc();
            }
            pass(2 * SECOND).await;
            console.send(&PING).await;
            assert_eq!(
                console.receive().await[3],
                6,
                "{fault:?}: the pong, and nothing before it"
            );
            console.send(&PING).await;
            assert_eq!(console.receive().await[3], 6, "{fault:?}: nor after it");
        }
    }
}

#[tokio::test]
async fn a_delayed_reply_waits_for_nobody_who_is_dead() {
    let (_sim, host) = booting(HOUR, Duration::ZERO).await;
    let mut console = Console::logged_in(&host, admin()).await;
    let late = IpmiFault::DelayReply { by: SECOND };
    host.inject(late.on(RequestClass::IpmiChassisStatus).times(1))
        .unwrap();
    let request = console.request(CHASSIS, STATUS, &[]);
    console.send(&request).await;
    soon(host.wait_for(|now| now.faults.is_empty())).await.unwrap();
    host.reboot_bmc();
    pass(2 * SECOND).await;
    assert_eq!(host.snapshot().bmc, Stage::Dead);
    pass(HOUR).await;
    soon(host.wait_for(|now| now.bmc == Stage::Up)).await.unwrap();
    console.send(&PING).await;
    assert_eq!(console.receive().await[3], 6, "the pong, and nothing before it");
}

#[tokio::test]
async fn while_it_comes_up_right_logins_are_rejected() {
    let (_sim, host) = booting(Duration::ZERO, HOUR).await;
    host.reboot_bmc();
    assert_eq!(host.snapshot().bmc, Stage::Rejecting);
    let mut console = Console::to(&host).await;
    assert_eq!(console.open(admin()).await, Err(Refused::Rakp2(0x0d)));
    pass(HOUR).await;
    soon(host.wait_for(|now| now.bmc == Stage::Up)).await.unwrap();
    assert_eq!(console.open(admin()).await, Ok(()));
}
