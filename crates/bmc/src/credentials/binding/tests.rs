use super::*;
use crate::{AllowedNetworks, AuthMethod, Credentials, TransportSecurity};

const ONE: Fingerprint = Fingerprint([0x11; 32]);
const TWO: Fingerprint = Fingerprint([0x22; 32]);

fn annotated(key: &str, value: &str) -> BTreeMap<String, String> {
    [(key.to_owned(), value.to_owned())].into()
}

fn target(address: &str, trust: ServerTrust) -> BmcTarget {
    let data = [("username", "root"), ("password", "canary")].map(|(key, value)| (key.to_owned(), value));
    BmcTarget {
        address: address.parse().unwrap(),
        credentials: Credentials::from_secret(&data.into(), "7").unwrap(),
        trust,
        auth: AuthMethod::Auto,
        expected_uuid: None,
        known_system: None,
        allowed: AllowedNetworks::new([]),
        protocols: vec![Protocol::Redfish, Protocol::Ipmi],
        fallback: Some(623),
        minimum_transport: TransportSecurity::PlainHttp,
    }
}

fn pinned() -> ServerTrust {
    ServerTrust::Fingerprints(vec![ONE, TWO])
}

#[test]
fn a_secret_that_says_nothing_is_for_every_bmc() {
    let others = annotated("example.com/for-addresses", "10.0.0.1");
    let binding = Binding::of(&others).unwrap();
    for trust in [pinned(), ServerTrust::SystemRoots, ServerTrust::Unverified] {
        let target = target("redfish://10.0.0.2", trust);
        assert_eq!(binding.narrow(target.clone()), Ok(target));
    }
}

#[test]
fn a_secret_is_offered_to_the_addresses_that_it_names_alone() {
    for (named, address, is_meant) in [
        ("10.0.0.1", "redfish://10.0.0.1", true),
        ("10.0.0.1", "redfish://10.0.0.1:8443/redfish/v1/Systems/1", true),
        ("10.0.0.1", "ipmi://10.0.0.1", true),
        ("10.0.0.1", "redfish://10.0.0.2", false),
        ("10.0.0.1", "redfish://10.0.0.10", false),
        ("10.0.0.1", "redfish://[::ffff:10.0.0.1]", false),
        ("10.0.0.9 , 10.0.0.1", "redfish://10.0.0.1", true),
        ("10.0.0.1:443", "redfish://10.0.0.1", true),
        ("10.0.0.1:443", "redfish+http://10.0.0.1:443", true),
        ("10.0.0.1:443", "redfish://10.0.0.1:8443", false),
        ("10.0.0.1:443", "ipmi://10.0.0.1", false),
        ("10.0.0.1:443,10.0.0.1:623", "ipmi://10.0.0.1", true),
        ("BMC-1.example", "redfish://bmc-1.EXAMPLE", true),
        ("bmc-1.example", "redfish://bmc-1.example.org", false),
        ("example", "redfish://bmc-1.example", false),
        ("2001:db8::1", "redfish://[2001:DB8:0::1]", true),
        ("[2001:db8::1]:443", "redfish://[2001:db8::1]", true),
        ("[2001:db8::1]:443", "redfish://[2001:db8::1]:444", false),
        ("[2001:db8::2]", "redfish://[2001:db8::1]", false),
    ] {
        let binding = Binding::of(&annotated(FOR_ADDRESSES, named)).unwrap();
        let narrowed = binding.narrow(target(address, ServerTrust::SystemRoots));
        let is_refused = matches!(narrowed, Err(BindingError::OtherAddress(_)));
        assert_eq!(
            (narrowed.is_ok(), is_refused),
            (is_meant, !is_meant),
            "{named} {address}"
        );
    }
}

#[test]
fn ipmi_takes_the_place_of_redfish_only_where_the_secret_is_for_it_too() {
    for (named, fallback) in [
        ("10.0.0.1", Some(623)),
        ("10.0.0.1:443", None),
        ("10.0.0.1:443,10.0.0.1:623", Some(623)),
        ("10.0.0.1:443,10.0.0.2:623", None),
    ] {
        let binding = Binding::of(&annotated(FOR_ADDRESSES, named)).unwrap();
        let narrowed = binding.narrow(target("redfish://10.0.0.1", pinned())).unwrap();
        assert_eq!(narrowed.fallback, fallback, "{named}");
    }
}

#[test]
fn a_secret_is_offered_to_the_certificates_that_it_names_alone() {
    let address = "redfish://10.0.0.1";
    let offered = |named: &str, address: &str, trust| {
        let binding = Binding::of(&annotated(FOR_FINGERPRINTS, named)).unwrap();
        binding.narrow(target(address, trust))
    };
    let left = |named: &str| offered(named, address, pinned()).map(|target| (target.trust, target.fallback));
    let only = |pin| Ok((ServerTrust::Fingerprints(vec![pin]), None));
    assert_eq!(left(&ONE.to_string()), only(ONE));
    assert_eq!(
        left(&format!("{}, sha256:{}", "33".repeat(32), "22".repeat(32))),
        only(TWO)
    );
    assert_eq!(left(&"33".repeat(32)), Err(BindingError::OtherFingerprints));
    let none = ServerTrust::Fingerprints(Vec::new());
    assert_eq!(
        offered(&ONE.to_string(), address, none),
        Err(BindingError::OtherFingerprints)
    );
    for (address, trust) in [
        (address, ServerTrust::SystemRoots),
        (address, ServerTrust::CertificateAuthority(String::new())),
        (address, ServerTrust::Unverified),
        ("redfish+http://10.0.0.1", pinned()),
        ("ipmi://10.0.0.1", pinned()),
    ] {
        assert_eq!(
            offered(&ONE.to_string(), address, trust),
            Err(BindingError::NotPinned),
            "{address}"
        );
    }
}

#[test]
fn what_cannot_be_understood_binds_to_nothing_and_names_the_annotation() {
    let one = ONE.to_string();
    for (key, value) in [
        (FOR_ADDRESSES, ""),
        (FOR_ADDRESSES, "10.0.0.1,"),
        (FOR_ADDRESSES, "10.0.0.0/24"),
        (FOR_ADDRESSES, "10.0.0.1:"),
        (FOR_ADDRESSES, "10.0.0.1:0"),
        (FOR_ADDRESSES, "10.0.0.1:65536"),
        (FOR_ADDRESSES, "10.0.0.1:+1"),
        (FOR_ADDRESSES, "10.0.0.1 10.0.0.2"),
        (FOR_ADDRESSES, "redfish://10.0.0.1"),
        (FOR_ADDRESSES, "2001:db8::1:443:"),
        (FOR_ADDRESSES, "fe80::1%eth0"),
        (FOR_ADDRESSES, "*.example"),
        (FOR_ADDRESSES, "user@10.0.0.1"),
        (FOR_FINGERPRINTS, ""),
        (FOR_FINGERPRINTS, "11:22"),
        (FOR_FINGERPRINTS, &format!("{one},")),
        (FOR_FINGERPRINTS, &format!("{one};{one}")),
        ("baremetal-remediator.io/for-address", "10.0.0.1"),
        ("baremetal-remediator.io/for-", "10.0.0.1"),
    ] {
        let refused = Binding::of(&annotated(key, value)).expect_err(value).to_string();
        assert!(refused.contains(key) && refused.ends_with('.'), "{refused}");
    }
}
