//! Everything that can go wrong between us and a BMC.

use std::net::IpAddr;
use std::time::Duration;

use super::Protocol;
use super::credentials::CredentialsError;
use super::ipmi::IpmiError;
use super::network::NotAllowed;
use super::tls::TlsFailure;
use super::{TransportSecurity, Verb};
use remediator_core::identity::SystemUuid;
use remediator_core::power_command::CommandCame;

use Endurance::{Lasting, Passing, Silence};

/// Why a BMC could not be asked or did not answer usefully. Every message ends with what to do, and holds
/// neither password nor token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BmcError {
    /// The policy does not allow the protocol of the address. Nothing was sent.
    #[error(
        "the RemediationPolicy does not allow {0}. Add {0} to its spec.bmc.protocols, or give the BMC an address of an allowed protocol."
    )]
    ProtocolNotAllowed(Protocol),
    /// The credentials do not fit into the protocol. Nothing was sent.
    #[error("{0}")]
    CredentialsUnusable(CredentialsError),
    /// What can go wrong over IPMI only.
    #[error(transparent)]
    Ipmi(#[from] IpmiError),
    /// The transport is weaker than the policy allows. Nothing was sent.
    #[error(
        "the BMC would be spoken to over {offered}, but the policy demands {required}. Set up a verified https address, or allow this in the RemediationPolicy."
    )]
    InsecureTransport {
        /// What the address and trust setting amount to.
        offered: TransportSecurity,
        /// The least that is allowed.
        required: TransportSecurity,
    },
    /// An address of the host is not in the allow-list. Nothing was sent.
    #[error("{address} (of host {host}) {why}")]
    AddressNotAllowed {
        /// The host as the address names it.
        host: String,
        /// The refused address.
        address: IpAddr,
        /// Why it is.
        why: NotAllowed,
    },
    /// The name has no usable addresses.
    #[error("the BMC host {host} cannot be resolved: {cause}. Check the name and the DNS service.")]
    Unresolvable {
        /// The host.
        host: String,
        /// What the resolver said.
        cause: String,
    },
    /// No connection, or it was gone before the request was written: certainly not executed.
    #[error("the BMC cannot be reached: {0}. Check power, cable, network and address of the BMC.")]
    Unreachable(String),
    /// A read was sent and not answered.
    #[error("the BMC does not answer: {0}. Check its health, and reset the BMC if this stays.")]
    NoAnswer(String),
    /// A power command was sent and no definite answer came: it may or may not be executed.
    #[error(
        "it is unknown whether the BMC executed the command: {0}. Read the power state before anything else is done."
    )]
    UnknownOutcome(String),
    /// TLS did not come about. Nothing but the handshake was sent.
    #[error("no trusted TLS connection to the BMC: {0}")]
    Tls(TlsFailure),
    /// The trust setting itself cannot be used.
    #[error("the TLS trust setting is not usable: {0}. Correct the certificate or fingerprint.")]
    TrustUnusable(String),
    /// The login was rejected. Not tried again by this connection.
    #[error(
        "the BMC rejected the credentials (HTTP {status}: {text}). Correct the Secret; this version of it is not tried again."
    )]
    AuthenticationRejected {
        /// HTTP status.
        status: u16,
        /// What the BMC said.
        text: String,
    },
    /// The login is right, but does not allow this. Nothing was done.
    #[error(
        "the BMC denies this to the account (HTTP 403: {0}). Give the account the role Operator, and see that its password is not due to be changed."
    )]
    Forbidden(String),
    /// Sessions are asked for and the BMC has none.
    #[error("the BMC has no session service. Set the login method to Auto or Basic.")]
    SessionsUnsupported,
    /// Something answers, but not a Redfish service.
    #[error(
        "the answer is not Redfish: {0}. Check host and port, and that the BMC has Redfish enabled and licensed."
    )]
    NotRedfish(String),
    /// A redirect, which is never followed: HTTP status, and where to, or why that is not shown.
    #[error(
        "the BMC redirects (HTTP {0}) to {1}, which is not followed. Use the final path in the BMC address."
    )]
    Redirected(u16, String),
    /// More than one system and no proof which is meant.
    #[error(
        "the BMC has {members} systems and {matching} match the expected system UUID. Name the system's path in the BMC address."
    )]
    AmbiguousSystem {
        /// Members of the collection that were seen.
        members: usize,
        /// Of these, how many have the expected UUID.
        matching: usize,
    },
    /// No system where one should be.
    #[error(
        "{path} is not a computer system ({found}). Name the path of a member of /redfish/v1/Systems in the BMC address."
    )]
    NoSuchSystem {
        /// The path.
        path: String,
        /// What is there.
        found: String,
    },
    /// The system is another one. No command is sent to it.
    #[error(
        "the system has UUID {found}, but the node has {expected}. Check that the BMC address belongs to this node."
    )]
    IdentityMismatch {
        /// What the caller expects.
        expected: SystemUuid,
        /// What the BMC says.
        found: SystemUuid,
    },
    /// The system advertises no `#ComputerSystem.Reset` target.
    #[error(
        "the system offers no reset action. Check the account's privileges and the BMC's licence and firmware."
    )]
    MissingResetTarget,
    /// The BMC names this resource in a way that has this problem, which reads on from its name. It is not used.
    #[error("the {0} named by the BMC {1} and is not used. Update the BMC's firmware.")]
    ForeignReference(&'static str, String),
    /// The BMC lists these reset types, without the one that is safe. Nothing was sent.
    #[error("the BMC does not offer {0}, only {1}. Fence this host by other means.")]
    CommandNotOffered(Verb, String),
    /// The time of a command had passed before it could be sent. It was not sent.
    #[error(
        "the command was not sent, because its time had passed while the BMC was being connected. Check the BMC's network if this goes on."
    )]
    TooLate,
    /// A command was asked for without a successful reading before it.
    #[error("no successful reading precedes the command. Read the power state first.")]
    NotRead,
    /// Any other HTTP status, or a Redfish error in a good one.
    #[error("the BMC answered HTTP {status}: {text}. See its log, and try again later.")]
    Http {
        /// HTTP status.
        status: u16,
        /// What the BMC said.
        text: String,
        /// Whether the BMC says that it is not ready yet, in whatever status it says so.
        busy: bool,
        /// When the BMC wants to be asked again (RFC 9110, `Retry-After`).
        retry_after: Option<Duration>,
    },
    /// The BMC is not asked for so long: it wants a pause, did not answer, or a remediation goes first. Nothing was sent.
    #[error(
        "the BMC is left alone for another {} s, because it asked for that or did not answer several times. Check its health if this goes on.",
        .0.as_secs().saturating_add(1)
    )]
    Resting(Duration),
    /// Redfish was silent, and IPMI, which the administrator allows in its place, did not help.
    #[error(
        "Redfish does not answer ({redfish}), and IPMI, which the RemediationPolicy allows in its place, does not help: {ipmi}"
    )]
    FallbackFailed {
        /// What is known of the silence.
        redfish: String,
        /// What came of IPMI.
        ipmi: Box<BmcError>,
    },
    /// Nothing proves whose BMC answers over IPMI in place of Redfish; the GUID it gives, empty without one.
    #[error(
        "its system GUID ({0:?}) cannot be compared with a UUID of the host, so nothing proves whose BMC it is. See that the Node, or spec.systemUUID of the BMCEndpoint, names a UUID and that the BMC has one over IPMI."
    )]
    GuidUnproven(String),
    /// The body exceeds the limit, in bytes.
    #[error("the answer of the BMC is larger than {0} bytes. Check that the address is that of a BMC.")]
    TooLarge(usize),
}

