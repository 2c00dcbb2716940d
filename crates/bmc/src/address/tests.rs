use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Result<BmcAddress, AddressError> {
    text.parse()
}

/// "protocol host port path", or the name of the error.
fn verdict(text: &str) -> String {
    match read(text) {
        Ok(address) => {
            let path = address.system_path.as_ref().map_or("-", ResourcePath::as_str);
            format!("{} {} {} {path}", address.protocol, address.host, address.port)
        }
        Err(error) => {
            let debug = format!("{error:?}");
            debug.split([' ', '{', '(']).next().unwrap_or_default().to_owned()
        }
    }
}

#[test]
fn the_cases_of_the_contract() {
    for (text, expected) in [
        ("192.168.122.1", "IPMI 192.168.122.1 623 -"),
        ("192.168.122.1:6233", "IPMI 192.168.122.1 6233 -"),
        (
            "[fe80::fc33:62ff:fe83:8a76]:6233",
            "IPMI fe80::fc33:62ff:fe83:8a76 6233 -",
        ),
        ("[fe80::fc33:62ff:fe83:8a76]", "Brackets"),
        ("my-.example.com", "BadHost"),
        ("ipmi://my-.example.com", "BadHost"),
        ("name.example.com", "IPMI name.example.com 623 -"),
        ("name.example.com:623", "UnknownScheme"),
        ("ipmi:192.168.122.1", "IPMI 192.168.122.1 623 -"),
        ("ipmi:192.168.122.1:6233", "IPMI 192.168.122.1 6233 -"),
        ("ipmi://192.168.122.1:6233", "IPMI 192.168.122.1 6233 -"),
        ("ipmi://[::1]", "IPMI ::1 623 -"),
        ("libvirt://192.168.122.1:6233/", "IPMI 192.168.122.1 6233 -"),
        // The host check upstream lets an empty host pass; there is nothing to connect to.
        ("ipmi://", "NoHost"),
        ("redfish:///redfish/v1/Systems/1", "NoHost"),
        ("", "Empty"),
        ("redfish://192.0.2.1", "Redfish 192.0.2.1 443 -"),
        ("redfish://192.0.2.1/", "Redfish 192.0.2.1 443 -"),
        ("redfish://192.0.2.1/redfish/v1", "Redfish 192.0.2.1 443 -"),
        ("redfish://192.0.2.1/redfish/v1/", "Redfish 192.0.2.1 443 -"),
        (
            "REDFISH://Host.Example/redfish/v1/Systems/1",
            "Redfish host.example 443 /redfish/v1/Systems/1",
        ),
        ("redfish+http://192.0.2.1/x", "Redfish 192.0.2.1 80 /x"),
        ("redfish+https://192.0.2.1:8443/x/", "Redfish 192.0.2.1 8443 /x/"),
        ("ilo5-redfish://192.0.2.1/x", "Redfish 192.0.2.1 443 /x"),
        ("idrac-redfish+http://192.0.2.1/x", "Redfish 192.0.2.1 80 /x"),
        ("redfish-virtualmedia://192.0.2.1/x", "Redfish 192.0.2.1 443 /x"),
        (
            "ilo5-virtualmedia+https://192.0.2.1/x",
            "Redfish 192.0.2.1 443 /x",
        ),
        (
            "idrac-virtualmedia://[2001:db8::1]:8443/x",
            "Redfish 2001:db8::1 8443 /x",
        ),
        ("redfish-uefihttp://192.0.2.1/x", "Redfish 192.0.2.1 443 /x"),
        ("idrac://192.0.2.1", "Redfish 192.0.2.1 443 -"),
        ("idrac+https://192.0.2.1", "Redfish 192.0.2.1 443 -"),
        ("ibmc+http://192.0.2.1", "Redfish 192.0.2.1 80 -"),
        ("ilo5://192.0.2.1", "Redfish 192.0.2.1 443 -"),
        ("ilo4://192.0.2.1", "RemovedScheme"),
        ("ilo4-virtualmedia://192.0.2.1", "RemovedScheme"),
        ("irmc://192.0.2.1", "RemovedScheme"),
        ("ipmi+http://192.0.2.1", "UnknownScheme"),
        ("redfish+ftp://192.0.2.1", "UnknownScheme"),
        ("https://192.0.2.1", "UnknownScheme"),
        ("//192.0.2.1", "UnknownScheme"),
    ] {
        assert_eq!(verdict(text), expected, "{text}");
    }
}

