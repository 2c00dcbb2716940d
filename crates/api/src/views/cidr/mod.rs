//! Ranges as Kubernetes writes them.

#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;
use serde::{Deserialize, Deserializer};

/// Reads a range as leniently as the API server does, which takes leading zeros in IPv4 numbers for
/// decimals: none that it stores is unreadable.
/// Source: kubernetes `k8s.io/utils/net` ParseCIDRSloppy, `internal/third_party/forked/golang/net/parse.go`.
pub fn parse(text: &str) -> Option<IpNet> {
    let (address, length) = text.split_once('/')?;
    let address = address.parse::<IpAddr>().ok().or_else(|| ipv4(address))?;
    IpNet::new(address, length.parse().ok()?).ok()
}

fn ipv4(text: &str) -> Option<IpAddr> {
    let numbers = text.split('.').map(|number| number.parse::<u8>().ok());
    let numbers: Option<Vec<u8>> = numbers.collect();
    let numbers: [u8; 4] = numbers?.try_into().ok()?;
    Some(IpAddr::V4(Ipv4Addr::from(numbers)))
}

/// Reads a list of ranges that may be missing.
pub fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
    let texts = Option::<Vec<String>>::deserialize(deserializer)?;
    texts.unwrap_or_default().iter().map(|text| read(text)).collect()
}

/// Reads one range.
pub fn one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<IpNet, D::Error> {
    read(&String::deserialize(deserializer)?)
}

fn read<E: serde::de::Error>(text: &str) -> Result<IpNet, E> {
    parse(text).ok_or_else(|| E::custom(format!("\"{text}\" is no range of addresses")))
}
