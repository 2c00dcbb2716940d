//! BMCs as vendors make them: what is peculiar about each, as a client meets it.

mod careful;
mod driven;
mod peculiar;
mod rows;

use bmc_simulator::{Fleet, Host, HostSpec, IpmiSpec, Personality, Simulator};

use crate::client::{Client, one};

async fn of(personality: Personality) -> (Simulator, Host, Client) {
    let spec = HostSpec::new("a").ipmi(IpmiSpec::new()).personality(personality);
    let (sim, host) = one(spec.delays(bmc_simulator::Delays::default())).await;
    let client = Client::of(&host);
    (sim, host, client)
}

#[tokio::test]
async fn every_family_has_a_name_that_files_know_and_a_product_of_its_own() {
    let hosts: Vec<String> = Personality::ALL
        .iter()
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

#[test]
fn the_table_of_quirks_names_what_there_is() {
    let table = include_str!("../../../QUIRKS.md");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| line.starts_with("| "))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let numbers = rows.iter().filter_map(|row| row[1].parse::<u32>().ok());
    assert!(numbers.eq(1..=42));
    let last = rows.iter().map(|row| row[row.len().saturating_sub(2)]);
    let named: std::collections::BTreeSet<&str> = last
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .filter(|name| !matches!(*name, "ipmi" | "sys518"))
        .collect();
    for name in &named {
        assert!(Personality::named(name).is_some(), "{name}");
    }
    for one in Personality::ALL {
        let simulator = matches!(one, Personality::SushyEmulator | Personality::MockupServer);
        assert!(simulator || named.contains(one.as_str()), "{}", one.as_str());
    }
}

#[test]
fn the_readme_has_every_switch() {
    let readme = include_str!("../../../README.md");
    let errors = Some(bmc_simulator::VendorError::Sys518);
    let all = bmc_simulator::RedfishSpec {
        service_root: Some(bmc_simulator::ServiceRootSpec::default()),
        session_limit_error: errors,
        not_ready_error: errors,
        already_there_error: errors,
        decoy_error: errors,
        ..bmc_simulator::RedfishSpec::default()
    };
    let switches = serde_json::to_value(all).unwrap();
    for name in switches.as_object().unwrap().keys() {
        assert!(readme.contains(&format!("`{name}`")), "{name}");
    }
}
