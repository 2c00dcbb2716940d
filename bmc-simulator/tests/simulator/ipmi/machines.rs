//! A BMC with several machines: IPMI reaches the first.

use bmc_simulator::{Event, Fault, Host, HostSpec, IpmiSpec, MachineSpec, Power};

use super::commands::operator;
use super::{CHASSIS, CONTROL, PASSWORD, STATUS, count};
use crate::client::one;

#[tokio::test]
async fn reaches_the_first_and_under_wrong_wiring_another() {
    let spec = HostSpec::new("a")
        .credentials("admin", PASSWORD)
        .ipmi(IpmiSpec::new());
    let spec = spec
        .machine(MachineSpec::new("Node0"))
        .machine(MachineSpec::new("Node1"));
    let (_sim, host) = one(spec).await;
    let powers =
        |host: &Host| -> Vec<Power> { host.machines().iter().map(|one| one.truth().power).collect() };
    let mut console = operator(&host).await;
    assert_eq!(console.code(CHASSIS, CONTROL, &[0]).await, 0);
    assert_eq!(powers(&host), [Power::Off, Power::On]);
    assert_eq!(console.code(CHASSIS, CONTROL, &[1]).await, 0);

    let executes_on = "Node1".to_owned();
    host.inject(Fault::WrongNode { executes_on }).unwrap();
    assert_eq!(console.code(CHASSIS, CONTROL, &[0]).await, 0);
    assert_eq!(powers(&host), [Power::On, Power::Off]);
    assert_eq!(
        console.ask(CHASSIS, STATUS, &[]).await.data[0] & 1,
        1,
        "what is read is its own"
    );
    let sent = |event: &Event| matches!(event, Event::Command { system, .. } if system == "Node0");
    assert_eq!(count(&host, sent), 3);
}