/// How long an error is likely to stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endurance {
    /// Nothing comes from the BMC; it may come back.
    Silence,
    /// Nothing comes, and asking the same way again brings nothing either.
    LastingSilence,
    /// Something said that it passes.
    Passing,
    /// Until somebody changes something.
    Lasting,
}

impl BmcError {
    /// Its name for people, and how long it is likely to stay.
    fn class(&self) -> (&'static str, Endurance) {
        match self {
            Self::ProtocolNotAllowed(_) => ("BmcProtocolNotAllowed", Lasting),
            Self::CredentialsUnusable(_) => ("BmcCredentialsUnusable", Lasting),
            Self::Ipmi(error) => error.class(),
            Self::InsecureTransport { .. } => ("BmcTransportNotAllowed", Lasting),
            Self::AddressNotAllowed { .. } => ("BmcAddressNotAllowed", Lasting),
            Self::Unresolvable { .. } => ("BmcUnresolvable", Passing),
            Self::Unreachable(_) | Self::NoAnswer(_) => ("BmcUnreachable", Silence),
            Self::UnknownOutcome(_) => ("BmcOutcomeUnknown", Silence),
            Self::Tls(failure) if failure.is_about_trust() => ("BmcTlsUntrusted", Lasting),
            Self::Tls(failure) if failure.is_transient() => ("BmcTlsFailed", Silence),
            Self::Tls(_) => ("BmcTlsFailed", Lasting),
            Self::TrustUnusable(_) => ("BmcTrustUnusable", Lasting),
            Self::AuthenticationRejected { .. } => ("BmcCredentialsRejected", Lasting),
            Self::Forbidden(_) => ("BmcForbidden", Lasting),
            Self::SessionsUnsupported => ("BmcSessionsUnsupported", Lasting),
            Self::NotRedfish(_) => ("BmcNotRedfish", Lasting),
            Self::Redirected(..) => ("BmcRedirected", Lasting),
            Self::AmbiguousSystem { .. } => ("BmcSystemAmbiguous", Lasting),
            Self::NoSuchSystem { .. } => ("BmcSystemNotFound", Lasting),
            Self::IdentityMismatch { .. } => ("BmcIdentityMismatch", Lasting),
            Self::MissingResetTarget => ("BmcResetMissing", Lasting),
            Self::ForeignReference(..) => ("BmcForeignReference", Lasting),
            Self::CommandNotOffered(..) => ("BmcCommandNotOffered", Lasting),
            Self::TooLate => ("BmcTooLate", Passing),
            Self::Resting(_) => ("BmcResting", Passing),
            Self::NotRead => ("BmcNotRead", Lasting),
            // A proxy page stands in for a BMC that restarts (504 with HTML), and a 400 may say
            // "not ready yet"; what a 4xx otherwise says does not change by itself.
            Self::Http { status, busy, .. }
                if *busy || *status >= 500 || matches!(status, 408 | 425 | 429) =>
            {
                ("BmcHttpError", Passing)
            }
            Self::Http { .. } => ("BmcHttpError", Lasting),
            Self::TooLarge(_) => ("BmcAnswerTooLarge", Lasting),
            // Redfish may be back any time, whatever is wrong with IPMI.
            Self::FallbackFailed { .. } => ("BmcFallbackFailed", Silence),
            Self::GuidUnproven(_) => ("BmcGuidUnproven", Lasting),
        }
    }

