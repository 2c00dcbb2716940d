//! Starting, repeating and stopping.

use std::net::SocketAddr;

use bmc_simulator::{DecoySpec, HostSpec, Power, SimError, Simulator};
use tokio::net::{TcpListener, TcpStream};

use crate::client::{Client, one, soon};

#[tokio::test]
async fn one_seed_gives_one_world() {
    let world = async |seed| {
        let specs = ["a", "b"].map(|name| HostSpec::new(name).decoy(DecoySpec::new("decoy")));
        let sim = Simulator::builder()
            .seed(seed)
            .hosts(specs)
            .start()
            .await
            .unwrap();
        let mut facts = Vec::new();
        for host in sim.hosts() {
            let client = Client::of(host);
            let token = crate::client::header(&client.login().await, "X-Auth-Token");
            host.press_power(Power::Off).unwrap();
            host.press_power(Power::On).unwrap();
            let decoy = client
                .get("/redfish/v1/Systems/decoy")
                .send()
                .await
                .unwrap()
                .text()
                .await
                .unwrap();
            let mut system = client.system().await;
            // Wall time, and what is made of it.
            for differs in ["LastResetTime", "@odata.etag"] {
                system.as_object_mut().unwrap().remove(differs).unwrap();
            }
            facts.push((host.credentials(), token, host.truth().boot_id, system, decoy));
        }
        facts
    };
    let first = world(1).await;
    assert_eq!(first, world(1).await);
    let other = world(2).await;
    assert!(first[0].0 != other[0].0 && first[0].1 != other[0].1 && first[0].2 != other[0].2);
    assert_ne!(first[0].3, first[1].3);
}

#[tokio::test]
async fn shutdown_closes_everything_and_ends_waits() {
    let sim = Simulator::builder()
        .host(HostSpec::new("a"))
        .control(SocketAddr::from(([127, 0, 0, 1], 0)))
        .start()
        .await
        .unwrap();
    let host = sim.host("a").unwrap();
    let client = Client::of(&host);
    client.power_state().await;
    let waiting = tokio::spawn({
        let host = host.clone();
        async move { host.wait_for(|now| now.truth.power == Power::Off).await }
    });
    let control: SocketAddr = sim
        .control_url()
        .unwrap()
        .strip_prefix("http://")
        .unwrap()
        .parse()
        .unwrap();
    soon(sim.shutdown()).await;
    assert!(matches!(soon(waiting).await.unwrap(), Err(SimError::Stopped)));
    for address in [host.address(), control] {
        assert!(
            TcpStream::connect(address).await.is_err(),
            "{address} still listens"
        );
        TcpListener::bind(address).await.unwrap();
    }
    assert!(client.get(&host.system_path()).send().await.is_err());
}

#[tokio::test]
async fn dropping_the_simulator_stops_it() {
    let (sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    client.power_state().await;
    let waiting = host.wait_for(|now| now.truth.power == Power::Off);
    drop(sim);
    assert!(matches!(soon(waiting).await, Err(SimError::Stopped)));
    assert!(client.get(&host.system_path()).send().await.is_err());
}

#[tokio::test]
async fn what_cannot_be_served_is_refused() {
    let start = async |spec: HostSpec| Simulator::builder().host(spec).start().await.unwrap_err();
    let invalid = |error: &SimError| matches!(error, SimError::InvalidHost { .. });
    for spec in [
        HostSpec::new(""),
        HostSpec::new("a/b"),
        HostSpec::new("a").system_id("x y"),
        HostSpec::new("a").decoy(DecoySpec::new("1")),
        HostSpec::new("a").bind([0, 0, 0, 0].into()),
        HostSpec::new("a").credentials("a:b", "x"),
    ] {
        let error = start(spec).await;
        assert!(invalid(&error), "{error}");
    }
    let (_sim, host) = one(HostSpec::new("a")).await;
    let taken = start(HostSpec::new("b").port(host.address().port())).await;
    assert!(
        matches!(taken, SimError::Bind { address, .. } if address == host.address()),
        "{taken}"
    );
    let twice = Simulator::builder()
        .host(HostSpec::new("a"))
        .host(HostSpec::new("a"))
        .start()
        .await;
    assert!(matches!(twice.unwrap_err(), SimError::DuplicateHost { .. }));
    let open = Simulator::builder()
        .control(SocketAddr::from(([0, 0, 0, 0], 0)))
        .start()
        .await;
    assert!(matches!(open.unwrap_err(), SimError::ControlNotLoopback { .. }));
    let (sim, _) = one(HostSpec::new("a")).await;
    assert!(matches!(sim.host("b").unwrap_err(), SimError::UnknownHost { .. }));
}

#[tokio::test]
async fn follow_gives_the_truth_and_all_that_comes_after() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let (truth, mut events) = host.follow();
    assert_eq!(truth.power, Power::On);
    host.press_power(Power::Off).unwrap();
    let event = soon(events.recv()).await.unwrap();
    assert_eq!(
        (event.host.as_str(), event.change),
        ("a", bmc_simulator::Change::PoweredOff)
    );
}
