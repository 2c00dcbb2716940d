//! Opening a session: agreeing on a cipher suite (IPMI 2.0, sections 13.15 to 13.18).

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::Instant;

use super::crypto::CipherSuite;
use super::error::IpmiError;
use super::link::{Link, Repeat, Unanswered, after};
use super::wire::{self, PayloadType, Reply};
use super::{random, status};
use crate::credentials::Credentials;
use crate::error::BmcError;

/// How long one source port is tried with, in first patiences.
const PORT_PATIENCE: [u32; 3] = [1, 2, 4];

/// How to log in.
#[derive(Clone, Copy)]
pub(super) struct Login<'a> {
    pub(super) credentials: &'a Credentials,
    /// Privilege level (section 6.8), 1 to 4.
    pub(super) privilege: u8,
    pub(super) deadline: Instant,
    /// Before what is not answered is sent again.
    pub(super) patience: Duration,
}

/// What came of an Open Session Request.
pub(super) enum Opening {
    Ready(Half),
    /// The BMC wants another cipher suite; what it said.
    OtherSuite(String),
}

/// A session that is half open.
pub(super) struct Half {
    pub(super) link: Link,
    pub(super) suite: CipherSuite,
    pub(super) console_id: u32,
    pub(super) managed_id: u32,
    pub(super) tag: u8,
}

/// Asks for a session with this suite. Every repetition has a source port of its own: there are BMCs
/// that ignore a second request from the same one (FreeIPMI, "LAN Authentication" note 1).
pub(super) async fn open(
    peer: SocketAddr,
    suite: CipherSuite,
    login: &Login<'_>,
) -> Result<Opening, BmcError> {
    let unreachable = BmcError::Unreachable;
    let mut cause = format!("{peer}: no time was left to ask");
    let mut patience = PORT_PATIENCE.into_iter();
    while Instant::now() < login.deadline {
        let port = patience
            .next()
            .map(|times| after(login.patience.saturating_mul(times)));
        let until = port.map_or(login.deadline, |port| port.min(login.deadline));
        let link = Link::open(peer, login.patience)
            .await
            .map_err(|error| unreachable(format!("{peer}: {error}")))?;
        let [tag, id @ ..]: [u8; 5] = random().map_err(|error| unreachable(error.to_string()))?;
        // 0 stands for "no session".
        let console_id = u32::from_le_bytes(id).max(1);
        let request = wire::open_session(tag, login.privilege, console_id, suite.algorithms());
        let answer = |_, datagram: &[u8]| {
            let reply = expected(datagram, PayloadType::OpenSessionResponse, tag, console_id)?;
            if reply.status != 0 {
                return Some(Err(reply.status));
            }
            wire::accepted(reply.rest).ok().map(Ok)
        };
        let asked = link.ask(until, Repeat::Never, || Ok(request.clone()), answer);
        match asked.await {
            Ok(Ok((managed_id, algorithms))) => {
                let half = Half {
                    link,
                    suite,
                    console_id,
                    managed_id,
                    tag,
                };
                return ready(half, algorithms);
            }
            Ok(Err(status)) if status::is_about_the_suite(status) => {
                return Ok(Opening::OtherSuite(format!("RMCP+ status {status:#04x}")));
            }
            Ok(Err(status)) => return Err(status::refusal("Open Session", status).into()),
            Err(Unanswered::NotSent(not_sent)) => return Err(unreachable(not_sent)),
            Err(Unanswered::Silent(silent)) => cause = silent,
        }
    }
    Err(unreachable(cause))
}

/// A BMC that agrees to something else than was proposed is not followed: that would be the way down
/// to a suite without encryption, or to suite 0. pyghmi's server agrees to suite 3 whatever is proposed
/// (`pyghmi/ipmi/private/serversession.py`, `create_open_session_response`).
fn ready(half: Half, algorithms: [u8; 3]) -> Result<Opening, BmcError> {
    if algorithms != half.suite.algorithms() {
        let said = format!("it agrees to algorithms {algorithms:?} instead");
        return Ok(Opening::OtherSuite(said));
    }
    if half.managed_id == 0 {
        return Err(IpmiError::Malformed("Open Session with session id 0".to_owned()).into());
    }
    Ok(Opening::Ready(half))
}

/// The answer that belongs to a request of the handshake.
pub(super) fn expected(datagram: &[u8], kind: PayloadType, tag: u8, console_id: u32) -> Option<Reply<'_>> {
    let packet = wire::packet(datagram).ok()?;
    if packet.encrypted || packet.authenticated || packet.session_id != 0 || packet.payload_type != kind {
        return None;
    }
    let reply = wire::reply(packet.payload).ok()?;
    // A BMC that does not know the session any more cannot know our id of it either.
    let ours = match reply.console_id {
        Some(id) => id == console_id || id == 0 && reply.status != 0,
        None => reply.status != 0,
    };
    (reply.tag == tag && ours).then_some(reply)
}
