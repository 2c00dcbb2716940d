//! Every fault on every kind of request that it is taken for: it hits, once, and the journal says so.

use std::time::Duration;

use bmc_simulator::{BootSequence, Event, Fault, Host, HostSpec, Power, RequestClass, SimError, VendorError};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::client::{Client, listens, one, soon};

const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";

/// Faults of single requests over HTTP, and of connections. `name` is a property that the answer has.
fn faults(name: &str) -> Vec<Fault> {
    let hour = Duration::from_hours(1);
    vec![
        Fault::HtmlInsteadOfJson,
        Fault::http_status(503),
        Fault::RejectCredentials,
        Fault::DropAfterExecute,
        Fault::Hang,
        Fault::Redirect {
            to: "https://elsewhere.invalid/".to_owned(),
        },
        Fault::AlreadyThere409,
        Fault::TruncatedJson,
        Fault::AcceptThenHang,
        Fault::ResetOnConnect,
        Fault::HalfClose,
        Fault::PlaintextOnTls,
        Fault::TlsAlert,
        Fault::ResetOnReuse,
        Fault::SlowAnswer { by: hour },
        Fault::SlowLoris { every: hour },
        Fault::CutAnswer { after: 5 },
        Fault::EndlessBody,
        Fault::DeepJson { depth: 3 },
        Fault::ErrorIn200,
        Fault::ExecuteThenStatus { status: 500 },
        Fault::Header {
            name: "Retry-After".to_owned(),
            value: "-1".to_owned(),
        },
        Fault::JsonSet {
            pointer: "/New".to_owned(),
            value: json!(1),
        },
        Fault::JsonRemove {
            pointer: format!("/{name}"),
        },
        Fault::GatewayTimeoutHtml,
        Fault::VendorError(VendorError::Sys518),
        Fault::SessionTableFull,
        Fault::On409AfterOff { within: hour },
        Fault::RebootBmc,
        Fault::StuckTask { executes: false },
        Fault::FailedTask { after: hour },
    ]
}

/// A request of this kind that is answered with JSON in which there is this property.
async fn send(client: &Client, class: RequestClass, fault: &Fault) {
    let bad_reset = || {
        let path = format!("{}/Actions/ComputerSystem.Reset", client.host.system_path());
        client.basic(client.http.post(client.url(&path)))
    };
    let request = if class == RequestClass::ServiceRoot {
        client.get("/redfish/v1")
    } else if class == RequestClass::SystemCollection {
        client.get("/redfish/v1/Systems")
    } else if class == RequestClass::SystemGet {
        client.get(&client.host.system_path())
    } else if matches!(
        fault,
        Fault::AlreadyThere409 | Fault::StuckTask { .. } | Fault::FailedTask { .. }
    ) {
        client.reset("ForceOff")
    } else if matches!(fault, Fault::On409AfterOff { .. }) {
        client.reset("On")
    } else if class == RequestClass::Reset {
        bad_reset().json(&json!({"ResetType": "Nonsense"}))
    } else if class == RequestClass::SessionCreate {
        let login = client.host.credentials();
        let body = json!({"UserName": login.username, "Password": login.password});
        client.http.post(client.url(SESSIONS)).json(&body)
    } else if class == RequestClass::SessionDelete {
        client.basic(client.http.delete(client.url(&format!("{SESSIONS}/4711"))))
    } else {
        client.get("/redfish/v1/Chassis/1")
    };
    // What the client makes of it is no concern here.
    let _ = request.send().await;
}

fn property(class: RequestClass) -> &'static str {
    if matches!(class, RequestClass::Reset | RequestClass::SessionDelete) {
        "error"
    } else {
        "Name"
    }
}

