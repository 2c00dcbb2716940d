//! Faults of answers to requests that were executed, and of bodies.

use std::time::Duration;

use bmc_simulator::{Delays, Fault, HostSpec, Power, RequestClass};
use serde_json::{Value, json};

use crate::client::{Client, header, one, soon, status};

#[tokio::test]
async fn executed_and_answered_with_an_error() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    host.inject(Fault::ExecuteThenStatus { status: 500 }.on(RequestClass::Reset))
        .unwrap();
    assert_eq!(client.send_reset("ForceOff").await, 500);
    assert_eq!(host.truth().power, Power::Off);
}

#[tokio::test]
async fn executed_at_once_and_answered_late() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    let by = Duration::from_hours(1);
    host.inject(Fault::SlowAnswer { by }.on(RequestClass::Reset))
        .unwrap();
    let asked = tokio::spawn(client.reset("ForceOff").send());
    soon(host.wait_for(|now| now.truth.power == Power::Off))
        .await
        .unwrap();
    assert!(!asked.is_finished());
    asked.abort();
}

#[tokio::test]
async fn a_body_that_breaks_off_and_one_that_comes_byte_by_byte() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    host.inject(Fault::CutAnswer { after: 20 }.times(1)).unwrap();
    let answer = client.get(&host.system_path()).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    assert!(answer.bytes().await.is_err(), "the rest is missing");

    let every = Duration::from_micros(10);
    host.inject(Fault::SlowLoris { every }.times(1)).unwrap();
    let mut answer = client.get(&host.system_path()).send().await.unwrap();
    let mut pieces = 0;
    while let Some(piece) = soon(answer.chunk()).await.unwrap() {
        pieces += piece.len().min(1);
    }
    assert!(pieces > 20, "{pieces} pieces");
}

#[tokio::test]
async fn a_body_without_end_and_one_that_is_too_deep() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    host.inject(Fault::EndlessBody.times(1)).unwrap();
    let mut answer = client.get(&host.system_path()).send().await.unwrap();
    let mut read = 0;
    while read < 10_000_000 {
        read += soon(answer.chunk()).await.unwrap().expect("it has no end").len();
    }
    drop(answer);

    host.inject(Fault::DeepJson { depth: 10_000 }.times(1)).unwrap();
    let answer = client.get(&host.system_path()).send().await.unwrap();
    let text = answer.text().await.unwrap();
    assert_eq!(text.len(), 20_000);
    let error = serde_json::from_str::<Value>(&text).unwrap_err().to_string();
    assert!(error.contains("recursion limit"), "{error}");
    assert_eq!(status(client.get(&host.system_path())).await, 200);
}

#[tokio::test]
async fn an_error_with_a_status_of_success_and_a_full_session_table() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    host.inject(Fault::ErrorIn200.on(RequestClass::Reset)).unwrap();
    let answer = client.reset("ForceOff").send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    let body: Value = answer.json().await.unwrap();
    assert!(
        body["error"]["@Message.ExtendedInfo"][0]["MessageId"].is_string(),
        "{body}"
    );
    assert_eq!(host.truth().power, Power::On, "nothing was executed");

    host.inject(Fault::SessionTableFull).unwrap();
    let refused = client.login().await;
    assert_eq!(refused.status().as_u16(), 503);
    assert!(refused.text().await.unwrap().contains("SessionLimitExceeded"));
    assert_eq!(
        status(client.get(&host.system_path())).await,
        200,
        "Basic goes on"
    );
}

#[tokio::test]
async fn headers_and_single_values_are_spoiled() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    let absurd = Fault::Header {
        name: "Retry-After".to_owned(),
        value: "Fri, 31 Dec 9999 23:59:59 GMT".to_owned(),
    };
    host.inject(absurd.times(1)).unwrap();
    let answer = client.get(&host.system_path()).send().await.unwrap();
    assert_eq!(header(&answer, "Retry-After"), "Fri, 31 Dec 9999 23:59:59 GMT");

    let set = Fault::JsonSet {
        pointer: "/PowerState".to_owned(),
        value: json!(null),
    };
    let remove = Fault::JsonRemove {
        pointer: "/Actions".to_owned(),
    };
    for fault in [set, remove] {
        host.inject(fault.on(RequestClass::SystemGet).times(1)).unwrap();
    }
    let spoiled = client.system().await;
    assert!(spoiled.get("PowerState").is_some_and(Value::is_null), "{spoiled}");
    let spoiled = client.system().await;
    assert!(spoiled.get("Actions").is_none(), "{spoiled}");
    assert!(client.system().await["Actions"].is_object());
}

#[tokio::test]
async fn what_is_reported_is_old_or_flaps() {
    let delays = Delays {
        off: Duration::ZERO.into(),
        ..Delays::default()
    };
    let (_sim, host) = one(HostSpec::new("a").delays(delays)).await;
    let client = Client::of(&host);
    let age = Duration::from_hours(1);
    host.inject(Fault::StaleReads { age }).unwrap();
    assert_eq!(client.send_reset("ForceOff").await, 204);
    assert_eq!(
        (client.power_state().await, host.truth().power),
        (json!("On"), Power::Off)
    );

    let every = Duration::from_millis(20);
    host.set_faults(vec![Fault::ReportFlaps { every }.into()])
        .unwrap();
    let both = async {
        let mut seen = std::collections::BTreeSet::new();
        while seen.len() < 2 {
            seen.insert(client.power_state().await.to_string());
        }
        seen
    };
    assert_eq!(
        soon(both).await,
        ["\"Off\"".to_owned(), "\"On\"".to_owned()].into()
    );
    assert_eq!(host.truth().off_to_on, 0);
}

#[tokio::test]
async fn an_on_that_comes_too_soon_is_refused_or_lost() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    let within = Duration::from_hours(1);
    client.send_reset("ForceOff").await;
    host.inject(Fault::On409AfterOff { within }).unwrap();
    assert_eq!(client.send_reset("On").await, 409);

    host.set_faults(vec![Fault::OnLostAfterOff { within }.into()])
        .unwrap();
    assert_eq!(
        (client.send_reset("On").await, host.truth().power),
        (204, Power::Off)
    );

    host.clear_faults();
    assert_eq!(
        (client.send_reset("On").await, host.truth().power),
        (204, Power::On)
    );
}
