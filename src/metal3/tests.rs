//! Who else may be at work on a host that metal3 manages.
//! Source: cluster-api-provider-metal3 `baremetal/metal3remediation_manager.go`.

use serde_json::json;

use super::*;

fn view(remediated_by: Option<&str>, reboot_key: Option<&str>) -> HostView {
    HostView {
        facts: metal3::BareMetalHost {
            namespace: "metal".to_owned(),
            name: "host-0".to_owned(),
            online: true,
            has_bmc: true,
            consumer: Some(("Machine".to_owned(), "metal".to_owned(), "worker-0".to_owned())),
            state: "provisioned".to_owned(),
            reboot_key: reboot_key.map(ToOwned::to_owned),
            ..metal3::BareMetalHost::default()
        },
        address: "redfish://10.0.0.1/redfish/v1/Systems/1".to_owned(),
        secret: "host-0-bmc".to_owned(),
        unverified: false,
        remediated_by: remediated_by.map(ToOwned::to_owned),
    }
}

#[test]
fn a_host_is_left_to_a_metal3_remediation_and_to_whoever_holds_it_off() {
    let machine: Machine =
        serde_json::from_value(json!({"metadata": {"name": "worker-0", "namespace": "metal"}, "spec": {}}))
            .unwrap();
    let reference = HostReference {
        namespace: "metal".to_owned(),
        name: HostName::Known("host-0".to_owned()),
        uid: None,
    };
    let key = Some("reboot.metal3.io/capm3-remediation");
    let at_work = "Metal3Remediation worker-0 is at work on Machine worker-0";
    let held = "BareMetalHost host-0 carries reboot.metal3.io/capm3-remediation";
    for control in [HostControl::Direct, HostControl::Managed] {
        for (remediation, key, expected) in [
            (
                Some("worker-0"),
                None,
                Some((Reason::AnotherRemediatorActive, at_work)),
            ),
            (
                Some("worker-0"),
                key,
                Some((Reason::AnotherRemediatorActive, at_work)),
            ),
            (None, key, Some((Reason::HostHeldBySomeoneElse, held))),
            (None, None, None),
        ] {
            let found = may_be_fenced(&view(remediation, key), control, &machine, &reference);
            match (expected, control) {
                (Some((reason, detail)), _) => {
                    assert_eq!(
                        found,
                        Err(Obstacle::new(reason, detail.to_owned())),
                        "{control:?}"
                    );
                }
                (None, HostControl::Direct) => assert_eq!(found, Ok(())),
                (None, HostControl::Managed) => {
                    let reason = found.map_err(|obstacle| obstacle.reason);
                    assert_eq!(reason, Err(Reason::HostManagedByMetal3));
                }
            }
        }
    }
}
