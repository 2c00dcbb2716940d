//! Redfish, and IPMI in its place where the administrator asked for that and Redfish is silent.
//!
//! IPMI proves less about the peer than TLS does, and lets whoever listens try passwords offline
//! (CVE-2013-4786). Who can silence one port could lead us there. So silence is all that leads there: not an
//! answer of any kind, not a rejected login, and no failure of TLS, which may be an impostor's; nor silence
//! that comes after one of these, until Redfish has answered well (`actor::pace` remembers). And it
//! leads only to the BMC whose system GUID is the host's UUID.
//!
//! Commands never fall back: they go where the last reading came from. What became of one that was not
//! answered is found out by reading, over whichever protocol answers.

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::error::BmcError;
use super::ipmi::{Ipmi, IpmiError};
use super::redfish::Redfish;
use super::target::Deadlines;
use super::{
    BmcAddress, BmcTarget, CommandAnswer, Inspection, PowerRead, Privilege, Protocol, Transport, Verb,
};
use remediator_core::identity::SystemUuid;

/// Between the two attempts at Redfish that come before IPMI.
const PAUSE: Duration = Duration::from_secs(1);
/// How long the end of a session at a silent Redfish service is waited for.
const CLOSING: Duration = Duration::from_secs(3);
/// The longest that is told of a silence, in characters. It gets into the journal.
const LONGEST_CAUSE: usize = 200;

/// IPMI in place of a Redfish service that does not answer, as the administrator allows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpmiFallback {
    /// UDP port of IPMI at the host of the Redfish service.
    pub port: u16,
}

/// A conversation that begins over Redfish. Once it has fallen back it stays over IPMI.
#[derive(Debug)]
pub(super) struct RedfishOrIpmi {
    redfish: Redfish,
    instead: BmcTarget,
    deadlines: Deadlines,
    fallen_back: Option<StandIn>,
}

/// IPMI in place of Redfish.
#[derive(Debug)]
struct StandIn {
    ipmi: Ipmi,
    /// What became of Redfish.
    cause: String,
    /// Whether the last reading was of the host that is meant.
    proven: bool,
}

impl RedfishOrIpmi {
    /// As [`Redfish::prepare`]. Nothing is prepared for IPMI before it is needed.
    pub(super) async fn prepare(
        target: BmcTarget,
        fallback: IpmiFallback,
        deadlines: Deadlines,
    ) -> Result<Self, BmcError> {
        let instead = BmcTarget {
            address: BmcAddress {
                protocol: Protocol::Ipmi,
                transport: Transport::Https,
                host: target.address.host.clone(),
                port: fallback.port,
                system_path: None,
                privilege: Privilege::Operator,
            },
            ..target.clone()
        };
        Ok(Self {
            redfish: Redfish::prepare(target, deadlines).await?,
            instead,
            deadlines,
            fallen_back: None,
        })
    }

    pub(super) async fn read(&mut self, may_fall_back: bool) -> Result<PowerRead, BmcError> {
        if let Some(stand_in) = &mut self.fallen_back {
            return stand_in.read(self.instead.expected_uuid.as_ref()).await;
        }
        let began = Instant::now();
        let mut read = self.redfish.read().await;
        if self.is_tried_again(read.as_ref().err(), began) {
            sleep(PAUSE).await;
            read = self.redfish.read().await;
        }
        match read.as_ref().err().and_then(no_answer) {
            Some(cause) if may_fall_back => self.fall_back(cause).await.map(|found| found.reading),
            Some(_) | None => read,
        }
    }

    pub(super) async fn inspect(&mut self, may_fall_back: bool) -> Result<Inspection, BmcError> {
        if let Some(stand_in) = &mut self.fallen_back {
            return stand_in.inspect(self.instead.expected_uuid.as_ref()).await;
        }
        let began = Instant::now();
        let mut found = self.redfish.inspect().await;
        if self.is_tried_again(found.as_ref().err(), began) {
            sleep(PAUSE).await;
            found = self.redfish.inspect().await;
        }
        match found.as_ref().err().and_then(no_answer) {
            Some(cause) if may_fall_back => self.fall_back(cause).await,
            Some(_) | None => found,
        }
    }

    /// Once, and not where the first attempt took so long that the time is better spent over IPMI.
    fn is_tried_again(&self, error: Option<&BmcError>, began: Instant) -> bool {
        let patience = self.deadlines.operation.checked_div(2).unwrap_or_default();
        error.is_some_and(|error| no_answer(error).is_some()) && began.elapsed() < patience
    }

