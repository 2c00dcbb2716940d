//! Power control: asks a BMC about one host, switches it off, switches it on.
//!
//! One port, [`Bmc`], whatever the protocol: read, off, on. It decides nothing. A reading says
//! what the BMC said and when; an answer to a command says what was answered and never that the
//! power state is now so: only later readings do. Nothing is repeated by itself except a read
//! over a connection that turned out to be dead.
//!
//! The wall clock is read here and nowhere below the shell: `jiff::Timestamp::now()` marks when a
//! reading began and ended.

mod actor;
mod address;
pub mod by_hand;
mod credentials;
mod error;
mod inspection;
mod ipmi;
mod network;
mod redact;
mod redfish;
mod tls;

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

pub use actor::{BmcLine, Bmcs, Urgency};
pub use address::{
    AddressError, BadPath, BmcAddress, Host, HostName, Privilege, Protocol, ResourcePath, Transport,
};
pub use credentials::{Credentials, CredentialsError};
pub use error::BmcError;
pub use ipmi::{IpmiError, read_datagram as read_ipmi_datagram};
pub use network::AllowedNetworks;
pub use redfish::read_body as read_redfish_body;
pub use tls::{BadFingerprint, Fingerprint, PresentedCertificate, ServerTrust, TlsFailure};

use crate::core::identity::SystemUuid;
use crate::core::power::PowerState;
use ipmi::Ipmi;
use redfish::Redfish;

/// What a BMC said about its host, in one answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Which protocol it came by.
    pub source: Protocol,
    /// The power state, as fencing has to see it.
    pub power: PowerState,
    /// The word the BMC used: printable, at most 64 characters.
    pub literal: Option<String>,
    /// The system UUID as the BMC writes it: printable, at most 64 characters.
    pub uuid: Option<String>,
    /// The serial number as the BMC writes it: printable, at most 64 characters.
    pub serial: Option<String>,
    /// Which system was read: the path of the resource, or `ipmi` for the one behind an IPMI address.
    pub system: String,
    /// The session in which it was read, to be ended by a successor if need be; `None` without one.
    pub session: Option<String>,
    /// Before the request was sent.
    pub began: Timestamp,
    /// After the answer was read completely.
    pub ended: Timestamp,
}

/// What a BMC would let us do, found out without changing anything.
#[derive(Clone, Debug, PartialEq)]
pub struct Inspection {
    /// Power state and identity.
    pub reading: Reading,
    /// How we are logged in.
    pub login: Login,
    /// The certificate that it presented; `None` without TLS.
    pub certificate: Option<PresentedCertificate>,
    /// The version of TLS, as OpenSSL writes it.
    pub tls_version: Option<&'static str>,
    /// The reset types that it says it offers; `None` if it does not say.
    pub offers: Option<Vec<String>>,
}

impl Inspection {
    /// The absolute verbs that it does not offer although it lists what it offers.
    pub fn missing(&self) -> Vec<PowerCommand> {
        let lacks = |command: &PowerCommand| {
            let offers = self.offers.as_ref().filter(|offers| !offers.is_empty());
            offers.is_some_and(|offers| !offers.iter().any(|word| word == command.as_str()))
        };
        [PowerCommand::ForceOff, PowerCommand::On]
            .into_iter()
            .filter(lacks)
            .collect()
    }
}

/// How we are known to a BMC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Login {
    /// By a Redfish session.
    Session,
    /// By HTTP Basic.
    Basic,
    /// By an IPMI session with the cipher suite of this number.
    CipherSuite(u8),
}

/// A power command. Absolute verbs only: what they ask for does not depend on the present state,
/// so that one that is repeated by accident does no harm (DSP0268 `ResetType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PowerCommand {
    /// Off at once, like holding the power button.
    ForceOff,
    /// On.
    On,
}

impl PowerCommand {
    /// The word of Redfish for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ForceOff => "ForceOff",
            Self::On => "On",
        }
    }
}

