//! Which addresses may be spoken to at all, and the one place where names are resolved: many people may write
//! addresses, which without an allow-list would make the daemon probe, or send credentials to, anything it reaches.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ipnet::IpNet;

use super::address::Host;
use super::error::BmcError;

mod ranges;
#[cfg(test)]
mod tests;

pub use ranges::{RangeUse, ReservedRange};
use ranges::{narrowest, unmapped};

/// How long one name may take to resolve.
const RESOLVE_DEADLINE: Duration = Duration::from_secs(5);
/// More addresses than this for one BMC is a mistake or an attack.
const MAX_ADDRESSES: usize = 16;

/// The networks that BMCs are in, as the administrator lists them, and what they do not open by
/// themselves. An empty list allows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedNetworks {
    listed: Vec<IpNet>,
    /// Ranges of the cluster that may matter for the host in question.
    of_cluster: Vec<ReservedRange>,
}

/// Why an address may not be spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAllowed {
    /// No listed network contains it.
    #[error(
        "is in no allowed BMC network. Add its network to the allow-list of the RemediationPolicy if it really is a BMC."
    )]
    Unlisted,
    /// It is in a reserved range, and no listed network within that range contains it.
    #[error(
        "is in {}, which is used for {}, and a wider network does not open that. List a network within it in the RemediationPolicy if the BMC really is there.",
        .0.range(), .0.used_for()
    )]
    Reserved(ReservedRange),
}

impl AllowedNetworks {
    /// Takes the administrator's list. A network written as IPv4-mapped IPv6 counts as its IPv4 network.
    pub fn new(networks: impl IntoIterator<Item = IpNet>) -> Self {
        let networks = networks.into_iter();
        Self {
            listed: networks.map(|network| unmapped(network.trunc())).collect(),
            of_cluster: Vec::new(),
        }
    }

    /// Takes the ranges that the cluster uses itself, and keeps those that may matter for one host: that contain
    /// its address; or, for a name, which may mean any, that lie within a listed network.
    #[must_use]
    pub fn without(mut self, host: &Host, of_cluster: impl IntoIterator<Item = ReservedRange>) -> Self {
        let matters = |reserved: &ReservedRange| match host {
            Host::Ip(address) => reserved.range().contains(&address.to_canonical()),
            Host::Name(_) => {
                let (range, mut listed) = (reserved.range(), self.listed.iter());
                listed.any(|network| network.contains(&range) && *network != range)
            }
        };
        self.of_cluster = of_cluster.into_iter().filter(matters).collect();
        self
    }

    /// Whether this address may be spoken to: a listed network has to contain it. Reserved ranges, special ones and
    /// those that the cluster uses, are opened only by a listed network within that range, and not by `0.0.0.0/0`.
    pub fn check(&self, address: IpAddr) -> Result<(), NotAllowed> {
        let address = address.to_canonical();
        let reserved = narrowest(&self.of_cluster, address);
        let opens = |network: &&IpNet| {
            network.contains(&address) && reserved.is_none_or(|reserved| reserved.range().contains(*network))
        };
        match (self.listed.iter().find(opens), reserved) {
            (Some(_), _) => Ok(()),
            (None, Some(reserved)) => Err(NotAllowed::Reserved(*reserved)),
            (None, None) => Err(NotAllowed::Unlisted),
        }
    }

    /// Resolves a host once and checks every address it has. The caller never resolves again, so that the name
    /// cannot be bound to something else in between.
    ///
    /// # Errors
    /// [`BmcError::Unresolvable`]; [`BmcError::AddressNotAllowed`] if any address is not allowed.
    pub async fn resolve(&self, host: &Host, port: u16) -> Result<Vec<SocketAddr>, BmcError> {
        let unresolvable = |cause: String| BmcError::Unresolvable {
            host: host.to_string(),
            cause,
        };
        let addresses: Vec<SocketAddr> = match host {
            Host::Ip(address) => vec![SocketAddr::new(*address, port)],
            Host::Name(name) => {
                let lookup = tokio::net::lookup_host((name.as_str(), port));
                tokio::time::timeout(RESOLVE_DEADLINE, lookup)
                    .await
                    .map_err(|_| unresolvable("no answer within 5 s".to_owned()))?
                    .map_err(|error| unresolvable(error.to_string()))?
                    .collect()
            }
        };
        if addresses.is_empty() || addresses.len() > MAX_ADDRESSES {
            return Err(unresolvable(format!("it has {} addresses", addresses.len())));
        }
        for address in addresses.iter().map(SocketAddr::ip) {
            self.check(address).map_err(|why| BmcError::AddressNotAllowed {
                host: host.to_string(),
                address,
                why,
            })?;
        }
        Ok(addresses)
    }
}