    /// Speaks IPMI from now on, if that leads to the host that is meant.
    async fn fall_back(&mut self, cause: String) -> Result<Inspection, BmcError> {
        if self.instead.expected_uuid.is_none() {
            // Whoever answered would not be believed, so nobody is told a user name.
            let said = String::new();
            return Err(failed(&cause, BmcError::GuidUnproven { said }));
        }
        // The addresses were checked when they were resolved, and are not resolved again: the peer is the
        // one that Redfish was silent at.
        let port = self.instead.address.port;
        let peers = self
            .redfish
            .peers()
            .iter()
            .map(|peer| SocketAddr::new(peer.ip(), port));
        let ipmi = Ipmi::prepare_at(self.instead.clone(), peers.collect(), self.deadlines);
        let mut stand_in = StandIn {
            ipmi: ipmi.map_err(|error| failed(&cause, error))?,
            cause,
            proven: false,
        };
        let found = stand_in.inspect(self.instead.expected_uuid.as_ref()).await;
        if found.is_err() {
            // Nothing was commanded in it, so nothing but a session can stay behind.
            let _ = stand_in.ipmi.close().await;
            return found;
        }
        tracing::warn!(bmc = %self.instead.address, cause = %stand_in.cause, "Redfish does not answer; the BMC is spoken to over IPMI");
        self.fallen_back = Some(stand_in);
        found
    }

    pub(super) async fn command(
        &mut self,
        command: Verb,
        not_after: Instant,
    ) -> Result<CommandAnswer, BmcError> {
        match &mut self.fallen_back {
            None => self.redfish.command(command, not_after).await,
            Some(stand_in) => stand_in.command(command, not_after).await,
        }
    }

    pub(super) async fn end_session(&mut self, path: &str) -> Result<bool, BmcError> {
        match &self.fallen_back {
            None => self.redfish.end_session(path).await,
            Some(stand_in) => Err(BmcError::NoAnswer {
                cause: stand_in.cause.clone(),
            }),
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
    async fn read(&mut self, expected: Option<&SystemUuid>) -> Result<PowerRead, BmcError> {
        self.proven = false;
        let reading = self.ipmi.read().await;
        let reading = reading.map_err(|error| failed(&self.cause, error))?;
        self.judged(reading, expected)
    }

    async fn inspect(&mut self, expected: Option<&SystemUuid>) -> Result<Inspection, BmcError> {
        self.proven = false;
        let found = self.ipmi.inspect().await;
        let found = found.map_err(|error| failed(&self.cause, error))?;
        Ok(Inspection {
            reading: self.judged(found.reading, expected)?,
            ..found
        })
    }

    fn judged(&mut self, reading: PowerRead, expected: Option<&SystemUuid>) -> Result<PowerRead, BmcError> {
        is_of(&reading, expected).map_err(|error| failed(&self.cause, error))?;
        self.proven = true;
        Ok(PowerRead {
            fallback: Some(format!(
                "over IPMI, because Redfish did not answer: {}",
                self.cause
            )),
            ..reading
        })
    }

    async fn command(&mut self, command: Verb, not_after: Instant) -> Result<CommandAnswer, BmcError> {
        if !self.proven {
            return Err(BmcError::NotRead);
        }
        match self.ipmi.command(command, not_after).await {
            // Of IPMI alone: Redfish may take the same Secret.
            Err(error @ BmcError::Ipmi(IpmiError::LoginRejected { .. })) => Err(failed(&self.cause, error)),
            other => other,
        }
    }
}

/// Whether a reading is of the host that is meant. By the address nothing is known of an IPMI peer, so one
/// without a GUID that can be compared is not believed.
fn is_of(reading: &PowerRead, expected: Option<&SystemUuid>) -> Result<(), BmcError> {
    let said = reading.uuid.as_deref().unwrap_or_default();
    match (expected, SystemUuid::parse(said)) {
        (Some(expected), Ok(found)) if expected.matches(&found).is_some() => Ok(()),
        (Some(expected), Ok(found)) => Err(BmcError::IdentityMismatch {
            expected: expected.clone(),
            found,
        }),
        (None, _) | (_, Err(_)) => Err(BmcError::GuidUnproven {
            said: said.to_owned(),
        }),
    }
}

/// What is known of a silence, if nothing at all came from the BMC.
fn no_answer(error: &BmcError) -> Option<String> {
    if let BmcError::Unreachable { cause } | BmcError::NoAnswer { cause } = error {
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
