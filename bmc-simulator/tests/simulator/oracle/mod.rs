//! What careful clients never do, and that those who do are found out.

mod logins;
mod reads;
mod sessions;

use bmc_simulator::{Breach, DecoySpec, Host, HostSpec, Oracle};

use crate::client::{Client, header, one, status};

/// The rules that were broken, each as often as it was.
pub(crate) fn broken(host: &Host) -> Vec<Oracle> {
    let breaches = host.judge(&Oracle::ALL);
    breaches.iter().map(|breach: &Breach| breach.oracle).collect()
}

/// Does what each word says: reads, logs in, tries passwords, or sends a reset.
async fn live(client: &Client, steps: &[&str]) {
    for step in steps {
        match *step {
            "read" => drop(client.power_state().await),
            "login" => drop(client.login().await),
            wrong if wrong.starts_with("wrong") => {
                let url = client.url(&client.host.system_path());
                let wrong = client.http.get(url).basic_auth("admin", Some(wrong));
                assert_eq!(status(wrong).await, 401);
            }
            reset => assert_eq!(client.send_reset(reset).await, 204),
        }
    }
}

#[tokio::test]
async fn a_careful_power_cycle_breaks_no_rule() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    let session = client.login().await;
    let (token, place) = (header(&session, "X-Auth-Token"), header(&session, "Location"));
    live(&client, &["read", "ForceOff", "read", "read", "On", "read"]).await;
    let closed = client
        .http
        .delete(client.url(&place))
        .header("X-Auth-Token", token);
    assert_eq!(status(closed).await, 204);

    assert_eq!(broken(&host), []);
}

#[tokio::test]
async fn every_rule_is_broken_by_somebody_careless() {
    let proven = ["ForceOff", "read", "read"];
    let again = [&["read"], &proven[..], &["On", "read"], &proven[..]].concat();
    for (careless, rule) in [
        (vec!["read", "ForceOff", "read", "On"], Oracle::OffNotProvenTwice),
        (vec!["read", "ForceOff"], Oracle::OffNotProvenTwice),
        (vec!["read", "ForceOff", "read"], Oracle::OffNotProvenTwice),
        (
            vec!["read", "ForceOff", "ForceOff", "read", "read"],
            Oracle::BlindRepeat,
        ),
        (vec!["ForceOff", "read", "read"], Oracle::CommandBeforeRead),
        (vec!["read", "ForceRestart"], Oracle::RelativeCommand),
        (again, Oracle::MoreThanOnePowerCycle),
        (vec!["wrong", "wrong"], Oracle::TryAfterRejection),
        (vec!["wrong", "wrong-2", "wrong-3"], Oracle::ThirdRejection),
        (vec!["login"], Oracle::LeakedSession),
    ] {
        let (sim, host) = one(HostSpec::new("a")).await;
        live(&Client::of(&host), &careless).await;
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
async fn an_on_before_off_was_read_at_all_breaks_two_rules() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    live(&Client::of(&host), &["read", "ForceOff", "On"]).await;
    assert_eq!(
        broken(&host),
        [Oracle::OnBeforeConfirmedOff, Oracle::OffNotProvenTwice]
    );
}

#[tokio::test]
async fn a_decoy_that_is_off_confirms_nothing() {
    let (_sim, host) = one(HostSpec::new("a").decoy(DecoySpec::new("hypervisor"))).await;
    let client = Client::of(&host);
    live(&client, &["read", "ForceOff"]).await;
    for _ in 0..2 {
        assert_eq!(status(client.get("/redfish/v1/Systems/hypervisor")).await, 200);
    }
    live(&client, &["On"]).await;
    assert_eq!(
        broken(&host),
        [Oracle::OnBeforeConfirmedOff, Oracle::OffNotProvenTwice]
    );
}

#[tokio::test]
async fn a_command_that_was_refused_was_sent_all_the_same() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    host.inject(bmc_simulator::Fault::On409AfterOff {
        within: std::time::Duration::from_hours(1),
    })
    .unwrap();
    live(&client, &["read", "ForceOff"]).await;
    assert_eq!(client.send_reset("On").await, 409);
    assert_eq!(
        broken(&host),
        [Oracle::OnBeforeConfirmedOff, Oracle::OffNotProvenTwice]
    );
    // Who was told so may ask again: nothing was done.
    assert_eq!(client.send_reset("On").await, 409);
    assert!(!broken(&host).contains(&Oracle::BlindRepeat));
}

#[tokio::test]
async fn off_by_somebody_elses_hand_is_no_power_cycle() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    for _ in 0..2 {
        host.press_power(bmc_simulator::Power::Off).unwrap();
        host.press_power(bmc_simulator::Power::On).unwrap();
        host.cut_mains();
        host.restore_mains();
    }
    let back = |now: &bmc_simulator::Snapshot| now.truth.power == bmc_simulator::Power::On;
    crate::client::soon(host.wait_for(back)).await.unwrap();
    assert_eq!(host.truth().on_to_off, 4);
    assert_eq!(broken(&host), []);
    drop(client);
}

#[tokio::test]
async fn who_could_not_look_again_is_not_blamed_for_the_end() {
    let blackhole = bmc_simulator::Fault::Blackhole;
    let (_sim, host) = one(HostSpec::new("a")).await;
    live(&Client::of(&host), &["read", "ForceOff", "read"]).await;
    assert_eq!(broken(&host), [Oracle::OffNotProvenTwice]);
    host.inject(blackhole).unwrap();
    assert_eq!(broken(&host), []);
    host.clear_faults();
    assert_eq!(
        broken(&host),
        [],
        "it may have tried while the BMC was not to be reached"
    );
}

#[tokio::test]
async fn who_gives_up_on_a_machine_that_stays_on_has_taken_nothing_for_done() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    host.inject(bmc_simulator::Fault::StuckPoweringOff).unwrap();
    live(&Client::of(&host), &["read", "ForceOff", "read", "read"]).await;
    assert_eq!(broken(&host), []);
}
