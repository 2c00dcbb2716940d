//! OpenBMC, and what is made of it.

use super::family::{Family, all_but};
use crate::redfish::{OemAction, RedfishSpec, ResetType, ResetValues, ServiceRootSpec};

fn common(before: RedfishSpec) -> RedfishSpec {
    RedfishSpec {
        service_root: Some(ServiceRootSpec::default()),
        reset_values: ResetValues::ActionInfo,
        power_cycle_restarts: true,
        ..before
    }
}

fn build(manufacturer: &'static str, model: &'static str) -> Family {
    Family {
        system_id: "system",
        redfish: common,
        decoys: &["hypervisor"],
        ipmi: |said| said.usual_cipher_suites([17]),
        ..Family::plain(manufacturer, model)
    }
}

pub(super) fn upstream() -> Family {
    build("OpenBMC", "Evaluation board")
}

pub(super) fn ibm() -> Family {
    Family {
        redfish: |before| RedfishSpec {
            reset_types: all_but(&[ResetType::ForceRestart, ResetType::PushPowerButton]),
            ..common(before)
        },
        ..build("IBM", "9105-22A")
    }
}

pub(super) fn sonic() -> Family {
    Family {
        redfish: |before| RedfishSpec {
            broken_reset_types: vec![ResetType::ForceOff],
            ..common(before)
        },
        decoys: &[],
        ..build("SONiC", "BMC")
    }
}

pub(super) fn gb200() -> Family {
    Family {
        system_id: "System_0",
        chassis: &["BMC_0"],
        redfish: |before| RedfishSpec {
            service_root: Some(ServiceRootSpec {
                vendor: Some("NVIDIA".to_owned()),
                product: Some("GB200 NVL".to_owned()),
                ..ServiceRootSpec::default()
            }),
            oem_actions: vec![OemAction::NvidiaAuxPowerReset],
            ..common(before)
        },
        decoys: &["HGX_Baseboard_0"],
        ..build("NVIDIA", "GB200 NVL")
    }
}
