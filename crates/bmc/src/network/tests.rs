use std::net::IpAddr;

use super::*;
use crate::BmcAddress;

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
        (everything, "fd20:ce::254", false),
        (everything, "fd00:42::42", false),
        (everything, "64:ff9b:1::a9fe:a9fe", false),
        (everything, "::ffff:0:a9fe:a9fe", false),
        (everything, "168.63.129.16", false),
        (everything, "192.0.0.192", false),
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
        (&["169.254.0.0/16"], "169.254.3.1", true),
        (&["169.254.0.0/16"], "169.254.169.254", false),
        (&["100.64.0.0/10"], "100.100.100.1", true),
        (&["100.64.0.0/10"], "100.100.100.200", false),
        (&["100.100.100.200/32"], "100.100.100.200", true),
    ] {
        let checked = networks(list).check(address.parse().unwrap());
        assert_eq!(checked.is_ok(), allowed, "{list:?} {address}: {checked:?}");
    }
}

/// What the cluster of these tests uses.
fn of_cluster() -> Vec<ReservedRange> {
    let range = |text: &str, used_for| ReservedRange::new(text.parse().unwrap(), used_for);
    let address = |text: &str, used_for| ReservedRange::of_address(text.parse().unwrap(), used_for);
    let addresses = [
        address("10.96.0.1", RangeUse::ApiServer),
        address("127.0.0.1", RangeUse::ApiServer),
        address("::1", RangeUse::ApiServer),
        address("10.20.0.9", RangeUse::Node),
        address("::ffff:10.20.0.10", RangeUse::Node),
    ];
    let ranges = [
        range("10.96.0.0/16", RangeUse::Services),
        range("fd00:96::/112", RangeUse::Services),
        range("10.244.0.0/24", RangeUse::Pods),
        // With host bits, and in IPv6 clothes.
        range("10.244.1.7/24", RangeUse::Pods),
        range("::ffff:10.244.2.0/120", RangeUse::Pods),
        range("127.5.0.0/24", RangeUse::Pods),
    ];
    ranges
        .into_iter()
        .chain(addresses.into_iter().flatten())
        .collect()
}

fn host(text: &str) -> Host {
    let address: BmcAddress = format!("redfish://{text}").parse().unwrap();
    address.host
}

/// What is said of an address of this host, which is a literal one when the address is.
fn said(list: &[&str], host: &Host, address: &str) -> Result<(), NotAllowed> {
    let allowed = networks(list).without(host, of_cluster());
    allowed.check(address.parse().unwrap())
}

#[test]
fn what_the_cluster_uses_is_opened_only_by_a_network_within_it() {
    use RangeUse::{ApiServer, Loopback, Node, Pods, Services};
    let everything = &["0.0.0.0/0", "::/0"][..];
    for (list, address, used_for) in [
        (everything, "10.96.0.10", Some(Services)),
        (everything, "10.96.0.1", Some(ApiServer)),
        (everything, "fd00:96::7", Some(Services)),
        (everything, "10.244.0.3", Some(Pods)),
        (everything, "10.244.1.3", Some(Pods)),
        (everything, "10.244.2.3", Some(Pods)),
        (everything, "::ffff:10.244.2.3", Some(Pods)),
        (everything, "10.20.0.9", Some(Node)),
        (everything, "10.20.0.10", Some(Node)),
        (everything, "10.20.0.11", None),
        (everything, "10.244.3.1", None),
        (everything, "10.97.0.1", None),
        // Nothing is listed, and it is said nevertheless what listing it would open.
        (&[], "10.96.0.10", Some(Services)),
        (&["10.0.0.0/8"], "10.96.0.10", Some(Services)),
        (&["10.96.0.0/15"], "10.96.0.10", Some(Services)),
        (&["10.96.0.0/16"], "10.96.0.10", None),
        (&["10.96.0.0/24"], "10.96.0.10", None),
        (&["10.96.1.0/24"], "10.96.0.10", Some(Services)),
        // The narrowest range counts: the Services' network does not mean the API server.
        (&["10.96.0.0/16"], "10.96.0.1", Some(ApiServer)),
        (&["10.96.0.1/32"], "10.96.0.1", None),
        // One Node's pods are not those of all.
        (&["10.244.0.0/16"], "10.244.0.3", Some(Pods)),
        (&["10.244.0.0/16", "10.244.0.0/25"], "10.244.0.3", None),
        (&["10.20.0.0/24"], "10.20.0.9", Some(Node)),
        (&["10.20.0.9/32"], "10.20.0.9", None),
        // A cluster's range makes no special one weaker, and says more when it is narrower.
        (everything, "127.0.0.1", Some(Loopback)),
        (&["127.0.0.0/8"], "127.0.0.1", None),
        (&["127.0.0.0/8"], "127.5.0.1", Some(Pods)),
        (&["127.5.0.0/24"], "127.5.0.1", None),
        (&["::1/128"], "::1", None),
    ] {
        let literal = if address.contains(':') {
            format!("[{address}]")
        } else {
            address.to_owned()
        };
        let why = said(list, &host(&literal), address);
        let expected = match used_for {
            None => why.is_ok(),
            Some(used_for) => {
                matches!(why, Err(NotAllowed::Reserved(range)) if range.used_for() == used_for)
            }
        };
        assert!(expected, "{list:?} {address}: {why:?}");
        // A name that has this address fares no better.
        let by_name = said(list, &host("bmc.example"), address);
        assert_eq!(by_name.is_ok(), why.is_ok(), "{list:?} {address}: {by_name:?}");
    }
}

#[test]
fn of_ten_thousand_ranges_only_those_are_kept_that_matter_for_the_host() {
    let pods = (0..40_u8).flat_map(|b| (0..=255_u8).map(move |c| (b, c)));
    let pods: Vec<ReservedRange> = pods
        .map(|(b, c)| format!("10.{b}.{c}.0/24"))
        .map(|text| ReservedRange::new(text.parse().unwrap(), RangeUse::Pods))
        .collect();
    for (list, host, kept) in [
        (&["10.0.0.0/8"][..], host("10.7.9.1"), 1),
        (&["10.0.0.0/8"], host("192.0.2.1"), 0),
        (&["10.0.0.0/8"], host("bmc.example"), 10_240),
        (&["10.7.0.0/23"], host("bmc.example"), 2),
        (&["10.7.9.0/24"], host("bmc.example"), 0),
        (&["192.0.2.0/24"], host("bmc.example"), 0),
    ] {
        let allowed = networks(list).without(&host, pods.iter().copied());
        assert_eq!(allowed.of_cluster.len(), kept, "{list:?} {host}");
    }
}

#[test]
fn a_refusal_says_what_kind_of_range_it_is_and_what_to_do() {
    let refused = said(&["0.0.0.0/0"], &host("10.96.0.10"), "10.96.0.10").unwrap_err();
    let text = BmcError::AddressNotAllowed {
        host: "bmc.example".to_owned(),
        address: "10.96.0.10".parse::<IpAddr>().unwrap(),
        why: refused,
    }
    .to_string();
    for needle in [
        "10.96.0.10 (of host bmc.example)",
        "10.96.0.0/16",
        "Services",
        "List a network within it",
    ] {
        assert!(text.contains(needle), "{needle}: {text}");
    }
    let unlisted = said(&["10.20.0.0/24"], &host("10.21.0.1"), "10.21.0.1").unwrap_err();
    assert!(unlisted.to_string().contains("Add its network"), "{unlisted}");
}

#[tokio::test]
async fn a_name_is_resolved_and_every_address_checked() {
    let address: BmcAddress = "redfish://localhost".parse().unwrap();
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
