//! Switches for what services of vendors do in their own way: sessions, errors and tags.

use std::time::Duration;

use bmc_simulator::{ETags, ExtendedInfo, Fault, RedfishSpec, ServiceRootSpec, SessionsAt, VendorError};
use serde_json::{Value, json};

use super::{SESSIONS, messages, pass, send, with};
use crate::client::{header, soon, status};

const ROOT_SESSIONS: &str = "/redfish/v1/Sessions";

#[tokio::test]
async fn sessions_can_be_at_the_root_and_the_usual_place_says_405() {
    let (_sim, host, client) = with(RedfishSpec {
        sessions_at: SessionsAt::Root,
        ..RedfishSpec::default()
    })
    .await;
    let login = json!({"UserName": "admin", "Password": "first-password"});
    let refused = client.http.post(client.url(SESSIONS)).json(&login);
    let (refused, answer) = send(refused).await;
    assert_eq!(
        (refused, messages(&answer)),
        (405, vec!["OperationNotAllowed".to_owned()])
    );
    assert!(host.snapshot().sessions.is_empty());

    let place = client.read("/redfish/v1/").await["Links"]["Sessions"]["@odata.id"].clone();
    assert_eq!(place, ROOT_SESSIONS);
    let service = client.read("/redfish/v1/SessionService").await;
    assert_eq!(service["Sessions"]["@odata.id"], ROOT_SESSIONS);
    let opened = client.http.post(client.url(ROOT_SESSIONS)).json(&login);
    let opened = opened.send().await.unwrap();
    let (location, token) = (header(&opened, "Location"), header(&opened, "X-Auth-Token"));
    assert_eq!(
        (opened.status().as_u16(), location.as_str()),
        (201, "/redfish/v1/Sessions/1")
    );
    let members = client.read(ROOT_SESSIONS).await["Members"].clone();
    assert_eq!(members, json!([{"@odata.id": location}]));
    let closed = client.http.delete(client.url(&location));
    assert_eq!(status(closed.header("X-Auth-Token", token)).await, 204);
}

#[tokio::test]
async fn a_service_that_has_sessions_in_the_usual_place_has_none_at_the_root() {
    let (_sim, _host, client) = with(RedfishSpec::default()).await;
    assert_eq!(status(client.get(ROOT_SESSIONS)).await, 404);
    let login = json!({"UserName": "admin", "Password": "first-password"});
    assert_eq!(status(client.post(ROOT_SESSIONS, &login)).await, 404);
}

#[tokio::test]
async fn a_full_session_table_empties_with_time_or_a_reboot_of_the_bmc() {
    let spec = RedfishSpec {
        session_limit: 1,
        session_limit_error: Some(VendorError::Rac0218),
        session_timeout: Duration::from_mins(20),
        ..RedfishSpec::default()
    };
    let (_sim, host, client) = with(spec).await;
    assert_eq!(client.login().await.status(), 201);
    let full = client.login().await;
    assert_eq!(full.status(), 503);
    let full: Value = full.json().await.unwrap();
    assert_eq!(full["error"]["code"], "Base.1.19.GeneralError");
    assert_eq!(messages(&full), ["RAC0218"]);

    pass(Duration::from_mins(20)).await;
    assert_eq!(client.login().await.status(), 201);
    host.inject(Fault::SessionTableFull).unwrap();
    assert_eq!(
        client.login().await.status(),
        503,
        "others hold the sessions, too"
    );
    host.reboot_bmc();
    pass(Duration::from_mins(1)).await;
    soon(host.wait_for(|now| now.bmc == bmc_simulator::Stage::Up))
        .await
        .unwrap();
    crate::client::listens(&host).await;
    assert_eq!(client.login().await.status(), 201);
}

#[tokio::test]
async fn messages_can_be_one_object() {
    let (_sim, _host, client) = with(RedfishSpec {
        extended_info: ExtendedInfo::Object,
        ..RedfishSpec::default()
    })
    .await;
    let (missing, answer) = send(client.get("/redfish/v1/Nothing")).await;
    let info = &answer["error"]["@Message.ExtendedInfo"];
    assert_eq!(
        (missing, &info["MessageId"]),
        (404, &json!("Base.1.19.ResourceMissingAtURI"))
    );
}

