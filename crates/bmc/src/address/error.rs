//! Why an address was refused.

use super::BadPath;

/// Why a BMC address was refused. Never repeats a part of the address that could hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Nothing there.
    #[error("the BMC address is empty. Give one such as redfish://192.0.2.10/redfish/v1/Systems/1.")]
    Empty,
    /// More than 2048 bytes; its length.
    #[error("the BMC address has {0} bytes, at most 2048 are read. Shorten it.")]
    TooLong(usize),
    /// White space, control or non-ASCII characters.
    #[error(
        "the BMC address holds white space, control or non-ASCII characters. Remove them; write international names in their xn-- form."
    )]
    Characters,
    /// `user:password@host`.
    #[error(
        "the BMC address holds user information in front of an @. Remove it and put user name and password into the credentials Secret."
    )]
    UserInformation,
    /// A scheme nobody knows, lower-cased and at most 32 characters.
    #[error(
        "the scheme {0:?} of the BMC address is not known. Use redfish:// or ipmi://, and write ipmi://host:port for a name with a port."
    )]
    UnknownScheme(String),
    /// A scheme that existed once and cannot be mapped.
    #[error("the scheme {scheme:?} is no longer supported: {advice}")]
    RemovedScheme {
        /// The scheme.
        scheme: &'static str,
        /// What to write instead; one sentence.
        advice: &'static str,
    },
    /// `redfish:///path`.
    #[error("the BMC address names no host. Write the host after ://.")]
    NoHost,
    /// Not an IP address and not a DNS name: the host as written, at most 64 characters, and its problem.
    #[error(
        "the host {0:?} of the BMC address is neither an IP address nor a DNS name: {1}. Correct the host."
    )]
    BadHost(String, &'static str),
    /// Not 1-65535.
    #[error("the port of the BMC address is not a number from 1 to 65535. Correct or remove it.")]
    BadPort,
    /// `[2001:db8::1` or `[2001:db8::1]` without a scheme and port.
    #[error(
        "the brackets of an IPv6 address are not closed, or scheme and port are missing. Write redfish://[2001:db8::1]/ or [2001:db8::1]:623."
    )]
    Brackets,
    /// The path cannot name a resource.
    #[error("the path of the BMC address {0}. Write the path of the system as the BMC lists it.")]
    BadPath(#[from] BadPath),
    /// A path on an IPMI address.
    #[error(
        "an IPMI address has no path. If this is a Redfish BMC, write redfish:// in front, else remove the path."
    )]
    PathOnIpmi,
    /// A query that means nothing to us, or a fragment.
    #[error(
        "the BMC address holds a query or fragment that is not known. Only ipmi://host?privilegelevel=OPERATOR has one."
    )]
    Query,
    /// `privilegelevel=` something else.
    #[error("the IPMI privilege level is not known. Use CALLBACK, USER, OPERATOR or ADMINISTRATOR.")]
    Privilege,
}
