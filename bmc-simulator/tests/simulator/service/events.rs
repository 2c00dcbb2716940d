use std::time::Duration;

use bmc_simulator::{Delays, Fault, HostSpec, MachineSpec, Power, RedfishSpec, ResetAnswer, Simulator};
use reqwest::Response;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::{messages, pass, send, with};
use crate::client::{Client, header, one, soon, status};

const SUBSCRIPTIONS: &str = "/redfish/v1/EventService/Subscriptions";
const STREAM: &str = "/redfish/v1/EventService/SSE";

/// Reads a stream until `wanted` events have come; each as its id and its JSON.
pub(super) async fn read(stream: &mut Response, wanted: usize) -> Vec<(String, Value)> {
    let mut text = String::new();
    loop {
        let events: Vec<(String, Value)> = text
            .split_inclusive("\n\n")
            .filter(|block| block.ends_with("\n\n"))
            .filter_map(|block| {
                let id = block.lines().find_map(|line| line.strip_prefix("id: "))?;
                let data = block.lines().find_map(|line| line.strip_prefix("data: "))?;
                Some((id.to_owned(), serde_json::from_str(data).unwrap()))
            })
            .collect();
        if events.len() >= wanted {
            return events;
        }
        let chunk = soon(stream.chunk()).await.unwrap().expect("the stream is open");
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
}

pub(super) async fn open(client: &Client) -> Response {
    let request = client.get(STREAM).header("Accept", "text/event-stream");
    // As long as any test lets pass: the usual deadline would end the stream.
    let request = request.timeout(Duration::from_hours(24));
    let stream = request.send().await.unwrap();
    assert_eq!(
        (stream.status().as_u16(), header(&stream, "Content-Type").as_str()),
        (200, "text/event-stream")
    );
    stream
}

pub(super) fn keys(events: &[(String, Value)]) -> Vec<String> {
    let key = |event: &Value| {
        let id = event["Events"][0]["MessageId"].as_str().unwrap();
        id.rsplit('.').next().unwrap().to_owned()
    };
    events.iter().map(|(_, event)| key(event)).collect()
}

async fn slow() -> (Simulator, Client) {
    let delays = Delays {
        off: Duration::from_secs(5).into(),
        on: Duration::from_secs(5).into(),
        ..Delays::default()
    };
    let spec = RedfishSpec {
        reset_answer: ResetAnswer::Task,
        ..RedfishSpec::default()
    };
    let (sim, host) = one(HostSpec::new("a").delays(delays).redfish(spec)).await;
    (sim, Client::of(&host))
}

#[tokio::test]
async fn a_stream_tells_of_power_and_tasks_in_order() {
    let (_sim, client) = slow().await;
    let mut stream = open(&client).await;
    assert_eq!(client.send_reset("PowerCycle").await, 202);
    let mut events = read(&mut stream, 2).await;
    for _ in 0..2 {
        pass(Duration::from_secs(6)).await;
        events.extend(read(&mut stream, 2).await);
    }
    let expected = [
        "TaskStarted",
        "ResourcePoweringOff",
        "ResourcePoweredOff",
        "ResourcePoweringOn",
        "ResourcePoweredOn",
        "TaskCompletedOK",
    ];
    assert_eq!(keys(&events), expected);
    let ids: Vec<&str> = events.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["1", "2", "3", "4", "5", "6"]);
    let origin = &events[1].1["Events"][0]["OriginOfCondition"]["@odata.id"];
    assert_eq!(*origin, json!(client.host.system_path()));
}

#[tokio::test]
async fn a_stream_tells_what_is_reported_and_not_the_truth() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    let mut stream = open(&client).await;
    host.inject(Fault::LieOffWhileOn).unwrap();
    assert_eq!(keys(&read(&mut stream, 1).await), ["ResourcePoweredOff"]);
    assert_eq!(host.truth().power, Power::On);
    // The machine really goes off and on: to who believes the lie nothing happens.
    host.press_power(Power::Off).unwrap();
    host.press_power(Power::On).unwrap();
    host.clear_faults();
    assert_eq!(keys(&read(&mut stream, 1).await), ["ResourcePoweredOn"]);
}

