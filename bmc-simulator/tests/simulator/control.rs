//! The control API where it succeeds.

use std::net::SocketAddr;
use std::time::Duration;

use bmc_simulator::{Delay, Fault, Host, HostSpec, Power, RequestClass, Simulator};
use reqwest::Method;
use serde_json::{Value, json};

use crate::client::Client;

pub(crate) struct Control {
    pub(crate) sim: Simulator,
    pub(crate) host: Host,
    http: reqwest::Client,
}

impl Control {
    pub(crate) async fn start() -> Self {
        Self::with(HostSpec::new("a").credentials("admin", "canary-pass")).await
    }

    /// Over this host, and another that is called `b`.
    pub(crate) async fn with(host: HostSpec) -> Self {
        let hosts = [host, HostSpec::new("b")];
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let sim = Simulator::builder()
            .hosts(hosts)
            .control(loopback)
            .start()
            .await
            .unwrap();
        let host = sim.hosts()[0].clone();
        let http = crate::client::http(sim.ca_pem());
        Self { sim, host, http }
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: &str) -> (u16, String) {
        let url = format!("{}{path}", self.sim.control_url().unwrap());
        let answer = self
            .http
            .request(method, url)
            .body(body.to_owned())
            .send()
            .await
            .unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }

    pub(crate) async fn ok(&self, method: Method, path: &str, body: &str) -> Value {
        let (status, text) = self.send(method, path, body).await;
        assert_eq!(status, 200, "{path}: {text}");
        serde_json::from_str(&text).unwrap()
    }
}