async fn hits(host: &Host, fault: &Fault, class: RequestClass) {
    let last = host.journal().last().map_or(0, |entry| entry.seq);
    let client = Client::of(host);
    if *fault == Fault::ResetOnReuse {
        send(&client, RequestClass::ServiceRoot, fault).await;
    }
    let applied = Event::FaultApplied {
        fault: fault.name().to_owned(),
        class,
    };
    let hit = host.wait_for_entry(last, |event| *event == applied);
    let sent = async {
        if class == RequestClass::Connect {
            let stream = TcpStream::connect(host.address()).await;
            std::future::pending::<()>().await;
            drop(stream);
        } else {
            send(&client, class, fault).await;
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        found = soon(hit) => { found.unwrap(); }
        () = sent => {}
    }
    assert!(host.faults().is_empty(), "{fault:?} on {class:?} is used up");
}

#[tokio::test]
async fn what_is_taken_hits() {
    let spec = HostSpec::new("a").bmc_boot(BootSequence {
        dead: Duration::ZERO,
        not_ready: Duration::ZERO,
        rejecting: Duration::ZERO,
        sporadic: Duration::ZERO,
    });
    let (_sim, host) = one(spec).await;
    host.press_power(Power::Off).unwrap();
    let mut taken = 0;
    for class in RequestClass::ALL {
        for fault in faults(property(class)) {
            match host.inject(fault.clone().on(class).times(1)) {
                Ok(()) => {
                    hits(&host, &fault, class).await;
                    listens(&host).await;
                    taken += 1;
                }
                Err(error) => assert!(
                    matches!(error, SimError::InvalidFault { field: "on", .. }),
                    "{error}"
                ),
            }
        }
    }
    // 20 of any request, logins but of the root, 5 of connections, and 5 of one kind each.
    assert_eq!(taken, 20 * 7 + 6 + 5 + 5);
}

fn applied(host: &Host) -> usize {
    let applied = |event: &Event| matches!(event, Event::FaultApplied { .. });
    host.journal()
        .iter()
        .filter(|entry| applied(&entry.event))
        .count()
}

#[tokio::test]
async fn what_changes_nothing_hits_nothing() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    let remove = |pointer: &str| Fault::JsonRemove {
        pointer: pointer.to_owned(),
    };
    let set = Fault::JsonSet {
        pointer: "/PowerState".to_owned(),
        value: json!("On"),
    };
    let json = Fault::Header {
        name: "Content-Type".to_owned(),
        value: "application/json;charset=utf-8".to_owned(),
    };
    let usual = client.get("/redfish/v1").send().await.unwrap();
    assert_eq!(
        crate::client::header(&usual, "Content-Type"),
        "application/json;charset=utf-8"
    );
    for fault in [
        remove("/Boot/Nothing"),
        set,
        json,
        Fault::CutAnswer { after: 100_000 },
    ] {
        host.set_faults(vec![fault.clone().times(1).skip(1)]).unwrap();
        for _ in 0..3 {
            assert_eq!(client.power_state().await, "On");
        }
        assert_eq!(host.faults(), [fault.times(1).skip(1)], "not even spared");
    }
    // An answer without a body has none to change, and HEAD shows none.
    for fault in [
        Fault::TruncatedJson,
        remove("/Name"),
        Fault::CutAnswer { after: 0 },
        Fault::SlowLoris {
            every: Duration::from_nanos(1),
        },
    ] {
        host.set_faults(vec![fault.clone().times(1)]).unwrap();
        assert_eq!(client.send_reset("ForceRestart").await, 204);
        let head = client.basic(client.http.head(client.url(&host.system_path())));
        assert_eq!(crate::client::status(head).await, 200);
        assert_eq!(host.faults().len(), 1, "{fault:?}");
    }
    assert_eq!(applied(&host), 0);

    host.set_faults(vec![remove("/Boot").times(1)]).unwrap();
    client.get("/redfish/v1").send().await.unwrap();
    assert!(client.system().await.get("Boot").is_none());
    assert!(client.system().await["Boot"].is_object());
    assert_eq!(applied(&host), 1);
}

#[tokio::test]
async fn the_next_fault_hits_where_the_first_changes_nothing() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    let nowhere = Fault::JsonRemove {
        pointer: "/Nothing".to_owned(),
    };
    host.inject(nowhere.times(1)).unwrap();
    host.inject(Fault::ExecuteThenStatus { status: 500 }.times(1))
        .unwrap();
    let answer = client.get(&host.system_path()).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 500);
    let left: Vec<Value> = host.faults().iter().map(|fault| json!(fault.fault)).collect();
    assert_eq!(left, [json!({"json-remove": {"pointer": "/Nothing"}})]);
}

#[tokio::test]
async fn only_right_credentials_can_be_rejected() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    host.inject(Fault::RejectCredentials.times(1)).unwrap();
    let wrong = client
        .http
        .get(client.url(&host.system_path()))
        .basic_auth("admin", Some("wrong"));
    assert_eq!(crate::client::status(wrong).await, 401);
    assert_eq!(host.faults().len(), 1);
    assert_eq!(crate::client::status(client.get(&host.system_path())).await, 401);
    assert_eq!(crate::client::status(client.get(&host.system_path())).await, 200);
    assert_eq!(applied(&host), 1);
}