#[tokio::test]
async fn errors_of_vendors_come_with_their_status_and_id() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    for error in VendorError::ALL {
        host.set_faults(vec![Fault::VendorError(error).times(1)]).unwrap();
        let (status, answer) = send(client.get(&host.system_path())).await;
        let info = &answer["error"]["@Message.ExtendedInfo"];
        assert_eq!(
            (status, &info[0]["MessageId"]),
            (error.status(), &json!(error.message_id()))
        );
        assert_eq!(info[1].is_object(), error == VendorError::Sys518);
    }
    assert_eq!(status(client.get(&host.system_path())).await, 200);
}

#[tokio::test]
async fn a_starting_bmc_can_answer_with_an_error_of_its_vendor() {
    for error in [VendorError::Sys518, VendorError::Swc0700] {
        let (_sim, host, client) = with(RedfishSpec {
            not_ready_error: Some(error),
            ..RedfishSpec::default()
        })
        .await;
        host.reboot_bmc();
        pass(Duration::from_secs(21)).await;
        soon(host.wait_for(|now| now.bmc == bmc_simulator::Stage::NotReady))
            .await
            .unwrap();
        crate::client::listens(&host).await;
        let (status, answer) = send(client.get("/redfish/v1/")).await;
        let id = &answer["error"]["@Message.ExtendedInfo"][0]["MessageId"];
        assert_eq!((status, id), (error.status(), &json!(error.message_id())));
    }
}

#[tokio::test]
async fn tags_can_be_weak_or_good_for_nothing() {
    for (etags, weak, taken_back) in [
        (ETags::Strong, false, 200),
        (ETags::Weak, true, 200),
        (ETags::WeakRefused, true, 412),
        (ETags::Refused, false, 412),
    ] {
        let spec = RedfishSpec {
            etags,
            patch_needs_if_match: true,
            ..RedfishSpec::default()
        };
        let (_sim, host, client) = with(spec).await;
        let path = host.system_path();
        let read = client.get(&path).send().await.unwrap();
        let tag = header(&read, "ETag");
        assert_eq!(tag.starts_with("W/"), weak, "{etags:?}");
        assert_eq!(
            read.json::<Value>().await.unwrap()["@odata.etag"],
            tag,
            "{etags:?}"
        );
        let change = client.patch(&path, &json!({"AssetTag": "x"}));
        assert_eq!(
            status(change.header("If-Match", tag)).await,
            taken_back,
            "{etags:?}"
        );
        let change = client.patch(&path, &json!({"AssetTag": "y"}));
        assert_eq!(status(change.header("If-Match", "*")).await, 200, "{etags:?}");
    }
}

#[tokio::test]
async fn a_star_can_be_refused() {
    let (_sim, host, client) = with(RedfishSpec {
        refuses_if_match_any: true,
        ..RedfishSpec::default()
    })
    .await;
    let path = host.system_path();
    let change = || client.patch(&path, &json!({"AssetTag": "x"}));
    assert_eq!(status(change().header("If-Match", "*")).await, 412);
    let tag = header(&client.get(&path).send().await.unwrap(), "ETag");
    assert_eq!(status(change().header("If-Match", tag)).await, 200);
}

#[tokio::test]
async fn the_root_says_who_made_it_and_no_more() {
    let maker = ServiceRootSpec {
        oem: Some("Supermicro".to_owned()),
        redfish_version: Some("1.11.0".to_owned()),
        ..ServiceRootSpec::default()
    };
    let (_sim, _host, client) = with(RedfishSpec {
        service_root: Some(maker),
        ..RedfishSpec::default()
    })
    .await;
    let root = client.read("/redfish/v1/").await;
    assert!(root["Oem"]["Supermicro"]["@odata.type"].is_string(), "{root}");
    assert_eq!(root["RedfishVersion"], "1.11.0");
    assert!(
        root.get("Vendor").is_none() && root.get("Product").is_none(),
        "{root}"
    );
}

#[tokio::test]
async fn switches_can_be_changed_while_it_runs() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    let changed = host.change_redfish(|now| RedfishSpec {
        hides_managed_by: true,
        session_timeout: Duration::from_mins(1),
        ..now
    });
    changed.unwrap();
    let links = client.system().await["Links"].clone();
    assert!(
        links.get("ManagedBy").is_none() && links["Chassis"].is_array(),
        "{links}"
    );
    assert_eq!(
        client.read("/redfish/v1/SessionService").await["SessionTimeout"],
        60
    );
    let refused = host.change_redfish(|now| RedfishSpec {
        session_limit: 0,
        ..now
    });
    assert!(refused.is_err() && host.redfish().session_limit == 64);
}
