//! AMI's MegaRAC, and boards that ship it.

use std::time::Duration;

use super::family::{Family, root};
use crate::fault::{Fault, Injection, IpmiFault, VendorError};
use crate::redfish::{ETags, LastResetTime, RedfishSpec, ResetType, ResetValues};

fn common(before: RedfishSpec) -> RedfishSpec {
    RedfishSpec {
        service_root: Some(root("AMI", "AMI Redfish Server", "Ami")),
        ..before
    }
}

pub(super) fn megarac() -> Family {
    Family {
        redfish: |before| RedfishSpec {
            etags: ETags::Refused,
            ..common(before)
        },
        ..Family::plain("AMI", "MegaRAC SP-X")
    }
}

pub(super) fn gigabyte() -> Family {
    Family {
        redfish: |before| RedfishSpec {
            etags: ETags::WeakRefused,
            patch_needs_if_match: true,
            ..before
        },
        ..Family::plain("GIGABYTE", "R152-Z30")
    }
}

pub(super) fn asrock() -> Family {
    Family {
        faults: vec![IpmiFault::SkipSequence { by: 3 }.into()],
        ..Family::plain("ASRockRack", "X470D4U")
    }
}

pub(super) fn dgx_h100() -> Family {
    // Two to three minutes, as reported.
    let by = Duration::from_secs(150);
    let inventory = "/redfish/v1/UpdateService/FirmwareInventory*";
    Family {
        system_id: "DGX",
        redfish: |before| RedfishSpec {
            reset_types: vec![
                ResetType::ForceOff,
                ResetType::ForceRestart,
                ResetType::GracefulShutdown,
                ResetType::On,
            ],
            reset_values: ResetValues::ActionInfo,
            patch_needs_if_match: true,
            manager_reset_needs_if_match: true,
            decoys_unavailable_while_off: true,
            decoy_error: Some(VendorError::HmcCommuicationFailed),
            last_reset_time: LastResetTime::True,
            ..common(before)
        },
        faults: vec![Injection::from(Fault::SlowAnswer { by }).path(inventory)],
        decoys: &["HGX_Baseboard_0"],
        ..Family::plain("NVIDIA", "DGXH100")
    }
}
