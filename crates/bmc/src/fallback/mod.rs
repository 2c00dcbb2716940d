//! Redfish, and IPMI in its place where the administrator asked for that and Redfish is silent.
//!
//! IPMI proves less about the peer than TLS does, and lets whoever listens try passwords offline
//! (CVE-2013-4786). So silence is all that leads there: no answer of any kind, no rejected login, and no failure
//! of TLS, which may be an impostor's; nor silence after one of these, until Redfish has answered well
//! (`actor::pace` remembers). And it leads only to the BMC whose system GUID is the host's UUID.
//!
//! Commands never fall back: they go where the last reading came from.

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::error::BmcError;
use super::inspection::Scope;
use super::ipmi::{Ipmi, IpmiError};
use super::redfish::Redfish;
use super::target::Deadlines;
use super::{
    BmcAddress, BmcTarget, CommandAnswer, Inspection, PowerRead, Privilege, Protocol, Transport, Until, Verb,
};
use remediator_core::identity::SystemUuid;
use remediator_core::journal::LogEntry;

/// Between the two attempts at Redfish that come before IPMI.
const PAUSE: Duration = Duration::from_secs(1);
/// How long the end of a session at a silent Redfish service is waited for.
const CLOSING: Duration = Duration::from_secs(3);
/// The longest description of a silence, in characters. It gets into the journal.
const LONGEST_CAUSE: usize = 200;

/// A conversation over Redfish. Once it has fallen back it stays over IPMI.
pub(super) struct RedfishOrIpmi {
    pub(super) redfish: Redfish,
    /// Where IPMI is spoken in place of a silent Redfish service, if that is allowed.
    instead: Option<BmcTarget>,
    deadlines: Deadlines,
    fallen_back: Option<StandIn>,
}

/// IPMI in place of Redfish.
struct StandIn {
    ipmi: Ipmi,
    expected: SystemUuid,
    /// What became of Redfish.
    cause: String,
    /// Whether the last reading was of the host that is meant.
    proven: bool,
}

impl RedfishOrIpmi {
    /// As [`Redfish::prepare`]. Nothing is prepared for IPMI before it is needed.
    pub(super) async fn prepare(target: BmcTarget, deadlines: Deadlines) -> Result<Self, BmcError> {
        let allowed = target.protocols.contains(&Protocol::Ipmi);
        let instead = target.fallback.filter(|_| allowed).map(|port| BmcTarget {
            address: BmcAddress {
                protocol: Protocol::Ipmi,
                transport: Transport::Https,
                host: target.address.host.clone(),
                port,
                system_path: None,
                privilege: Privilege::Operator,
            },
            ..target.clone()
        });
        Ok(Self {
            redfish: Redfish::prepare(target, deadlines).await?,
            instead,
            deadlines,
            fallen_back: None,
        })
    }

    pub(super) async fn inspect(
        &mut self,
        scope: Scope,
        may_fall_back: bool,
    ) -> Result<Inspection, BmcError> {
        if let Some(stand_in) = &mut self.fallen_back {
            return stand_in.inspect().await;
        }
        let began = Instant::now();
        let mut found = self.redfish.inspect(scope).await;
        let Some(instead) = &self.instead else {
            return found;
        };
        // Once more, unless the first attempt took so long that the time is better spent over IPMI.
        let patience = self.deadlines.operation.checked_div(2).unwrap_or_default();
        if found.as_ref().err().and_then(no_answer).is_some() && began.elapsed() < patience {
            sleep(PAUSE).await;
            found = self.redfish.inspect(scope).await;
        }
        match found.as_ref().err().and_then(no_answer) {
            Some(cause) if may_fall_back => self.fall_back(instead.clone(), cause).await,
            Some(_) | None => found,
        }
    }

