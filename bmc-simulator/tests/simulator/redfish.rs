//! Resources, refusals, decoys and fleets.

use std::net::{IpAddr, Ipv4Addr};

use bmc_simulator::{DecoySpec, Event, HostSpec, Power, Simulator};
use serde_json::{Value, json};

use crate::client::{Client, header, one, status};

#[tokio::test]
async fn the_root_needs_no_login_and_everything_else_does() {
    let (_sim, host) = one(HostSpec::new("a").product("Acme", "X1")).await;
    let client = Client::of(&host);
    let versions: Value = client
        .http
        .get(client.url("/redfish"))
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(versions, json!({"v1": "/redfish/v1/"}));
    let answer = client.http.get(client.url("/redfish/v1/")).send().await.unwrap();
    assert_eq!(
        (header(&answer, "OData-Version"), header(&answer, "Allow")),
        ("4.0".into(), "GET, HEAD".into())
    );
    let root: Value = answer.json().await.unwrap();
    assert_eq!(
        root["Links"]["Sessions"]["@odata.id"],
        "/redfish/v1/SessionService/Sessions"
    );
    assert_eq!(
        (&root["Vendor"], &root["Product"]),
        (&json!("Acme"), &json!("X1"))
    );
    assert_eq!(root["UUID"].as_str().unwrap().len(), 36);
    for path in [
        "/redfish/v1/Systems",
        &host.system_path(),
        "/redfish/v1/SessionService",
        "/redfish/v1/Nothing",
    ] {
        let answer = client.http.get(client.url(path)).send().await.unwrap();
        assert_eq!(answer.status(), 401, "{path}");
        assert!(header(&answer, "WWW-Authenticate").starts_with("Basic"), "{path}");
    }
    assert_eq!(host.counters().auth_failures, 4);
}

#[tokio::test]
async fn a_system_tells_who_it_is_and_how_to_reset_it() {
    let uuid = "4c4c4544-0032-3310-8052-b4c04f4d3332";
    let spec = HostSpec::new("worker-1")
        .system_uuid(uuid)
        .serial_number("ABC123")
        .system_id("System.1");
    let (_sim, host) = one(spec).await;
    let client = Client::of(&host);
    let list: Value = client
        .get("/redfish/v1/Systems")
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(
        list["Members"],
        json!([{"@odata.id": "/redfish/v1/Systems/System.1"}])
    );
    let system = client.system().await;
    assert_eq!(
        (&system["UUID"], &system["SerialNumber"]),
        (&json!(uuid), &json!("ABC123"))
    );
    assert_eq!(
        (&system["HostName"], &system["PowerState"]),
        (&json!("worker-1"), &json!("On"))
    );
    let action = &system["Actions"]["#ComputerSystem.Reset"];
    assert_eq!(
        action["target"],
        format!("{}/Actions/ComputerSystem.Reset", host.system_path())
    );
    let allowed = action["ResetType@Redfish.AllowableValues"].as_array().unwrap();
    assert!(
        allowed.contains(&json!("ForceOff")) && allowed.contains(&json!("On")),
        "{allowed:?}"
    );
}

#[tokio::test]
async fn bad_resets_are_refused_journalled_and_harmless() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    let url = client.url(&format!("{}/Actions/ComputerSystem.Reset", host.system_path()));
    let post = || client.basic(client.http.post(&url));
    let huge = format!("{{\"ResetType\":\"{}\"}}", "x".repeat(64 * 1024));
    for (request, expected, message) in [
        (
            post().json(&json!({"ResetType": "Explode"})),
            400,
            "ActionParameterNotSupported",
        ),
        (post().json(&json!({})), 400, "ActionParameterMissing"),
        (
            post().json(&json!({"ResetType": 1})),
            400,
            "ActionParameterMissing",
        ),
        (post().json(&json!(["ForceOff"])), 400, "MalformedJSON"),
        (post().body("{\"ResetType\":"), 400, "MalformedJSON"),
        (
            post()
                .body("ResetType=ForceOff")
                .header("Content-Type", "text/plain"),
            415,
            "HeaderInvalid",
        ),
        (post().body(huge), 413, "PayloadTooLarge"),
        (
            client.get(&format!("{}/Actions/ComputerSystem.Reset", host.system_path())),
            405,
            "OperationNotAllowed",
        ),
        (
            client.get("/redfish/v1/Systems/other"),
            404,
            "ResourceMissingAtURI",
        ),
    ] {
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), expected, "{message}");
        let error: Value = answer.json().await.unwrap();
        let id = error["error"]["@Message.ExtendedInfo"][0]["MessageId"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(id.ends_with(message), "{id} is not {message}");
    }
    assert_eq!(
        status(client.http.post(&url).json(&json!({"ResetType": "ForceOff"}))).await,
        401
    );
    let refused = host
        .journal()
        .iter()
        .filter(|entry| matches!(entry.event, Event::CommandRefused { .. }))
        .count();
    assert_eq!((refused, host.truth().on_to_off), (7, 0));
}

#[tokio::test]
async fn decoys_are_listed_first_are_off_and_obey_nobody() {
    let spec = HostSpec::new("a")
        .decoy(DecoySpec::new("HGX_Baseboard_0"))
        .decoy(DecoySpec::new("hypervisor"));
    let (_sim, host) = one(spec).await;
    let client = Client::of(&host);
    let list: Value = client
        .get("/redfish/v1/Systems")
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    let ids: Vec<&str> = list["Members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|member| member["@odata.id"].as_str().unwrap())
        .collect();
    assert_eq!(
        ids,
        [
            "/redfish/v1/Systems/HGX_Baseboard_0",
            "/redfish/v1/Systems/hypervisor",
            "/redfish/v1/Systems/1"
        ]
    );
    let decoy: Value = client.get(ids[0]).send().await.unwrap().json().await.unwrap();
    assert_eq!(decoy["PowerState"], "Off");
    assert_ne!(decoy["UUID"], host.system_uuid());
    let reset = client.url(&format!("{}/Actions/ComputerSystem.Reset", ids[0]));
    let request = client
        .basic(client.http.post(reset))
        .json(&json!({"ResetType": "ForceOff"}));
    assert_eq!(status(request).await, 204);
    assert_eq!((host.truth().power, host.truth().on_to_off), (Power::On, 0));
}

#[tokio::test]
async fn many_bmcs_each_have_their_own_address_identity_and_machine() {
    let address = |last| IpAddr::V4(Ipv4Addr::new(127, 0, 0, last));
    let specs = (1..=20_u8).map(|n| HostSpec::new(format!("worker-{n}")).bind(address(n)));
    let sim = Simulator::builder().hosts(specs).start().await.unwrap();
    let victim = sim.host("worker-7").unwrap();
    assert_eq!(Client::of(&victim).send_reset("ForceOff").await, 204);
    let mut uuids: Vec<String> = Vec::new();
    for host in sim.hosts() {
        let system = Client::of(host).system().await;
        assert_eq!(
            system["PowerState"] == "Off",
            host.name() == "worker-7",
            "{}",
            host.name()
        );
        uuids.push(system["UUID"].as_str().unwrap().to_owned());
    }
    uuids.sort();
    uuids.dedup();
    assert_eq!(uuids.len(), 20);
    assert_eq!(victim.address().ip(), address(7));
}
