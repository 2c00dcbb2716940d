//! Every family, driven by one careful power client: it takes nothing for granted that it did not read,
//! opens each connection anew, says Off and On only, and asks again where it is told to come back later.

use std::time::Duration;

use bmc_simulator::{Host, HostSpec, IpmiSpec, Oracle, Personality, Power};
use serde_json::{Value, json};

use super::one;
use super::rows::expected;
use crate::client::{Client, header};
use crate::service::pass;

const SECOND: Duration = Duration::from_secs(1);

/// What the client met.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Met {
    /// `Vendor`, `Product` and the name in `Oem`.
    pub(super) root: [Option<String>; 3],
    /// What the opening of a session was answered, where the root says that there are sessions.
    pub(super) login: Option<u16>,
    /// How many systems were listed that are others.
    pub(super) others: usize,
    pub(super) off: u16,
    /// Seconds until it was off; absent = it never was.
    pub(super) off_after: Option<u64>,
    /// Answers to On until one was an acceptance.
    pub(super) on: Vec<u16>,
    /// Seconds until it was on.
    pub(super) on_after: Option<u64>,
    /// What another On was answered, once it was off and on.
    pub(super) again: Option<u16>,
}

struct Careful {
    client: Client,
    system: String,
    target: String,
}

impl Careful {
    async fn get(client: &Client, path: &str) -> (u16, Value) {
        let answer = client.get(path).send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap_or_default())
    }

    /// Finds the system by its UUID; says how many others there were.
    async fn find(client: Client, host: &Host) -> (Self, usize) {
        let (_, list) = Self::get(&client, "/redfish/v1/Systems").await;
        let (mut found, mut others) = (None, 0_usize);
        for member in list["Members"].as_array().unwrap() {
            let path = member["@odata.id"].as_str().unwrap();
            let (status, system) = Self::get(&client, path).await;
            if status == 200 && system["UUID"] == host.system_uuid() {
                found = Some((path.to_owned(), system));
            } else {
                others = others.saturating_add(1);
            }
        }
        let (path, system) = found.expect("the system is listed");
        let action = &system["Actions"]["#ComputerSystem.Reset"];
        let mut allowed = action["ResetType@Redfish.AllowableValues"].clone();
        if let Some(info) = action["@Redfish.ActionInfo"].as_str() {
            allowed = Self::get(&client, info).await.1["Parameters"][0]["AllowableValues"].clone();
        }
        let allowed = allowed.as_array().expect("what is allowed is told").clone();
        assert!(allowed.contains(&json!("On")) && allowed.contains(&json!("ForceOff")));
        let target = action["target"].as_str().unwrap().to_owned();
        let careful = Self {
            client,
            system: path,
            target,
        };
        (careful, others)
    }

    async fn reset(&self, reset_type: &str) -> u16 {
        let request = self.client.http.post(self.client.url(&self.target));
        let request = self.client.basic(request).json(&json!({"ResetType": reset_type}));
        request.send().await.unwrap().status().as_u16()
    }

    /// Reads every second until the power is as wanted; the seconds that it took.
    async fn until(&self, wanted: &str) -> Option<u64> {
        for second in 0..90 {
            let (status, system) = Self::get(&self.client, &self.system).await;
            assert_eq!(status, 200);
            if system["PowerState"] == wanted {
                return Some(second);
            }
            pass(SECOND).await;
        }
        None
    }

    /// Says On, and again every two seconds while it is told to wait.
    async fn on(&self) -> Vec<u16> {
        let mut answers = Vec::new();
        while answers.last().is_none_or(|last| *last >= 400) && answers.len() < 40 {
            if !answers.is_empty() {
                pass(Duration::from_secs(2)).await;
                self.until("Off").await;
            }
            answers.push(self.reset("On").await);
        }
        answers
    }
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
    assert_eq!(careful.until("On").await, Some(0));
    let off = careful.reset("ForceOff").await;
    let off_after = careful.until("Off").await;
    let on = match off_after {
        Some(_) => careful.on().await,
        None => Vec::new(),
    };
    let on_after = careful.until("On").await;
    let again = match off_after {
        Some(_) => {
            // Later, for some refuse what follows too soon.
            pass(Duration::from_secs(6)).await;
            careful.until("On").await;
            Some(careful.reset("On").await)
        }
        None => None,
    };
    Met {
        root: root_of,
        login,
        others,
        off,
        off_after,
        on,
        on_after,
        again,
    }
}

#[tokio::test]
async fn every_family_shows_a_careful_client_what_it_is_known_for() {
    for family in Personality::ALL {
        let spec = HostSpec::new("a").ipmi(IpmiSpec::new()).personality(family);
        let (_sim, host) = one(spec).await;
        let mut met = drive(&host).await;
        let mut row = expected(family);
        if family == Personality::SushyEmulator {
            // Drawn anew each time: anything from 1 to 11 s.
            for after in [&mut met.off_after, &mut met.on_after] {
                assert!(
                    after.is_some_and(|seconds| (1..=11).contains(&seconds)),
                    "{after:?}"
                );
            }
            (row.off_after, row.on_after) = (met.off_after, met.on_after);
        }
        // The requests take their time, too: of a long wait up to a second, or one try.
        for (met, row) in [
            (met.off_after, &mut row.off_after),
            (met.on_after, &mut row.on_after),
        ] {
            if met.map(|seconds| seconds.saturating_add(1)) == *row {
                *row = met;
            }
        }
        if met.on.len().saturating_add(1) == row.on.len() {
            row.on.remove(0);
        }
        assert_eq!(met, row, "{}", family.as_str());
        let cycled = row.off_after.is_some();
        let truth = host.truth();
        assert_eq!(
            (truth.power, truth.on_to_off, truth.off_to_on),
            (Power::On, u64::from(cycled), u64::from(cycled)),
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
