//! What stands in the way of a remediation when a BMC cannot be used: errors of the power-control layer in
//! the words of the core.

#[cfg(test)]
mod tests;

use remediator_bmc::{BmcError, IpmiError};
use remediator_core::facts::Obstacle;
use remediator_core::phase::Reason;

/// What an error of the power-control layer means for a remediation.
pub(crate) fn obstacle(place: &str, error: &BmcError) -> Obstacle {
    let reason = match error {
        BmcError::ProtocolNotAllowed { .. } => Reason::BmcProtocolNotAllowed,
        BmcError::CredentialsUnusable { .. } => Reason::BmcCredentialsMissing,
        BmcError::Ipmi(error) => over_ipmi(error),
        BmcError::FallbackFailed { ipmi, .. } => without_fallback(ipmi),
        BmcError::GuidUnproven { .. } => Reason::IdentityUnproven,
        BmcError::InsecureTransport { .. } => Reason::BmcTlsUntrusted,
        BmcError::AddressNotAllowed { .. } => Reason::BmcAddressNotAllowed,
        BmcError::Unresolvable { .. }
        | BmcError::Unreachable { .. }
        | BmcError::NoAnswer { .. }
        | BmcError::UnknownOutcome { .. }
        | BmcError::TooLate => Reason::BmcUnreachable,
        BmcError::Tls { failure } if failure.is_transient() => Reason::BmcUnreachable,
        BmcError::Tls { failure } if !failure.is_about_trust() => Reason::BmcProtocolError,
        BmcError::Tls { .. } | BmcError::TrustUnusable { .. } => Reason::BmcTlsUntrusted,
        BmcError::AuthenticationRejected { .. } => Reason::BmcCredentialsRejected,
        BmcError::AmbiguousSystem { .. } => Reason::BmcSystemAmbiguous,
        BmcError::IdentityMismatch { .. } => Reason::IdentityMismatch,
        BmcError::Http { .. } if error.is_transient() => Reason::BmcNotReady,
        BmcError::Resting { .. } => Reason::BmcNotReady,
        BmcError::NotRedfish { .. }
        | BmcError::SessionsUnsupported
        | BmcError::Redirected { .. }
        | BmcError::NoSuchSystem { .. }
        | BmcError::ForeignReference { .. }
        | BmcError::NotRead
        | BmcError::Http { .. }
        | BmcError::TooLarge { .. } => Reason::BmcProtocolError,
        BmcError::Forbidden { .. } => Reason::BmcForbidden,
        BmcError::MissingResetTarget | BmcError::CommandNotOffered { .. } => Reason::BmcCommandRefused,
    };
    Obstacle::new(reason, format!("{place}: {error}"))
}

/// What it means that IPMI was no help while Redfish was silent. That Redfish is silent is what has to be
/// mended, unless another host answered. It says nothing about the Secret, which Redfish may take.
fn without_fallback(ipmi: &BmcError) -> Reason {
    if matches!(ipmi, BmcError::IdentityMismatch { .. }) {
        Reason::IdentityMismatch
    } else if matches!(ipmi, BmcError::GuidUnproven { .. }) {
        Reason::IdentityUnproven
    } else {
        Reason::BmcUnreachable
    }
}

/// What an error that only IPMI has means for a remediation.
fn over_ipmi(error: &IpmiError) -> Reason {
    match error {
        IpmiError::LoginRejected { .. } => Reason::BmcCredentialsRejected,
        // It may be the network: the version of the Secret is not given up for it. Trying again later
        // cannot lock the account, because the proof of a wrong password is never sent.
        IpmiError::LoginUnanswered { .. } => Reason::BmcUnreachable,
        IpmiError::PrivilegeDenied { .. } => Reason::BmcForbidden,
        IpmiError::Refused { busy: true, .. } | IpmiError::EarlierCommandUnderWay => Reason::BmcNotReady,
        IpmiError::NoCipherSuite { .. }
        | IpmiError::Refused { busy: false, .. }
        | IpmiError::Malformed { .. } => Reason::BmcProtocolError,
    }
}
