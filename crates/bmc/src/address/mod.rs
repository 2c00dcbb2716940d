//! Reads BMC addresses as administrators and metal3 write them.
//!
//! The grammar is that of metal3-io/baremetal-operator `pkg/hardwareutils/bmc/access.go`, `redfish.go` and
//! `ipmi.go`; but user information, queries and names that are numbers in disguise are refused.

mod error;
mod host;
mod parts;
mod path;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

pub use error::AddressError;
pub use host::{Host, HostName};
use parts::{privilege, protocol_of, split_authority, split_rest, split_scheme};
pub use path::{BadPath, ResourcePath};
use remediator_core::power::Protocol;

/// Longest address we look at, in bytes; real ones are below 200.
const MAX_ADDRESS: usize = 2048;
/// Paths that stand for "no system is named" (contract of metal3: Ironic then takes the only one).
const NO_SYSTEM: [&str; 4] = ["", "/", "/redfish/v1", "/redfish/v1/"];

/// Reads a host, perhaps with a port, as it stands without a scheme; IPv6 also without brackets.
pub(crate) fn host_and_port(text: &str) -> Option<(Host, Option<u16>)> {
    if let Ok(address) = text.parse() {
        return Some((Host::Ip(address), None));
    }
    let (host, port) = split_authority(text).ok().filter(|_| !text.ends_with(':'))?;
    Some((Host::parse(host).ok()?, port))
}

/// What carries Redfish. Meaningless for IPMI, where it reads [`Transport::Https`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// TLS.
    Https,
    /// Clear text, for laboratories; refused unless the policy allows it.
    Http,
}

impl Transport {
    pub(crate) fn default_port(self) -> u16 {
        match self {
            Self::Https => 443,
            Self::Http => 80,
        }
    }
}

/// The privilege an IPMI session asks for, by its level (IPMI 2.0, section 6.8 and table 13-11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Privilege {
    /// May only call back.
    Callback = 1,
    /// May read.
    User = 2,
    /// May also control power; what is asked for unless the address says otherwise.
    Operator = 3,
    /// May do everything.
    Administrator = 4,
}

/// The primary port of RMCP (IPMI 2.0, table 13-1).
const IPMI_PORT: u16 = 623;

/// A BMC address. Holds no secret: user information is refused when it is read.
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

impl BmcAddress {
    /// The one host that it names, spelt in one way: a system of a Redfish service, with or without a slash at its end
    /// (which lead to the same; Lenovo says so at <https://pubs.lenovo.com/tsm/uri_rules>), or the host of an IPMI BMC.
    /// `None` if it names no system.
    pub fn one_host(&self) -> Option<String> {
        let names_one = match self.protocol {
            Protocol::Redfish => self.system_path.is_some(),
            Protocol::Ipmi => true,
        };
        names_one.then(|| self.to_string().trim_end_matches('/').to_owned())
    }

    /// The address without a path: one BMC, whichever of its systems is meant.
    pub fn service(&self) -> String {
        let without = Self {
            system_path: None,
            ..self.clone()
        };
        without.to_string()
    }

    /// Whether it has the port that BMCs have for what it is: 443 or 80 for Redfish, 623 for IPMI.
    pub fn is_at_usual_port(&self) -> bool {
        let usual = match self.protocol {
            Protocol::Redfish => self.transport.default_port(),
            Protocol::Ipmi => IPMI_PORT,
        };
        self.port == usual
    }
}

impl FromStr for BmcAddress {
    type Err = AddressError;

    /// # Errors
    /// [`AddressError`] says what was wrong and what to write.
    fn from_str(text: &str) -> Result<Self, AddressError> {
        if text.is_empty() {
            return Err(AddressError::Empty);
        }
        if text.len() > MAX_ADDRESS {
            return Err(AddressError::TooLong(text.len()));
        }
        if !text.chars().all(|character| character.is_ascii_graphic()) {
            return Err(AddressError::Characters);
        }
        let (scheme, rest) = split_scheme(text)?;
        let (authority, path, query) = split_rest(rest)?;
        let (protocol, transport) = protocol_of(&scheme)?;
        let (host, port) = split_authority(authority)?;
        let host = Host::parse(host)?;
        let (system_path, privilege, default_port) = match protocol {
            Protocol::Redfish if query.is_some() => return Err(AddressError::Query),
            Protocol::Redfish if NO_SYSTEM.contains(&path) => {
                (None, Privilege::Operator, transport.default_port())
            }
            Protocol::Redfish => {
                let path = ResourcePath::parse(path)?;
                (Some(path), Privilege::Operator, transport.default_port())
            }
            Protocol::Ipmi if !matches!(path, "" | "/") => return Err(AddressError::PathOnIpmi),
            Protocol::Ipmi => (None, privilege(query)?, IPMI_PORT),
        };
        Ok(Self {
            protocol,
            transport,
            host,
            port: port.unwrap_or(default_port),
            system_path,
            privilege,
        })
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