impl fmt::Display for PowerCommand {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A definite answer to a power command. None of them proves a power state: read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandAnswer {
    /// The BMC took the command.
    Accepted {
        /// When the answer was there.
        at: Timestamp,
    },
    /// The host is already in that state, or the command conflicts with what the BMC is doing
    /// (HTTP 409 stands for both, depending on the vendor).
    AlreadyThereOrConflict {
        /// When the answer was there.
        at: Timestamp,
        /// What the BMC said.
        text: String,
    },
    /// The BMC did not take the command.
    Refused {
        /// When the answer was there.
        at: Timestamp,
        /// Why, roughly.
        class: Refusal,
        /// What the BMC said.
        text: String,
        /// When the BMC wants to be asked again.
        retry_after: Option<Duration>,
    },
}

/// Why a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Not now: overloaded, not ready, in a state that passes.
    Busy,
    /// Not this command, not this way; will not change by waiting.
    Unsupported,
    /// The BMC failed inside. What it did before that is not known.
    Failed,
    /// Our session had ended. The next reading logs in again.
    SessionEnded,
}

/// How to log in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AuthMethod {
    /// A session if the BMC has sessions to give, else Basic.
    #[default]
    Auto,
    /// A session (DSP0266, "Redfish session login authentication") or nothing.
    Session,
    /// HTTP Basic (RFC 7617) with every request.
    Basic,
}

/// How well the way to a BMC is protected, from worst to best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TransportSecurity {
    /// Clear text.
    PlainHttp,
    /// Encrypted towards whoever answers.
    UnverifiedTls,
    /// Encrypted towards a peer that proved its identity.
    VerifiedTls,
}

impl fmt::Display for TransportSecurity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::PlainHttp => "clear-text HTTP",
            Self::UnverifiedTls => "unverified TLS",
            Self::VerifiedTls => "verified TLS",
        })
    }
}

/// Everything needed to speak to one BMC.
#[derive(Clone, Debug, PartialEq)]
pub struct BmcTarget {
    /// Where it is.
    pub address: BmcAddress,
    /// Who we are.
    pub credentials: Credentials,
    /// Who it has to prove to be.
    pub trust: ServerTrust,
    /// How to log in.
    pub auth: AuthMethod,
    /// The UUID of the node. Chooses among several systems; where it and a usable UUID of the
    /// BMC contradict each other, commands are refused.
    pub expected_uuid: Option<SystemUuid>,
    /// Where BMCs may be.
    pub allowed: AllowedNetworks,
    /// Which protocols may be used. Which one is used is up to the address; none stands in for another.
    pub protocols: Vec<Protocol>,
    /// The least protection under which credentials are sent over HTTP. IPMI has its own, which
    /// allowing the protocol accepts.
    pub minimum_transport: TransportSecurity,
}

impl BmcTarget {
    fn transport_security(&self) -> TransportSecurity {
        match (self.address.transport, &self.trust) {
            (Transport::Http, _) => TransportSecurity::PlainHttp,
            (Transport::Https, ServerTrust::Unverified) => TransportSecurity::UnverifiedTls,
            (
                Transport::Https,
                ServerTrust::CertificateAuthority(_)
                | ServerTrust::Fingerprints(_)
                | ServerTrust::SystemRoots,
            ) => TransportSecurity::VerifiedTls,
        }
    }
}

/// How long things may take.
#[derive(Clone, Copy, Debug)]
struct Deadlines {
    /// TCP and TLS together; over IPMI agreeing on a cipher suite and logging in.
    connect: Duration,
    /// From the first byte of a request to the last byte of its answer.
    request: Duration,
    /// One reading with everything it needs: login, choosing the system, the read itself.
    operation: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            request: Duration::from_secs(15),
            operation: Duration::from_secs(45),
        }
    }
}

/// A conversation with one BMC: serial by `&mut`, one connection, at most one session.
///
/// End it with [`Bmc::close`], else a session stays on the BMC until it times out there.
#[derive(Debug)]
pub struct Bmc {
    driver: Driver,
}

/// The protocols.
#[derive(Debug)]
enum Driver {
    Redfish(Box<Redfish>),
    Ipmi(Box<Ipmi>),
}