#[tokio::test]
async fn shows_hosts() {
    let control = Control::start().await;
    Client::of(&control.host).power_state().await;
    let all = control.ok(Method::GET, "/hosts", "").await;
    let names: Vec<&str> = all["hosts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|h| h["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["a", "b"]);
    let host = control.ok(Method::GET, "/hosts/a", "").await;
    assert_eq!(
        (&host["truth"]["power"], &host["reported"]),
        (&json!("On"), &json!("On"))
    );
    assert_eq!(
        (&host["truth"]["booted"], &host["counters"]["systemGet"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(host["redfishUrl"], control.host.redfish_url());
    assert_eq!(
        host["certificateSha256"],
        control.host.certificate_sha256_fingerprint()
    );
    assert!(host["truth"]["bootId"].is_string());
    assert!(!all.to_string().contains("canary"), "{all}");
}

#[tokio::test]
async fn sets_switches_and_keeps_those_not_named() {
    let control = Control::start().await;
    let place = "/hosts/a/redfish";
    control
        .ok(Method::PUT, place, r#"{"resetTypes":["On"],"etags":"weak"}"#)
        .await;
    control.ok(Method::PUT, place, r#"{"sessionLimit":8}"#).await;
    let now = control.ok(Method::GET, place, "").await;
    assert_eq!(
        (&now["resetTypes"], &now["etags"], &now["sessionLimit"]),
        (&json!(["On"]), &json!("weak"), &json!(8))
    );
    assert_eq!(Client::of(&control.host).send_reset("ForceOff").await, 400);
}

#[tokio::test]
async fn sets_delays_and_keeps_those_not_named() {
    let control = Control::start().await;
    let shown = control
        .ok(
            Method::PUT,
            "/hosts/a/delays",
            r#"{"off":"2s","gracefulShutdown":"1m 30s"}"#,
        )
        .await;
    assert_eq!(
        (&shown["delays"]["off"], &shown["delays"]["gracefulShutdown"]),
        (&json!("2s"), &json!("1m 30s"))
    );
    control
        .ok(
            Method::PUT,
            "/hosts/a/delays",
            r#"{"on":"PT1S","gracefulShutdown":"never"}"#,
        )
        .await;
    let delays = control.host.snapshot().delays;
    assert_eq!(
        (delays.off, delays.on, delays.graceful_shutdown),
        (Duration::from_secs(2).into(), Duration::from_secs(1).into(), None)
    );
    assert_eq!(control.sim.host("b").unwrap().snapshot().delays.off, Delay::ZERO);
}

#[tokio::test]
async fn sets_and_clears_faults() {
    let control = Control::start().await;
    let faults = r#"[{"fault":"lie-off-while-on"},{"fault":{"report-literal":null}},
        {"fault":{"http-status":{"status":503,"retryAfter":2}},"on":"reset","times":3},
        {"fault":{"powers-on-by-itself":{"after":"250ms"}}},{"fault":"already-there-409"}]"#;
    let shown = control.ok(Method::PUT, "/hosts/a/faults", faults).await;
    assert_eq!(
        (&shown["reported"], &shown["truth"]["power"]),
        (&Value::Null, &json!("On"))
    );
    let expected = Fault::HttpStatus {
        status: 503,
        retry_after: Some(2),
    }
    .on(RequestClass::Reset)
    .times(3);
    assert_eq!(control.host.faults()[2], expected);
    assert_eq!(shown["faults"].as_array().unwrap().len(), 5);
    // What is shown can be sent back.
    control
        .ok(Method::PUT, "/hosts/b/faults", &shown["faults"].to_string())
        .await;
    assert_eq!(control.sim.host("b").unwrap().faults(), control.host.faults());
    control.ok(Method::PUT, "/hosts/a/faults", "[]").await;
    control.ok(Method::DELETE, "/hosts/b/faults", "").await;
    assert!(control.host.faults().is_empty() && control.sim.host("b").unwrap().faults().is_empty());
}

#[tokio::test]
async fn presses_the_button_rotates_and_swaps() {
    let control = Control::start().await;
    let shown = control
        .ok(Method::POST, "/hosts/a/power", r#"{"to":"Off"}"#)
        .await;
    assert_eq!(
        (&shown["truth"]["power"], &shown["truth"]["onToOff"]),
        (&json!("Off"), &json!(1))
    );
    assert_eq!(control.host.truth().power, Power::Off);
    let body = r#"{"username":"root","password":"canary-new"}"#;
    let shown = control.ok(Method::PUT, "/hosts/a/credentials", body).await;
    assert!(!shown.to_string().contains("canary"));
    assert_eq!(control.host.credentials().password, "canary-new");
    let swapped = control.ok(Method::POST, "/hosts/a/certificate", "").await;
    assert_eq!(
        swapped["certificateSha256"],
        control.host.certificate_sha256_fingerprint()
    );
    assert_eq!(swapped["caPem"], control.host.ca_pem());
}

#[tokio::test]
async fn shows_the_journal_page_by_page() {
    let control = Control::start().await;
    control.host.press_power(Power::Off).unwrap();
    control.sim.host("b").unwrap().press_power(Power::Off).unwrap();
    let all = control.ok(Method::GET, "/journal", "").await;
    assert_eq!(all["entries"].as_array().unwrap().len(), 4);
    let entry = &all["entries"][1];
    assert_eq!(
        (&entry["event"], &entry["change"]),
        (&json!("changed"), &json!("powered-off"))
    );
    assert!(
        entry["wall"].is_string() && entry["elapsedUs"].is_u64(),
        "{entry}"
    );
    let own = control.ok(Method::GET, "/hosts/b/journal?after=3", "").await;
    assert_eq!(
        (&own["entries"][0]["seq"], &own["lastSeq"], &own["dropped"]),
        (&json!(4), &json!(4), &json!(0))
    );
    assert_eq!(own["entries"].as_array().unwrap().len(), 1);
    let (status, pem) = control.send(Method::GET, "/ca.pem", "").await;
    assert_eq!((status, pem.as_str()), (200, control.sim.ca_pem()));
}

#[tokio::test]
async fn the_bmc_is_rebooted_the_mains_are_cut_and_breaches_and_metrics_are_told() {
    let control = Control::start().await;
    let rebooted = control
        .ok(Method::POST, "/hosts/a/bmc", r#"{"action":"reboot"}"#)
        .await;
    assert_eq!(
        (&rebooted["bmc"], &rebooted["bmcReboots"]),
        (&json!("dead"), &json!(1))
    );
    let dark = control
        .ok(Method::POST, "/hosts/b/mains", r#"{"to":"Off"}"#)
        .await;
    assert_eq!(
        (&dark["bmc"], &dark["truth"]["power"]),
        (&json!("dead"), &json!("Off"))
    );
    control.ok(Method::POST, "/hosts/b/mains", r#"{"to":"On"}"#).await;
    let breaches = control.ok(Method::GET, "/breaches", "").await;
    assert_eq!(breaches["breaches"], json!([]));
    let (_, metrics) = control.send(Method::GET, "/metrics", "").await;
    for line in [
        "# TYPE bmc_simulator_machines gauge",
        "bmc_simulator_machines{power=\"on\"} 2",
        "bmc_simulator_breaches{rule=\"leaked-session\"} 0",
        "bmc_simulator_bmcs{stage=\"dead\"} 2",
        "bmc_simulator_bmc_reboots_total 2",
        "bmc_simulator_power_changes_total{to=\"off\"} 1",
    ] {
        assert!(metrics.lines().any(|one| one == line), "{line}: {metrics}");
    }
}
