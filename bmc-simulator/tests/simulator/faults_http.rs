//! Faults of the answers.

use bmc_simulator::{Event, Fault, HostSpec, Power, RequestClass, SimError};

use crate::client::{Client, header, listens, one, soon, status};

#[tokio::test]
async fn html_instead_of_json() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    host.inject(Fault::HtmlInsteadOfJson).unwrap();
    let answer = client.get(&host.system_path()).send().await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), header(&answer, "Content-Type")),
        (200, "text/html".to_owned())
    );
    assert!(answer.text().await.unwrap().starts_with("<!DOCTYPE html>"));
    assert_eq!(client.send_reset("ForceOff").await, 200);
    assert_eq!(host.truth().power, Power::On);
}

#[tokio::test]
async fn http_status_for_some_requests_with_retry_after() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    host.inject(
        Fault::HttpStatus {
            status: 503,
            retry_after: Some(7),
        }
        .times(2),
    )
    .unwrap();
    for _ in 0..2 {
        let answer = client.get(&host.system_path()).send().await.unwrap();
        assert_eq!(
            (answer.status().as_u16(), header(&answer, "Retry-After")),
            (503, "7".to_owned())
        );
    }
    assert_eq!(status(client.get(&host.system_path())).await, 200);
    assert!(host.faults().is_empty());
    let applied = Event::FaultApplied {
        fault: "http-status".to_owned(),
        class: RequestClass::SystemGet,
    };
    assert_eq!(
        host.journal()
            .iter()
            .filter(|entry| entry.event == applied)
            .count(),
        2
    );
}

#[tokio::test]
async fn http_status_for_one_kind_of_request_executes_nothing() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    host.inject(Fault::http_status(500).on(RequestClass::Reset))
        .unwrap();
    assert_eq!(status(client.get(&host.system_path())).await, 200);
    for _ in 0..3 {
        assert_eq!(client.send_reset("ForceOff").await, 500);
    }
    assert_eq!(host.truth().power, Power::On);
    host.clear_faults();
    assert_eq!(client.send_reset("ForceOff").await, 204);
}

#[tokio::test]
async fn reject_credentials() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    host.inject(Fault::RejectCredentials).unwrap();
    assert_eq!(status(client.get(&host.system_path())).await, 401);
    assert_eq!(client.login().await.status(), 401);
    assert_eq!(client.send_reset("ForceOff").await, 401);
    assert_eq!(
        (host.counters().auth_failures, host.truth().power),
        (3, Power::On)
    );
    host.clear_faults();
    assert_eq!(status(client.get(&host.system_path())).await, 200);
}

#[tokio::test]
async fn hang_never_answers_and_hurts_no_other_connection() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    host.inject(Fault::Hang.on(RequestClass::Reset)).unwrap();
    let request = tokio::spawn(client.reset("ForceOff").send());
    let hung = |event: &Event| matches!(event, Event::FaultApplied { fault, .. } if fault == "hang");
    soon(host.wait_for_entry(0, hung)).await.unwrap();
    assert_eq!(client.power_state().await, "On");
    assert!(!request.is_finished());
    host.close_connections();
    assert!(soon(request).await.unwrap().is_err());
    assert_eq!(host.truth().power, Power::On);
}

#[tokio::test]
async fn redirect() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    let to = "https://192.0.2.1/steal";
    host.inject(Fault::Redirect { to: to.to_owned() }).unwrap();
    let answer = client.reset("ForceOff").send().await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), header(&answer, "Location")),
        (307, to.to_owned())
    );
    assert_eq!(host.truth().power, Power::On);
}

#[tokio::test]
async fn no_session_service() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    let token = header(&client.login().await, "X-Auth-Token");
    host.inject(Fault::NoSessionService).unwrap();
    let root = client.http.get(client.url("/redfish/v1")).send().await.unwrap();
    let root: serde_json::Value = root.json().await.unwrap();
    assert!(
        root.get("SessionService").is_none() && root["Links"].get("Sessions").is_none(),
        "{root}"
    );
    assert_eq!(client.login().await.status(), 404);
    assert_eq!(status(client.get("/redfish/v1/SessionService")).await, 404);
    let with_token = client
        .http
        .get(client.url(&host.system_path()))
        .header("X-Auth-Token", token);
    assert_eq!(status(with_token).await, 401);
    assert_eq!(client.power_state().await, "On");
}

#[tokio::test]
async fn truncated_json() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    host.inject(Fault::TruncatedJson.times(1)).unwrap();
    let answer = client.get(&host.system_path()).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let text = answer.text().await.unwrap();
    assert!(text.starts_with('{'), "{text}");
    assert!(
        serde_json::from_str::<serde_json::Value>(&text)
            .unwrap_err()
            .is_eof(),
        "{text}"
    );
    assert_eq!(client.power_state().await, "On");
}

#[tokio::test]
async fn a_fault_that_could_have_no_effect_is_refused() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let error = host.inject(Fault::WrongUuid.times(3)).unwrap_err();
    assert!(
        matches!(error, SimError::InvalidFault { field: "times", .. }),
        "{error}"
    );
    host.inject(Fault::Hang).unwrap();
    host.set_faults(vec![Fault::TruncatedJson.into(), Fault::http_status(1).into()])
        .unwrap_err();
    assert_eq!(
        host.faults(),
        [Fault::Hang.into()],
        "a refused list changes nothing"
    );
}

#[tokio::test]
async fn a_gateway_times_out_until_the_bmc_restarts() {
    let (_sim, host) = one(HostSpec::new("a").bmc_boot(bmc_simulator::BootSequence {
        dead: std::time::Duration::ZERO,
        not_ready: std::time::Duration::ZERO,
        rejecting: std::time::Duration::ZERO,
        ..bmc_simulator::BootSequence::default()
    }))
    .await;
    host.inject(Fault::GatewayTimeoutHtml).unwrap();
    let answer = Client::of(&host).reset("ForceOff").send().await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), header(&answer, "Content-Type").as_str()),
        (504, "text/html")
    );
    let page = answer.text().await.unwrap();
    assert!(page.contains("<title>504 Gateway Time-out</title>"), "{page}");
    assert_eq!(host.truth().power, Power::On);
    host.reboot_bmc();
    assert!(host.faults().is_empty());
    listens(&host).await;
    assert_eq!(Client::of(&host).send_reset("ForceOff").await, 204);
}
