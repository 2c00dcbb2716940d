//! The one HTTP connection to a BMC.
//!
//! Built on hyper's connection and not on a pooling client: hyper hands an unsent request back, so that
//! "certainly not executed" and "unknown" are told apart exactly, and nothing below us sends a POST a second
//! time or races a second connection against the first.

mod connecting;
mod metered;

use std::net::SocketAddr;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Bytes, Incoming};
use jiff::Timestamp;
use tokio::time::{Instant, timeout, timeout_at};

use self::connecting::{Live, Protection, Secured};
use super::messages::Messages;
use crate::address::{BmcAddress, Host, ResourcePath, Transport};
use crate::error::BmcError;
use crate::tls::ClientSide;
use crate::{Deadlines, Until};

/// Largest body that is read, in bytes. A ComputerSystem has 5 to 30 KiB, a collection of a thousand
/// members 60.
pub(super) const MAX_BODY: usize = 256 * 1024;
/// Largest head, in bytes, and most header fields.
const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 128;

/// One request.
pub(super) struct Call<'a> {
    pub(super) method: Method,
    pub(super) path: &'a ResourcePath,
    pub(super) authorization: Option<(HeaderName, HeaderValue)>,
    pub(super) body: Option<Bytes>,
    /// Not sent later than this: connecting may have taken its time.
    pub(super) until: Option<Until>,
}

impl<'a> Call<'a> {
    /// A request without a body, whenever it can be sent.
    pub(super) fn new(
        method: Method,
        path: &'a ResourcePath,
        authorization: Option<(HeaderName, HeaderValue)>,
    ) -> Self {
        Self {
            method,
            path,
            authorization,
            body: None,
            until: None,
        }
    }
}

/// A status line came. The body may still have failed.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Result<Vec<u8>, BmcError>,
    /// Just before the request was written, with the connection open: what the answer says is not newer.
    pub(super) sent: Instant,
}

impl Answer {
    /// The body; nothing of one that failed.
    pub(super) fn bytes(&self) -> &[u8] {
        self.body.as_deref().unwrap_or_default()
    }

    pub(super) fn said(&self) -> Messages {
        Messages::of(self.bytes())
    }

    pub(super) fn location(&self) -> Option<&str> {
        self.headers.get(header::LOCATION)?.to_str().ok()
    }

    /// When the BMC wants to be asked again (RFC 9110, section 10.2.3): seconds, or a date, which is
    /// measured from now. What cannot be read, or lies in the past, says nothing.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        let text = self.headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
        if let Ok(seconds) = text.parse::<u64>() {
            return Some(Duration::from_secs(seconds));
        }
        let date = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
        Duration::try_from(date.duration_since(Timestamp::now())).ok()
    }
}

/// No status line came.
pub(super) enum SendFailure {
    /// Not one byte of the request was written.
    NotSent {
        error: BmcError,
        /// On a connection that had served before.
        reused: bool,
    },
    /// Some of it was written, then the connection broke.
    Broken { cause: String, reused: bool },
    /// It was written, and the deadline passed.
    TimedOut(String),
    /// What came back is not HTTP.
    Garbage(String),
}

impl SendFailure {
    /// Whether a kept connection turned out to be dead.
    pub(super) fn is_of_a_kept_connection(&self) -> bool {
        matches!(
            self,
            Self::NotSent { reused: true, .. } | Self::Broken { reused: true, .. }
        )
    }
}

/// A peer whose addresses were checked, and the connection to it while there is one.
pub(super) struct Wire {
    /// Of the one address that answered, once one did.
    pub(super) peers: Vec<SocketAddr>,
    host: Host,
    port: u16,
    host_header: HeaderValue,
    tls: Option<Secured>,
    pub(super) deadlines: Deadlines,
    live: Option<Live>,
    /// A kept connection was dead when it was used again: some BMCs reset them (HPE iLO5,
    /// NVIDIA/libredfish `network.rs`). From then on each request has a connection of its own.
    keeps_none: bool,
    /// Of the last connection, if it was over TLS.
    pub(super) protection: Option<Protection>,
}

impl Wire {
    pub(super) fn new(
        address: &BmcAddress,
        peers: Vec<SocketAddr>,
        tls: Option<ClientSide>,
        deadlines: Deadlines,
    ) -> Result<Self, BmcError> {
        let mut authority = address.host.bracketed();
        if address.port != address.transport.default_port() {
            authority = format!("{authority}:{}", address.port);
        }
        let secured = |client| Secured::new(client, &address.host);
        Ok(Self {
            peers,
            host: address.host.clone(),
            port: address.port,
            host_header: HeaderValue::try_from(authority)
                .map_err(|error| BmcError::TrustUnusable(error.to_string()))?,
            tls: tls.map(secured).transpose()?,
            deadlines,
            live: None,
            keeps_none: false,
            protection: None,
        })
    }

