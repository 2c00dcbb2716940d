//! Every family, driven by one careful power client. When the BMC answered what is taken from its journal, where
//! time is the simulation's own: on a slow machine requests take longer, and nothing here has to be quick.

use std::time::Duration;

use bmc_simulator::{Change, Event, Host, HostSpec, IpmiSpec, Oracle, Personality, Power};
use serde_json::{Value, json};

use super::careful::{Answer, Careful, Wait};
use super::one;
use super::rows::{Cycle, Root, Row, expected};
use crate::client::{Client, header};
use crate::service::pass;

/// What the client met.
#[derive(Debug)]
struct Met {
    root: Root,
    login: Option<u16>,
    others: usize,
    off: Answer<u16>,
    /// Reads until it was off.
    until_off: Wait,
    /// Absent = it never was off.
    cycled: Option<Cycled>,
}

/// What it met at a machine that went off.
#[derive(Debug)]
struct Cycled {
    /// Answers to On until one was an acceptance.
    on: Vec<Answer<u16>>,
    /// Reads until it was on.
    until_on: Wait,
    /// What another On was answered.
    again: u16,
}

/// Opens a session where the root says, and closes it.
async fn log_in(client: &Client, root: &Value) -> Option<u16> {
    let place = root["Links"]["Sessions"]["@odata.id"].as_str()?;
    let login = client.host.credentials();
    let body = json!({"UserName": login.username, "Password": login.password});
    let opened = client
        .http
        .post(client.url(place))
        .json(&body)
        .send()
        .await
        .unwrap();
    let (location, token) = (header(&opened, "Location"), header(&opened, "X-Auth-Token"));
    let closed = client
        .http
        .delete(client.url(&location))
        .header("X-Auth-Token", token);
    assert_eq!(closed.send().await.unwrap().status(), 204);
    Some(opened.status().as_u16())
}

async fn drive(host: &Host) -> Met {
    let client = Client::of(host).reconnecting();
    let asked = client.http.get(client.url("/redfish/v1/")).send().await.unwrap();
    let root: Value = asked.json().await.unwrap();
    let oem = root["Oem"].as_object().and_then(|oem| oem.keys().next().cloned());
    let text = |name: &str| root[name].as_str().map(str::to_owned);
    let root_of = [text("Vendor"), text("Product"), oem];
    let login = log_in(&client, &root).await;
    let (careful, others) = Careful::find(client, host).await;
    assert_eq!(careful.power().await.said, "On");
    let off = careful.reset("ForceOff").await;
    let until_off = careful.until("Off").await;
    let cycled = if until_off.came_to_nothing() {
        assert_eq!(careful.power().await.said, "On", "as it was");
        None
    } else {
        Some(cycle(&careful).await)
    };
    Met {
        root: root_of,
        login,
        others,
        off,
        until_off,
        cycled,
    }
}

/// Powers on what is off, and says On once more.
async fn cycle(careful: &Careful) -> Cycled {
    let on = careful.on().await;
    let until_on = careful.until("On").await;
    // Later, for some refuse what follows too soon.
    pass(Duration::from_secs(6)).await;
    assert_eq!(careful.power().await.said, "On");
    let again = careful.reset("On").await.said;
    Cycled { on, until_on, again }
}

/// When the power first became this.
fn first(host: &Host, wanted: &Change) -> Duration {
    let changes = host.transitions();
    let found = changes
        .iter()
        .find(|entry| matches!(&entry.event, Event::Changed { change, .. } if change == wanted));
    found.expect("the power changed").elapsed
}

fn assert_as(row: &Row, met: &Met, host: &Host, name: &str) {
    let told = (&met.root, met.login, met.others, met.off.said);
    assert_eq!(told, (&row.root, row.login, row.others, row.off), "{name}");
    match (&row.cycle, &met.cycled) {
        (Some(cycle), Some(cycled)) => assert_cycled(cycle, (met, cycled), host, name),
        (None, None) => {}
        (cycle, _) => panic!("{name}: {cycle:?} is not what was met: {met:?}"),
    }
}

fn assert_cycled(row: &Cycle, (met, cycled): (&Met, &Cycled), host: &Host, name: &str) {
    let (off, on) = (first(host, &Change::PoweredOff), first(host, &Change::PoweredOn));
    assert!(met.until_off.ended(off), "{name}: off at {off:?}: {met:?}");
    assert!(cycled.until_on.ended(on), "{name}: on at {on:?}: {met:?}");
    // How many were too soon depends on how long they took; which were does not.
    for said in &cycled.on {
        let since = said.at.saturating_sub(off);
        assert_eq!(said.said, row.answer_to_on(since), "{name}: {since:?} after");
    }
    let accepted = cycled.on.last().expect("On was said").at;
    let took = [off.saturating_sub(met.off.at), on.saturating_sub(accepted)];
    assert!(row.off_after.contains(&took[0]), "{name}: off after {took:?}");
    assert!(row.on_after.contains(&took[1]), "{name}: on after {took:?}");
    assert_eq!(cycled.again, row.again, "{name}");
}

#[tokio::test]
async fn every_family_shows_a_careful_client_what_it_is_known_for() {
    for family in Personality::ALL {
        let spec = HostSpec::new("a").ipmi(IpmiSpec::new()).personality(family);
        let (_sim, host) = one(spec).await;
        let met = drive(&host).await;
        let row = expected(family);
        assert_as(&row, &met, &host, family.as_str());
        let cycled = u64::from(row.cycle.is_some());
        let truth = host.truth();
        assert_eq!(
            (truth.power, truth.on_to_off, truth.off_to_on),
            (Power::On, cycled, cycled),
            "{}",
            family.as_str()
        );
        let care = [
            Oracle::OnBeforeConfirmedOff,
            Oracle::CommandBeforeRead,
            Oracle::LeakedSession,
        ];
        assert_eq!(host.judge(&care), [], "{}", family.as_str());
    }
}
