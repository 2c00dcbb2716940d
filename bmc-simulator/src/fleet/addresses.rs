//! Where the hosts of a group listen.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::file::{Group, Ipmi, Traits};
use super::places::Flaw;

/// Port of a BMC that has an address of its own and no port.
const HTTPS: u16 = 443;

/// UDP port of a BMC that has an address of its own (IPMI 2.0, section 13.1.2).
const IPMI: u16 = 623;

/// What has no effect where all BMCs share one port.
pub(super) fn check(group: &Group, traits: &Traits, behind_one_port: bool) -> Result<(), Flaw> {
    if behind_one_port && group.port.is_some() {
        let reason = "behind one port no BMC has one of its own: leave it out";
        return Err(Flaw::of("port", reason));
    }
    if behind_one_port && group.address.is_some() && traits.ipmi.is_none() {
        let reason = "behind one port an address is that of the IPMI, which this host has not: leave it out, or add `ipmi`";
        return Err(Flaw::of("address", reason));
    }
    Ok(())
}

/// TCP port of the host of this index; 0 = any free one.
pub(super) fn port(group: &Group, index: u16) -> Result<u16, Flaw> {
    match (&group.address, &group.port) {
        (Some(_), port) => Ok(port.as_ref().map_or(HTTPS, |port| port.value)),
        (None, Some(port)) if port.value == 0 => Ok(0),
        (None, Some(port)) => port.value.checked_add(index).ok_or_else(|| {
            let reason = "too few ports follow for all hosts: choose a lower one";
            Flaw::of("port", reason)
        }),
        (None, None) => Ok(0),
    }
}

/// UDP port of the host of this index; 0 = any free one.
pub(super) fn ipmi_port(wanted: &Ipmi, group: &Group, index: u16) -> Result<u16, Flaw> {
    let own_address = group.address.is_some();
    match wanted.port {
        None if own_address => Ok(IPMI),
        None | Some(0) => Ok(0),
        Some(port) if own_address => Ok(port),
        Some(first) => first.checked_add(index).ok_or_else(|| {
            let reason = "too few UDP ports follow for all hosts: choose a lower one";
            Flaw::of("ipmi.port", reason)
        }),
    }
}

/// Address of the host of this index, when the group has the first.
pub(super) fn address(group: &Group, index: u16) -> Result<Option<IpAddr>, Flaw> {
    let Some(first) = group.address.as_ref().map(|first| first.value) else {
        return Ok(None);
    };
    let following = match first {
        IpAddr::V4(address) => address
            .to_bits()
            .checked_add(index.into())
            .map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits))),
        IpAddr::V6(address) => address
            .to_bits()
            .checked_add(index.into())
            .map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits))),
    };
    let of_this_machine = following.filter(|address| !first.is_loopback() || address.is_loopback());
    let reason = "too few addresses follow for all hosts: choose a lower one";
    of_this_machine
        .map(Some)
        .ok_or_else(|| Flaw::of("address", reason))
}
