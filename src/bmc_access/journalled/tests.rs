use remediator_bmc::Fingerprint;
use remediator_core::journal::{HostObject, Journal, Route};
use remediator_core::metal3::{CycledBy, Manager};
use remediator_core::phase::Phase;
use serde_json::json;

use crate::bmc_access::host::{HostTrust, ResolvedHost, bmc_address, fingerprints};
use crate::bmc_access::journalled::*;

const PIN: &str =
    "00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF";
const OTHER: &str =
    "11:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF";

fn pins(texts: &[&str]) -> Vec<Fingerprint> {
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    fingerprints(&texts, "test", Reason::HostUnreadable).unwrap()
}

fn host_at(address: &str, trust: HostTrust) -> ResolvedHost {
    let address = bmc_address(address, "test").unwrap();
    ResolvedHost {
        host: Host {
            reference: HostObject::Endpoint("worker-1".to_owned()),
            bmc: address.to_string(),
            stated_uuid: None,
            cycled: CycledBy::Us,
            found_uuid: None,
        },
        address,
        secret: "worker-1-bmc".to_owned(),
        trust,
        known_system: None,
    }
}

/// A remediation that switched this host off, in this phase.
fn remediation(host: &ResolvedHost, route: Option<&Route>, phase: Phase) -> PowerCycleRemediation {
    let subject = json!({
        "node": "worker-1", "nodeUID": "u", "bootID": "b", "host": host.host.reference, "bmc": host.host.bmc,
        "system": "/redfish/v1/Systems/1", "protocol": "Redfish",
        "systemUUID": "4c4c4544-0042-3510-8052-b4c04f4e3732", "identity": "Node systemUUID", "route": route,
    });
    let journal = Journal {
        phase,
        attempt: 1,
        subject: Some(serde_json::from_value(subject).unwrap()),
        ..Journal::default()
    };
    serde_json::from_value(json!({
        "apiVersion": "baremetal-remediator.io/v1alpha1", "kind": "PowerCycleRemediation",
        "metadata": {"name": "worker-1-1", "namespace": "metal"}, "spec": {}, "status": journal,
    }))
    .unwrap()
}

fn rules_of(networks: &[&str]) -> BmcRules {
    BmcRules {
        allowed_networks: networks.iter().map(|network| network.parse().unwrap()).collect(),
        ..BmcRules::default()
    }
}

#[test]
fn another_attempt_does_to_a_host_what_the_journalled_one_did() {
    let host = host_at("redfish://10.0.0.7", HostTrust::Stated(ServerTrust::Unverified));
    let route = route(&host, &rules_of(&["10.0.0.0/8"]));
    let hold = json!({"host": "bmh-1", "hostUID": "bmh-uid", "annotation": "reboot.metal3.io/ours"});
    let of_both = (Some(hold.clone()), true);
    for (hold, is_only_reset) in [(None, false), (Some(hold), false), (None, true), of_both] {
        let mut remediation = remediation(&host, Some(&route), Phase::Booting);
        let journal = &mut remediation.status.as_mut().unwrap().journal;
        journal.subject.as_mut().unwrap().only_reset = is_only_reset;
        journal.hold = serde_json::from_value(json!(hold)).unwrap();
        let found = super::host(&remediation).unwrap().unwrap().host;
        let manager = Manager {
            name: "bmh-1".to_owned(),
            uid: "bmh-uid".to_owned(),
            annotation: "reboot.metal3.io/ours".to_owned(),
        };
        let expected = match (hold, is_only_reset) {
            (_, true) => CycledBy::Reset,
            (Some(_), false) => CycledBy::Metal3(manager),
            (None, false) => CycledBy::Us,
        };
        assert_eq!(found.cycled, expected);
    }
}

