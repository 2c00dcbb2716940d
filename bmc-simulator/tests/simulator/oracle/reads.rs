//! Which reads count: those whose answer brought a power state to the client.

use std::time::Duration;

use bmc_simulator::{Delivery, Event, Fault, Host, HostSpec, Injection, Oracle, RequestClass};
use serde_json::json;

use super::{broken, live};
use crate::client::{Client, header, one, soon, status};

const READ: RequestClass = RequestClass::SystemGet;

/// Reads, powers off, lets `look` happen twice, and powers on: whether Off was confirmed.
async fn confirms(spec: HostSpec, fault: Option<Injection>, look: impl AsyncFn(&Client)) -> bool {
    let (_sim, host) = one(spec).await;
    let client = Client::of(&host);
    live(&client, &["read", "ForceOff"]).await;
    if let Some(fault) = fault {
        host.inject(fault).unwrap();
    }
    look(&client).await;
    look(&client).await;
    host.clear_faults();
    live(&client, &["On"]).await;
    let found = broken(&host);
    let not_proven = found.contains(&Oracle::OffNotProvenTwice);
    assert_eq!(not_proven, found.contains(&Oracle::OnBeforeConfirmedOff));
    !not_proven
}

/// A read, whatever becomes of it.
async fn read(client: &Client) {
    if let Ok(answer) = client.get(&client.host.system_path()).send().await {
        let _ = answer.bytes().await;
    }
}

/// What the newest observation says.
fn newest(host: &Host) -> (Option<String>, Option<u16>, Delivery) {
    let journal = host.journal();
    let observed = journal.iter().rev().find_map(|entry| {
        if let Event::Observed {
            reported,
            status,
            delivery,
            ..
        } = &entry.event
        {
            Some((reported.clone(), *status, *delivery))
        } else {
            None
        }
    });
    observed.unwrap()
}

#[tokio::test]
async fn a_read_that_did_not_arrive_confirms_nothing() {
    for (fault, status) in [
        (Fault::DropAfterExecute, None),
        (Fault::TruncatedJson, Some(200)),
        (Fault::CutAnswer { after: 20 }, None),
        (Fault::ExecuteThenStatus { status: 500 }, Some(500)),
        (Fault::ExecuteThenStatus { status: 200 }, Some(200)),
        (
            Fault::JsonRemove {
                pointer: "/PowerState".to_owned(),
            },
            Some(200),
        ),
    ] {
        assert!(
            !confirms(HostSpec::new("a"), Some(fault.clone().on(READ)), read).await,
            "{fault:?}"
        );
        let (_sim, host) = one(HostSpec::new("a")).await;
        host.inject(fault.clone().on(READ)).unwrap();
        let client = Client::of(&host);
        read(&client).await;
        let expected = (Some("On".to_owned()), status, Delivery::Lost);
        assert_eq!(newest(&host), expected, "{fault:?}");
        live(&client, &["ForceRestart", "ForceRestart"]).await;
        read(&client).await;
        live(&client, &["ForceRestart"]).await;
        let found = broken(&host);
        let times = |rule| found.iter().filter(|one| **one == rule).count();
        assert_eq!(times(Oracle::CommandBeforeRead), 3, "{fault:?}");
        assert_eq!(times(Oracle::BlindRepeat), 2, "{fault:?}");
    }
}

#[tokio::test]
async fn what_counts_is_what_was_sent_and_not_what_was_meant() {
    let set = |value| {
        Fault::JsonSet {
            pointer: "/PowerState".to_owned(),
            value,
        }
        .on(READ)
    };
    let off = HostSpec::new("a");
    assert!(!confirms(off.clone(), Some(set(json!(null))), read).await);
    assert!(!confirms(off.clone(), Some(set(json!("On"))), read).await);
    assert!(!confirms(off, Some(set(json!(7))), read).await);
    let stuck = HostSpec::new("a").fault(Fault::AcceptAndIgnore);
    assert!(!confirms(stuck.clone(), None, read).await);
    assert!(confirms(stuck, Some(set(json!("Off"))), read).await);
}

#[tokio::test]
async fn slow_and_odd_answers_that_arrive_whole_do_count() {
    let milli = Duration::from_millis(1);
    for fault in [
        Fault::SlowAnswer { by: milli },
        Fault::SlowLoris {
            every: Duration::from_micros(1),
        },
        Fault::CutAnswer { after: 1_000_000 },
        Fault::Header {
            name: "Retry-After".to_owned(),
            value: "-1".to_owned(),
        },
        Fault::JsonRemove {
            pointer: "/UUID".to_owned(),
        },
    ] {
        assert!(
            confirms(HostSpec::new("a"), Some(fault.clone().on(READ)), read).await,
            "{fault:?}"
        );
    }
}

