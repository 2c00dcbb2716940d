use proptest::prelude::*;

use super::*;

const UUID: &str = "61a39523-78f2-11e5-9862-e6402cfc3223";

fn bytes(text: &str) -> [u8; 16] {
    u128::from_str_radix(&text.replace('-', ""), 16)
        .unwrap()
        .to_be_bytes()
}

#[test]
fn it_is_found_in_all_three_orders() {
    // The reversed one is the example in OpenBMC's `rfc4122ToIpmi`.
    assert_eq!(reversed(bytes(UUID)), bytes("2332fc2c40e66298e511f2782395a361"));
    for order in [bytes(UUID), reversed(bytes(UUID)), smbios(bytes(UUID))] {
        assert_eq!(uuid_of(order, None).as_deref(), Some(UUID));
    }
}

#[test]
fn one_without_a_version_is_found_if_it_is_expected() {
    let wanted = "a1234567-89ab-cdef-0123-456789abcdef";
    let expected = SystemUuid::parse(wanted).unwrap();
    for order in [bytes(wanted), reversed(bytes(wanted)), smbios(bytes(wanted))] {
        assert_eq!(uuid_of(order, Some(&expected)).as_deref(), Some(wanted));
    }
}

#[test]
fn no_guid_is_none_and_a_placeholder_is_said() {
    assert_eq!(uuid_of([0; 16], None), None);
    let placeholder = "03000200-0400-0500-0006-000700080009";
    for order in [bytes(placeholder), reversed(bytes(placeholder))] {
        let said = uuid_of(order, None).unwrap();
        assert_eq!(SystemUuid::parse(&said), Err(UnusableUuid::Placeholder));
    }
}

proptest! {
    #[test]
    fn another_hosts_guid_never_becomes_the_expected_one(said: [u8; 16], wanted: [u8; 16]) {
        let same = [said, reversed(said), smbios(said), smbios(reversed(said))].contains(&wanted);
        if let Ok(expected) = SystemUuid::parse(&text(wanted)) && !same {
            let found = uuid_of(said, Some(&expected)).and_then(|text| SystemUuid::parse(&text).ok());
            prop_assert!(found.is_none_or(|found| found != expected));
        }
    }
}
