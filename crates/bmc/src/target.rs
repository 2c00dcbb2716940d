//! Whom to speak to, as whom, under which rules and how patiently.

use std::fmt;
use std::time::Duration;

use super::{
    AllowedNetworks, BmcAddress, BmcError, Credentials, Protocol, ResourcePath, ServerTrust, Transport,
};
use remediator_core::identity::SystemUuid;

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
    /// The UUID of the node. Chooses among several systems; commands to a system with another are refused.
    pub expected_uuid: Option<SystemUuid>,
    /// The system that had this UUID before. It stands for it where no system says it has: of some BMCs a host that is
    /// off has none.
    pub known_system: Option<ResourcePath>,
    /// Where BMCs may be.
    pub allowed: AllowedNetworks,
    /// Which protocols may be used. Which one is used is up to the address.
    pub protocols: Vec<Protocol>,
    /// UDP port of IPMI in place of a silent Redfish service, where both may be used and `expected_uuid` is known.
    pub fallback: Option<u16>,
    /// The least protection under which credentials are sent over HTTP; IPMI has its own.
    pub minimum_transport: TransportSecurity,
}

impl BmcAddress {
    /// Checks what the rules say of the address itself, before any name is resolved.
    ///
    /// # Errors
    /// [`BmcError`]: `ProtocolNotAllowed`, `InsecureTransport`.
    pub fn check(
        &self,
        trust: &ServerTrust,
        protocols: &[Protocol],
        required: TransportSecurity,
    ) -> Result<(), BmcError> {
        if !protocols.contains(&self.protocol) {
            return Err(BmcError::ProtocolNotAllowed(self.protocol));
        }
        let offered = self.transport_security(trust);
        match self.protocol {
            Protocol::Redfish if offered < required => Err(BmcError::InsecureTransport { offered, required }),
            Protocol::Redfish | Protocol::Ipmi => Ok(()),
        }
    }

    fn transport_security(&self, trust: &ServerTrust) -> TransportSecurity {
        use ServerTrust::{CertificateAuthority, Fingerprints, SystemRoots, Unverified};
        match (self.transport, trust) {
            (Transport::Http, _) => TransportSecurity::PlainHttp,
            (Transport::Https, Unverified) => TransportSecurity::UnverifiedTls,
            (Transport::Https, CertificateAuthority(_) | Fingerprints(_) | SystemRoots) => {
                TransportSecurity::VerifiedTls
            }
        }
    }
}

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadlines {
    /// TCP and TLS together; over IPMI agreeing on a cipher suite and logging in.
    pub(super) connect: Duration,
    /// From the first byte of a request to the last byte of its answer.
    pub(super) request: Duration,
    /// One reading with everything it needs: login, choosing the system, the read itself.
    pub(super) operation: Duration,
    /// Over IPMI, before a datagram that is not answered is sent again; then twice as long, and so on.
    pub(super) patience: Duration,
}

impl Deadlines {
    /// Bounds one reading with everything it needs.
    pub(super) async fn for_reading<Found>(
        self,
        reading: impl Future<Output = Result<Found, BmcError>>,
    ) -> Result<Found, BmcError> {
        let limit = self.operation;
        let late = |_| BmcError::NoAnswer(format!("reading it took longer than {limit:?}"));
        tokio::time::timeout(limit, reading).await.map_err(late)?
    }

    /// The part of the time to connect that each of several addresses gets.
    pub(super) fn connect_share(self, peers: usize) -> Duration {
        let count = u32::try_from(peers).unwrap_or(u32::MAX).max(1);
        self.connect.checked_div(count).unwrap_or(self.connect)
    }
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            request: Duration::from_secs(15),
            operation: Duration::from_secs(45),
            patience: Duration::from_millis(500),
        }
    }
}