    /// Speaks IPMI from now on, if that leads to the host that is meant.
    async fn fall_back(&mut self, instead: BmcTarget, cause: String) -> Result<Inspection, BmcError> {
        let Some(expected) = instead.expected_uuid.clone() else {
            // Whoever answered would not be believed, so nobody is told a user name.
            return Err(failed(&cause, BmcError::GuidUnproven(String::new())));
        };
        // The addresses were checked when they were resolved, and are not resolved again: the peer is the
        // one that Redfish was silent at.
        let address = instead.address.clone();
        let peers = self.redfish.peers().iter();
        let peers = peers.map(|peer| SocketAddr::new(peer.ip(), address.port));
        let ipmi = Ipmi::prepare_at(instead, peers.collect(), self.deadlines);
        let mut stand_in = StandIn {
            ipmi: ipmi.map_err(|error| failed(&cause, error))?,
            expected,
            cause,
            proven: false,
        };
        let found = stand_in.inspect().await;
        if found.is_err() {
            // Nothing was commanded in it, so nothing but a session can stay behind.
            let _ = stand_in.ipmi.close().await;
            return found;
        }
        tracing::warn!(bmc = %address, cause = %stand_in.cause, "Redfish does not answer; the BMC is spoken to over IPMI");
        self.fallen_back = Some(stand_in);
        found
    }

    pub(super) async fn command(&mut self, command: Verb, until: Until) -> Result<CommandAnswer, BmcError> {
        match &mut self.fallen_back {
            None => self.redfish.command(command, until).await,
            Some(stand_in) => stand_in.command(command, until).await,
        }
    }

    /// Over IPMI nothing is read that a power cycle does not need.
    pub(super) async fn newest_log(&mut self) -> Vec<LogEntry> {
        match &self.fallen_back {
            None => self.redfish.newest_log().await,
            Some(_) => Vec::new(),
        }
    }

    pub(super) async fn end_session(&mut self, path: &str) -> Result<bool, BmcError> {
        match &self.fallen_back {
            None => self.redfish.end_session(path).await,
            Some(stand_in) => Err(BmcError::NoAnswer(stand_in.cause.clone())),
        }
    }

    pub(super) fn under_way_until(&self) -> Option<Instant> {
        self.fallen_back.as_ref()?.ipmi.under_way_until()
    }

    pub(super) async fn close(self) -> Result<bool, BmcError> {
        let Some(stand_in) = self.fallen_back else {
            return self.redfish.close().await;
        };
        // It may be back by now, with our session.
        let redfish = timeout(CLOSING.min(self.deadlines.request), self.redfish.close());
        let (closed, left) = tokio::join!(stand_in.ipmi.close(), redfish);
        if !matches!(left, Ok(Ok(_))) {
            tracing::debug!("the session at a silent Redfish service ends by itself");
        }
        closed
    }
}

impl StandIn {
    async fn inspect(&mut self) -> Result<Inspection, BmcError> {
        self.proven = false;
        let mut found = self
            .ipmi
            .inspect()
            .await
            .map_err(|error| failed(&self.cause, error))?;
        is_of(&found.reading, &self.expected).map_err(|error| failed(&self.cause, error))?;
        self.proven = true;
        found.reading.fallback = Some(format!(
            "over IPMI, because Redfish did not answer: {}",
            self.cause
        ));
        Ok(found)
    }

    async fn command(&mut self, command: Verb, until: Until) -> Result<CommandAnswer, BmcError> {
        if !self.proven {
            return Err(BmcError::NotRead);
        }
        match self.ipmi.command(command, until).await {
            // Of IPMI alone: Redfish may take the same Secret.
            Err(error @ BmcError::Ipmi(IpmiError::LoginRejected(_))) => Err(failed(&self.cause, error)),
            other => other,
        }
    }
}

/// Whether a reading is of the host that is meant. By the address nothing is known of an IPMI peer, so one
/// without a GUID that can be compared is not believed.
fn is_of(reading: &PowerRead, expected: &SystemUuid) -> Result<(), BmcError> {
    let said = reading.uuid.as_deref().unwrap_or_default();
    let found = SystemUuid::parse(said).map_err(|_| BmcError::GuidUnproven(said.to_owned()))?;
    BmcError::check_identity(Some(expected), Some(&found))
}

/// What is known of a silence, if nothing at all came from the BMC.
fn no_answer(error: &BmcError) -> Option<String> {
    if let BmcError::Unreachable(cause) | BmcError::NoAnswer(cause) = error {
        Some(cause.chars().take(LONGEST_CAUSE).collect())
    } else {
        None
    }
}

fn failed(cause: &str, ipmi: BmcError) -> BmcError {
    BmcError::FallbackFailed {
        redfish: cause.to_owned(),
        ipmi: Box::new(ipmi),
    }
}
