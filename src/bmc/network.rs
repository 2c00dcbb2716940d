//! Which addresses may be spoken to at all, and the one place where names are resolved.
//!
//! BMC addresses come from objects that many people may write, while the daemon sits in a
//! privileged network: without an allow-list an address is a way to make it send credentials to,
//! or probe, anything it can reach.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::address::Host;
use super::error::BmcError;

/// How long one name may take to resolve.
const RESOLVE_DEADLINE: Duration = Duration::from_secs(5);
/// More addresses than this for one BMC is a mistake or an attack.
const MAX_ADDRESSES: usize = 16;

/// The networks that BMCs are in, as the administrator lists them. An empty list allows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedNetworks(Vec<IpNet>);

impl AllowedNetworks {
    /// Takes the administrator's list. A network written as IPv4-mapped IPv6 counts as its IPv4
    /// network, because that is how addresses are compared.
    pub fn new(networks: impl IntoIterator<Item = IpNet>) -> Self {
        Self(
            networks
                .into_iter()
                .map(|network| unmapped(network.trunc()))
                .collect(),
        )
    }

    /// Whether this address may be spoken to.
    ///
    /// Loopback, link-local (with the metadata services of clouds in it), unspecified, multicast
    /// and reserved addresses, and IPv6 ranges that wrap IPv4 addresses, are allowed only by a
    /// listed network that lies within that range: `0.0.0.0/0` and `::/0` do not open them.
    pub fn allows(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let special = SPECIAL.iter().find(|range| range.contains(&address));
        self.0
            .iter()
            .any(|network| network.contains(&address) && special.is_none_or(|range| range.contains(network)))
    }

    /// Resolves a host once and checks every address it has. The caller connects to these and
    /// never resolves again, so that the name cannot be bound to something else in between.
    ///
    /// # Errors
    /// [`BmcError::Unresolvable`]; [`BmcError::AddressNotAllowed`] naming the first address that
    /// is not allowed, even if others are.
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
        match addresses.iter().find(|address| !self.allows(address.ip())) {
            Some(refused) => Err(BmcError::AddressNotAllowed {
                host: host.to_string(),
                address: refused.ip(),
            }),
            None => Ok(addresses),
        }
    }
}

/// An IPv4-mapped network as the IPv4 network it stands for.
fn unmapped(network: IpNet) -> IpNet {
    let IpNet::V6(wrapped) = network else {
        return network;
    };
    match (
        wrapped.addr().to_ipv4_mapped(),
        wrapped.prefix_len().checked_sub(96),
    ) {
        (Some(address), Some(length)) => Ipv4Net::new(address, length).map_or(network, IpNet::V4),
        _ => network,
    }
}

const fn v4(a: u8, b: u8, length: u8) -> IpNet {
    IpNet::V4(Ipv4Net::new_assert(std::net::Ipv4Addr::new(a, b, 0, 0), length))
}

const fn v6(first: u16, second: u16, length: u8) -> IpNet {
    IpNet::V6(Ipv6Net::new_assert(
        std::net::Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0),
        length,
    ))
}

/// Ranges that a wide network must not open by accident (IANA special-purpose registries,
/// RFC 6890). Narrow ranges stand before the wide ones they lie in: the first match counts.
const SPECIAL: [IpNet; 15] = [
    v4(0, 0, 8),      // "this network", with the unspecified address
    v4(127, 0, 8),    // loopback
    v4(169, 254, 16), // link-local, with the metadata service 169.254.169.254
    v4(224, 0, 4),    // multicast
    v4(240, 0, 4),    // reserved, with the broadcast address
    IpNet::V6(Ipv6Net::new_assert(std::net::Ipv6Addr::UNSPECIFIED, 128)),
    IpNet::V6(Ipv6Net::new_assert(std::net::Ipv6Addr::LOCALHOST, 128)),
    v6(0, 0, 96),           // IPv4-compatible, deprecated
    v6(0x0064, 0xff9b, 96), // NAT64 wraps any IPv4 address
    v6(0x2001, 0, 32),      // Teredo likewise
    v6(0x2002, 0, 16),      // 6to4 likewise
    v6(0xfe80, 0, 10),      // link-local
    v6(0xfec0, 0, 10),      // site-local, deprecated
    v6(0xff00, 0, 8),       // multicast
    // Metadata service of one cloud, inside the private range.
    IpNet::V6(Ipv6Net::new_assert(
        std::net::Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
        128,
    )),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn networks(list: &[&str]) -> AllowedNetworks {
        AllowedNetworks::new(list.iter().map(|text| text.parse().unwrap()))
    }

    #[test]
    fn an_address_needs_a_network_that_means_it() {
        let everything = &["0.0.0.0/0", "::/0"][..];
        for (list, address, allowed) in [
            (&[][..], "192.0.2.1", false),
            (&["192.0.2.0/24"][..], "192.0.2.1", true),
            (&["192.0.2.0/24"], "192.0.3.1", false),
            (&["192.0.2.0/24"], "::ffff:192.0.2.1", true),
            (&["::ffff:192.0.2.0/120"], "192.0.2.1", true),
            (&["::ffff:0:0/96"], "127.0.0.1", false),
            (&["2001:db8::/32"], "2001:db8::1", true),
            (everything, "192.0.2.1", true),
            (everything, "2001:db8::1", true),
            (everything, "127.0.0.1", false),
            (everything, "127.9.9.9", false),
            (everything, "::1", false),
            (everything, "::", false),
            (everything, "0.0.0.0", false),
            (everything, "169.254.169.254", false),
            (everything, "::ffff:169.254.169.254", false),
            (everything, "::ffff:127.0.0.1", false),
            (everything, "::127.0.0.1", false),
            (everything, "64:ff9b::7f00:1", false),
            (everything, "2002:7f00:1::", false),
            (everything, "fd00:ec2::254", false),
            (everything, "fe80::1", false),
            (everything, "ff02::1", false),
            (everything, "224.0.0.1", false),
            (everything, "255.255.255.255", false),
            (&["126.0.0.0/7"], "127.0.0.1", false),
            (&["127.0.0.0/8"], "127.0.0.1", true),
            (&["127.0.0.5/32"], "127.0.0.5", true),
            (&["127.0.0.5/32"], "127.0.0.6", false),
            (&["::1/128"], "::1", true),
            (&["169.254.3.0/24"], "169.254.3.1", true),
            (&["169.254.3.0/24"], "169.254.169.254", false),
            (&["fe80::/64"], "fe80::1", true),
        ] {
            assert_eq!(
                networks(list).allows(address.parse().unwrap()),
                allowed,
                "{list:?} {address}"
            );
        }
    }

    #[tokio::test]
    async fn a_name_is_resolved_and_every_address_checked() {
        let address: super::super::BmcAddress = "redfish://localhost".parse().unwrap();
        let refused = networks(&["0.0.0.0/0", "::/0"])
            .resolve(&address.host, 443)
            .await
            .unwrap_err();
        assert!(matches!(refused, BmcError::AddressNotAllowed { address, .. } if address.is_loopback()));
        let found = networks(&["127.0.0.0/8", "::1/128"])
            .resolve(&address.host, 443)
            .await
            .unwrap();
        assert!(
            found
                .iter()
                .all(|address| address.ip().is_loopback() && address.port() == 443)
        );
    }
}
