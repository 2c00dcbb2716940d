//! What kind of error it is: for whom it has a name, and what may be tried after it.

use std::time::Duration;

use super::BmcError;

/// How long an error is likely to stay.
enum Endurance {
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
    /// The reason for conditions, events and metrics: CamelCase, stable, of a closed set.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::ProtocolNotAllowed { .. } => "BmcProtocolNotAllowed",
            Self::CredentialsUnusable { .. } => "BmcCredentialsUnusable",
            Self::Ipmi(error) => error.reason(),
            Self::InsecureTransport { .. } => "BmcTransportNotAllowed",
            Self::AddressNotAllowed { .. } => "BmcAddressNotAllowed",
            Self::Unresolvable { .. } => "BmcUnresolvable",
            Self::Unreachable { .. } | Self::NoAnswer { .. } => "BmcUnreachable",
            Self::UnknownOutcome { .. } => "BmcOutcomeUnknown",
            Self::Tls { failure } if failure.is_about_trust() => "BmcTlsUntrusted",
            Self::Tls { .. } => "BmcTlsFailed",
            Self::TrustUnusable { .. } => "BmcTrustUnusable",
            Self::AuthenticationRejected { .. } => "BmcCredentialsRejected",
            Self::Forbidden { .. } => "BmcForbidden",
            Self::SessionsUnsupported => "BmcSessionsUnsupported",
            Self::NotRedfish { .. } => "BmcNotRedfish",
            Self::Redirected { .. } => "BmcRedirected",
            Self::AmbiguousSystem { .. } => "BmcSystemAmbiguous",
            Self::NoSuchSystem { .. } => "BmcSystemNotFound",
            Self::IdentityMismatch { .. } => "BmcIdentityMismatch",
            Self::MissingResetTarget => "BmcResetMissing",
            Self::ForeignReference { .. } => "BmcForeignReference",
            Self::CommandNotOffered { .. } => "BmcCommandNotOffered",
            Self::TooLate => "BmcTooLate",
            Self::Resting { .. } => "BmcResting",
            Self::NotRead => "BmcNotRead",
            Self::Http { .. } => "BmcHttpError",
            Self::TooLarge { .. } => "BmcAnswerTooLarge",
            Self::FallbackFailed { .. } => "BmcFallbackFailed",
            Self::GuidUnproven { .. } => "BmcGuidUnproven",
        }
    }

    /// Whether the same attempt may work later without anybody changing anything.
    pub fn is_transient(&self) -> bool {
        match self.endurance() {
            Endurance::Silence | Endurance::Passing => true,
            Endurance::LastingSilence | Endurance::Lasting => false,
        }
    }

    /// Whether the BMC was asked and nothing came back, or it could not be reached at all.
    pub(crate) fn is_silence(&self) -> bool {
        match self.endurance() {
            Endurance::Silence | Endurance::LastingSilence => true,
            Endurance::Passing | Endurance::Lasting => false,
        }
    }

    fn endurance(&self) -> Endurance {
        match self {
            Self::Unreachable { .. }
            | Self::NoAnswer { .. }
            | Self::UnknownOutcome { .. }
            // Redfish may be back any time, whatever is wrong with IPMI.
            | Self::FallbackFailed { .. } => Endurance::Silence,
            Self::Unresolvable { .. } | Self::Resting { .. } | Self::TooLate => Endurance::Passing,
            Self::Tls { failure } if failure.is_transient() => Endurance::Silence,
            // A proxy page stands in for a BMC that restarts (504 with HTML), and a 400 may say
            // "not ready yet"; what a 4xx otherwise says does not change by itself.
            Self::Http { status, busy, .. }
                if *busy || *status >= 500 || matches!(status, 408 | 425 | 429) =>
            {
                Endurance::Passing
            }
            Self::Ipmi(error) => match (error.is_silence(), error.is_transient()) {
                (true, true) => Endurance::Silence,
                (true, false) => Endurance::LastingSilence,
                (false, true) => Endurance::Passing,
                (false, false) => Endurance::Lasting,
            },
            Self::Tls { .. }
            | Self::Http { .. }
            | Self::ProtocolNotAllowed { .. }
            | Self::CredentialsUnusable { .. }
            | Self::InsecureTransport { .. }
            | Self::AddressNotAllowed { .. }
            | Self::TrustUnusable { .. }
            | Self::AuthenticationRejected { .. }
            | Self::Forbidden { .. }
            | Self::SessionsUnsupported
            | Self::NotRedfish { .. }
            | Self::Redirected { .. }
            | Self::AmbiguousSystem { .. }
            | Self::NoSuchSystem { .. }
            | Self::IdentityMismatch { .. }
            | Self::MissingResetTarget
            | Self::ForeignReference { .. }
            | Self::CommandNotOffered { .. }
            | Self::NotRead
            | Self::GuidUnproven { .. }
            | Self::TooLarge { .. } => Endurance::Lasting,
        }
    }

    /// When the BMC wants to be asked again.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        if let Self::Http { retry_after, .. } = self {
            *retry_after
        } else {
            None
        }
    }

    /// Whether a power command that ended in this error may have been executed.
    pub fn may_have_been_executed(&self) -> bool {
        matches!(self, Self::UnknownOutcome { .. })
    }
}
