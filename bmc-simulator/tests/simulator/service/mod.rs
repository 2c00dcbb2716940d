//! The Redfish service beyond power: what a manager of fleets and the validators of DMTF ask.

mod accounts;
mod documents;
mod etags;
mod events;
mod links;
mod lockout;
mod oem;
mod protocol;
mod queries;
mod quirks;
mod quirks_resets;
mod reports;
mod resets;
mod roles;
mod sessions;
mod tasks;

use std::future::Future;
use std::time::Duration;

use bmc_simulator::{Host, HostSpec, RedfishSpec, Simulator};
use reqwest::RequestBuilder;
use serde_json::Value;

use crate::client::{Client, DEADLINE, one};

const ACCOUNTS: &str = "/redfish/v1/AccountService/Accounts";
const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";

/// A BMC with these settings, its login being `admin` and `first-password`.
async fn with(redfish: RedfishSpec) -> (Simulator, Host, Client) {
    let spec = HostSpec::new("a").credentials("admin", "first-password");
    let (sim, host) = one(spec.redfish(redfish)).await;
    let client = Client::of(&host);
    (sim, host, client)
}

/// Sends a request: status and JSON, null when there is none.
pub(crate) async fn send(request: RequestBuilder) -> (u16, Value) {
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    let bytes = answer.bytes().await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

impl Client {
    /// GET that has to work.
    pub(crate) async fn read(&self, path: &str) -> Value {
        let (status, body) = send(self.get(path)).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    pub(crate) fn patch(&self, path: &str, body: &Value) -> RequestBuilder {
        self.basic(self.http.patch(self.url(path))).json(body)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        self.basic(self.http.post(self.url(path))).json(body)
    }

    fn delete(&self, path: &str) -> RequestBuilder {
        self.basic(self.http.delete(self.url(path)))
    }
}

/// Keys of the messages in an answer, error or not.
fn messages(body: &Value) -> Vec<String> {
    let inner = body.get("error").unwrap_or(body);
    let list = inner["@Message.ExtendedInfo"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let key = |message: &Value| {
        let id = message["MessageId"].as_str().expect("an id");
        assert!(
            message["Resolution"].is_string() && message["MessageSeverity"].is_string(),
            "{message}"
        );
        id.rsplit('.').next().expect("a key").to_owned()
    };
    list.iter().map(key).collect()
}

/// Lets time pass for the simulator without waiting for it. No request may be under way.
pub(crate) async fn pass(span: Duration) {
    tokio::time::pause();
    tokio::time::advance(span).await;
    tokio::time::resume();
}

/// Does something while no time passes for the simulator, however long it takes. Requests may be under way.
pub(crate) async fn at_one_instant<T>(doing: impl Future<Output = T>) -> T {
    // Time that is paused goes on as soon as tokio has nothing to do, as while a request is on its way.
    let something_to_do = async {
        let begin = std::time::Instant::now();
        while begin.elapsed() < DEADLINE {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::pause();
    let done = tokio::select! {
        done = doing => Some(done),
        () = something_to_do => None,
    };
    tokio::time::resume();
    done.expect("it was not done before the deadline")
}
