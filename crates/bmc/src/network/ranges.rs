//! Ranges that a wide network must not open by accident: special ones, and those that the cluster uses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// A range in which an address may only be spoken to when a listed network lies within the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservedRange {
    range: IpNet,
    used_for: RangeUse,
}

/// What a reserved range is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeUse {
    /// "This network" (RFC 791), with the unspecified address.
    ThisNetwork,
    /// The host itself.
    Loopback,
    /// The link, with the metadata service of most clouds.
    LinkLocal,
    /// The metadata service of a cloud, at an address that looks like any other.
    Metadata,
    /// Groups of hosts.
    Multicast,
    /// Nothing, or something that is not used any more.
    Reserved,
    /// IPv4 addresses in IPv6 clothes: any of them, whatever the list says about IPv4.
    WrapsIpv4,
    /// The cluster's Services.
    Services,
    /// The cluster's pods.
    Pods,
    /// The API server.
    ApiServer,
    /// A Node of the cluster, which is the host itself and not its BMC.
    Node,
}

impl fmt::Display for RangeUse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::ThisNetwork => "unspecified addresses",
            Self::Loopback => "loopback",
            Self::LinkLocal => "link-local addresses",
            Self::Metadata => "a cloud's metadata service",
            Self::Multicast => "multicast",
            Self::Reserved => "reserved addresses",
            Self::WrapsIpv4 => "wrapped IPv4 addresses",
            Self::Services => "Services of the cluster",
            Self::Pods => "pods of the cluster",
            Self::ApiServer => "the API server",
            Self::Node => "a Node of the cluster",
        })
    }
}

impl ReservedRange {
    /// A range that the cluster uses.
    pub fn new(range: IpNet, used_for: RangeUse) -> Self {
        let range = unmapped(range.trunc());
        Self { range, used_for }
    }

    /// One address that the cluster uses, as a range. None on loopback, which is each host's own.
    pub fn of_address(address: IpAddr, used_for: RangeUse) -> Option<Self> {
        let address = address.to_canonical();
        let range = IpNet::from(address);
        (!address.is_loopback()).then_some(Self { range, used_for })
    }

    /// The range.
    pub fn range(&self) -> IpNet {
        self.range
    }

    /// What it is used for.
    pub fn used_for(&self) -> RangeUse {
        self.used_for
    }
}

/// The narrowest of the special ranges and of these that an address is in. Two ranges are apart, or one
/// lies within the other.
pub(super) fn narrowest(of_cluster: &[ReservedRange], address: IpAddr) -> Option<&ReservedRange> {
    let all = SPECIAL.iter().chain(of_cluster);
    all.filter(|reserved| reserved.range.contains(&address))
        .max_by_key(|reserved| reserved.range.prefix_len())
}

/// An IPv4-mapped network as the IPv4 network it stands for.
pub(super) fn unmapped(network: IpNet) -> IpNet {
    let mapped = || {
        let address = network.addr().to_canonical();
        let length = network.prefix_len().checked_sub(96)?;
        IpNet::new(address, length).ok().filter(|_| address.is_ipv4())
    };
    match network {
        IpNet::V4(_) => network,
        IpNet::V6(_) => mapped().unwrap_or(network),
    }
}

const fn v4(bytes: [u8; 4], length: u8, used_for: RangeUse) -> ReservedRange {
    let address = Ipv4Addr::from_octets(bytes);
    let range = IpNet::V4(Ipv4Net::new_assert(address, length));
    ReservedRange { range, used_for }
}

const fn v6(bits: u128, length: u8, used_for: RangeUse) -> ReservedRange {
    let range = IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::from_bits(bits), length));
    ReservedRange { range, used_for }
}

/// The special ranges (IANA special-purpose registries, RFC 6890), and where clouds keep their metadata, which a
/// network that was opened around it does not open (canonical/cloud-init `cloudinit/sources`; Google Cloud,
/// "About VM metadata").
static SPECIAL: [ReservedRange; 23] = [
    v4([0, 0, 0, 0], 8, RangeUse::ThisNetwork),
    v4([127, 0, 0, 0], 8, RangeUse::Loopback),
    v4([169, 254, 0, 0], 16, RangeUse::LinkLocal),
    v4([169, 254, 169, 254], 32, RangeUse::Metadata),
    // Of Alibaba Cloud, inside the range for carriers, and of Azure.
    v4([100, 100, 100, 200], 32, RangeUse::Metadata),
    v4([168, 63, 129, 16], 32, RangeUse::Metadata),
    // Protocol assignments of the IETF.
    v4([192, 0, 0, 0], 24, RangeUse::Reserved),
    v4([224, 0, 0, 0], 4, RangeUse::Multicast),
    // With the broadcast address.
    v4([240, 0, 0, 0], 4, RangeUse::Reserved),
    v6(0, 128, RangeUse::ThisNetwork),
    v6(1, 128, RangeUse::Loopback),
    // IPv4-compatible, deprecated, and IPv4-translated (RFC 2765).
    v6(0, 96, RangeUse::WrapsIpv4),
    v6(0xffff_0000_0000_0000, 96, RangeUse::WrapsIpv4),
    // NAT64, also with prefixes of one's own (RFC 8215), Teredo and 6to4.
    v6(0x0064_ff9b << 96, 96, RangeUse::WrapsIpv4),
    v6(0x0064_ff9b_0001 << 80, 48, RangeUse::WrapsIpv4),
    v6(0x2001 << 112, 32, RangeUse::WrapsIpv4),
    v6(0x2002 << 112, 16, RangeUse::WrapsIpv4),
    v6(0xfe80 << 112, 10, RangeUse::LinkLocal),
    // Site-local, deprecated.
    v6(0xfec0 << 112, 10, RangeUse::Reserved),
    v6(0xff00 << 112, 8, RangeUse::Multicast),
    // Of EC2, Google Cloud and Scaleway, inside the private range.
    v6(0xfd00_0ec2_0000_0000_0000_0000_0000_0254, 128, RangeUse::Metadata),
    v6(0xfd20_00ce_0000_0000_0000_0000_0000_0254, 128, RangeUse::Metadata),
    v6(0xfd00_0042_0000_0000_0000_0000_0000_0042, 128, RangeUse::Metadata),
];
