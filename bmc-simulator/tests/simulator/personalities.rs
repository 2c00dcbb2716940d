//! BMCs as vendors make them: what is peculiar about each, as a client meets it.

use bmc_simulator::{Fleet, Host, HostSpec, IpmiSpec, Personality, Power, Simulator};
use serde_json::json;

use crate::client::{Client, header, one, status};

async fn of(personality: Personality) -> (Simulator, Host, Client) {
    let spec = HostSpec::new("a").ipmi(IpmiSpec::new()).personality(personality);
    let (sim, host) = one(spec.delays(bmc_simulator::Delays::default())).await;
    let client = Client::of(&host);
    (sim, host, client)
}

#[tokio::test]
async fn dell_says_409_to_what_is_so_already_and_to_an_early_on() {
    let (_sim, _, client) = of(Personality::Idrac9).await;
    assert_eq!(client.send_reset("On").await, 409);
    assert_eq!(client.send_reset("ForceOff").await, 204);
    assert_eq!(client.send_reset("On").await, 204);
    for _ in 0..8 {
        assert_eq!(client.login().await.status().as_u16(), 201);
    }
    assert_eq!(client.login().await.status().as_u16(), 503);

    let (_sim, _, client) = of(Personality::Idrac10).await;
    let tagged = client.reset("ForceOff").header("If-Match", "*");
    assert_eq!(status(tagged).await, 412);
    assert_eq!(client.send_reset("ForceOff").await, 204);
    assert_eq!(client.send_reset("On").await, 409, "too soon");
}

#[tokio::test]
async fn hpe_resets_a_connection_that_is_used_again() {
    let (_sim, host, client) = of(Personality::Ilo5).await;
    assert_eq!(status(client.get(&host.system_path())).await, 200);
    assert!(client.reset("ForceOff").send().await.is_err());
    assert_eq!(host.truth().power, Power::On);
}

#[tokio::test]
async fn supermicro_names_no_task_and_lenovo_says_204_to_nothing() {
    let (_sim, _, client) = of(Personality::Supermicro).await;
    let answer = client.reset("ForceOff").send().await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), header(&answer, "Location")),
        (202, String::new())
    );
    let (_sim, _, client) = of(Personality::Xcc).await;
    assert_eq!(client.send_reset("On").await, 204);
}

#[tokio::test]
async fn openbmc_hides_reset_types_and_lists_a_hypervisor() {
    let (_sim, host, client) = of(Personality::Openbmc).await;
    let action = client.system().await["Actions"]["#ComputerSystem.Reset"].clone();
    assert!(action["@Redfish.ActionInfo"].is_string(), "{action}");
    assert!(
        action.get("ResetType@Redfish.AllowableValues").is_none(),
        "{action}"
    );
    assert_eq!(status(client.get("/redfish/v1/Systems/hypervisor")).await, 200);
    assert!(host.ipmi_address().is_some());
}

#[tokio::test]
async fn nvidias_baseboard_cannot_be_asked_while_the_host_is_off() {
    let (_sim, host, client) = of(Personality::Gb200).await;
    let decoy = "/redfish/v1/Systems/HGX_Baseboard_0";
    assert_eq!(status(client.get(decoy)).await, 200);
    host.press_power(Power::Off);
    assert_eq!(status(client.get(decoy)).await, 503);
    assert_eq!(status(client.get(&host.system_path())).await, 200);
}

#[tokio::test]
async fn other_simulators_are_played_too() {
    let (_sim, _, client) = of(Personality::SushyEmulator).await;
    assert_eq!(client.login().await.status().as_u16(), 404);
    let (_sim, host, client) = of(Personality::MockupServer).await;
    assert_eq!(client.send_reset("ForceOff").await, 204);
    assert_eq!(
        (client.power_state().await, host.truth().power),
        (json!("On"), Power::On)
    );
}

#[tokio::test]
async fn every_family_has_a_name_that_files_know_and_a_product_of_its_own() {
    let hosts: Vec<String> = Personality::ALL
        .into_iter()
        .map(|one| {
            format!(
                "  - name: {0}\n    personality: {0}\n    ipmi: {{}}\n",
                one.as_str()
            )
        })
        .collect();
    let text = format!("hosts:\n{}", hosts.concat());
    let sim = Simulator::builder()
        .fleet(Fleet::from_yaml(&text).unwrap())
        .start()
        .await
        .unwrap();
    assert!(sim.hosts().iter().all(|host| host.ipmi_address().is_some()));
    let mut products = std::collections::BTreeSet::new();
    for host in sim.hosts() {
        let system = Client::of(host).system().await;
        products.insert(format!("{} {}", system["Manufacturer"], system["Model"]));
    }
    assert_eq!(products.len(), Personality::ALL.len());
}

#[tokio::test]
async fn what_is_said_besides_wins_and_the_rest_stays() {
    let text = "hosts:
  - name: dell
    personality: idrac10
    redfish: {sessionTimeout: 5m}
  - name: cray
    personality: cray-ex
    delays: {boot: 90s}
";
    let sim = Simulator::builder()
        .fleet(Fleet::from_yaml(text).unwrap())
        .start()
        .await
        .unwrap();
    let dell = Client::of(&sim.host("dell").unwrap());
    for _ in 0..8 {
        assert_eq!(dell.login().await.status().as_u16(), 201);
    }
    assert_eq!(
        dell.login().await.status().as_u16(),
        503,
        "eight sessions, as the family has"
    );
    let service: serde_json::Value = dell
        .get("/redfish/v1/SessionService")
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(service["SessionTimeout"], 300);
    let delays = sim.host("cray").unwrap().snapshot().delays;
    let millis = |millis| bmc_simulator::Delay::Fixed(std::time::Duration::from_millis(millis));
    assert_eq!((delays.off, delays.boot), (millis(6_860), millis(90_000)));
}
