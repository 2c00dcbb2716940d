use serde_json::json;

use crate::remediation::keepers::*;

fn subject(uuid: &str) -> Subject {
    let subject = json!({
        "node": "worker-1", "nodeUID": "u", "bootID": "b", "host": "BMCEndpoint/worker-1",
        "bmc": "redfish://10.0.0.7:443", "system": "/redfish/v1/Systems/1", "systemUUID": uuid, "identity": "",
    });
    serde_json::from_value(subject).unwrap()
}

#[test]
fn who_begins_with_a_host_takes_it_from_whoever_had_it() {
    let keepers = Keepers::default();
    let host = subject("4c4c4544-0042-3510-8052-b4c04f4e3732");
    let swapped = subject("44454C4C-4200-1035-8052-B4C04F4E3732");
    let other = subject("4c4c4544-0042-3510-8052-b4c04f4e3733");
    assert!(
        keepers.is(&host, "gone"),
        "a successor that has begun nothing itself"
    );
    keepers.take(&host, "gone");
    keepers.take(&other, "another");
    assert!(keepers.is(&swapped, "gone"));
    keepers.take(&swapped, "anew");
    assert!(!keepers.is(&host, "gone"), "in either byte order");
    keepers.forget("gone");
    assert!(!keepers.is(&host, "gone"), "the host is still the other's");
    keepers.forget("anew");
    assert!(keepers.is(&host, "gone"));
}
