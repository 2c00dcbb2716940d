use std::collections::BTreeSet;

use bmc_simulator::{DecoySpec, Fault, HostSpec, RedfishSpec, ResetValues};
use serde_json::{Value, json};

use super::{send, with};
use crate::client::{Client, one};

fn links(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| links(value, found)),
        Value::Object(properties) => {
            for (name, value) in properties {
                match value.as_str() {
                    Some(uri) if ["@odata.id", "@Redfish.ActionInfo", "Uri"].contains(&name.as_str()) => {
                        found.insert(uri.to_owned());
                    }
                    _ => links(value, found),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[tokio::test]
async fn every_link_leads_to_a_resource_that_says_where_it_is() {
    let redfish = RedfishSpec {
        reset_values: ResetValues::Both,
        ..RedfishSpec::default()
    };
    let spec = HostSpec::new("a").redfish(redfish).decoy(DecoySpec::new("decoy"));
    let (_sim, host) = one(spec).await;
    let client = Client::of(&host);
    client.login().await;
    let (mut seen, mut waiting) = (BTreeSet::new(), BTreeSet::from(["/redfish/v1/".to_owned()]));
    while let Some(uri) = waiting.pop_first() {
        let body = client.read(&uri).await;
        // A registry is a file, not a resource.
        if uri.strip_suffix(".json").is_none() {
            assert_eq!(body["@odata.id"], json!(uri));
        }
        assert!(body["@odata.type"].as_str().unwrap().starts_with('#'), "{uri}");
        links(&body, &mut waiting);
        seen.insert(uri);
        waiting.retain(|uri| !seen.contains(uri));
    }
    assert!(seen.len() > 60, "only {seen:?}");
}

#[tokio::test]
async fn system_chassis_and_manager_are_linked_both_ways() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    let (chassis, manager) = ("/redfish/v1/Chassis/1", "/redfish/v1/Managers/BMC");
    let link = |uri: &str| json!([{"@odata.id": uri}]);
    let system = client.system().await;
    assert_eq!(
        (&system["Links"]["Chassis"], &system["Links"]["ManagedBy"]),
        (&link(chassis), &link(manager))
    );
    let body = client.read(chassis).await;
    let own = link(&host.system_path());
    assert_eq!(
        (&body["Links"]["ComputerSystems"], &body["Links"]["ManagedBy"]),
        (&own, &link(manager))
    );
    let body = client.read(manager).await;
    assert_eq!(
        (
            &body["Links"]["ManagerForServers"],
            &body["Links"]["ManagerForChassis"]
        ),
        (&own, &link(chassis))
    );
    let root = client.read("/redfish/v1/").await;
    assert_eq!(body["ServiceEntryPointUUID"], root["UUID"]);
}

#[tokio::test]
async fn the_power_of_the_chassis_is_what_is_reported() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    let chassis = "/redfish/v1/Chassis/1";
    assert_eq!(client.read(chassis).await["PowerState"], "On");
    host.inject(Fault::LieOffWhileOn).unwrap();
    assert_eq!(client.read(chassis).await["PowerState"], "Off");
    host.set_faults(vec![Fault::ReportLiteral(None).into()]).unwrap();
    assert_eq!(client.read(chassis).await["PowerState"], Value::Null);
    assert_eq!(send(client.get("/redfish/v1/Chassis/2")).await.0, 404);
}

#[tokio::test]
async fn without_a_session_service_nothing_names_it() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    host.inject(Fault::NoSessionService).unwrap();
    for path in ["/redfish/v1/", "/redfish/v1/odata"] {
        let body = client.read(path).await.to_string();
        assert!(!body.contains("SessionService"), "{body}");
    }
    assert_eq!(send(client.get("/redfish/v1/SessionService")).await.0, 404);
    assert_eq!(
        send(client.patch("/redfish/v1/SessionService", &json!({"SessionTimeout": 60})))
            .await
            .0,
        404
    );
}
