//! A power client and its test: the client powers a machine off and believes it only once it was told Off, and the
//! test compares what the client believes with what is true.
//!
//! `cargo run -p bmc-simulator --example power_off`
#![allow(clippy::print_stdout, reason = "an example tells what happened")]

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use bmc_simulator::{Delays, Fault, Host, HostSpec, Oracle, Power, RequestClass, Simulator};
use reqwest::StatusCode;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};

const USERNAME: &str = "admin";
const PASSWORD: &str = "example-password";
/// Between two requests: what a BMC can stand.
const PAUSE: Duration = Duration::from_millis(100);

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The client that is tested; it would be your own.
struct PowerClient {
    http: reqwest::Client,
    system: String,
}

impl PowerClient {
    fn new(ca_pem: &str, system: String) -> Outcome<Self> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(ca_pem.as_bytes())?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(config)
            .timeout(Duration::from_secs(10))
            .build()?;
        Ok(Self { http, system })
    }

    /// The power state that the BMC reports; none while it answers 503.
    async fn reported(&self) -> Outcome<Option<String>> {
        let request = self.http.get(&self.system).basic_auth(USERNAME, Some(PASSWORD));
        let answer = request.send().await?;
        if answer.status() == StatusCode::SERVICE_UNAVAILABLE {
            return Ok(None);
        }
        let system: Value = answer.error_for_status()?.json().await?;
        let state = system.get("PowerState").and_then(Value::as_str);
        Ok(state.map(str::to_owned))
    }

    /// Powers off, and returns once the BMC has said Off twice in a row.
    async fn power_off(&self) -> Outcome<()> {
        // Looks before it acts, for as long as that takes.
        while self.reported().await?.is_none() {
            tokio::time::sleep(PAUSE).await;
        }
        let action = format!("{}/Actions/ComputerSystem.Reset", self.system);
        let request = self.http.post(action).basic_auth(USERNAME, Some(PASSWORD));
        let reset = request.json(&json!({"ResetType": "ForceOff"}));
        reset.send().await?.error_for_status()?;
        let mut said_off = 0_u32;
        while said_off < 2 {
            tokio::time::sleep(PAUSE).await;
            said_off = match self.reported().await?.as_deref() {
                Some("Off") => said_off.saturating_add(1),
                Some(_) | None => 0,
            };
        }
        Ok(())
    }
}

async fn start() -> Outcome<(Simulator, Host)> {
    let delays = Delays {
        off: Duration::from_millis(300).into(),
        ..Delays::default()
    };
    let spec = HostSpec::new("worker-1")
        .credentials(USERNAME, PASSWORD)
        .delays(delays);
    let simulator = Simulator::builder().seed(7).host(spec).start().await?;
    let host = simulator.host("worker-1")?;
    Ok((simulator, host))
}

/// The first two reads fail; the client waits them out, powers off, and breaks no rule of care.
async fn a_busy_bmc() -> Outcome<()> {
    let (simulator, host) = start().await?;
    host.inject(Fault::http_status(503).on(RequestClass::SystemGet).times(2))?;
    let system = format!("{}{}", host.redfish_url(), host.system_path());
    let client = PowerClient::new(simulator.ca_pem(), system)?;
    client.power_off().await?;
    assert_eq!(host.truth().power, Power::Off);
    assert!(host.faults().is_empty(), "both failures were met");
    assert_eq!(host.judge(&Oracle::ALL), []);
    println!("a busy BMC: the machine is off, and no rule of care was broken");
    simulator.shutdown().await;
    Ok(())
}

/// A BMC says Off of a machine that is on: this client believes it, which only the truth can show.
async fn a_lying_bmc() -> Outcome<()> {
    let (simulator, host) = start().await?;
    host.inject(Fault::LieOffWhileOn)?;
    let system = format!("{}{}", host.redfish_url(), host.system_path());
    let client = PowerClient::new(simulator.ca_pem(), system)?;
    client.power_off().await?;
    assert_eq!(host.truth().power, Power::On);
    println!("a lying BMC: the client takes the machine for off, which is on");
    simulator.shutdown().await;
    Ok(())
}

#[tokio::main]
async fn main() -> Outcome<()> {
    a_busy_bmc().await?;
    a_lying_bmc().await
}

#[cfg(test)]
mod tests {
    #[tokio::test]
    async fn the_client_waits_for_a_busy_bmc() {
        super::a_busy_bmc().await.unwrap();
    }

    #[tokio::test]
    async fn the_truth_shows_what_a_client_is_made_to_believe() {
        super::a_lying_bmc().await.unwrap();
    }
}
