//! Errors of power control as obstacles of the core.

#[cfg(test)]
mod tests;

use remediator_bmc::{BmcError, IpmiError};
use remediator_core::facts::Obstacle;
use remediator_core::phase::Reason;

pub(crate) fn obstacle(place: &str, error: &BmcError) -> Obstacle {
    let reason = match error {
        BmcError::ProtocolNotAllowed(_) => Reason::BmcProtocolNotAllowed,
        BmcError::CredentialsUnusable(_) => Reason::BmcCredentialsMissing,
        BmcError::Ipmi(error) => over_ipmi(error),
        BmcError::FallbackFailed { ipmi, .. } => without_fallback(ipmi),
        BmcError::GuidUnproven(_) => Reason::IdentityUnproven,
        BmcError::InsecureTransport { .. } => Reason::BmcTlsUntrusted,
        BmcError::AddressNotAllowed { .. } => Reason::BmcAddressNotAllowed,
        BmcError::Unresolvable { .. }
        | BmcError::Unreachable(_)
        | BmcError::NoAnswer(_)
        | BmcError::UnknownOutcome(_)
        | BmcError::TooLate => Reason::BmcUnreachable,
        BmcError::Tls(failure) if failure.is_transient() => Reason::BmcUnreachable,
        BmcError::Tls(failure) if !failure.is_about_trust() => Reason::BmcProtocolError,
        BmcError::Tls(_) | BmcError::TrustUnusable(_) => Reason::BmcTlsUntrusted,
        BmcError::AuthenticationRejected { .. } => Reason::BmcCredentialsRejected,
        BmcError::AmbiguousSystem { .. } => Reason::BmcSystemAmbiguous,
        BmcError::IdentityMismatch { .. } => Reason::IdentityMismatch,
        BmcError::Http { .. } if error.is_transient() => Reason::BmcNotReady,
        BmcError::Resting(_) => Reason::BmcNotReady,
        BmcError::NotRedfish(_)
        | BmcError::SessionsUnsupported
        | BmcError::Redirected(..)
        | BmcError::NoSuchSystem { .. }
        | BmcError::ForeignReference(..)
        | BmcError::NotRead
        | BmcError::Http { .. }
        | BmcError::TooLarge(_) => Reason::BmcProtocolError,
        BmcError::Forbidden(_) => Reason::BmcForbidden,
        BmcError::MissingResetTarget | BmcError::CommandNotOffered(..) => Reason::BmcCommandRefused,
    };
    Obstacle::new(reason, format!("{place}: {error}"))
}

/// IPMI was no help while Redfish was silent, which is what has to be mended, unless another host answered. It
/// says nothing about the Secret, which Redfish may take.
fn without_fallback(ipmi: &BmcError) -> Reason {
    if matches!(ipmi, BmcError::IdentityMismatch { .. }) {
        Reason::IdentityMismatch
    } else if matches!(ipmi, BmcError::GuidUnproven(_)) {
        Reason::IdentityUnproven
    } else {
        Reason::BmcUnreachable
    }
}

fn over_ipmi(error: &IpmiError) -> Reason {
    match error {
        IpmiError::LoginRejected(_) => Reason::BmcCredentialsRejected,
        // It may be the network: the version of the Secret is not given up for it. Trying again later
        // cannot lock the account, because the proof of a wrong password is never sent.
        IpmiError::LoginUnanswered(..) => Reason::BmcUnreachable,
        IpmiError::PrivilegeDenied(_) => Reason::BmcForbidden,
        IpmiError::Refused { busy: true, .. } | IpmiError::EarlierCommandUnderWay => Reason::BmcNotReady,
        IpmiError::NoCipherSuite(_) | IpmiError::Refused { busy: false, .. } | IpmiError::Malformed(_) => {
            Reason::BmcProtocolError
        }
    }
}
