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
mod fallback;
mod inspection;
mod ipmi;
mod network;
mod redact;
mod redfish;
mod target;
mod tls;

use tokio::time::Instant;

pub use actor::{BmcHandle, Bmcs, Urgency};
pub use address::{AddressError, BadPath, BmcAddress, Host, HostName, Privilege, ResourcePath, Transport};
pub use credentials::{Credentials, CredentialsError};
pub use error::BmcError;
pub use fallback::IpmiFallback;
pub use inspection::{Inspection, Login};
pub use ipmi::{IpmiError, read_datagram as read_ipmi_datagram};
pub use network::{AllowedNetworks, NotAllowed, RangeUse, ReservedRange};
pub use redfish::{ReadBody as ReadRedfishBody, read_body as read_redfish_body};
pub use remediator_core::journal::Verb;
pub use remediator_core::observed::PowerRead;
pub use remediator_core::power::Protocol;
pub use remediator_core::power_command::{CommandAnswer, Refusal};
pub use target::{AuthMethod, BmcTarget, TransportSecurity};
pub use tls::{
    BadFingerprint, Fingerprint, PresentedCertificate, ServerTrust, TlsFailure,
    read_certificate as read_bmc_certificate,
};

use fallback::RedfishOrIpmi;
use ipmi::Ipmi;
use redfish::Redfish;
use target::Deadlines;

/// The longest place of a session that is kept for a successor, in bytes; real ones are below 100. The
/// schema of the journal has the same limit, and a BMC must not make a journal unwritable.
pub const LONGEST_SESSION: usize = 256;

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
    RedfishOrIpmi(Box<RedfishOrIpmi>),
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
                let allowed = target.protocols.contains(&Protocol::Ipmi);
                let driver = match target.fallback.filter(|_| allowed) {
                    Some(fallback) => {
                        let either = RedfishOrIpmi::prepare(target, fallback, deadlines).await?;
                        Driver::RedfishOrIpmi(Box::new(either))
                    }
                    None => Driver::Redfish(Box::new(Redfish::prepare(target, deadlines).await?)),
                };
                Ok(Self { driver })
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
    pub async fn read(&mut self) -> Result<PowerRead, BmcError> {
        self.read_with(true).await
    }

    /// The same, and whether a silent Redfish service may be left for IPMI now, where the target allows it.
    async fn read_with(&mut self, may_fall_back: bool) -> Result<PowerRead, BmcError> {
        match &mut self.driver {
            Driver::Redfish(redfish) => redfish.read().await,
            Driver::RedfishOrIpmi(either) => either.read(may_fall_back).await,
            Driver::Ipmi(ipmi) => ipmi.read().await,
        }
    }

    /// Reads everything that says whether the BMC could be used, with at most one request more than
    /// a reading takes. Sends no command.
    ///
    /// # Errors
    /// As [`Bmc::read`].
    pub async fn inspect(&mut self) -> Result<Inspection, BmcError> {
        self.inspect_with(true).await
    }

    /// The same, and whether a silent Redfish service may be left for IPMI now, where the target allows it.
    async fn inspect_with(&mut self, may_fall_back: bool) -> Result<Inspection, BmcError> {
        match &mut self.driver {
            Driver::Redfish(redfish) => redfish.inspect().await,
            Driver::RedfishOrIpmi(either) => either.inspect(may_fall_back).await,
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
            Driver::RedfishOrIpmi(either) => either.end_session(path).await,
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
        self.command(Verb::PowerOff, not_after).await
    }

    /// Sends `On` once to the system that the last reading came from, and not after the given time.
    ///
    /// # Errors
    /// As [`Bmc::power_off`].
    pub async fn power_on(&mut self, not_after: Instant) -> Result<CommandAnswer, BmcError> {
        self.command(Verb::PowerOn, not_after).await
    }

    async fn command(&mut self, command: Verb, not_after: Instant) -> Result<CommandAnswer, BmcError> {
        match &mut self.driver {
            Driver::Redfish(redfish) => redfish.command(command, not_after).await,
            Driver::RedfishOrIpmi(either) => either.command(command, not_after).await,
            Driver::Ipmi(ipmi) => ipmi.command(command, not_after).await,
        }
    }

    /// Until when a command may still arrive at the BMC that was sent in this conversation and not
    /// answered; `None` if there is none. Over TCP there is none: connections are ended by a reset, which
    /// takes back what was not delivered.
    fn under_way_until(&self) -> Option<Instant> {
        match &self.driver {
            Driver::Redfish(_) => None,
            Driver::RedfishOrIpmi(either) => either.under_way_until(),
            Driver::Ipmi(ipmi) => ipmi.under_way_until(),
        }
    }

    /// Ends the session, if there is one, and the connection. Answers whether there was a session.
    ///
    /// # Errors
    /// [`BmcError`] if a session may have stayed on the BMC. Nothing else is lost by it.
    pub async fn close(self) -> Result<bool, BmcError> {
        match self.driver {
            Driver::Redfish(redfish) => redfish.close().await,
            Driver::RedfishOrIpmi(either) => either.close().await,
            Driver::Ipmi(ipmi) => ipmi.close().await,
        }
    }
}
