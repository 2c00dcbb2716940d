//! One careful power client: it takes nothing for granted that it did not read, opens each connection anew, says
//! Off and On only, and asks again where it is told to come back later.

use std::sync::Arc;
use std::time::Duration;

use bmc_simulator::{Entry, Event, Host};
use serde_json::{Value, json};

use crate::client::{Client, soon};
use crate::service::pass;

/// Longer than any family takes, or refuses.
const PATIENCE: Duration = Duration::from_secs(90);

/// What the BMC answered, and when: by the clock of the simulation, so that it does not matter how long the request
/// was under way.
#[derive(Debug)]
pub(super) struct Answer<T> {
    pub(super) at: Duration,
    pub(super) said: T,
}

/// Reads until the power was as wanted, by when they were answered.
#[derive(Debug)]
pub(super) struct Wait {
    /// The last that said something else.
    not_yet: Option<Duration>,
    /// The one that said so; absent = none did, though the client had patience.
    wanted: Option<Duration>,
}

impl Wait {
    /// Whether no read said so before this instant, and none said something else from then on.
    pub(super) fn ended(&self, at: Duration) -> bool {
        self.not_yet.is_none_or(|not_yet| not_yet < at) && self.wanted.is_some_and(|wanted| at <= wanted)
    }

    pub(super) fn came_to_nothing(&self) -> bool {
        self.wanted.is_none()
    }
}

pub(super) struct Careful {
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
    pub(super) async fn find(client: Client, host: &Host) -> (Self, usize) {
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

    /// Number of the newest entry of the journal.
    fn so_far(&self) -> u64 {
        self.client.host.journal_after(0).last_seq
    }

    /// The entry about the request that was answered just now.
    async fn journalled(&self, before: u64, wanted: impl Fn(&Event) -> bool) -> Arc<Entry> {
        let entry = self.client.host.wait_for_entry(before, wanted);
        soon(entry).await.unwrap()
    }

    pub(super) async fn reset(&self, reset_type: &str) -> Answer<u16> {
        let before = self.so_far();
        let request = self.client.http.post(self.client.url(&self.target));
        let request = self.client.basic(request).json(&json!({"ResetType": reset_type}));
        let said = request.send().await.unwrap().status().as_u16();
        let of_a_reset =
            |event: &Event| matches!(event, Event::Command { .. } | Event::CommandRefused { .. });
        let at = self.journalled(before, of_a_reset).await.elapsed;
        Answer { at, said }
    }

    /// Reads the power state.
    pub(super) async fn power(&self) -> Answer<Value> {
        let before = self.so_far();
        let (status, system) = Self::get(&self.client, &self.system).await;
        assert_eq!(status, 200);
        let of_a_read = |event: &Event| matches!(event, Event::Observed { .. });
        let at = self.journalled(before, of_a_read).await.elapsed;
        let said = system["PowerState"].clone();
        Answer { at, said }
    }

    /// Reads every second until the power is as wanted, or for as long as the client has patience.
    pub(super) async fn until(&self, wanted: &str) -> Wait {
        let (mut first, mut not_yet) = (None, None);
        loop {
            let Answer { at, said } = self.power().await;
            if said == wanted {
                let wanted = Some(at);
                return Wait { not_yet, wanted };
            }
            not_yet = Some(at);
            if at.saturating_sub(*first.get_or_insert(at)) >= PATIENCE {
                let wanted = None;
                return Wait { not_yet, wanted };
            }
            pass(Duration::from_secs(1)).await;
        }
    }

    /// Says On, and again every two seconds while it is told to wait.
    pub(super) async fn on(&self) -> Vec<Answer<u16>> {
        let mut answers = Vec::new();
        let mut first = None;
        loop {
            let answer = self.reset("On").await;
            let since = answer.at.saturating_sub(*first.get_or_insert(answer.at));
            let accepted = answer.said < 400;
            answers.push(answer);
            if accepted || since >= PATIENCE {
                return answers;
            }
            pass(Duration::from_secs(2)).await;
            self.until("Off").await;
        }
    }
}
