use bmc_simulator::RedfishSpec;
use serde_json::json;

use super::{send, with};
use crate::client::header;

#[tokio::test]
async fn the_documents_at_the_top_are_public() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    for path in [
        "/redfish",
        "/redfish/",
        "/redfish/v1",
        "/redfish/v1/",
        "/redfish/v1/odata",
    ] {
        let (status, body) = send(client.http.get(client.url(path))).await;
        assert!(status == 200 && body.is_object(), "{path}");
    }
    let (_, service) = send(client.http.get(client.url("/redfish/v1/odata"))).await;
    assert_eq!(service["@odata.context"], "/redfish/v1/$metadata");
    let named = service["value"].as_array().unwrap();
    assert!(named.contains(&json!({"name": "Systems", "kind": "Singleton", "url": "/redfish/v1/Systems"})));
    assert_eq!(host.counters().auth_failures, 0);

    let metadata = client
        .http
        .get(client.url("/redfish/v1/$metadata"))
        .send()
        .await
        .unwrap();
    assert_eq!(
        (
            metadata.status().as_u16(),
            header(&metadata, "Content-Type").as_str()
        ),
        (200, "application/xml;charset=utf-8")
    );
    let text = metadata.text().await.unwrap();
    for part in [
        "<EntityContainer Name=\"Service\"",
        "Namespace=\"ComputerSystem.v1_22_0\"",
        "</edmx:Edmx>",
    ] {
        assert!(text.contains(part), "{part}");
    }
    let as_json = client
        .http
        .get(client.url("/redfish/v1/$metadata"))
        .header("Accept", "application/json");
    assert_eq!(send(as_json).await.0, 406);
}

#[tokio::test]
async fn each_message_that_is_sent_is_in_its_registry() {
    let (_sim, host, client) = with(RedfishSpec::default()).await;
    let files = client.read("/redfish/v1/Registries").await;
    assert_eq!(files["Members@odata.count"], 3);
    let file = client.read("/redfish/v1/Registries/Base.1.19").await;
    let place = file["Location"][0]["Uri"].as_str().unwrap();
    let registry = client.read(place).await;
    assert_eq!(registry["RegistryPrefix"], "Base");
    for request in [
        client.get("/redfish/v1/Nothing"),
        client.patch(&host.system_path(), &json!({"UUID": 1})),
        client.get("/redfish/v1/Systems?$filter=x"),
        client.reset("Explode"),
        client.http.get(client.url("/redfish/v1/Systems")),
    ] {
        let (_, body) = send(request).await;
        let message = &body["error"]["@Message.ExtendedInfo"][0];
        let key = message["MessageId"]
            .as_str()
            .unwrap()
            .strip_prefix("Base.1.19.")
            .unwrap();
        let definition = &registry["Messages"][key];
        let mut text = definition["Message"].as_str().unwrap().to_owned();
        let arguments = message["MessageArgs"].as_array().unwrap();
        assert_eq!(definition["NumberOfArgs"], arguments.len(), "{key}");
        for (index, argument) in arguments.iter().enumerate() {
            text = text.replace(&format!("%{}", index + 1), argument.as_str().unwrap());
        }
        assert_eq!(message["Message"], json!(text), "{key}");
    }
}

#[tokio::test]
async fn schemas_are_named_where_they_are_published() {
    let (_sim, _host, client) = with(RedfishSpec::default()).await;
    let file = client
        .read("/redfish/v1/JsonSchemas/ComputerSystem.v1_22_0")
        .await;
    let place = "http://redfish.dmtf.org/schemas/v1/ComputerSystem.v1_22_0.json";
    assert_eq!(file["Location"][0]["PublicationUri"], place);
    assert_eq!(send(client.get("/redfish/v1/JsonSchemas/Nothing")).await.0, 404);
}