#[tokio::test]
async fn a_subscription_and_its_stream_end_together() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    let mut stream = open(&client).await;
    let subscription = client.read(&format!("{SUBSCRIPTIONS}/1")).await;
    assert_eq!(
        (&subscription["SubscriptionType"], &subscription["Context"]),
        (&json!("SSE"), &json!(""))
    );
    assert_eq!(status(client.delete(&format!("{SUBSCRIPTIONS}/1"))).await, 204);
    soon(async { while stream.chunk().await.unwrap().is_some() {} }).await;

    let stream = open(&client).await;
    assert_eq!(client.read(SUBSCRIPTIONS).await["Members@odata.count"], 1);
    drop(stream);
    // Nothing tells of it: the BMC is asked until it has seen that the connection is gone.
    soon(async {
        while client.read(SUBSCRIPTIONS).await["Members@odata.count"] != 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let refused = client.get(STREAM).header("Accept", "application/json");
    assert_eq!(status(refused).await, 406);
    assert_eq!(host.counters().auth_failures, 0);
}

/// Takes one HTTP request and answers it: its head and its JSON.
async fn receive(listener: &TcpListener, answer: &str) -> (String, Value) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && let Ok(json) = serde_json::from_str(body)
        {
            stream.write_all(answer.as_bytes()).await.unwrap();
            return (head.to_owned(), json);
        }
        assert_ne!(
            stream.read_buf(&mut bytes).await.unwrap(),
            0,
            "it broke off: {text}"
        );
    }
}

#[tokio::test]
async fn events_are_pushed_and_pushed_again_when_they_are_not_taken() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    let change = json!({"DeliveryRetryIntervalSeconds": 1, "DeliveryRetryAttempts": 1});
    assert_eq!(
        status(client.patch("/redfish/v1/EventService", &change)).await,
        200
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let destination = format!("http://{}/hook?x=1", listener.local_addr().unwrap());
    let body = json!({
        "Destination": destination, "Protocol": "Redfish", "Context": "mine",
        "HttpHeaders": [{"X-Secret": "hidden"}], "RegistryPrefixes": ["ResourceEvent"],
    });
    let made = client.post(SUBSCRIPTIONS, &body).send().await.unwrap();
    assert_eq!(
        (made.status().as_u16(), header(&made, "Location")),
        (201, format!("{SUBSCRIPTIONS}/1"))
    );
    let shown = made.text().await.unwrap();
    assert!(!shown.contains("hidden"), "{shown}");

    host.press_power(Power::Off).unwrap();
    let refusal = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
    let (_, first) = soon(receive(&listener, refusal)).await;
    let taken = "HTTP/1.1 204 No Content\r\n\r\n";
    let (head, again) = soon(receive(&listener, taken)).await;
    assert_eq!(first, again);
    assert!(
        head.starts_with("POST /hook?x=1 HTTP/1.1") && head.contains("x-secret: hidden"),
        "{head}"
    );
    assert_eq!(
        (&again["Context"], &again["Events"][0]["MessageId"]),
        (&json!("mine"), &json!("ResourceEvent.1.3.ResourcePoweredOff"))
    );

    assert_eq!(status(client.delete(&format!("{SUBSCRIPTIONS}/1"))).await, 204);
    assert_eq!(client.read(SUBSCRIPTIONS).await["Members@odata.count"], 0);
}

#[tokio::test]
async fn events_are_pushed_over_tls_too() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    // Another simulated BMC is an HTTPS server of a certificate that nobody vouches for.
    let (_other, receiver) = one(HostSpec::new("receiver")).await;
    let body = json!({"Destination": receiver.redfish_url(), "Protocol": "Redfish"});
    assert_eq!(status(client.post(SUBSCRIPTIONS, &body)).await, 201);
    host.press_power(Power::Off).unwrap();
    let seen = soon(receiver.wait_for(|now| now.counters.requests > 0))
        .await
        .unwrap();
    assert_eq!(seen.counters.tls_failures, 0);
}