#[tokio::test]
async fn other_ways_to_read_count_where_they_show_the_power_state() {
    for (path, counts) in [
        ("/redfish/v1/Systems?$expand=.", true),
        ("/redfish/v1/Systems?only", true),
        ("/redfish/v1/Chassis/1", true),
        ("/redfish/v1/?$expand=*($levels=2)", true),
        ("/redfish/v1/Systems/1?$select=PowerState", true),
        ("/redfish/v1/Systems/1?$select=UUID", false),
        ("/redfish/v1/Systems", false),
    ] {
        let look = async |client: &Client| {
            assert_eq!(status(client.get(path)).await, 200, "{path}");
        };
        assert_eq!(confirms(HostSpec::new("a"), None, look).await, counts, "{path}");
    }
    let head = async |client: &Client| {
        let url = client.url("/redfish/v1/Systems/1");
        assert_eq!(status(client.basic(client.http.head(url))).await, 200);
    };
    assert!(!confirms(HostSpec::new("a"), None, head).await);
    let patch = async |client: &Client| {
        let url = client.url("/redfish/v1/Systems/1");
        let patch = client.http.patch(url).json(&json!({"AssetTag": "x"}));
        assert_eq!(status(client.basic(patch)).await, 200);
    };
    assert!(confirms(HostSpec::new("a"), None, patch).await);
}

#[tokio::test]
async fn nothing_new_is_an_answer_for_those_who_know_what_there_was() {
    let unchanged = async |client: &Client| {
        let known = client.get("/redfish/v1/Systems/1").send().await.unwrap();
        let tag = header(&known, "ETag");
        let again = client.get("/redfish/v1/Systems/1").header("If-None-Match", tag);
        assert_eq!(status(again).await, 304);
    };
    assert!(confirms(HostSpec::new("a"), None, unchanged).await);
    let guess = async |client: &Client| {
        let any = client.get("/redfish/v1/Systems/1").header("If-None-Match", "*");
        assert_eq!(status(any).await, 304);
    };
    assert!(!confirms(HostSpec::new("a"), None, guess).await);
}

#[tokio::test]
async fn one_answer_is_one_look_however_often_it_says_off() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    live(&client, &["read", "ForceOff"]).await;
    let both = client.get("/redfish/v1/Chassis/1?$expand=~");
    assert_eq!(status(both).await, 200);
    live(&client, &["On"]).await;
    assert_eq!(broken(&host), [Oracle::OffNotProvenTwice]);
}

#[tokio::test]
async fn an_answer_that_the_client_did_not_wait_for_never_arrived() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    let hour = Duration::from_hours(1);
    for fault in [Fault::SlowAnswer { by: hour }, Fault::SlowLoris { every: hour }] {
        host.set_faults(vec![fault.on(READ)]).unwrap();
        let after = host.journal_after(0).last_seq;
        let seen = |event: &Event| {
            matches!(
                event,
                Event::Observed {
                    delivery: Delivery::Late,
                    ..
                }
            )
        };
        let entry = tokio::select! {
            () = read(&client) => panic!("it takes an hour"),
            entry = soon(host.wait_for_entry(after, seen)) => entry.unwrap(),
        };
        let gone = Event::Answered {
            of: entry.seq,
            status: None,
        };
        soon(host.wait_for_entry(after, |event| *event == gone))
            .await
            .unwrap();
    }
    live(&client, &["ForceRestart"]).await;
    assert_eq!(
        broken(&host),
        [Oracle::CommandBeforeRead, Oracle::RelativeCommand]
    );
}

#[tokio::test]
async fn an_answer_counts_from_when_it_was_asked_for_to_when_it_is_there() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    let by = Duration::from_millis(200);
    live(&client, &["read"]).await;
    host.press_power(bmc_simulator::Power::Off).unwrap();
    host.inject(Fault::SlowAnswer { by }.on(READ).times(1)).unwrap();
    let slow = tokio::spawn({
        let host = host.clone();
        async move { read(&Client::of(&host)).await }
    });
    let late = |event: &Event| {
        matches!(
            event,
            Event::Observed {
                delivery: Delivery::Late,
                ..
            }
        )
    };
    let entry = soon(host.wait_for_entry(0, late)).await.unwrap();
    live(&client, &["ForceOff"]).await;
    let there = Event::Answered {
        of: entry.seq,
        status: Some(200),
    };
    soon(host.wait_for_entry(0, |event| *event == there))
        .await
        .unwrap();
    soon(slow).await.unwrap();
    // It said Off, and was asked for before the power-off.
    live(&client, &["ForceOff", "read", "read", "On"]).await;
    assert_eq!(broken(&host), [Oracle::BlindRepeat]);
}
