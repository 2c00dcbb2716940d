use bmc_simulator::{DecoySpec, Event, HostSpec, RedfishSpec};
use serde_json::json;

use super::{send, with};
use crate::client::{Client, one};

#[tokio::test]
async fn links_are_expanded_and_what_they_show_is_journalled() {
    let (_sim, host) = one(HostSpec::new("a").decoy(DecoySpec::new("decoy"))).await;
    let client = Client::of(&host);
    let list = client.read("/redfish/v1/Systems?$expand=.($levels=1)").await;
    assert_eq!(
        (
            &list["Members"][0]["PowerState"],
            &list["Members"][1]["PowerState"]
        ),
        (&json!("Off"), &json!("On"))
    );
    assert_eq!(
        list["Members"][1]["Links"]["ManagedBy"][0],
        json!({"@odata.id": "/redfish/v1/Managers/BMC"})
    );
    let seen = |wanted: &str| {
        let is = |event: &Event| matches!(event, Event::Observed { system, .. } if system == wanted);
        host.journal().iter().filter(|entry| is(&entry.event)).count()
    };
    assert_eq!((seen("decoy"), seen("1")), (1, 1));
    let counters = host.counters();
    assert_eq!((counters.system_collection, counters.system_get), (1, 0));

    let root = client.read("/redfish/v1/?$expand=*($levels=2)").await;
    assert_eq!(root["Systems"]["Members"][1]["UUID"], json!(host.system_uuid()));
    assert_eq!(root["Links"]["Sessions"]["Members@odata.count"], 0);
    let links = client.read(&format!("{}?%24expand=~", host.system_path())).await;
    assert_eq!(links["Links"]["Chassis"][0]["ChassisType"], json!("RackMount"));
}

#[tokio::test]
async fn properties_are_selected() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    let path = format!("{}?$select=PowerState,Status/Health", host.system_path());
    let body = client.read(&path).await;
    let names: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["@odata.etag", "@odata.id", "@odata.type", "PowerState", "Status"]
    );
    assert_eq!(body["Status"], json!({"Health": "OK"}));
    assert_eq!(body["@odata.etag"], client.system().await["@odata.etag"]);
}

#[tokio::test]
async fn the_only_member_stands_for_its_collection() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    assert_eq!(
        client.read("/redfish/v1/Systems?only").await["UUID"],
        json!(host.system_uuid())
    );
    let two = client.read("/redfish/v1/AccountService/Roles?only").await;
    assert_eq!(two["Members@odata.count"], 3);
    for (path, status) in [
        ("/redfish/v1/SessionService?only", 400),
        ("/redfish/v1/Systems?only=x", 400),
        ("/redfish/v1/Systems?only&$expand=.", 400),
        ("/redfish/v1/Systems?$top=1", 501),
        ("/redfish/v1/Systems?excerpt", 200),
        ("/redfish/v1/Systems?foo=bar&", 200),
    ] {
        assert_eq!(send(client.get(path)).await.0, status, "{path}");
    }
}

#[tokio::test]
async fn the_root_announces_what_is_served_and_no_more() {
    let (_sim, _host, client) = with(RedfishSpec::default()).await;
    let features = client.read("/redfish/v1/").await["ProtocolFeaturesSupported"].clone();
    for absent in ["ExcerptQuery", "FilterQuery", "TopSkipQuery"] {
        assert_eq!(features[absent], false, "{absent}");
    }
    let deepest = features["ExpandQuery"]["MaxLevels"].as_u64().unwrap();
    for (levels, status) in [(deepest, 200), (deepest + 1, 400)] {
        let path = format!("/redfish/v1/Systems?$expand=*($levels={levels})");
        assert_eq!(send(client.get(&path)).await.0, status, "{path}");
    }
}

#[tokio::test]
async fn a_decoy_that_cannot_be_asked_is_not_had_by_asking_for_all() {
    let redfish = RedfishSpec {
        decoys_unavailable_while_off: true,
        ..RedfishSpec::default()
    };
    let spec = HostSpec::new("a").decoy(DecoySpec::new("decoy")).redfish(redfish);
    let (_sim, host) = one(spec).await;
    let client = Client::of(&host);
    let all = "/redfish/v1/Systems?$expand=.";
    assert_eq!(client.read(all).await["Members"][0]["Id"], "decoy");
    host.press_power(bmc_simulator::Power::Off).unwrap();
    let decoy = json!({"@odata.id": "/redfish/v1/Systems/decoy"});
    let list = client.read(all).await;
    assert_eq!(
        (&list["Members"][0], &list["Members"][1]["Id"]),
        (&decoy, &json!("1"))
    );
    let root = client.read("/redfish/v1/?$expand=*($levels=2)").await;
    assert_eq!(root["Systems"]["Members"][0], decoy);
    assert_eq!(send(client.get("/redfish/v1/Systems/decoy")).await.0, 503);
}

#[tokio::test]
async fn who_is_not_logged_in_does_not_see_more_by_expanding_the_root() {
    let (_sim, _host, client) = with(RedfishSpec::default()).await;
    let url = client.url("/redfish/v1/?$expand=*($levels=2)");
    let (status, root) = send(client.http.get(&url)).await;
    assert_eq!(
        (status, &root["Systems"]),
        (200, &json!({"@odata.id": "/redfish/v1/Systems"}))
    );
    let wrong = client.http.get(&url).basic_auth("admin", Some("wrong"));
    assert_eq!(send(wrong).await.0, 401);
}
