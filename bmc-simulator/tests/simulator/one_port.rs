//! Many BMCs behind one address and port.

use std::net::SocketAddr;

use bmc_simulator::{CertificateDefect, Fault, Fleet, HostSpec, Power, Simulator};
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
        Fault::ResetOnConnect,
        Fault::HalfClose,
        Fault::PlaintextOnTls,
        Fault::TlsAlert,
        Fault::Certificate(CertificateDefect::Expired),
        Fault::Certificate(CertificateDefect::WrongName),
    ] {
        a.set_faults(vec![fault.clone().into()]).unwrap();
        let refused = soon(Client::of(&a).get(&a.system_path()).send()).await;
        assert!(refused.unwrap_err().is_connect(), "{fault:?}");
        assert_eq!(status(Client::of(&b).get(&b.system_path())).await, 200);
    }
    a.set_faults(vec![Fault::AcceptThenHang.times(1)]).unwrap();
    let client = Client::of(&a);
    let hanging = tokio::spawn(client.get(&a.system_path()).send());
    soon(a.wait_for(|now| now.faults.is_empty())).await.unwrap();
    assert_eq!(status(Client::of(&b).get(&b.system_path())).await, 200);
    assert!(!hanging.is_finished());
    a.close_connections();
    assert!(soon(hanging).await.unwrap().is_err());

    a.set_faults(vec![Fault::ResetOnReuse.into()]).unwrap();
    let (of_a, of_b) = (Client::of(&a), Client::of(&b));
    for client in [&of_a, &of_b] {
        assert_eq!(status(client.get(&client.host.system_path())).await, 200);
    }
    assert!(of_a.get(&a.system_path()).send().await.is_err());
    assert_eq!(status(of_b.get(&b.system_path())).await, 200);

    a.clear_faults();
    assert_eq!(status(Client::of(&a).get(&a.system_path())).await, 200);
    let swapped = a.swap_certificate().unwrap();
    assert_ne!(swapped, b.certificate_sha256_fingerprint());
    assert_eq!(status(Client::of(&a).get(&a.system_path())).await, 200);
    a.reboot_bmc();
    assert!(Client::of(&a).get(&a.system_path()).send().await.is_err());
    assert_eq!(status(of_b.get(&b.system_path())).await, 200);
}

#[tokio::test]
async fn names_that_are_one_in_tls_are_both_told() {
    let started = Simulator::builder()
        .hosts([HostSpec::new("Rack"), HostSpec::new("rack")])
        .one_port(SocketAddr::from(([127, 0, 0, 1], 0)))
        .start()
        .await;
    let told = started.unwrap_err().to_string();
    assert!(told.contains("`Rack` and `rack` differ in case only"), "{told}");
}

#[tokio::test]
async fn what_no_bmc_can_do_alone_behind_one_port_is_refused_with_a_reason() {
    let sim = two().await;
    let a = sim.host("a").unwrap();
    for (fault, instead) in [
        (Fault::RefuseConnections, "reset-on-connect"),
        (Fault::Blackhole, "accept-then-hang"),
    ] {
        for refused in [a.inject(fault.clone()), a.set_faults(vec![fault.clone().into()])] {
            let told = refused.unwrap_err().to_string();
            assert!(told.contains("one port") && told.contains(instead), "{told}");
        }
        assert!(a.faults().is_empty());
        let started = Simulator::builder()
            .host(HostSpec::new("a").fault(fault.clone()))
            .one_port(SocketAddr::from(([127, 0, 0, 1], 0)))
            .start()
            .await;
        let told = started.unwrap_err().to_string();
        assert!(told.contains(instead), "{told}");
        let text = format!(
            "onePort: 127.0.0.1:0\nhosts: [{{name: a, faults: [{{fault: {}}}]}}]",
            fault.name()
        );
        let told = Fleet::from_yaml(&text).unwrap_err().to_string();
        assert!(told.contains(instead) && told.contains("line 2"), "{told}");
    }
}
