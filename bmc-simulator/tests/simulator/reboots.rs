//! What a reboot of the BMC takes with it: nothing of before is there or is answered afterwards.

use std::io::ErrorKind;
use std::time::Duration;

use bmc_simulator::{
    BootSequence, Event, Fault, Host, HostSpec, Power, RedfishSpec, RequestClass, Simulator,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::client::{Client, listens, one, soon, status};
use crate::service::pass;

const HOUR: Duration = Duration::from_hours(1);
const SUBSCRIPTIONS: &str = "/redfish/v1/EventService/Subscriptions";

/// A BMC that is dead for so long, and then up.
async fn dead_for(dead: Duration) -> (Simulator, Host) {
    let spec = HostSpec::new("a").bmc_boot(BootSequence {
        dead,
        not_ready: Duration::ZERO,
        rejecting: Duration::ZERO,
        sporadic: Duration::ZERO,
    });
    one(spec).await
}

/// Waits until the peer closes, however it does.
async fn ends(stream: &mut TcpStream) {
    let mut bytes = Vec::new();
    let ended = soon(stream.read_to_end(&mut bytes)).await;
    assert!(
        ended.is_err() || bytes.is_empty(),
        "{}",
        String::from_utf8_lossy(&bytes)
    );
}

#[tokio::test]
async fn the_port_stays_the_bmcs_own_while_nobody_listens_there() {
    let (_sim, host) = dead_for(HOUR).await;
    let refused = async || {
        loop {
            match TcpStream::connect(host.address()).await {
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => return,
                _ => tokio::task::yield_now().await,
            }
        }
    };
    let is_taken = || {
        let error = std::net::TcpListener::bind(host.address()).expect_err("it is the BMC's");
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
    };
    for _ in 0..2 {
        assert_eq!(status(Client::of(&host).get(&host.system_path())).await, 200);
        host.inject(Fault::RefuseConnections).unwrap();
        soon(refused()).await;
        is_taken();
        host.clear_faults();
        listens(&host).await;

        host.reboot_bmc();
        soon(refused()).await;
        is_taken();
        pass(HOUR).await;
        listens(&host).await;

        host.inject(Fault::Blackhole).unwrap();
        tokio::task::yield_now().await;
        is_taken();
        host.clear_faults();
        // A SYN that was dropped is repeated after a second: until then it is not the BMC's doing.
        soon(async { while TcpStream::connect(host.address()).await.is_err() {} }).await;
    }
}

#[tokio::test]
async fn connections_of_before_end_however_short_the_reboot_is() {
    let (_sim, host) = dead_for(Duration::ZERO).await;
    let client = Client::of(&host);
    client.power_state().await;
    let mut silent = TcpStream::connect(host.address()).await.unwrap();
    let mut hello = TcpStream::connect(host.address()).await.unwrap();
    hello.write_all(b"\x16\x03\x01").await.unwrap();
    let before = host.counters().tcp_connections;

    host.reboot_bmc();

    ends(&mut silent).await;
    ends(&mut hello).await;
    listens(&host).await;
    assert_eq!(status(Client::of(&host).get(&host.system_path())).await, 200);
    assert!(host.counters().tcp_connections > before);
    assert_eq!(host.snapshot().bmc_reboots, 1);
}

#[tokio::test]
async fn a_request_that_was_under_way_is_neither_done_nor_answered() {
    let (_sim, host) = dead_for(Duration::ZERO).await;
    for cut in [false, true] {
        host.inject(Fault::PlaintextOnTls.times(1)).unwrap();
        let mut stream = TcpStream::connect(host.address()).await.unwrap();
        let seen = host.counters().reset;
        let head = format!(
            "POST {}/Actions/ComputerSystem.Reset HTTP/1.1\r\nHost: a\r\nAuthorization: Basic {}\r\n\
             Content-Type: application/json\r\nContent-Length: 24\r\n\r\n",
            host.system_path(),
            basic(&host)
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        soon(async {
            while host.counters().reset == seen {
                tokio::task::yield_now().await;
            }
        })
        .await;

        if cut {
            host.cut_mains();
            host.restore_mains();
        } else {
            host.reboot_bmc();
        }
        // The connection may be gone before that.
        let _ = stream.write_all(br#"{"ResetType":"ForceOff"}"#).await;

        ends(&mut stream).await;
        let commands = host.journal();
        assert!(
            !commands
                .iter()
                .any(|entry| matches!(entry.event, Event::Command { .. } | Event::CommandRefused { .. }))
        );
        listens(&host).await;
    }
    assert_eq!(host.truth().on_to_off, 1, "by the mains alone");
}

fn basic(host: &Host) -> String {
    use base64::Engine as _;
    let login = host.credentials();
    base64::engine::general_purpose::STANDARD.encode(format!("{}:{}", login.username, login.password))
}

#[tokio::test]
async fn slow_answers_die_with_the_bmc() {
    let (_sim, host) = dead_for(Duration::ZERO).await;
    for fault in [
        Fault::SlowAnswer { by: HOUR },
        Fault::SlowLoris { every: HOUR },
        Fault::Hang,
        Fault::EndlessBody,
    ] {
        host.inject(fault.clone().on(RequestClass::SystemGet).times(1))
            .unwrap();
        let request = Client::of(&host).get(&host.system_path());
        let asked = tokio::spawn(async move { request.send().await?.bytes().await });
        soon(host.wait_for(|now| now.faults.is_empty())).await.unwrap();
        host.reboot_bmc();
        assert!(soon(asked).await.unwrap().is_err(), "{fault:?}");
        listens(&host).await;
    }
}

#[tokio::test]
async fn a_restart_that_was_asked_for_does_not_come_after_another() {
    let (_sim, host) = dead_for(Duration::ZERO).await;
    let client = Client::of(&host);
    let restart = client.post_json("/redfish/v1/Managers/BMC/Actions/Manager.Reset", &json!({}));
    assert_eq!(status(restart).await, 204);
    host.cut_mains();
    host.restore_mains();
    pass(Duration::from_mins(1)).await;
    // The clock of the simulator gets its turn before this is answered.
    listens(&host).await;
    assert_eq!(status(Client::of(&host).get(&host.system_path())).await, 200);
    assert_eq!(host.snapshot().bmc_reboots, 1);
}

/// Takes a POST of an event and does not answer it: the connection and the event's context.
async fn take(listener: &TcpListener) -> (TcpStream, Value) {
    let (mut stream, _) = soon(listener.accept()).await.unwrap();
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((_, body)) = text.split_once("\r\n\r\n")
            && let Ok(event) = serde_json::from_str::<Value>(body)
        {
            return (stream, event["Context"].clone());
        }
        assert_ne!(soon(stream.read_buf(&mut bytes)).await.unwrap(), 0, "{text}");
    }
}

#[tokio::test]
async fn a_dead_bmc_pushes_no_events() {
    let (_sim, host) = dead_for(Duration::ZERO).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let destination = format!("http://{}/", listener.local_addr().unwrap());
    let subscribe = async |context: &str| {
        let body = json!({"Destination": destination, "Protocol": "Redfish", "Context": context});
        assert_eq!(
            status(Client::of(&host).post_json(SUBSCRIPTIONS, &body)).await,
            201
        );
    };
    subscribe("before").await;
    host.press_power(Power::Off).unwrap();
    host.press_power(Power::On).unwrap();
    let (mut delivering, context) = take(&listener).await;
    assert_eq!(context, "before");

    host.reboot_bmc();

    ends(&mut delivering).await;
    listens(&host).await;
    subscribe("after").await;
    host.press_power(Power::Off).unwrap();
    let (_delivering, context) = take(&listener).await;
    assert_eq!(
        context, "after",
        "the second event of before is not sent any more"
    );
}

#[tokio::test]
async fn a_stream_of_events_ends_with_the_bmc() {
    let (_sim, host) = dead_for(Duration::ZERO).await;
    let stream = Client::of(&host).get("/redfish/v1/EventService/SSE");
    let mut stream = stream.header("Accept", "text/event-stream").send().await.unwrap();
    host.reboot_bmc();
    soon(async { while let Ok(Some(_)) = stream.chunk().await {} }).await;
    listens(&host).await;
    let left: Value = Client::of(&host)
        .get(SUBSCRIPTIONS)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(left["Members@odata.count"], 0);
}

#[tokio::test]
async fn settings_survive() {
    let spec = HostSpec::new("a").redfish(RedfishSpec {
        session_limit: 1,
        ..RedfishSpec::default()
    });
    let (_sim, host) = one(spec.bmc_boot(BootSequence {
        dead: Duration::ZERO,
        not_ready: Duration::ZERO,
        rejecting: Duration::ZERO,
        sporadic: Duration::ZERO,
    }))
    .await;
    assert_eq!(Client::of(&host).login().await.status().as_u16(), 201);
    host.reboot_bmc();
    listens(&host).await;
    let client = Client::of(&host);
    assert_eq!(client.login().await.status().as_u16(), 201, "the session is gone");
    assert_eq!(client.login().await.status().as_u16(), 503, "the limit is not");
}
