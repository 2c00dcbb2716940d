//! A proxy in front of the Redfish service of a BMC, with a certificate of its own.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::body::{Body, Bytes};
use http::{Method, Request, Response};

use super::{Front, Gate, Identity, Server};

/// Longer than anybody waits for a BMC.
const PATIENCE: Duration = Duration::from_mins(1);

/// The proxy. Where the BMC is may be told later, because its simulator starts later.
pub struct RedfishFront {
    front: Front,
    server: Arc<Bmc>,
    /// The authority of its certificate.
    pub ca_pem: String,
}

struct Bmc {
    client: reqwest::Client,
    /// `https://address:port`
    url: OnceLock<String>,
}

impl RedfishFront {
    pub async fn start<G: Gate>(gate: Arc<G>) -> Result<Self> {
        let identity = Identity::new()?;
        let client = reqwest::Client::builder()
            // What the daemon is to check is the proxy's own.
            .danger_accept_invalid_certs(true)
            .redirect(reqwest::redirect::Policy::none())
            .timeout(PATIENCE)
            .build()?;
        let server = Arc::new(Bmc {
            client,
            url: OnceLock::new(),
        });
        Ok(Self {
            front: super::serve(gate, Arc::clone(&server), Some(identity.acceptor)).await?,
            server,
            ca_pem: identity.ca_pem,
        })
    }

    /// Where it listens: `https://address:port`. What comes there goes to the BMC at this URL.
    pub fn instead_of(&self, url: &str) -> String {
        // The first one stays: there is one BMC behind it.
        let _ = self.server.url.set(url.to_owned());
        format!("https://{}", self.front.address)
    }
}

impl Server for Bmc {
    fn name(&self, request: &Request<Bytes>) -> Option<String> {
        Some(name(request))
    }

    async fn answer(&self, request: Request<Bytes>) -> Result<Response<Body>> {
        let (head, body) = request.into_parts();
        let url = self.url.get().context("no BMC is behind the proxy yet")?;
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut headers = head.headers;
        headers.remove(http::header::HOST);
        let answer = self.client.request(head.method, format!("{url}{path}"));
        let answer = answer.headers(headers).body(body).send().await?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let mut response = Response::new(Body::from(answer.bytes().await?));
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        // They are about the other connection.
        for header in [http::header::TRANSFER_ENCODING, http::header::CONNECTION] {
            response.headers_mut().remove(header);
        }
        Ok(response)
    }
}

fn name(request: &Request<Bytes>) -> String {
    let path = request.uri().path();
    let what = if *request.method() == Method::POST && path.contains("Actions") {
        let body: serde_json::Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let kind = body.get("ResetType").and_then(|kind| kind.as_str());
        return format!("bmc-{}", kind.unwrap_or("action"));
    } else if path.contains("/Sessions") {
        "session"
    } else if path.contains("/Systems/") {
        "system"
    } else {
        "other"
    };
    format!("bmc-{}-{what}", request.method().as_str().to_lowercase())
}