    /// The path that a reference of the BMC names, if it is one on this very origin.
    pub(super) fn own_path(&self, reference: &str) -> Option<ResourcePath> {
        if let Ok(path) = ResourcePath::parse(reference) {
            return Some(path);
        }
        let (scheme, transport) = match self.tls {
            Some(_) => ("https://", Transport::Https),
            None => ("http://", Transport::Http),
        };
        let rest = reference.strip_prefix(scheme)?;
        let (authority, path) = rest.split_at_checked(rest.find('/')?)?;
        let authority: http::uri::Authority = authority.parse().ok()?;
        let same = !authority.as_str().contains('@')
            && self.host.is_written(authority.host())
            && authority.port_u16().unwrap_or(transport.default_port()) == self.port;
        ResourcePath::parse(path).ok().filter(|_| same)
    }

    /// Sends one request, once.
    pub(super) async fn exchange(&mut self, call: &Call<'_>) -> Result<Answer, SendFailure> {
        let answer = self.exchange_now(call).await;
        self.keeps_none |= answer.as_ref().is_err_and(SendFailure::is_of_a_kept_connection);
        if self.keeps_none {
            self.live = None;
        }
        answer
    }

    async fn exchange_now(&mut self, call: &Call<'_>) -> Result<Answer, SendFailure> {
        let kept = self.kept().await;
        let reused = kept.is_some();
        let mut live = match kept {
            Some(live) => live,
            None => {
                let opened = self.open().await;
                opened.map_err(|error| SendFailure::NotSent { error, reused })?
            }
        };
        if call.until.as_ref().is_some_and(Until::is_over) {
            self.live = Some(live);
            let error = BmcError::TooLate;
            return Err(SendFailure::NotSent { error, reused });
        }
        let request = self.request(call);
        live.meter.restart();
        let sent = Instant::now();
        let deadline = sent.checked_add(self.deadlines.request).unwrap_or(sent);
        let late = || format!("nothing came within {:?}", self.deadlines.request);
        let response = match timeout_at(deadline, live.sender.try_send_request(request)).await {
            Err(_) => return Err(SendFailure::TimedOut(late())),
            Ok(Ok(response)) => response,
            Ok(Err(mut failure)) => {
                let unsent = failure.take_message().is_some();
                let error = failure.into_error();
                let cause = with_source(&error);
                return Err(if unsent {
                    let error = BmcError::Unreachable(cause);
                    SendFailure::NotSent { error, reused }
                } else if error.is_parse() {
                    SendFailure::Garbage(cause)
                } else {
                    SendFailure::Broken { cause, reused }
                });
            }
        };
        let (head, body) = response.into_parts();
        let body = timeout_at(deadline, collect(body)).await;
        let body = body.unwrap_or_else(|_| Err(BmcError::NoAnswer(late())));
        // A connection with an unread rest is of no more use; it is closed by being dropped.
        if body.is_ok() {
            self.live = Some(live);
        }
        Ok(Answer {
            status: head.status,
            headers: head.headers,
            body,
            sent,
        })
    }

    /// The kept connection, if it is still usable. Waits for hyper to finish with the answer
    /// before, which is what keeps us from opening a second connection for nothing.
    async fn kept(&mut self) -> Option<Live> {
        let mut live = self.live.take()?;
        let ready = timeout(Duration::from_secs(1), live.sender.ready()).await;
        matches!(ready, Ok(Ok(()))).then_some(live)
    }

    fn request(&self, call: &Call<'_>) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(call.body.clone().unwrap_or_default()));
        *request.method_mut() = call.method.clone();
        *request.uri_mut() = call.path.to_uri();
        let headers = request.headers_mut();
        headers.insert(header::HOST, self.host_header.clone());
        let fixed = HeaderValue::from_static;
        headers.insert(header::USER_AGENT, fixed("baremetal-remediator"));
        headers.insert(header::ACCEPT, fixed("application/json"));
        // Compression weakens ETags on some BMCs and bodies may explode on decompression.
        headers.insert(header::ACCEPT_ENCODING, fixed("identity"));
        headers.insert("OData-Version", fixed("4.0"));
        if call.body.is_some() {
            headers.insert(header::CONTENT_TYPE, fixed("application/json"));
        }
        if let Some((name, value)) = &call.authorization {
            headers.insert(name.clone(), value.clone());
        }
        request
    }
}

async fn collect(mut body: Incoming) -> Result<Vec<u8>, BmcError> {
    let too_large = || BmcError::TooLarge(MAX_BODY);
    let limit = u64::try_from(MAX_BODY).unwrap_or(u64::MAX);
    if body.size_hint().lower() > limit {
        return Err(too_large());
    }
    let mut collected = Vec::new();
    while let Some(frame) = body.frame().await {
        let broken = |error| BmcError::NoAnswer(format!("its answer breaks off: {}", with_source(&error)));
        let frame = frame.map_err(broken)?;
        if let Ok(data) = frame.into_data() {
            if collected.len().saturating_add(data.len()) > MAX_BODY {
                return Err(too_large());
            }
            collected.extend_from_slice(&data);
        }
    }
    Ok(collected)
}

/// An error of hyper with its source, which says what the operating system said.
fn with_source(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
