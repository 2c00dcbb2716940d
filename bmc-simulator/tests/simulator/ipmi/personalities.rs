//! What is peculiar about families over IPMI.

use bmc_simulator::{Host, HostSpec, IpmiSpec, Personality, Power, Simulator};

use super::console::{Console, Login, Refused};
use super::frames::has_right_checksum;
use super::{APP, CHASSIS, CONTROL, PASSWORD, STATUS, admin};
use crate::client::one;

async fn of(family: Personality) -> (Simulator, Host) {
    let spec = HostSpec::new("a").credentials("admin", PASSWORD);
    one(spec.ipmi(IpmiSpec::new()).personality(family)).await
}

#[tokio::test]
async fn a_cisco_refuses_an_administrator() {
    let (_sim, host) = of(Personality::CiscoUcs).await;
    assert_eq!(
        Console::to(&host).await.open(admin()).await,
        Err(Refused::Rakp2(0x0a))
    );
    let operator = Login {
        role: 0x13,
        ..admin()
    };
    let mut console = Console::logged_in(&host, operator).await;
    assert_eq!(console.code(APP, 0x3b, &[3]).await, 0);
    assert_eq!(console.code(CHASSIS, CONTROL, &[0]).await, 0);
    assert_eq!(host.truth().power, Power::Off);
}

#[tokio::test]
async fn an_asrock_skips_numbers() {
    let (_sim, host) = of(Personality::Asrock).await;
    let mut console = Console::logged_in(&host, admin()).await;
    let first = console.ask(CHASSIS, STATUS, &[]).await.sequence;
    let second = console.ask(CHASSIS, STATUS, &[]).await.sequence;
    assert_eq!((first, second), (4, 8));
}

#[tokio::test]
async fn a_supermicro_x9_sends_wrong_checksums() {
    let (_sim, host) = of(Personality::SmcX9).await;
    let mut console = Console::logged_in(&host, admin()).await;
    let request = console.request(CHASSIS, STATUS, &[]);
    console.send(&request).await;
    let (_, message) = console
        .unseal(&console.receive().await)
        .expect("integrity is right");
    assert!(!has_right_checksum(&message));
}

#[tokio::test]
async fn a_supermicro_resets_nothing_while_off_and_says_that_it_did() {
    let (_sim, host) = of(Personality::SmcX13).await;
    host.press_power(Power::Off).unwrap();
    let mut console = Console::logged_in(&host, admin()).await;
    assert_eq!(console.code(APP, 0x3b, &[3]).await, 0);
    assert_eq!(console.code(CHASSIS, CONTROL, &[3]).await, 0);
    assert_eq!((host.truth().power, host.truth().resets), (Power::Off, 0));
}

#[tokio::test]
async fn an_openbmc_knows_one_cipher_suite() {
    let (_sim, host) = of(Personality::Openbmc).await;
    let old = Login { suite: 3, ..admin() };
    assert_eq!(
        Console::to(&host).await.open(old).await,
        Err(Refused::OpenSession(0x11))
    );
    Console::logged_in(&host, admin()).await;
}