#[test]
fn what_is_stricter_than_upstream() {
    for (text, expected) in [
        ("redfish://user:word@192.0.2.1/", "UserInformation"),
        ("user:word@192.0.2.1", "UserInformation"),
        ("redfish://192.0.2.1/x?password=word", "Query"),
        ("redfish://192.0.2.1/x#fragment", "Query"),
        ("ipmi://192.0.2.1?level=1", "Query"),
        ("ipmi://192.0.2.1?privilegelevel=ROOT", "Privilege"),
        ("192.0.2.1/redfish/v1/Systems/1", "PathOnIpmi"),
        ("redfish://127.1/", "BadHost"),
        ("redfish://2130706433/", "BadHost"),
        ("redfish://0x7f000001/", "BadHost"),
        ("redfish://0177.0.0.1/", "BadHost"),
        ("redfish://a..b/", "BadHost"),
        ("redfish://a_b/", "BadHost"),
        ("redfish://[192.0.2.1]/", "BadHost"),
        ("redfish://[fe80::1%25eth0]/", "BadHost"),
        ("redfish://[fe80::1/", "Brackets"),
        ("redfish://2001:db8::1/", "Brackets"),
        ("redfish://192.0.2.1:0/", "BadPort"),
        ("redfish://192.0.2.1:65536/", "BadPort"),
        ("redfish://192.0.2.1:+443/", "BadPort"),
        ("redfish://192.0.2.1:word/", "BadPort"),
        ("redfish://192.0.2.1/a/../b", "BadPath"),
        ("redfish://192.0.2.1/a/%2e%2E/b", "BadPath"),
        ("redfish://192.0.2.1//evil", "BadPath"),
        ("redfish://192.0.2.1/a b", "Characters"),
        ("redfish://192.0.2.1/\r\nHost:x", "Characters"),
    ] {
        assert_eq!(verdict(text), expected, "{text}");
    }
    let long = format!("redfish://{}.example/", "a".repeat(64));
    assert_eq!(verdict(&long), "BadHost");
    assert_eq!(verdict(&format!("redfish://h/{}", "a".repeat(3000))), "TooLong");
}

#[test]
fn the_privilege_is_read() {
    let privilege = |text| read(text).map(|address| address.privilege);
    assert_eq!(
        privilege("ipmi://192.0.2.1?privilegelevel=ADMINISTRATOR"),
        Ok(Privilege::Administrator)
    );
    assert_eq!(privilege("ipmi://192.0.2.1"), Ok(Privilege::Operator));
}

#[test]
fn no_error_repeats_a_password() {
    for text in [
        "redfish://admin:canary@192.0.2.1/",
        "admin:canary@host",
        "redfish://host:canary/",
        "redfish://host/?canary",
        "redfish://host/#canary",
        "redfish://[canary",
        "ipmi://host?privilegelevel=canary",
        "canary@host",
    ] {
        let error = read(text).expect_err(text);
        assert!(
            !format!("{error} {error:?}").contains("canary"),
            "{text}: {error}"
        );
        assert!(error.to_string().ends_with('.'), "{error}");
    }
}

#[test]
fn what_is_shown_reads_back_as_the_same() {
    for text in [
        "redfish://[2001:db8::1]:8443/x",
        "redfish+http://a.example/",
        "ipmi://192.0.2.1",
    ] {
        let address = read(text).expect(text);
        assert_eq!(read(&address.to_string()), Ok(address));
    }
}

proptest! {
    #[test]
    fn never_panics(text in ".{0,200}") {
        let outcome = read(&text);
        prop_assert!(outcome.is_ok() || outcome.is_err());
    }

    #[test]
    fn never_panics_on_near_misses(text in "(redfish|ipmi|idrac|[a-z.]{1,6})?(:|\\+http)?/{0,3}[\\[\\]a-z0-9.:@-]{0,30}(:[0-9a]{0,7})?[/a-z.%#?=2e]{0,30}") {
        if let Ok(address) = read(&text) {
            let again = read(&address.to_string());
            prop_assert_eq!(again.map(|it| (it.host, it.port, it.system_path)),
                Ok((address.host, address.port, address.system_path)));
        }
    }
}

#[test]
fn what_stands_in_brackets_is_called_what_it_is() {
    for (text, says) in [
        ("redfish://[fe80::1%eth0]/", "zone"),
        ("redfish://[192.0.2.1]/", "only an IPv6 address"),
        ("redfish://[fe80::1/", "not closed"),
    ] {
        let error = text.parse::<BmcAddress>().unwrap_err().to_string();
        assert!(error.contains(says) && error.ends_with('.'), "{error}");
    }
}