impl Bmc {
    /// Checks everything that can be checked without sending a byte to the BMC: protocol,
    /// protection, trust settings, and that all addresses of the host are allowed. Connects and
    /// logs in with the first reading.
    ///
    /// # Errors
    /// [`BmcError`]: `ProtocolNotAllowed`, `CredentialsUnusable`, `InsecureTransport`, `Unresolvable`,
    /// `AddressNotAllowed`, `TrustUnusable`.
    pub async fn connect(target: BmcTarget) -> Result<Self, BmcError> {
        Self::connect_within(target, Deadlines::default()).await
    }

    async fn connect_within(target: BmcTarget, deadlines: Deadlines) -> Result<Self, BmcError> {
        let protocol = target.address.protocol;
        if !target.protocols.contains(&protocol) {
            return Err(BmcError::ProtocolNotAllowed { protocol });
        }
        match protocol {
            Protocol::Redfish => {
                let offered = target.transport_security();
                if offered < target.minimum_transport {
                    return Err(BmcError::InsecureTransport {
                        offered,
                        required: target.minimum_transport,
                    });
                }
                let redfish = Redfish::prepare(target, deadlines).await?;
                Ok(Self {
                    driver: Driver::Redfish(Box::new(redfish)),
                })
            }
            Protocol::Ipmi => {
                let ipmi = Ipmi::prepare(target, deadlines).await?;
                Ok(Self {
                    driver: Driver::Ipmi(Box::new(ipmi)),
                })
            }
        }
    }

    /// Reads power state and identity with a fresh request.
    ///
    /// # Errors
    /// Any [`BmcError`] but `UnknownOutcome`. After an error, a command needs a new reading first.
    pub async fn read(&mut self) -> Result<Reading, BmcError> {
        match &mut self.driver {
            Driver::Redfish(redfish) => redfish.read().await,
            Driver::Ipmi(ipmi) => ipmi.read().await,
        }
    }

    /// Reads everything that says whether the BMC could be used, with at most one request more than
    /// a reading takes. Sends no command.
    ///
    /// # Errors
    /// As [`Bmc::read`].
    pub async fn inspect(&mut self) -> Result<Inspection, BmcError> {
        match &mut self.driver {
            Driver::Redfish(redfish) => redfish.inspect().await,
            Driver::Ipmi(ipmi) => ipmi.inspect().await,
        }
    }

    /// Ends the session at this place, which a reading named and whose holder is gone. Answers whether it
    /// was still there. Readings over IPMI name none: their sessions can only be ended by who has their keys,
    /// and end by themselves within a minute.
    ///
    /// # Errors
    /// [`BmcError`]: the session may still be there.
    pub async fn end_session(&mut self, path: &str) -> Result<bool, BmcError> {
        match &mut self.driver {
            Driver::Redfish(redfish) => redfish.end_session(path).await,
            Driver::Ipmi(_) => Ok(false),
        }
    }

    /// Sends `ForceOff` once to the system that the last reading came from, and not after the given
    /// time, however long connecting took.
    ///
    /// # Errors
    /// [`BmcError::UnknownOutcome`] if the command may have been executed; any other error means
    /// that it was not.
    pub async fn power_off(&mut self, not_after: Instant) -> Result<CommandAnswer, BmcError> {
        match &mut self.driver {
            Driver::Redfish(redfish) => redfish.command(PowerCommand::ForceOff, not_after).await,
            Driver::Ipmi(ipmi) => ipmi.command(PowerCommand::ForceOff, not_after).await,
        }
    }

    /// Sends `On` once to the system that the last reading came from, and not after the given time.
    ///
    /// # Errors
    /// As [`Bmc::power_off`].
    pub async fn power_on(&mut self, not_after: Instant) -> Result<CommandAnswer, BmcError> {
        match &mut self.driver {
            Driver::Redfish(redfish) => redfish.command(PowerCommand::On, not_after).await,
            Driver::Ipmi(ipmi) => ipmi.command(PowerCommand::On, not_after).await,
        }
    }

    /// Ends the session, if there is one, and the connection. Answers whether there was a session.
    ///
    /// # Errors
    /// [`BmcError`] if a session may have stayed on the BMC. Nothing else is lost by it.
    pub async fn close(self) -> Result<bool, BmcError> {
        match self.driver {
            Driver::Redfish(redfish) => redfish.close().await,
            Driver::Ipmi(ipmi) => ipmi.close().await,
        }
    }
}
