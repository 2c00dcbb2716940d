//! What a client that looks for Redfish services asks, and what it is answered.

use std::time::Duration;

/// Search target of Redfish services (DSP0266, "M-SEARCH response").
const REDFISH: &str = "urn:dmtf-org:service:redfish-rest:1";
/// Search target of everything.
const ALL: &str = "ssdp:all";
/// Clients that allow more time are answered within this (UPnP Device Architecture 1.1, section 1.3.3).
const LONGEST: u64 = 5;
/// For how long an answer holds; the least that DSP0266 allows.
const MAX_AGE_SECONDS: u32 = 1800;

/// Reads a search for Redfish services: the time within which it is to be answered. `None` for whatever
/// else comes, which is not answered at all.
pub(super) fn search(datagram: &[u8]) -> Option<Duration> {
    let text = std::str::from_utf8(datagram).ok()?;
    let mut lines = text.split("\r\n");
    if lines.next()? != "M-SEARCH * HTTP/1.1" {
        return None;
    }
    let headers: Vec<(&str, &str)> = lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim(), value.trim()))
        .collect();
    let header = |wanted: &str| {
        let mut found = headers
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.next().map(|(_, value)| *value)
    };
    let is_search = header("MAN") == Some("\"ssdp:discover\"");
    let is_for_us = [REDFISH, ALL].contains(&header("ST")?);
    let seconds: u64 = header("MX")?.parse().ok()?;
    (is_search && is_for_us && seconds > 0).then(|| Duration::from_secs(seconds.min(LONGEST)))
}

/// The answer of the service with this UUID, whose root is at `url`.
pub(super) fn answer(uuid: &str, url: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nCACHE-CONTROL: max-age={MAX_AGE_SECONDS}\r\nST: {REDFISH}\r\n\
         USN: uuid:{uuid}::{REDFISH}\r\nAL: {url}\r\nEXT:\r\n\r\n"
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::{answer, search};

    fn asked(target: &str, man: &str, mx: &str) -> Option<Duration> {
        let text = format!(
            "M-SEARCH * HTTP/1.1\r\nHost: 239.255.255.250:1900\r\nMan: {man}\r\nst:{target}\r\n{mx}\r\n\r\n"
        );
        search(text.as_bytes())
    }

    #[test]
    fn searches_for_us_and_for_all_are_understood() {
        const MAN: &str = "\"ssdp:discover\"";
        let second = Duration::from_secs;
        for (target, man, mx, expected) in [
            (
                "urn:dmtf-org:service:redfish-rest:1",
                MAN,
                "MX: 3",
                Some(second(3)),
            ),
            ("ssdp:all", MAN, "mx:1", Some(second(1))),
            ("ssdp:all", MAN, "MX: 120", Some(second(5))),
            ("upnp:rootdevice", MAN, "MX: 3", None),
            ("urn:dmtf-org:service:redfish-rest:2", MAN, "MX: 3", None),
            ("ssdp:all", "ssdp:discover", "MX: 3", None),
            ("ssdp:all", MAN, "MX: 0", None),
            ("ssdp:all", MAN, "MX: soon", None),
            ("ssdp:all", MAN, "X: 3", None),
        ] {
            assert_eq!(asked(target, man, mx), expected, "{target} {man} {mx}");
        }
        assert_eq!(search(b"NOTIFY * HTTP/1.1\r\nST: ssdp:all\r\n\r\n"), None);
        assert_eq!(search(b"\xff"), None);
    }

    #[test]
    fn an_answer_says_who_and_where() {
        assert_eq!(
            answer("u-1", "https://127.0.0.1:9/redfish/v1/"),
            "HTTP/1.1 200 OK\r\nCACHE-CONTROL: max-age=1800\r\nST: urn:dmtf-org:service:redfish-rest:1\r\n\
             USN: uuid:u-1::urn:dmtf-org:service:redfish-rest:1\r\nAL: https://127.0.0.1:9/redfish/v1/\r\nEXT:\r\n\r\n"
        );
    }

    proptest! {
        #[test]
        fn reading_never_panics(datagram in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = search(&datagram);
        }
    }
}
