//! iLOs, and the node controllers of Cray EX.

use std::time::Duration;

use super::family::{Family, all_but, root};
use crate::fault::Fault;
use crate::power::Delay;
use crate::redfish::{ETags, OemAction, RedfishSpec, ResetAnswer, ResetType};

fn common(before: RedfishSpec) -> RedfishSpec {
    RedfishSpec {
        reset_answer: ResetAnswer::SuccessAsError,
        reset_types: all_but(&[ResetType::ForceOn, ResetType::PowerCycle]),
        // A guess: reports say "soon after".
        reset_pause: Duration::from_secs(5),
        etags: ETags::Weak,
        oem_actions: vec![OemAction::HpeSystemReset],
        ..before
    }
}

pub(super) fn ilo5() -> Family {
    Family {
        redfish: |before| RedfishSpec {
            service_root: Some(root("HPE", "ProLiant DL380 Gen10", "Hpe")),
            ..common(before)
        },
        faults: vec![Fault::ResetOnReuse.into()],
        ..Family::plain("HPE", "ProLiant DL380 Gen10")
    }
}

pub(super) fn ilo6() -> Family {
    Family {
        redfish: |before| RedfishSpec {
            service_root: Some(root("HPE", "ProLiant DL380 Gen11", "Hpe")),
            ..common(before)
        },
        ..Family::plain("HPE", "ProLiant DL380 Gen11")
    }
}

pub(super) fn cray_ex() -> Family {
    // A guess: the source says "briefly".
    let during = Duration::from_secs(2);
    let millis = |millis| Delay::Fixed(Duration::from_millis(millis));
    Family {
        system_id: "Node0",
        chassis: &["Enclosure", "Blade0"],
        faults: vec![Fault::OnShowsPoweringOn { during }.into()],
        off_and_on: Some((millis(6_860), millis(54_530))),
        ..Family::plain("HPE", "Cray EX425")
    }
}
