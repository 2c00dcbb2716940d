//! Families of which there is little to say.

use super::family::{Family, all_but};
use crate::fault::Fault;
use crate::ipmi::Privilege;
use crate::redfish::{OemAction, RedfishSpec, ResetType, ServiceRootSpec};

pub(super) fn xcc() -> Family {
    Family {
        redfish: |before| RedfishSpec {
            service_root: Some(ServiceRootSpec {
                vendor: Some("Lenovo".to_owned()),
                ..ServiceRootSpec::default()
            }),
            reset_types: all_but(&[ResetType::PushPowerButton, ResetType::PowerCycle]),
            oem_actions: vec![OemAction::LenovoSystemReset],
            ..before
        },
        ..Family::plain("Lenovo", "ThinkSystem SR650 V2")
    }
}

pub(super) fn huawei() -> Family {
    Family {
        redfish: |before| RedfishSpec {
            patch_needs_if_match: true,
            hides_managed_by: true,
            ..before
        },
        ..Family::plain("Huawei", "1288H V5")
    }
}

pub(super) fn h3c() -> Family {
    Family {
        faults: vec![Fault::Tls12Only.into()],
        ..Family::plain("H3C", "UniServer R4900 G5")
    }
}

pub(super) fn cisco_ucs() -> Family {
    Family {
        ipmi: |said| said.usual_login_limit(Privilege::Operator),
        ..Family::plain("Cisco Systems Inc", "UCSC-C220-M5SX")
    }
}
