//! Supermicros.

use std::time::Duration;

use super::family::{Family, all_but};
use crate::fault::{Fault, IpmiFault};
use crate::power::Delay;
use crate::redfish::{OemAction, RedfishSpec, ResetAnswer, ResetType, ResetValues, ServiceRootSpec};

fn common(before: RedfishSpec) -> RedfishSpec {
    RedfishSpec {
        service_root: Some(ServiceRootSpec {
            oem: Some("Supermicro".to_owned()),
            redfish_version: Some("1.11.0".to_owned()),
            ..ServiceRootSpec::default()
        }),
        reset_answer: ResetAnswer::AcceptedWithoutTask,
        reset_values: ResetValues::ActionInfo,
        reset_types: all_but(&[ResetType::PushPowerButton]),
        ..before
    }
}

fn board(model: &'static str) -> Family {
    let change = Delay::Fixed(Duration::from_secs(20));
    Family {
        redfish: common,
        off_and_on: Some((change, change)),
        ..Family::plain("Supermicro", model)
    }
}

/// A guess: the report has many calls crash it and no figure.
fn crashes() -> Fault {
    Fault::CrashAbove {
        requests_per_second: 20,
    }
}

pub(super) fn x9() -> Family {
    Family {
        faults: vec![crashes().into(), IpmiFault::BadChecksum.into()],
        ..board("X9DRi-LN4F+")
    }
}

pub(super) fn x11() -> Family {
    Family {
        faults: vec![crashes().into()],
        ..board("X11DPT-B")
    }
}

pub(super) fn x13() -> Family {
    Family {
        redfish: |before| RedfishSpec {
            oem_actions: vec![OemAction::SupermicroReset],
            ..common(before)
        },
        ..board("SYS-821GE-TNHR")
    }
}
