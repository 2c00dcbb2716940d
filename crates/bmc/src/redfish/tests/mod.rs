//! The client against small servers that behave well or badly, over real sockets.

mod conversation;
mod deadlines;
mod fake;
mod hostile;
mod log;
mod logins;
mod secrets;
mod selection;
mod tasks;
mod trust;
mod witness;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use serde_json::{Value, json};

use super::Redfish;
use crate::{
    AllowedNetworks, AuthMethod, Bmc, BmcError, BmcTarget, Credentials, Deadlines, Driver, Protocol,
    ServerTrust, TransportSecurity, Verb,
};
use fake::{Fake, Seen, json as answer, reply};

/// Must never be seen anywhere but in a login.
const CANARY: &str = "canary-Pa55word";
const TOKEN: &str = "canary-t0ken";
const PATH: &str = "/redfish/v1/Systems/1";
const RESET: &str = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset";
const UUID: &str = "00112233-4455-6677-8899-aabbccddeeff";
/// The same in the byte order of old SMBIOS.
const SWAPPED: &str = "33221100-5544-7766-8899-AABBCCDDEEFF";

/// For what is never answered.
const SHORT: Duration = Duration::from_millis(400);

/// For what is answered: however slow this machine is, that comes before they pass.
fn generous() -> Deadlines {
    Deadlines {
        connect: Duration::from_mins(1),
        request: Duration::from_mins(1),
        operation: Duration::from_mins(1),
        ..Deadlines::default()
    }
}

/// A target with Basic login and the path named; trust by the fake's CA.
fn target(address: SocketAddr, authority: &str, path: &str) -> BmcTarget {
    let secret = BTreeMap::from([
        ("username".to_owned(), b"root".to_vec()),
        ("password".to_owned(), CANARY.as_bytes().to_vec()),
    ]);
    BmcTarget {
        address: format!("redfish://{address}{path}").parse().unwrap(),
        credentials: Credentials::from_secret(&secret, "1").unwrap(),
        trust: ServerTrust::CertificateAuthority(authority.to_owned()),
        auth: AuthMethod::Basic,
        expected_uuid: None,
        known_system: None,
        allowed: AllowedNetworks::new(["127.0.0.0/8".parse().unwrap()]),
        protocols: vec![Protocol::Redfish],
        fallback: None,
        minimum_transport: TransportSecurity::VerifiedTls,
    }
}

fn of(fake: &Fake) -> BmcTarget {
    target(fake.address, &fake.authority, PATH)
}

async fn connect(target: BmcTarget) -> Bmc {
    Bmc::connect_within(target, generous()).await.unwrap()
}

/// The conversation, for what is to change in the midst of it.
fn redfish(bmc: &mut Bmc) -> &mut Redfish {
    let Driver::Redfish(redfish) = &mut bmc.driver else {
        panic!("the target is one over Redfish")
    };
    &mut redfish.redfish
}

/// Neither password nor token, in any form, and one sentence of advice at the end.
fn assert_fit_to_show(error: &BmcError) {
    let shown = format!("{error} {error:?}");
    for secret in [CANARY, TOKEN, "cm9vdDpjYW5hcnktUGE1NXdvcmQ="] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert!(error.to_string().ends_with('.'), "{error}");
}

fn system(power: &str) -> Value {
    json!({
        "@odata.type": "#ComputerSystem.v1_20_0.ComputerSystem",
        "PowerState": power, "UUID": UUID, "SerialNumber": "S1",
        "Actions": { "#ComputerSystem.Reset": {
            "target": RESET, "ResetType@Redfish.AllowableValues": ["On", "ForceOff"],
        } },
    })
}

/// A well-behaved BMC of one host, with sessions.
fn well_behaved() -> impl Fn(Seen) -> Option<Response<Body>> + Clone + Send + Sync + 'static {
    let power = Arc::new(Mutex::new("On"));
    move |seen: Seen| {
        let basic = seen.header("authorization") == "Basic cm9vdDpjYW5hcnktUGE1NXdvcmQ=";
        let session = seen.header("x-auth-token") == TOKEN;
        match seen.line().as_str() {
            "POST /redfish/v1/SessionService/Sessions" => {
                assert_eq!(
                    seen.body,
                    format!(r#"{{"Password":"{CANARY}","UserName":"root"}}"#)
                );
                let place = "/redfish/v1/SessionService/Sessions/7";
                reply(201, &[("x-auth-token", TOKEN), ("location", place)], "{}")
            }
            _ if !basic && !session => answer(401, &json!({})),
            "DELETE /redfish/v1/SessionService/Sessions/7" => reply(204, &[], ""),
            "GET /redfish/v1/Systems/1" => answer(200, &system(*power.lock().unwrap())),
            "POST /redfish/v1/Systems/1/Actions/ComputerSystem.Reset" => {
                assert_eq!(seen.header("if-match"), "");
                *power.lock().unwrap() = match seen.body.as_str() {
                    r#"{"ResetType":"ForceOff"}"# => "Off",
                    r#"{"ResetType":"On"}"# => "On",
                    other => panic!("{other}"),
                };
                reply(204, &[], "")
            }
            _ => answer(404, &json!({})),
        }
    }
}

/// Time enough for any test.
fn soon() -> tokio::time::Instant {
    let now = tokio::time::Instant::now();
    now.checked_add(Duration::from_mins(1)).unwrap_or(now)
}
