//! A Redfish client that trusts one authority, follows no redirect and retries nothing.

use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bmc_simulator::{Host, HostSpec, Simulator};
use reqwest::{RequestBuilder, Response, redirect::Policy};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

/// Far more than anything here takes; only a defect reaches it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// Fails the test when `future` does not end.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future)
        .await
        .expect("nothing happened before the deadline")
}

/// A simulator with one host as given.
pub(crate) async fn one(spec: HostSpec) -> (Simulator, Host) {
    let sim = Simulator::builder()
        .seed(7)
        .host(spec)
        .start()
        .await
        .expect("starts");
    let host = sim.hosts()[0].clone();
    (sim, host)
}

/// An HTTP client that trusts this authority only.
pub(crate) fn http(ca_pem: &str) -> reqwest::Client {
    builder(ca_pem).build().expect("client")
}

fn builder(ca_pem: &str) -> reqwest::ClientBuilder {
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(ca_pem.as_bytes()).expect("PEM"))
        .expect("authority");
    let config =
        rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
    reqwest::Client::builder()
        .tls_backend_preconfigured(config)
        .redirect(Policy::none())
        .timeout(DEADLINE)
}

/// A client of one BMC.
pub(crate) struct Client {
    pub(crate) http: reqwest::Client,
    pub(crate) host: Host,
}

impl Client {
    pub(crate) fn of(host: &Host) -> Self {
        // Not every machine resolves such names itself.
        let name = format!("{}.localhost", host.name());
        let builder = builder(&host.ca_pem()).resolve(&name, host.address());
        Self {
            http: builder.build().expect("client"),
            host: host.clone(),
        }
    }

    /// The same client, with a connection of its own for each request.
    pub(crate) fn reconnecting(&self) -> Self {
        let name = format!("{}.localhost", self.host.name());
        let builder = builder(&self.host.ca_pem()).resolve(&name, self.host.address());
        Self {
            http: builder.pool_max_idle_per_host(0).build().expect("client"),
            host: self.host.clone(),
        }
    }

    /// The same client, calling from another address of this machine.
    pub(crate) fn from(&self, address: IpAddr) -> Self {
        let name = format!("{}.localhost", self.host.name());
        let builder = builder(&self.host.ca_pem()).resolve(&name, self.host.address());
        Self {
            http: builder.local_address(address).build().expect("client"),
            host: self.host.clone(),
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.host.redfish_url())
    }

    /// GET with HTTP Basic.
    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        self.basic(self.http.get(self.url(path)))
    }

    pub(crate) fn basic(&self, request: RequestBuilder) -> RequestBuilder {
        let login = self.host.credentials();
        request.basic_auth(login.username, Some(login.password))
    }

    pub(crate) fn reset(&self, reset_type: &str) -> RequestBuilder {
        let path = format!("{}/Actions/ComputerSystem.Reset", self.host.system_path());
        self.basic(self.http.post(self.url(&path)))
            .json(&json!({"ResetType": reset_type}))
    }

    /// POST of JSON with HTTP Basic.
    pub(crate) fn post_json(&self, path: &str, body: &Value) -> RequestBuilder {
        self.basic(self.http.post(self.url(path))).json(body)
    }

    pub(crate) async fn system(&self) -> Value {
        self.get(&self.host.system_path())
            .send()
            .await
            .expect("answer")
            .json()
            .await
            .expect("JSON")
    }

    pub(crate) async fn power_state(&self) -> Value {
        self.system().await["PowerState"].clone()
    }

    /// Sends a reset and returns the status.
    pub(crate) async fn send_reset(&self, reset_type: &str) -> u16 {
        status(self.reset(reset_type)).await
    }

    /// Opens a session: the raw answer.
    pub(crate) async fn login(&self) -> Response {
        self.login_attempt().await.expect("answer")
    }

    /// The same, where there may be no answer.
    pub(crate) async fn login_attempt(&self) -> reqwest::Result<Response> {
        let login = self.host.credentials();
        let body = json!({"UserName": login.username, "Password": login.password});
        let url = self.url("/redfish/v1/SessionService/Sessions");
        self.http.post(url).json(&body).send().await
    }
}

/// Sends and returns the status.
pub(crate) async fn status(request: RequestBuilder) -> u16 {
    request.send().await.expect("answer").status().as_u16()
}

/// Waits until a BMC that was away has taken a connection again: one that opens may still be in the queue of
/// before, and is reset.
pub(crate) async fn listens(host: &Host) {
    let taken = async {
        loop {
            let before = host.counters().tcp_connections;
            let Ok(mut stream) = TcpStream::connect(host.address()).await else {
                tokio::task::yield_now().await;
                continue;
            };
            let counted = async {
                while host.counters().tcp_connections == before {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                biased;
                () = counted => return,
                _ = stream.read_u8() => {}
            }
        }
    };
    soon(taken).await;
}

/// A header as text.
pub(crate) fn header(response: &Response, name: &str) -> String {
    let value = response
        .headers()
        .get(name)
        .map(|value| value.to_str().expect("ASCII").to_owned());
    value.unwrap_or_default()
}