    /// The reason for conditions, events and metrics: CamelCase, stable, of a closed set.
    pub fn reason(&self) -> &'static str {
        self.class().0
    }

    /// Whether the same attempt may work later without anybody changing anything.
    pub fn is_transient(&self) -> bool {
        matches!(self.class().1, Silence | Passing)
    }

    /// Whether the BMC was asked and nothing came back, or it could not be reached at all.
    pub(crate) fn is_silence(&self) -> bool {
        matches!(self.class().1, Silence | Endurance::LastingSilence)
    }

    /// Whether a power command that ended in this error may have been executed.
    pub fn may_have_been_executed(&self) -> bool {
        matches!(self, Self::UnknownOutcome(_))
    }

    /// How far a power command came that ended in this error.
    pub fn command_came(&self) -> CommandCame {
        if self.may_have_been_executed() {
            CommandCame::Unknown
        } else if self.was_before_the_command() {
            CommandCame::NotSent
        } else {
            CommandCame::NotExecuted
        }
    }

    /// Whether it came before a command was sent. What rejects a login answers no command.
    fn was_before_the_command(&self) -> bool {
        match self {
            Self::Unresolvable { .. }
            | Self::Unreachable(_)
            | Self::NoAnswer(_)
            | Self::TooLate
            | Self::Tls(_)
            | Self::TrustUnusable(_)
            | Self::ProtocolNotAllowed(_)
            | Self::CredentialsUnusable(_)
            | Self::InsecureTransport { .. }
            | Self::AddressNotAllowed { .. }
            | Self::AuthenticationRejected { .. }
            | Self::SessionsUnsupported
            | Self::AmbiguousSystem { .. }
            | Self::NoSuchSystem { .. }
            | Self::IdentityMismatch { .. }
            | Self::MissingResetTarget
            | Self::ForeignReference(..)
            | Self::CommandNotOffered(..)
            | Self::NotRead
            | Self::Resting(_)
            | Self::FallbackFailed { .. }
            | Self::GuidUnproven(_) => true,
            Self::Ipmi(error) => error.was_before_the_command(),
            Self::UnknownOutcome(_)
            | Self::Forbidden(_)
            | Self::NotRedfish(_)
            | Self::Redirected(..)
            | Self::Http { .. }
            | Self::TooLarge(_) => false,
        }
    }

    /// Refuses a system whose UUID contradicts the expected one. One that is unknown contradicts nothing.
    pub(crate) fn check_identity(
        expected: Option<&SystemUuid>,
        found: Option<&SystemUuid>,
    ) -> Result<(), Self> {
        match (expected, found) {
            (Some(expected), Some(found)) if expected.matches(found).is_none() => {
                Err(Self::IdentityMismatch {
                    expected: expected.clone(),
                    found: found.clone(),
                })
            }
            (Some(_) | None, _) => Ok(()),
        }
    }
}
