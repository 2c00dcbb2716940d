//! Many BMCs behind one address and port.

use std::net::SocketAddr;

use bmc_simulator::{Fault, HostSpec, Power, Simulator};
use serde_json::json;

use crate::client::{Client, soon, status};

async fn two() -> Simulator {
    Simulator::builder()
        .hosts([HostSpec::new("a"), HostSpec::new("B")])
        .one_port(SocketAddr::from(([127, 0, 0, 1], 0)))
        .start()
        .await
        .unwrap()
}

#[tokio::test]
async fn the_name_tells_which_bmc_is_meant() {
    let sim = two().await;
    let (a, b) = (sim.host("a").unwrap(), sim.host("B").unwrap());
    assert_eq!(a.address(), b.address());
    assert_eq!(
        a.redfish_url(),
        format!("https://a.localhost:{}", a.address().port())
    );
    let (of_a, of_b) = (Client::of(&a), Client::of(&b));
    assert_eq!(of_a.send_reset("ForceOff").await, 204);
    assert_eq!(
        (of_a.power_state().await, of_b.power_state().await),
        (json!("Off"), json!("On"))
    );
    assert_eq!((a.truth().power, b.truth().power), (Power::Off, Power::On));
    assert_eq!(
        (a.counters().tcp_connections, b.counters().tcp_connections),
        (1, 1)
    );

    // An address is nobody's name.
    let nobody = of_a.http.get(format!("https://{}/redfish/v1", a.address()));
    assert!(nobody.send().await.unwrap_err().is_connect());
}

#[tokio::test]
async fn what_is_broken_at_one_leaves_the_other_alone() {
    let sim = two().await;
    let (a, b) = (sim.host("a").unwrap(), sim.host("B").unwrap());
    for fault in [
        Fault::RefuseConnections,
        Fault::ResetOnConnect,
        Fault::HalfClose,
        Fault::PlaintextOnTls,
        Fault::TlsAlert,
    ] {
        a.set_faults(vec![fault.clone().into()]).unwrap();
        let refused = soon(Client::of(&a).get(&a.system_path()).send()).await;
        assert!(refused.unwrap_err().is_connect(), "{fault:?}");
        assert_eq!(status(Client::of(&b).get(&b.system_path())).await, 200);
    }
    a.clear_faults();
    assert_eq!(status(Client::of(&a).get(&a.system_path())).await, 200);
    a.reboot_bmc();
    assert!(Client::of(&a).get(&a.system_path()).send().await.is_err());
}