#[tokio::test]
async fn bad_subscriptions_are_refused() {
    let (_sim, _host, client) = with(RedfishSpec::default()).await;
    let good = json!({"Destination": "https://127.0.0.1:9/", "Protocol": "Redfish"});
    for (name, value, message) in [
        ("Protocol", json!("FTP"), "PropertyValueNotInList"),
        (
            "Destination",
            json!("ftp://127.0.0.1/"),
            "PropertyValueFormatError",
        ),
        ("Destination", json!("/relative"), "PropertyValueFormatError"),
        ("Destination", json!(7), "PropertyValueTypeError"),
        ("EventFormatType", json!("MetricReport"), "PropertyValueNotInList"),
        ("VerifyCertificate", json!(true), "PropertyValueNotInList"),
        (
            "HttpHeaders",
            json!([{"bad name": "x"}]),
            "PropertyValueFormatError",
        ),
        ("Bogus", json!(1), "PropertyUnknown"),
    ] {
        let mut body = good.clone();
        body[name] = value;
        let (refused, answer) = send(client.post(SUBSCRIPTIONS, &body)).await;
        assert_eq!(
            (refused, messages(&answer)),
            (400, vec![message.to_owned()]),
            "{body}"
        );
    }
    let (refused, answer) = send(client.post(SUBSCRIPTIONS, &json!({}))).await;
    assert_eq!((refused, messages(&answer).len()), (400, 2));
    for _ in 0..20 {
        assert_eq!(status(client.post(SUBSCRIPTIONS, &good)).await, 201);
    }
    let (full, answer) = send(client.post(SUBSCRIPTIONS, &good)).await;
    assert_eq!(
        (full, messages(&answer)),
        (503, vec!["EventSubscriptionLimitExceeded".to_owned()])
    );
    let stream = client.get(STREAM).header("Accept", "text/event-stream");
    assert_eq!(status(stream).await, 503);
}

#[tokio::test]
async fn a_test_event_is_sent_as_it_is_given() {
    let (_sim, _host, client) = with(RedfishSpec::default()).await;
    let action = "/redfish/v1/EventService/Actions/EventService.SubmitTestEvent";
    assert_eq!(status(client.post(action, &json!({}))).await, 400);
    let mut stream = open(&client).await;
    let body = json!({"MessageId": "Mine.1.0.Hello", "MessageArgs": ["a", "b"], "EventId": "e7"});
    assert_eq!(status(client.post(action, &body)).await, 204);
    let (_, event) = read(&mut stream, 1).await.remove(0);
    let record = &event["Events"][0];
    assert_eq!(
        (&record["MessageId"], &record["EventId"]),
        (&json!("Mine.1.0.Hello"), &json!("e7"))
    );
    assert_eq!(record["MessageArgs"], json!(["a", "b"]));
}

#[tokio::test]
async fn each_of_several_machines_is_told_of_by_its_own_name() {
    let spec = HostSpec::new("a").machine(MachineSpec::new("Node0"));
    let (_sim, host) = one(spec.machine(MachineSpec::new("Node1"))).await;
    let client = Client::of(&host);
    let mut stream = open(&client).await;
    for (system, power) in [("Node1", Power::Off), ("Node0", Power::Off), ("Node1", Power::On)] {
        host.machine(system).unwrap().press_power(power).unwrap();
    }
    let events = read(&mut stream, 3).await;
    let origin = |event: &Value| event["Events"][0]["OriginOfCondition"]["@odata.id"].clone();
    let origins: Vec<Value> = events.iter().map(|(_, event)| origin(event)).collect();
    assert_eq!(
        origins,
        ["Node1", "Node0", "Node1"].map(|id| format!("/redfish/v1/Systems/{id}"))
    );
}