#[test]
fn a_host_is_found_again_by_its_journal_alone() {
    let unverified = HostTrust::Stated(ServerTrust::Unverified);
    let pinned = |texts: &[&str]| HostTrust::Stated(ServerTrust::Fingerprints(pins(texts)));
    for (what, address, trust, certificate, expected) in [
        (
            "by CA",
            "redfish://10.0.0.7/redfish/v1/Systems/1",
            HostTrust::AsTheSecretSays,
            Some(PIN),
            pinned(&[PIN]),
        ),
        (
            "by pin",
            "redfish://[fd00::7]:8443",
            pinned(&[OTHER]),
            Some(PIN),
            pinned(&[PIN, OTHER]),
        ),
        (
            "unverified",
            "redfish://bmc.example",
            unverified.clone(),
            Some(PIN),
            unverified.clone(),
        ),
        (
            "plain",
            "redfish+http://10.0.0.7",
            HostTrust::AsTheSecretSays,
            None,
            HostTrust::AsTheSecretSays,
        ),
        (
            "IPMI",
            "ipmi://10.0.0.7?privilegelevel=ADMINISTRATOR",
            HostTrust::AsTheSecretSays,
            None,
            HostTrust::AsTheSecretSays,
        ),
    ] {
        let before = host_at(address, trust);
        let route = Route {
            certificate: certificate.map(ToOwned::to_owned),
            ..route(&before, &rules_of(&["10.0.0.0/8"]))
        };
        let found = host(&remediation(&before, Some(&route), Phase::Fencing));
        let expected = ResolvedHost {
            trust: expected,
            known_system: ResourcePath::parse("/redfish/v1/Systems/1").ok(),
            ..before
        };
        assert_eq!(found, Some(Ok(expected)), "{what}");
    }
}

#[test]
fn only_what_has_to_be_brought_back_goes_by_the_journal() {
    let before = host_at("redfish://10.0.0.7", HostTrust::AsTheSecretSays);
    let written = || Some(route(&before, &rules_of(&["10.0.0.0/8"])));
    let is_by_journal =
        |route: Option<Route>, phase| host(&remediation(&before, route.as_ref(), phase)).is_some();

    assert!(is_by_journal(written(), Phase::PoweringOn));
    assert!(!is_by_journal(None, Phase::PoweringOn), "of an earlier version");
    for phase in [Phase::Pending, Phase::Failed, Phase::Succeeded] {
        assert!(
            !is_by_journal(written(), phase),
            "{phase:?} with nothing intended"
        );
    }
}

#[test]
fn the_rules_of_a_journal_let_nothing_pass_that_did_not_pass_then() {
    let policy = BmcRules {
        fallback_to_ipmi: Some(FallbackToIpmi { port: 624 }),
        minimum_transport: Transport::PlainHTTP,
        protocols: vec![Protocol::Redfish, Protocol::Ipmi],
        ..rules_of(&["10.0.0.0/24", "10.1.0.0/16", "192.0.2.0/24"])
    };
    let unverified = HostTrust::Stated(ServerTrust::Unverified);
    for (address, trust, transport) in [
        (
            "redfish://10.0.0.7",
            HostTrust::AsTheSecretSays,
            Transport::VerifiedTLS,
        ),
        ("redfish://10.0.0.7", unverified, Transport::UnverifiedTLS),
        (
            "redfish+http://10.0.0.7",
            HostTrust::AsTheSecretSays,
            Transport::PlainHTTP,
        ),
    ] {
        let before = host_at(address, trust);
        let then = remediation(&before, Some(&route(&before, &policy)), Phase::Fencing);
        let expected = BmcRules {
            allowed_networks: rules_of(&["10.0.0.0/24"]).allowed_networks,
            minimum_transport: transport,
            ..policy.clone()
        };
        assert_eq!(rules(&then), Some(expected), "{address}");
    }
    let by_name = host_at("redfish://bmc.example", HostTrust::AsTheSecretSays);
    let then = remediation(&by_name, Some(&route(&by_name, &policy)), Phase::Fencing);
    assert_eq!(
        rules(&then).unwrap().allowed_networks,
        policy.allowed_networks,
        "a name may mean any"
    );
}

#[test]
fn a_certificate_that_was_not_stated_may_be_another_by_now() {
    let by_authority = host_at("redfish://10.0.0.7", HostTrust::AsTheSecretSays);
    let stated = host_at(
        "redfish://10.0.0.7",
        HostTrust::Stated(ServerTrust::Fingerprints(pins(&[OTHER]))),
    );
    let trust = |host: &ResolvedHost| {
        let route = Route {
            certificate: Some(PIN.to_owned()),
            ..route(host, &rules_of(&["10.0.0.0/8"]))
        };
        let found = with_another_certificate(&remediation(host, Some(&route), Phase::Fencing));
        found.map(|found| found.trust)
    };
    let by_secret = by_authority.clone();
    let by_authority = ResolvedHost {
        trust: HostTrust::Stated(ServerTrust::CertificateAuthority("pem".to_owned())),
        ..by_authority
    };
    assert_eq!(trust(&by_secret), Some(HostTrust::AsTheSecretSays));
    assert_eq!(
        trust(&by_authority),
        None,
        "its CA is gone, and nobody else may vouch"
    );
    assert_eq!(trust(&stated), None);
}
