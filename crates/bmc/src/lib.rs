//! Power control: asks a BMC about one host, switches it off, switches it on.
//!
//! One port, [`Bmc`], whatever the protocol: read, off, on. It decides nothing. An answer to a command never
//! says that the power state is now so: only later readings do. Nothing is repeated by itself except a read
//! over a connection that turned out to be dead.
//!
//! A reading is dated when the request was sent whose answer is used: not when it was asked for, and not when
//! connecting and logging in began. [`Bmc`] dates by the wall clock, [`BmcHandle`] by the clock of its caller.

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
mod until;

use jiff::Timestamp;
use tokio::time::Instant;

pub use actor::{BmcHandle, Bmcs, Urgency};
pub use address::{AddressError, BadPath, BmcAddress, Host, HostName, Privilege, ResourcePath, Transport};
pub use credentials::{
    Binding, BindingError, Credentials, CredentialsError, FOR_ADDRESSES, FOR_FINGERPRINTS,
};
pub use error::BmcError;
pub use inspection::{Inspection, Login};
pub use ipmi::{IpmiError, read_datagram as read_ipmi_datagram};
pub use network::{AllowedNetworks, NotAllowed, RangeUse, ReservedRange};
pub use redfish::{ReadBody as ReadRedfishBody, read_body as read_redfish_body};
pub use remediator_core::journal::{LogEntry, Verb};
pub use remediator_core::observed::PowerRead;
pub use remediator_core::power::Protocol;
pub use remediator_core::power_command::{CommandAnswer, Refusal};
pub use target::{AuthMethod, BmcTarget, TransportSecurity};
pub use tls::{
    BadFingerprint, Fingerprint, PresentedCertificate, ServerTrust, TlsFailure,
    read_certificate as read_bmc_certificate,
};
pub use until::Until;

use fallback::RedfishOrIpmi;
use inspection::Scope;
use ipmi::Ipmi;
use target::Deadlines;

/// The longest place of a session that is kept for a successor, in bytes: the limit in the journal's schema,
/// which a BMC must not make unwritable. Real ones are below 100.
pub const LONGEST_SESSION: usize = 256;

/// A conversation with one BMC: serial by `&mut`, one connection, at most one session, which stays on the BMC
/// until it times out there unless [`Bmc::close`] ends it.
pub struct Bmc {
    driver: Driver,
}

enum Driver {
    Redfish(Box<RedfishOrIpmi>),
    Ipmi(Box<Ipmi>),
}

impl std::fmt::Debug for Bmc {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Bmc").finish_non_exhaustive()
    }
}

impl Bmc {
    /// Checks protocol, protection, trust settings and all addresses of the host, without sending a byte to the
    /// BMC. The first reading connects and logs in.
    ///
    /// # Errors
    /// [`BmcError`]: `ProtocolNotAllowed`, `CredentialsUnusable`, `InsecureTransport`, `Unresolvable`,
    /// `AddressNotAllowed`, `TrustUnusable`.
    pub async fn connect(target: BmcTarget) -> Result<Self, BmcError> {
        Self::connect_within(target, Deadlines::default()).await
    }

    async fn connect_within(target: BmcTarget, deadlines: Deadlines) -> Result<Self, BmcError> {
        let (address, required) = (&target.address, target.minimum_transport);
        address.check(&target.trust, &target.protocols, required)?;
        let driver = match address.protocol {
            Protocol::Redfish => Driver::Redfish(Box::new(RedfishOrIpmi::prepare(target, deadlines).await?)),
            Protocol::Ipmi => Driver::Ipmi(Box::new(Ipmi::prepare(target, deadlines).await?)),
        };
        Ok(Self { driver })
    }

    /// Reads power state and identity with a fresh request.
    ///
    /// # Errors
    /// Any [`BmcError`] but `UnknownOutcome`. After an error, a command needs a new reading first.
    pub async fn read(&mut self) -> Result<PowerRead, BmcError> {
        let found = self.look(Scope::Power, true).await?;
        Ok(found.reading)
    }

    /// Reads also whether the BMC could be used, with at most one request more than a reading takes.
    pub async fn inspect(&mut self) -> Result<Inspection, BmcError> {
        self.look(Scope::Everything, true).await
    }

    /// `may_fall_back`: whether a silent Redfish service may be left for IPMI now, where the target allows it.
    async fn look(&mut self, scope: Scope, may_fall_back: bool) -> Result<Inspection, BmcError> {
        match &mut self.driver {
            Driver::Redfish(redfish) => redfish.inspect(scope, may_fall_back).await,
            Driver::Ipmi(ipmi) => ipmi.inspect().await,
        }
    }

    /// The newest entries of the log that the BMC keeps about its host, the newest first, within 2 s; none where there is
    /// no such log or it cannot be read.
    pub async fn newest_log(&mut self) -> Vec<LogEntry> {
        match &mut self.driver {
            Driver::Redfish(redfish) => redfish.newest_log().await,
            Driver::Ipmi(_) => Vec::new(),
        }
    }

    /// Ends the session at this place, which a reading named and whose holder is gone. Answers whether it
    /// was still there. IPMI sessions cannot be ended without their keys, and end by themselves within a minute.
    ///
    /// # Errors
    /// [`BmcError`]: the session may still be there.
    pub async fn end_session(&mut self, path: &str) -> Result<bool, BmcError> {
        match &mut self.driver {
            Driver::Redfish(redfish) => redfish.end_session(path).await,
            Driver::Ipmi(_) => Ok(false),
        }
    }

    /// Sends `ForceOff`, `On` or `ForceRestart` once to the system that the last reading came from, and not after the given
    /// time, however long connecting took.
    ///
    /// # Errors
    /// [`BmcError::UnknownOutcome`] if the command may have been executed; after any other it was not.
    pub async fn command(
        &mut self,
        command: Verb,
        until: impl Into<Until>,
    ) -> Result<CommandAnswer, BmcError> {
        let until = until.into();
        match &mut self.driver {
            Driver::Redfish(redfish) => redfish.command(command, until).await,
            Driver::Ipmi(ipmi) => ipmi.command(command, until).await,
        }
    }

    /// Until when a command may still arrive that was sent in this conversation and not answered. Over TCP
    /// there is none: connections are ended by a reset, which takes back what was not delivered.
    fn under_way_until(&self) -> Option<Instant> {
        match &self.driver {
            Driver::Redfish(redfish) => redfish.under_way_until(),
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
            Driver::Ipmi(ipmi) => ipmi.close().await,
        }
    }
}

/// When something was by the wall clock.
fn dated(at: Instant) -> Timestamp {
    let now = Timestamp::now();
    now.checked_sub(at.elapsed()).unwrap_or(now)
}
