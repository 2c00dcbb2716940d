//! Hosts: an IP address, or a DNS name that cannot be mistaken for one.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use super::AddressError;

/// Where a BMC is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// A literal address.
    Ip(IpAddr),
    /// A name to be resolved.
    Name(HostName),
}

/// A DNS name, lower case, of labels of 1-63 letters, digits and inner hyphens (RFC 1123).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostName(String);

impl HostName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Host {
    /// Reads a host without brackets and port.
    pub(super) fn parse(text: &str) -> Result<Self, AddressError> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::Ip(address));
        }
        match problem_of_name(text) {
            None => Ok(Self::Name(HostName(text.to_ascii_lowercase()))),
            Some(problem) => Err(AddressError::BadHost(text.chars().take(64).collect(), problem)),
        }
    }

    /// The host as it stands in a URL or `Host` header: IPv6 in brackets.
    pub fn bracketed(&self) -> String {
        match self {
            Self::Ip(IpAddr::V6(address)) => format!("[{address}]"),
            Self::Ip(IpAddr::V4(address)) => address.to_string(),
            Self::Name(name) => name.0.clone(),
        }
    }

    /// Whether `text` (a host out of a URL, brackets allowed) is this host.
    pub(crate) fn is_written(&self, text: &str) -> bool {
        match self {
            Self::Name(name) => name.0.eq_ignore_ascii_case(text),
            Self::Ip(IpAddr::V4(address)) => text.parse() == Ok(*address),
            Self::Ip(IpAddr::V6(address)) => {
                let inner = text.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
                inner.and_then(|inner| inner.parse::<Ipv6Addr>().ok()) == Some(*address)
            }
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => write!(formatter, "{address}"),
            Self::Name(name) => formatter.write_str(&name.0),
        }
    }
}

/// Names ending in a number are refused because URL libraries and `inet_aton` read `127.1`,
/// `0x7f000001` and `2130706433` as IPv4 addresses (WHATWG URL, "ends in a number checker"): a way
/// around an allow-list.
fn problem_of_name(name: &str) -> Option<&'static str> {
    if name.len() > 253 {
        return Some("it is longer than 253 characters");
    }
    for label in name.split('.') {
        if label.is_empty() {
            return Some("it has an empty label");
        }
        if label.len() > 63 {
            return Some("a label is longer than 63 characters");
        }
        if label.starts_with('-') || label.ends_with('-') {
            return Some("a label begins or ends with a hyphen");
        }
        if !label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        {
            return Some("a label holds something else than letters, digits and hyphens");
        }
    }
    let last = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
    let decimal = last.bytes().all(|byte| byte.is_ascii_digit());
    let digits = last.strip_prefix("0x");
    let hexadecimal = digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    (decimal || hexadecimal).then_some("it ends in a number but is not an IP address in its usual form")
}
