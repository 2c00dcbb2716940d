//! What careful clients never do, and that those who do are found out.

use bmc_simulator::{DecoySpec, Host, HostSpec, Oracle};

use crate::client::{Client, header, one, status};

fn broken(host: &Host) -> Vec<Oracle> {
    host.judge(&Oracle::ALL)
        .into_iter()
        .map(|breach| breach.oracle)
        .collect()
}

#[tokio::test]
async fn a_careful_power_cycle_breaks_no_rule() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    let session = client.login().await;
    let (token, place) = (header(&session, "X-Auth-Token"), header(&session, "Location"));
    client.power_state().await;
    client.send_reset("ForceOff").await;
    client.power_state().await;
    client.send_reset("On").await;
    client.power_state().await;
    let closed = client
        .http
        .delete(client.url(&place))
        .header("X-Auth-Token", token);
    assert_eq!(status(closed).await, 204);

    assert_eq!(broken(&host), []);
}

#[tokio::test]
async fn every_rule_is_broken_by_somebody_careless() {
    for (careless, rule) in [
        (vec!["read", "ForceOff", "On"], Oracle::OnBeforeConfirmedOff),
        (vec!["read", "ForceOff", "ForceOff"], Oracle::BlindRepeat),
        (vec!["ForceOff", "read"], Oracle::CommandBeforeRead),
        (vec!["read", "ForceRestart"], Oracle::RelativeCommand),
        (vec!["wrong", "wrong"], Oracle::TryAfterRejection),
        (vec!["login"], Oracle::LeakedSession),
    ] {
        let (sim, host) = one(HostSpec::new("a")).await;
        let client = Client::of(&host);
        for step in &careless {
            match *step {
                "read" => drop(client.power_state().await),
                "login" => drop(client.login().await),
                "wrong" => {
                    let url = client.url(&host.system_path());
                    let wrong = client.http.get(url).basic_auth("admin", Some("wrong"));
                    assert_eq!(status(wrong).await, 401);
                }
                reset => assert_eq!(client.send_reset(reset).await, 204),
            }
        }
        assert_eq!(broken(&host), [rule], "{careless:?}");
        let others: Vec<Oracle> = Oracle::ALL.into_iter().filter(|one| *one != rule).collect();
        assert_eq!(sim.judge(&others), []);
        let told = sim.judge(&[rule])[0].to_string();
        assert!(
            told.starts_with(rule.as_str()) && told.contains("at a, journal entry"),
            "{told}"
        );
    }
}

#[tokio::test]
async fn new_credentials_may_be_tried_after_old_ones_were_rejected() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    let wrong = || {
        client
            .http
            .get(client.url(&host.system_path()))
            .basic_auth("admin", Some("x"))
    };
    assert_eq!(status(wrong()).await, 401);
    host.rotate_credentials("admin", "y");
    assert_eq!(status(wrong()).await, 401);
    assert_eq!(broken(&host), []);
}

#[tokio::test]
async fn a_decoy_that_is_off_confirms_nothing() {
    let (_sim, host) = one(HostSpec::new("a").decoy(DecoySpec::new("hypervisor"))).await;
    let client = Client::of(&host);
    client.power_state().await;
    client.send_reset("ForceOff").await;
    assert_eq!(status(client.get("/redfish/v1/Systems/hypervisor")).await, 200);
    client.send_reset("On").await;
    assert_eq!(broken(&host), [Oracle::OnBeforeConfirmedOff]);
}
