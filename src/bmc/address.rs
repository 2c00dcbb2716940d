//! Reads BMC addresses as administrators and metal3 write them.
//!
//! The grammar is the one of metal3-io/baremetal-operator `pkg/hardwareutils/bmc/access.go`,
//! `redfish.go` and `ipmi.go`, so that an address that works there means the same here. It is
//! stricter where that code guesses or looks away: user information, queries and names that are
//! numbers in disguise are refused.

mod host;
mod path;
mod scheme;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

pub use host::{Host, HostName};
pub use path::{BadPath, ResourcePath};
use scheme::Kind;

/// Longest address we look at, in bytes; real ones are below 200.
const MAX_ADDRESS: usize = 2048;
/// Paths that stand for "no system is named" (contract of metal3: Ironic then takes the only one).
const NO_SYSTEM: [&str; 4] = ["", "/", "/redfish/v1", "/redfish/v1/"];

/// The protocol a BMC is spoken to with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// DMTF Redfish (DSP0266) over HTTP.
    Redfish,
    /// IPMI 2.0 RMCP+ ("lanplus").
    Ipmi,
}

impl fmt::Display for Protocol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Redfish => "Redfish",
            Self::Ipmi => "IPMI",
        })
    }
}

/// What carries Redfish. Meaningless for IPMI, where it reads [`Transport::Https`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// TLS.
    Https,
    /// Clear text, for laboratories; refused unless the policy allows it.
    Http,
}

/// The privilege an IPMI session asks for (IPMI 2.0, table 13-15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Privilege {
    /// May only call back.
    Callback,
    /// May read.
    User,
    /// May also control power; what is asked for unless the address says otherwise.
    Operator,
    /// May do everything.
    Administrator,
}

/// A BMC address that was understood completely.
///
/// Holds no secret: user information is refused when it is read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BmcAddress {
    /// Redfish or IPMI.
    pub protocol: Protocol,
    /// TLS or clear text, for Redfish.
    pub transport: Transport,
    /// Where the BMC is.
    pub host: Host,
    /// TCP port (Redfish) or UDP port (IPMI), 1-65535.
    pub port: u16,
    /// The Redfish system to act on; `None` if the address names none.
    pub system_path: Option<ResourcePath>,
    /// The IPMI privilege to ask for.
    pub privilege: Privilege,
}

/// Why a BMC address was refused. Never repeats a part of the address that could hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Nothing there.
    #[error("the BMC address is empty. Give one such as redfish://192.0.2.10/redfish/v1/Systems/1.")]
    Empty,
    /// More than 2048 bytes.
    #[error("the BMC address has {length} bytes, at most 2048 are read. Shorten it.")]
    TooLong {
        /// Length in bytes.
        length: usize,
    },
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
    /// A scheme nobody knows.
    #[error(
        "the scheme {scheme:?} of the BMC address is not known. Use redfish:// or ipmi://, and write ipmi://host:port for a name with a port."
    )]
    UnknownScheme {
        /// The scheme, lower-cased and at most 32 characters.
        scheme: String,
    },
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
    /// Not an IP address and not a DNS name.
    #[error(
        "the host {host:?} of the BMC address is neither an IP address nor a DNS name: {problem}. Correct the host."
    )]
    BadHost {
        /// The host as written, at most 64 characters.
        host: String,
        /// What is wrong with it.
        problem: &'static str,
    },
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

impl FromStr for BmcAddress {
    type Err = AddressError;

    /// Reads an address.
    ///
    /// # Errors
    /// [`AddressError`] says what was wrong and what to write. An unknown scheme is an error and
    /// never a guess.
    fn from_str(text: &str) -> Result<Self, AddressError> {
        if text.is_empty() {
            return Err(AddressError::Empty);
        }
        if text.len() > MAX_ADDRESS {
            return Err(AddressError::TooLong { length: text.len() });
        }
        if !text.chars().all(|character| character.is_ascii_graphic()) {
            return Err(AddressError::Characters);
        }
        let (scheme, rest) = split_scheme(text)?;
        let (authority, path, query) = split_rest(rest)?;
        let kind = Kind::of(&scheme)?;
        let (host, port) = split_authority(authority)?;
        let host = Host::parse(host)?;
        match kind {
            Kind::Redfish(transport) => {
                if query.is_some() {
                    return Err(AddressError::Query);
                }
                let system_path = if NO_SYSTEM.contains(&path) {
                    None
                } else {
                    Some(ResourcePath::parse(path)?)
                };
                let default = match transport {
                    Transport::Https => 443,
                    Transport::Http => 80,
                };
                Ok(Self {
                    protocol: Protocol::Redfish,
                    transport,
                    host,
                    port: port.unwrap_or(default),
                    system_path,
                    privilege: Privilege::Operator,
                })
            }
            Kind::Ipmi => {
                if !matches!(path, "" | "/") {
                    return Err(AddressError::PathOnIpmi);
                }
                Ok(Self {
                    protocol: Protocol::Ipmi,
                    transport: Transport::Https,
                    host,
                    port: port.unwrap_or(623),
                    system_path: None,
                    privilege: privilege(query)?,
                })
            }
        }
    }
}

impl fmt::Display for BmcAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match (self.protocol, self.transport) {
            (Protocol::Redfish, Transport::Https) => "redfish",
            (Protocol::Redfish, Transport::Http) => "redfish+http",
            (Protocol::Ipmi, Transport::Https | Transport::Http) => "ipmi",
        };
        write!(formatter, "{scheme}://{}:{}", self.host.bracketed(), self.port)?;
        match &self.system_path {
            Some(path) => write!(formatter, "{path}"),
            None => Ok(()),
        }
    }
}

/// Splits off the scheme by the rules of Go's `url.Parse`, with the repairs of `access.go` after
/// it: digits and brackets cannot begin a scheme, so `192.0.2.1:623` and `[2001:db8::1]:623` have
/// none; in `scheme:host` the first colon counts as `://`.
fn split_scheme(text: &str) -> Result<(String, &str), AddressError> {
    let none = || Ok(("ipmi".to_owned(), text));
    if text.starts_with('[') {
        // Without a scheme, only "[v6]:port" is an address; "[v6]" alone is refused upstream too.
        return if text.contains("]:") {
            none()
        } else {
            Err(AddressError::Brackets)
        };
    }
    if text.starts_with("//") {
        return Err(AddressError::UnknownScheme {
            scheme: String::new(),
        });
    }
    let Some((scheme, rest)) = text.split_once(':') else {
        return none();
    };
    let begins = scheme.starts_with(|first: char| first.is_ascii_alphabetic());
    let legal = scheme
        .chars()
        .all(|character| character.is_ascii_alphanumeric() || matches!(character, '+' | '-' | '.'));
    if !begins || !legal {
        return none();
    }
    Ok((
        scheme.to_ascii_lowercase(),
        rest.strip_prefix("//").unwrap_or(rest),
    ))
}

/// Splits what follows the scheme into authority, path and query.
fn split_rest(rest: &str) -> Result<(&str, &str, Option<&str>), AddressError> {
    let authority_ends = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at_checked(authority_ends).unwrap_or((rest, ""));
    // Checked before anything is quoted in an error: the text in front of the @ may be a password.
    if authority.contains('@') {
        return Err(AddressError::UserInformation);
    }
    if tail.contains('#') {
        return Err(AddressError::Query);
    }
    Ok(match tail.split_once('?') {
        Some((path, query)) => (authority, path, Some(query)),
        None => (authority, tail, None),
    })
}

/// Splits `host[:port]`, with an IPv6 address in brackets.
fn split_authority(authority: &str) -> Result<(&str, Option<u16>), AddressError> {
    let (host, port) = if let Some(inner) = authority.strip_prefix('[') {
        let (host, after) = inner.split_once(']').ok_or(AddressError::Brackets)?;
        match after.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None if after.is_empty() => (host, None),
            None => return Err(AddressError::Brackets),
        }
    } else {
        match authority.split_once(':') {
            Some((_, more)) if more.contains(':') => return Err(AddressError::Brackets),
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        }
    };
    if host.is_empty() {
        return Err(AddressError::NoHost);
    }
    if authority.starts_with('[') && host.parse::<std::net::Ipv6Addr>().is_err() {
        return Err(AddressError::Brackets);
    }
    // Go lets "host:" stand for the default port.
    let port = match port {
        None | Some("") => None,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            match digits.parse().map_err(|_| AddressError::BadPort)? {
                0 => return Err(AddressError::BadPort),
                port => Some(port),
            }
        }
        Some(_) => return Err(AddressError::BadPort),
    };
    Ok((host, port))
}

/// metal3 asks for ADMINISTRATOR where the address says nothing. Power control needs no more than
/// OPERATOR, and there are BMCs that refuse the other to accounts that have it (ipmitool#376).
fn privilege(query: Option<&str>) -> Result<Privilege, AddressError> {
    let Some(query) = query else {
        return Ok(Privilege::Operator);
    };
    let Some(level) = query.strip_prefix("privilegelevel=") else {
        return Err(AddressError::Query);
    };
    match level.to_ascii_uppercase().as_str() {
        "CALLBACK" => Ok(Privilege::Callback),
        "USER" => Ok(Privilege::User),
        "OPERATOR" => Ok(Privilege::Operator),
        "ADMINISTRATOR" => Ok(Privilege::Administrator),
        _ => Err(AddressError::Privilege),
    }
}
